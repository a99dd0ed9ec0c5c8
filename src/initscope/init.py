"""Stage `init`: the initial weights of a cell. NumPy only, no torch."""

from initscope.models.layout import tensors
from initscope.schemes import chosen, drawn
from initscope.tensors import pack


def make(stack, read):
    for digest, spec in stack.items():
        settings = spec["settings"]
        yield digest, {"weights.safetensors": pack(weights(settings), **settings["init"], digest=digest)}


def weights(settings):
    """{tensor name: float32 array} of one cell."""
    return {t.name: drawn(t, chosen(settings)) for t in tensors(settings["model"], settings["corpus"])}
