"""Cells of equal shapes, computed together: every tensor carries the cells along its first dimension."""

import numpy as np
import torch

from initscope.models import mlp, transformer
from initscope.models.parts import Probes
from initscope.tensors import unpack

MODELS = {"transformer": transformer, "mlp": mlp}
CHUNK = 256  # rows evaluated at once: 36 cells on a whole corpus would take more than 1 GB


def weights(stack, read):
    """{tensor name: (cells, *shape)} of the initial weights of a stack."""
    drawn = [unpack(read(spec["upstream"]["init"], "weights.safetensors")) for spec in stack.values()]
    return stacked(drawn, next(iter(stack.values()))["settings"])


def stacked(cells, settings):
    """The weights of several cells as one, on the device that the settings name.

    A cell alone is given a twin: a product of one matrix goes to another kernel than those of several, with other bits.
    """
    cells = cells * 2 if len(cells) == 1 else cells
    return {name: on_device(np.stack([cell[name] for cell in cells]), settings) for name in cells[0]}


def on_device(array, settings):
    return torch.from_numpy(array).to(settings["compute"]["device"].partition(" ")[0])


def examples(stack, read):
    """What all cells of a stack see: {"training": (inputs, targets), "validation": ...}.

    Of token sequences, int64 (count, context) and the tokens that follow; else float32 (count, features) and classes.
    """
    spec = next(iter(stack.values()))
    corpus = unpack(read(spec["upstream"]["corpus"], "examples.safetensors"))
    parts = {name: on_device(value, spec["settings"]) for name, value in corpus.items()}
    if spec["settings"]["model"]["kind"] == "mlp":
        return {name: (parts[f"{name}_inputs"], parts[f"{name}_targets"]) for name in ("training", "validation")}
    context = spec["settings"]["model"]["context"]
    return {name: (tokens[:, :context], tokens[:, 1 : context + 1]) for name, tokens in parts.items()}


def gradients(weights, batch, model, taps=None):
    """Loss, probes and gradients of every cell: (losses (cells,), out, {tensor: gradient}, {stream: gradient}).

    The sum of the cells' losses is differentiated: no cell reaches another's loss, so its gradient is each cell's own.
    """
    leaves = {name: value.detach().requires_grad_() for name, value in weights.items()}
    at = Probes({key: value.requires_grad_() for key, value in (taps or {}).items()})
    inputs, targets = batch
    logits = MODELS[model["kind"]].forward(leaves, inputs, model, at)
    losses = cross_entropy(logits, targets.flatten())
    found = torch.autograd.grad(losses.sum(), [*leaves.values(), *at.taps.values()])
    out = {key: value.detach() for key, value in at.out.items()}
    return losses.detach(), out, dict(zip(leaves, found)), dict(zip(at.taps, found[len(leaves) :]))


def cross_entropy(logits, targets):
    """Mean over the targets, in nats, of every cell: (cells, targets, classes), (targets,) -> (cells,)."""
    return -of_target(logits.log_softmax(-1), targets).sum(-1) / len(targets)


def of_target(values, targets):
    """What stands at the target of every row: (cells, targets, classes), (targets,) -> (cells, targets)."""
    return values[:, torch.arange(len(targets), device=targets.device), targets]


def taps(weights, batch, model):
    """Zeros for every stream of every cell."""
    cells, rows = len(weights["head.bias"]), batch[1].numel()
    shape = (cells, rows, model["width"])
    return {key: torch.zeros(shape, device=batch[1].device) for key in MODELS[model["kind"]].streams(model)}


@torch.no_grad()
def losses(p, examples, model, batch):
    """Cross-entropy of every target, float64 (cells, targets), by parts of CHUNK rows.

    With batchnorm by parts of `batch` examples: the statistics are then those of batches as training sees them.
    """
    forward, kept_none = MODELS[model["kind"]].forward, Probes(keep=False)
    inputs, targets = examples
    size = batch if model["norm"] == "batchnorm" else max(1, CHUNK // targets[0].numel())
    found = []
    for part, target in zip(*(x.tensor_split(-(-len(x) // size)) for x in (inputs, targets))):
        z, target = forward(p, part, model, kept_none).double(), target.flatten()
        # row by row: see activations.whole for why not log and exp of the whole tensor
        found.append(-of_target(z.log_softmax(-1), target))
    return torch.cat(found, dim=1).cpu().numpy()
