"""Cells of equal shapes, computed together: every tensor carries the cells along its first dimension."""

import numpy as np
import torch
import torch.nn.functional as F
from torch.func import vmap

from initscope.models import transformer
from initscope.tensors import unpack

CHUNK = 16  # sequences evaluated at once: 36 cells on a whole corpus would take more than 1 GB


def weights(stack, read):
    """{tensor name: (cells, *shape)} of the initial weights of a stack.

    A cell alone is given a twin: a product of one matrix goes to another kernel than those of several, with other bits.
    """
    cells = [unpack(read(spec["upstream"]["init"], "weights.safetensors")) for spec in stack.values()]
    cells = cells * 2 if len(cells) == 1 else cells
    return {name: torch.from_numpy(np.stack([cell[name] for cell in cells])) for name in cells[0]}


def sequences(stack, read):
    """The corpus that all cells of a stack share: {"training", "validation"}, int64 (count, context + 1)."""
    spec = next(iter(stack.values()))
    corpus = unpack(read(spec["upstream"]["corpus"], "sequences.safetensors"))
    return {
        name: torch.from_numpy(tokens[:, : spec["settings"]["model"]["context"] + 1]) for name, tokens in corpus.items()
    }


def loss(p, sequences, model, taps=None):
    """Mean cross-entropy (nats per token) of one cell on sequences (batch, context + 1); and the probes."""
    logits, out = transformer.forward(p, sequences[:, :-1], model, taps)
    return F.cross_entropy(logits, sequences[:, 1:].flatten()), out


def gradients(weights, sequences, model, taps=None):
    """Loss, probes and gradients of every cell: (losses (cells,), out, {tensor: gradient}, {stream: gradient}).

    The sum of the cells' losses is differentiated: no cell reaches another's loss, so its gradient is each cell's own.
    (torch.func's grad gives the same bits, but builds a graph for second derivatives and imports a compiler first.)
    """
    leaves = {name: value.detach().requires_grad_() for name, value in weights.items()}
    taps = {key: value.requires_grad_() for key, value in (taps or {}).items()}
    losses, out = vmap(loss, in_dims=(0, None, None, 0))(leaves, sequences, model, taps)
    found = torch.autograd.grad(losses.sum(), [*leaves.values(), *taps.values()])
    out = {key: value.detach() for key, value in out.items()}
    return losses.detach(), out, dict(zip(leaves, found)), dict(zip(taps, found[len(leaves) :]))


@torch.no_grad()
def token_losses(p, sequences, model):
    """Cross-entropy of every token, float64 (cells, tokens), by chunks of CHUNK sequences."""
    logits = vmap(lambda p, tokens: transformer.forward(p, tokens, model)[0], in_dims=(0, None))
    found = []
    for part in sequences.split(CHUNK):
        z, target = logits(p, part[:, :-1]).double(), part[:, 1:].flatten()
        # row by row: see activations.whole for why not log and exp of the whole tensor
        found.append(-z.log_softmax(-1)[:, torch.arange(len(target)), target])
    return torch.cat(found, dim=1).numpy()
