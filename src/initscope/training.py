"""Stage `train`: a fixed number of updates of a whole stack, everything but the initial weights held equal."""

import logging
import time

import numpy as np

from initscope import stack as stacked
from initscope.batches import order
from initscope.models.layout import tensors
from initscope.optimizers import Optimizer
from initscope.probes import moments, norm
from initscope.tables import write
from initscope.tensors import pack

LOG = logging.getLogger(__name__)


def make(stack, read):
    cells = [spec["settings"] for spec in stack.values()]
    weights, curves = train(stacked.weights(stack, read), stacked.examples(stack, read), cells)
    for i, (digest, spec) in enumerate(stack.items()):
        final = {name: value[i].numpy() for name, value in weights.items()}
        about = {**spec["settings"]["init"], "updates": spec["settings"]["training"]["updates"], "digest": digest}
        yield (
            digest,
            {"curves.parquet": write("curves", spec["axes"], curves[i]), "weights.safetensors": pack(final, **about)},
        )


def train(weights, examples, cells):
    """Returns the final weights {name: (cells, ...)} and, per cell, the rows of its curve table.

    weights: the same at the start; examples: {"training", "validation"}, each (inputs, targets); cells: the settings of
    each, which differ in initial values and in those of the optimizer.
    """
    model, updates, batches = cells[0]["model"], cells[0]["training"]["updates"], cells[0]["batches"]
    kinds = {t.name: t.kind for t in tensors(model, cells[0]["corpus"])}
    batch_rows = order(batches, len(examples["training"][0]), updates + 1)
    optimizer = Optimizer(weights, [cell["training"] for cell in cells])
    curves = [[] for _ in next(iter(weights.values()))]
    recorded, progress, before = marks(updates), Progress(updates, len(curves)), None
    for update in range(updates + 1):
        batch = tuple(part[batch_rows[update]] for part in examples["training"])
        loss, out, gradients, _ = stacked.gradients(weights, batch, model)
        found = [{"update": update, "recorded": update in recorded, "training_loss": x} for x in loss.tolist()]
        if update in recorded:
            evaluate(found, weights, examples, model, batches["size"], whole=update in (0, updates))
            scales(found, weights, before, gradients, out["final_stream", None], kinds)
        for curve, row in zip(curves, found):
            curve.append(
                {**row, "finite": bool(np.isfinite([row["training_loss"], row.get("gradient_norm", 0.0)]).all())}
            )
        if update < updates:
            before = {name: value.clone() for name, value in weights.items()} if update + 1 in recorded else None
            optimizer.update(weights, gradients)
            progress.report(update + 1)
    return weights, curves


def marks(updates):
    """The updates at which everything is measured: 0, 1, 2, 5, 10, 20, 50, ... and the last."""
    steps = {digit * 10**power for power in range(len(str(updates))) for digit in (1, 2, 5)}
    return {0, updates, *(step for step in steps if step <= updates)}


def evaluate(found, weights, examples, model, batch, whole):
    """Add the validation loss to every cell's row; with `whole`, that of the training corpus too."""
    parts = {"validation_loss": "validation", **({"training_corpus_loss": "training"} if whole else {})}
    for column, part in parts.items():
        for row, losses in zip(found, stacked.losses(weights, examples[part], model, batch)):
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
