"""Cells of equal shapes, computed together: every tensor carries the cells along its first dimension."""

import numpy as np
import torch
import torch.nn.functional as F
from torch.func import vmap

from initscope.models import transformer
from initscope.tensors import unpack

CHUNK = 16     # sequences evaluated at once: 36 cells on a whole corpus would take more than 1 GB


def weights(stack, read):
    """{tensor name: (cells, *shape)} of the initial weights of a stack."""
    cells = [unpack(read(spec["upstream"]["init"], "weights.safetensors")) for spec in stack.values()]
    return {name: torch.from_numpy(np.stack([cell[name] for cell in cells])) for name in cells[0]}


def sequences(stack, read):
    """The corpus that all cells of a stack share: {"training", "validation"}, int64 (count, context + 1)."""
    spec = next(iter(stack.values()))
    corpus = unpack(read(spec["upstream"]["corpus"], "sequences.safetensors"))
    return {name: torch.from_numpy(tokens[:, : spec["settings"]["model"]["context"] + 1]) for name, tokens in corpus.items()}


def loss(p, sequences, model, taps=None):
    """Mean cross-entropy (nats per token) of one cell on sequences (batch, context + 1); and the probes."""
    logits, out = transformer.forward(p, sequences[:, :-1], model, taps)
    return F.cross_entropy(logits, sequences[:, 1:].flatten()), out


@torch.no_grad()
def token_losses(p, sequences, model):
    """Cross-entropy of every token, float64 (cells, tokens), by chunks of CHUNK sequences."""
    logits = vmap(lambda p, tokens: transformer.forward(p, tokens, model)[0], in_dims=(0, None))
    found = []
    for part in sequences.split(CHUNK):
        z, target = logits(p, part[:, :-1]).double(), part[:, 1:].flatten()
        found.append(z.logsumexp(-1) - z[:, torch.arange(len(target)), target])
    return torch.cat(found, dim=1).numpy()
