"""Stage `init`: the initial weights of a cell. NumPy only, no torch."""

from initscope.models.layout import tensors
from initscope.schemes import drawn
from initscope.tensors import pack


def make(stack, read):
    for digest, spec in stack.items():
        init, model = spec["settings"]["init"], spec["settings"]["model"]
        weights = {t.name: drawn(t, init) for t in tensors(model, spec["settings"]["corpus"]["vocabulary"])}
        yield digest, {"weights.safetensors": pack(weights, **init, digest=digest)}
