"""Stage `train`: a fixed number of updates of a whole stack, everything but the initial weights held equal."""

import logging
import time

import numpy as np

from initscope import stack as stacked
from initscope.batches import order
from initscope.marks import marks
from initscope.models.layout import tensors
from initscope.optimizers import Optimizer
from initscope.probes import moments, norms_of, saturation, sums_of_squares
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


def train(weights, examples, cells, whole=True):
    """Returns the final weights {name: (cells, ...)} and, per cell, the rows of its curve table.

    weights: the same at the start; examples: {"training", "validation"}, each (inputs, targets); cells: the settings of
    each, which differ in initial values and in those of the optimizer; whole: also measure, before and after training,
    the loss on the whole training corpus, which takes as long as many updates.
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
            evaluate(found, weights, examples, model, batches["size"], whole and update in (0, updates))
            scales(found, weights, before, gradients, kinds)
            signals(found, out, model)
        for curve, row in zip(curves, found):
            curve.append(
                {**row, "finite": bool(np.isfinite([row["training_loss"], row.get("gradient_norm", 0.0)]).all())}
            )
        if update < updates:
            before = {name: value.clone() for name, value in weights.items()} if update + 1 in recorded else None
            optimizer.update(weights, gradients)
            progress.report(update + 1)
    return weights, curves


def evaluate(found, weights, examples, model, batch, whole):
    """Add the validation loss to every cell's row; with `whole`, that of the training corpus too."""
    parts = {"validation_loss": "validation", **({"training_corpus_loss": "training"} if whole else {})}
    for column, part in parts.items():
        for row, losses in zip(found, stacked.losses(weights, examples[part], model, batch)):
            row[column] = float(losses.mean())


def scales(found, weights, before, gradients, kinds):
    """Add gradient norms and the update-to-weight ratio to every cell's row."""
    squares = {name: sums_of_squares(gradients[name]) for name in kinds}
    norms = {"gradient_norm": norms_of(squares.values())}
    for kind in dict.fromkeys(kinds.values()):
        norms[f"gradient_norm_{kind}"] = norms_of(squares[name] for name in kinds if kinds[name] == kind)
    if before:
        moved = norms_of(sums_of_squares(weights[name] - before[name]) for name in kinds)
        with np.errstate(invalid="ignore", divide="ignore"):  # cells that are no longer finite stay in the stack
            norms["update_ratio"] = moved / norms_of(sums_of_squares(before[name]) for name in kinds)
    for i, row in enumerate(found):
        row |= {name: float(values[i]) for name, values in norms.items()}


def signals(found, out, model):
    """Add the rms of the residual stream, and how far units and attention are saturated, to every cell's row."""
    shares = saturation(out, model)
    for i, row in enumerate(found):
        row["residual_rms"] = moments(out["final_stream", None][i].numpy())["rms"]
        row |= {name: of_cells[i] for name, of_cells in shares.items()}


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
