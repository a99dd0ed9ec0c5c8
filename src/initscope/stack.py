"""Cells of equal shapes, computed together: every tensor carries the cells along its first dimension."""

import numpy as np
import torch
import torch.nn.functional as F
from torch.func import vmap

from initscope.models import mlp, transformer
from initscope.tensors import unpack

MODELS = {"transformer": transformer, "mlp": mlp}
CHUNK = 256  # rows evaluated at once: 36 cells on a whole corpus would take more than 1 GB


def weights(stack, read):
    """{tensor name: (cells, *shape)} of the initial weights of a stack."""
    return stacked([unpack(read(spec["upstream"]["init"], "weights.safetensors")) for spec in stack.values()])


def stacked(cells):
    """The weights of several cells as one.

    A cell alone is given a twin: a product of one matrix goes to another kernel than those of several, with other bits.
    """
    cells = cells * 2 if len(cells) == 1 else cells
    return {name: torch.from_numpy(np.stack([cell[name] for cell in cells])) for name in cells[0]}


def examples(stack, read):
    """What all cells of a stack see: {"training": (inputs, targets), "validation": ...}.

    Of token sequences, int64 (count, context) and the tokens that follow; else float32 (count, features) and classes.
    """
    spec = next(iter(stack.values()))
    corpus = unpack(read(spec["upstream"]["corpus"], "examples.safetensors"))
    parts = {name: torch.from_numpy(value) for name, value in corpus.items()}
    if spec["settings"]["model"]["kind"] == "mlp":
        return {name: (parts[f"{name}_inputs"], parts[f"{name}_targets"]) for name in ("training", "validation")}
    context = spec["settings"]["model"]["context"]
    return {name: (tokens[:, :context], tokens[:, 1 : context + 1]) for name, tokens in parts.items()}


def loss(p, inputs, targets, model, taps=None):
    """Mean cross-entropy (nats per target) of one cell; and the probes."""
    logits, out = MODELS[model["kind"]].forward(p, inputs, model, taps)
    return F.cross_entropy(logits, targets.flatten()), out


def gradients(weights, batch, model, taps=None):
    """Loss, probes and gradients of every cell: (losses (cells,), out, {tensor: gradient}, {stream: gradient}).

    The sum of the cells' losses is differentiated: no cell reaches another's loss, so its gradient is each cell's own.
    (torch.func's grad gives the same bits, but builds a graph for second derivatives and imports a compiler first.)
    """
    leaves = {name: value.detach().requires_grad_() for name, value in weights.items()}
    taps = {key: value.requires_grad_() for key, value in (taps or {}).items()}
    losses, out = vmap(loss, in_dims=(0, None, None, None, 0))(leaves, *batch, model, taps)
    found = torch.autograd.grad(losses.sum(), [*leaves.values(), *taps.values()])
    out = {key: value.detach() for key, value in out.items()}
    return losses.detach(), out, dict(zip(leaves, found)), dict(zip(taps, found[len(leaves) :]))


def taps(weights, batch, model):
    """Zeros for every stream of every cell."""
    cells, rows = len(weights["head.bias"]), batch[1].numel()
    shape = (cells, rows, model["width"])
    return {key: torch.zeros(shape) for key in MODELS[model["kind"]].streams(model)}


@torch.no_grad()
def losses(p, examples, model, batch):
    """Cross-entropy of every target, float64 (cells, targets), by parts of CHUNK rows.

    With batchnorm by parts of `batch` examples: the statistics are then those of batches as training sees them.
    """
    logits = vmap(lambda p, inputs: MODELS[model["kind"]].forward(p, inputs, model)[0], in_dims=(0, None))
    inputs, targets = examples
    size = batch if model["norm"] == "batchnorm" else max(1, CHUNK // targets[0].numel())
    found = []
    for part, target in zip(*(x.tensor_split(-(-len(x) // size)) for x in (inputs, targets))):
        z, target = logits(p, part).double(), target.flatten()
        # row by row: see activations.whole for why not log and exp of the whole tensor
        found.append(-z.log_softmax(-1)[:, torch.arange(len(target)), target])
    return torch.cat(found, dim=1).numpy()
