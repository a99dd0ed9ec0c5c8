"""Stage `train`: a fixed number of updates of a whole stack, everything but the initial weights held equal."""

import logging
import time

import numpy as np
import torch

from initscope import stack as stacked
from initscope.batches import order
from initscope.models.layout import tensors
from initscope.probes import moments, norm
from initscope.tables import write
from initscope.tensors import pack

LOG = logging.getLogger(__name__)


def make(stack, read):
    settings = next(iter(stack.values()))["settings"]
    kinds = {t.name: t.kind for t in tensors(settings["model"], settings["corpus"]["vocabulary"])}
    weights, curves = train(stacked.weights(stack, read), stacked.sequences(stack, read), kinds, settings)
    for i, (digest, spec) in enumerate(stack.items()):
        final = {name: value[i].numpy() for name, value in weights.items()}
        about = {**spec["settings"]["init"], "updates": settings["training"]["updates"], "digest": digest}
        yield (
            digest,
            {"curves.parquet": write("curves", spec["axes"], curves[i]), "weights.safetensors": pack(final, **about)},
        )


def train(weights, sequences, kinds, settings):
    """Returns the final weights {name: (cells, ...)} and, per cell, the rows of its curve table.

    weights: the same at the start; sequences: {"training", "validation"}; kinds: {tensor name: kind}.
    """
    model, updates = settings["model"], settings["training"]["updates"]
    batches = order(settings["batches"], len(sequences["training"]), updates + 1)
    adam = Adam(weights, settings["training"])
    curves = [[] for _ in next(iter(weights.values()))]
    recorded, progress, before = marks(updates), Progress(updates, len(curves)), None
    for update in range(updates + 1):
        loss, out, gradients, _ = stacked.gradients(weights, sequences["training"][batches[update]], model)
        found = [{"update": update, "recorded": update in recorded, "training_loss": x} for x in loss.tolist()]
        if update in recorded:
            evaluate(found, weights, sequences, model, whole=update in (0, updates))
            scales(found, weights, before, gradients, out["final_stream", None], kinds)
        for curve, row in zip(curves, found):
            curve.append(
                {**row, "finite": bool(np.isfinite([row["training_loss"], row.get("gradient_norm", 0.0)]).all())}
            )
        if update < updates:
            before = {name: value.clone() for name, value in weights.items()} if update + 1 in recorded else None
            adam.update(weights, gradients)
            progress.report(update + 1)
    return weights, curves


def marks(updates):
    """The updates at which everything is measured: 0, 1, 2, 5, 10, 20, 50, ... and the last."""
    steps = {digit * 10**power for power in range(len(str(updates))) for digit in (1, 2, 5)}
    return {0, updates, *(step for step in steps if step <= updates)}


def evaluate(found, weights, sequences, model, whole):
    """Add the validation loss to every cell's row; with `whole`, that of the training corpus too."""
    parts = {"validation_loss": "validation", **({"training_corpus_loss": "training"} if whole else {})}
    for column, part in parts.items():
        for row, losses in zip(found, stacked.token_losses(weights, sequences[part], model)):
            row[column] = float(losses.mean())


def scales(found, weights, before, gradients, stream, kinds):
    """Add gradient norms, the update-to-weight ratio and the rms of the residual stream to every cell's row."""
    for i, row in enumerate(found):
        by_kind = {
            kind: [gradients[name][i].numpy() for name in kinds if kinds[name] == kind] for kind in kinds.values()
        }
        row["gradient_norm"] = norm(*(gradient for group in by_kind.values() for gradient in group))
        row |= {f"gradient_norm_{kind}": norm(*group) for kind, group in by_kind.items()}
        row["residual_rms"] = moments(stream[i].numpy())["rms"]
        if before:
            moved = [(weights[name][i] - before[name][i]).numpy() for name in kinds]
            row["update_ratio"] = norm(*moved) / norm(*(before[name][i].numpy() for name in kinds))


class Adam:
    """Adam (arXiv 1412.6980, Algorithm 1) on stacked tensors. Each entry is updated by itself, so no cell sees another.

    m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2;  w <- w - rate (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)
    """

    def __init__(self, weights, training):
        self.rate, self.eps, (self.b1, self.b2) = training["learning_rate"], training["eps"], training["betas"]
        self.m = {name: torch.zeros_like(value) for name, value in weights.items()}
        self.v = {name: torch.zeros_like(value) for name, value in weights.items()}
        self.t = 0

    def update(self, weights, gradients):
        """Change the weights in place."""
        self.t += 1
        for name, g in gradients.items():
            m = self.m[name].mul_(self.b1).add_(g, alpha=1 - self.b1)
            v = self.v[name].mul_(self.b2).addcmul_(g, g, value=1 - self.b2)
            # rsqrt().reciprocal(): the last bit of torch's float32 sqrt depends on the CPU
            root = (v / (1 - self.b2**self.t)).rsqrt_().reciprocal_().add_(self.eps)
            weights[name].addcdiv_(m / (1 - self.b1**self.t), root, value=-self.rate)


class Progress:
    """A log line for every tenth of the updates."""

    def __init__(self, updates, cells):
        self.updates, self.cells, self.start = updates, cells, time.monotonic()

    def report(self, done):
        if done * 10 // self.updates > (done - 1) * 10 // self.updates:
            rate = done / (time.monotonic() - self.start)
            LOG.info(
                "%d of %d updates, %d cells, %.0f updates/s, %.0f s left",
                done,
                self.updates,
                self.cells,
                rate,
                (self.updates - done) / rate,
            )
