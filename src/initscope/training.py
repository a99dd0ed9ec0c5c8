"""Stage `train`: a fixed number of updates of a whole stack, everything but the initial weights held equal."""

import logging
import math
import time

import numpy as np

from initscope import stack as stacked
from initscope.arithmetic import without_subnormals
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
    found = train(stacked.weights(stack, read), stacked.examples(stack, read), cells)
    for (digest, spec), weights, curve in zip(stack.items(), *found):
        about = {**spec["settings"]["init"], "updates": spec["settings"]["training"]["updates"], "digest": digest}
        final = pack({name: value.cpu().numpy() for name, value in weights.items()}, **about)
        yield digest, {"curves.parquet": write("curves", spec["axes"], curve), "weights.safetensors": final}


@without_subnormals()
def train(weights, examples, cells, whole=True):
    """Returns, of every cell, the final weights {name: tensor} and the rows of its curve table.

    weights: {name: (cells, ...)} at the start; examples: {"training", "validation"}, each (inputs, targets); cells: the
    settings of each, which differ in initial values and in those of the optimizer; whole: also measure, before and
    after training, the loss on the whole training corpus, which takes as long as many updates.
    """
    model, updates, batches = cells[0]["model"], cells[0]["training"]["updates"], cells[0]["batches"]
    kinds = {t.name: t.kind for t in tensors(model, cells[0]["corpus"])}
    batch_rows = order(batches, len(examples["training"][0]), updates + 1)
    going, curves = Going(weights, [cell["training"] for cell in cells]), [[] for _ in cells]
    recorded, progress, before = marks(updates), Progress(updates), None
    for update in range(updates + 1):
        batch = tuple(part[batch_rows[update]] for part in examples["training"])
        loss, out, gradients, _ = stacked.gradients(going.weights, batch, model)
        found = [{"update": update, "recorded": update in recorded, "training_loss": x} for x in loss.tolist()]
        if update in recorded:
            evaluate(found, going.weights, examples, model, batches["size"], whole and update in (0, updates))
            scales(found, going.weights, before, gradients, kinds)
            signals(found, out, model)
        for cell, row in zip(going.cells, found):
            curves[cell].append({**row, "finite": finite(row)})
        gradients = going.without_the_lost(loss, gradients)
        if update == updates or not going.cells:
            break
        before = {name: value.clone() for name, value in going.weights.items()} if update + 1 in recorded else None
        going.optimizer.update(gradients)
        progress.report(update + 1, len(going.cells))
    return going.end(), [whole_curve(curve, recorded, updates) for curve in curves]


class Going:
    """The cells of a stack that still train. `cells`: which of them; `weights`: theirs, which updates change in place.

    A cell whose loss is not a number leaves: after the update its head's bias would be NaN, and every later loss. Its
    final weights are those that gave this loss. A cell alone goes on beside a twin, as it began (`stack.stacked`).
    """

    def __init__(self, weights, trainings):
        self.optimizer = Optimizer(weights, trainings)
        self.cells, self.final = list(range(len(trainings))), {}

    @property
    def weights(self):
        return self.optimizer.weights

    def without_the_lost(self, losses, gradients):
        """Let the cells go whose loss is not a number; the gradients of those that stay."""
        stay = [place for place, loss in zip(range(len(self.cells)), losses.tolist()) if not math.isnan(loss)]
        if len(stay) == len(self.cells):
            return gradients
        self.final |= self.now()
        self.cells = [self.cells[place] for place in stay]
        stay = stay * 2 if len(stay) == 1 else stay
        self.optimizer.keep(stay)
        return {name: x[stay] for name, x in gradients.items()}

    def now(self):
        """{cell: its weights}"""
        return {cell: {name: x[i] for name, x in self.weights.items()} for i, cell in enumerate(self.cells)}

    def end(self):
        """The final weights of every cell, the lost ones among them."""
        found = self.final | self.now()
        return [found[cell] for cell in sorted(found)]


def finite(row):
    return bool(np.isfinite([row["training_loss"], row.get("gradient_norm", 0.0)]).all())


def whole_curve(curve, recorded, updates):
    """A cell's rows, with those that it did not live to see: what would have been measured there is NaN."""
    lost = [{"update": update, "recorded": update in recorded} for update in range(len(curve), updates + 1)]
    for row in lost:
        absent = {"training_corpus_loss"} if row["update"] < updates else set()
        columns = {*curve[0], "update_ratio"} - absent if row["recorded"] else {"training_loss"}
        row |= {**dict.fromkeys(columns - row.keys(), math.nan), "finite": False}
    return curve + lost


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
        with np.errstate(invalid="ignore", divide="ignore"):  # gradients may be infinite where the loss is not
            norms["update_ratio"] = moved / norms_of(sums_of_squares(before[name]) for name in kinds)
    for i, row in enumerate(found):
        row |= {name: float(values[i]) for name, values in norms.items()}


def signals(found, out, model):
    """Add the rms of the residual stream, and how far units and attention are saturated, to every cell's row."""
    shares = saturation(out, model)
    for i, row in enumerate(found):
        row["residual_rms"] = moments(out["final_stream", None][i].cpu().numpy())["rms"]
        row |= {name: of_cells[i] for name, of_cells in shares.items()}


class Progress:
    """A log line for every tenth of the updates."""

    def __init__(self, updates):
        self.updates, self.start = updates, time.monotonic()

    def report(self, done, cells):
        if done * 10 // self.updates > (done - 1) * 10 // self.updates:
            rate = done / (time.monotonic() - self.start)
            left = (self.updates - done) / rate
            LOG.info("%d of %d updates, %d cells, %.0f updates/s, %.0f s left", done, self.updates, cells, rate, left)
