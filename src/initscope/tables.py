"""The Arrow schema of every table, and every read and write of one.

NaN and infinity are values and stay; null means "does not apply". Files hold no statistics (Parquet's min and max
leave NaN out, so that readers which push filters down lose exactly the NaN rows), no times and no host names.
"""

import io
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

QUANTILES = {f"q{percent:02d}": percent / 100 for percent in (1, 5, 25, 50, 75, 95, 99)}
KINDS = (
    "token_embedding",
    "position_embedding",
    "query",
    "key",
    "value",
    "attention_out",
    "mlp_gate",
    "mlp_in",
    "mlp_out",
    "input",
    "hidden",
    "branch_out",
    "head",
    "norm_scale",
    "norm_offset",
    "bias",
)


@dataclass(frozen=True)
class Column:
    name: str
    type: pa.DataType
    meaning: str
    unit: str = ""


def text(name, meaning):
    return Column(name, pa.string(), meaning)


def whole(name, meaning, unit=""):
    return Column(name, pa.int64(), meaning, unit)


def real(name, meaning, unit=""):
    return Column(name, pa.float64(), meaning, unit)


def flag(name, meaning):
    return Column(name, pa.bool_(), meaning)


NATS = "nats per token"
MOMENTS = [
    real("mean", "mean"),
    real("measured_std", "standard deviation about the mean (divisor n)"),
    real("rms", "root of the mean square"),
    real("min", "smallest value"),
    real("max", "largest value"),
    whole("n_nonfinite", "values that are NaN or infinite"),
    flag("finite", "no value is NaN or infinite"),
]

TABLES = {
    "parameters": [
        text("tensor", "name of the parameter tensor"),
        text("kind", "what the tensor is for; schemes assign a distribution by kind"),
        whole("layer", "block, from 0; null outside the blocks"),
        text("shape", "dimensions, as rows x columns"),
        whole("numel", "entries"),
        whole("fan_in", "inputs that an output unit reads; null for biases and norms"),
        whole("fan_out", "outputs that an input unit reaches; null for biases and norms"),
        text("scheme", "initialization scheme"),
        text("distribution", "distribution drawn from, or constant"),
        real("declared_std", "std of the scheme's table for this tensor"),
        real("expected_std", "the same after truncation: what the sample should show"),
        *MOMENTS,
        real("kurtosis", "E (x - mean)^4 / std^4: 3 for a normal; null for constants"),
        real("largest", "largest |x| in units of expected_std; null for constants"),
        real("z", "(measured_std - expected_std) / standard error; null for constants"),
        flag("check", "does the tensor start as declared: |z| <= 4, within its bound, orthonormal; or its constant"),
    ],
    "signals": [
        text("probe", "named point of the network (forward), stream or parameter tensor (backward)"),
        whole("layer", "block, from 0; null outside the blocks"),
        text("direction", "forward: the value; backward: the gradient of the batch's mean loss"),
        whole("n", "values measured"),
        *MOMENTS,
        *[real(name, f"quantile {share:g}, linear interpolation") for name, share in QUANTILES.items()],
        real("expected_mean", "what theory predicts for the mean; null where it has no formula or is out of range"),
        real("expected_rms", "what theory predicts for the rms; null likewise"),
        real("expected_scatter", "predicted relative scatter from seed to seed; null likewise"),
        real("relative_error", "measured / expected - 1; null likewise"),
    ],
    "curves": [
        whole("update", "optimizer updates made so far; row 0 is before the first", "updates"),
        flag("recorded", "is it one of the updates at which everything is measured"),
        real("training_loss", "mean cross-entropy on the batch that the next update uses", NATS),
        flag("finite", "training loss and, where recorded, gradient norm are finite"),
        real("validation_loss", "mean cross-entropy on the validation sequences; null between recorded updates", NATS),
        real("training_corpus_loss", "mean cross-entropy on all training sequences; first and last update only", NATS),
        real("gradient_norm", "Euclidean norm of the whole gradient; recorded updates only"),
        *[
            real(f"gradient_norm_{kind}", f"the same over tensors of kind {kind}; null where the model has none")
            for kind in KINDS
        ],
        real(
            "update_ratio",
            "norm of the change made by this update / norm of the weights before; recorded, from update 1",
        ),
        real(
            "residual_rms",
            "rms of the residual stream before the last norm, on the training batch; recorded updates only",
        ),
    ],
    "cells": [
        real("logits_std", "std of the initial logits on the first batch"),
        real("residual_rms", "rms of the initial residual stream before the last norm"),
        real("gradient_norm", "norm of the initial gradient"),
        real("initial_loss_training_corpus", "mean loss on all training sequences before the first update", NATS),
        real("initial_loss_validation", "mean loss on the validation sequences before the first update", NATS),
        real("ln_vocabulary", "loss of uniform predictions", NATS),
        real("predicted_initial_loss", "what theory predicts before the first update; null out of its range", NATS),
        real("loss_floor", "entropy rate of the source: no predictor loses less; null where none is known", NATS),
        real("x_zero_loss", "the loss at which x = 0: the floor; of a text, the entropy given the symbol before", NATS),
        real("baseline_loss", "unigram entropy of the targets: what biases alone reach (x = 1)", NATS),
        real("final_loss_training_corpus", "mean loss on all training sequences after the last update", NATS),
        real("final_loss_validation", "mean loss on the validation sequences after the last update", NATS),
        real("initial_x", "(initial validation loss - zero) / (baseline - zero), with zero the x_zero_loss"),
        real("final_x", "the same of the final validation loss"),
        real("first_update_ratio", "norm of the first update / norm of the initial weights"),
        text(
            "outcome",
            "learned, slow, dead, unstable or diverged; this and all that follows training is null without it",
        ),
        text("evidence", "the numbers behind the outcome"),
        whole(
            "diverged_at",
            "first update with a loss or gradient that is not finite; null where there is none",
            "updates",
        ),
        text("init_digest", "names the initial weights in the store"),
        text("audit_digest", "names the audit in the store"),
        text("train_digest", "names the training in the store"),
    ],
}


def axis_columns(axes):
    """The columns that give a row's place in the grid, typed as the axis values are."""
    types = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
    return [Column(axis, types[type(value)], "axis of the study") for axis, value in axes.items()]


def schema(name, axes):
    """The axes, then the table's columns; one that is an axis (scheme) stands among those only."""
    columns = [*axis_columns(axes), *(column for column in TABLES[name] if column.name not in axes)]
    return pa.schema([(column.name, column.type) for column in columns])


def write(name, axes, rows):
    """Rows ({column: value}, without the axes) of one cell's table -> Parquet bytes.

    `axes`: the cell's {axis: value}, repeated in every row. ValueError for a column that the schema lacks.
    """
    return write_rows(name, axes, [{**axes, **row} for row in rows])


def write_rows(name, axes, rows):
    """Rows that carry their own axis values; `axes` gives the types."""
    wanted = schema(name, axes)
    for row in rows:
        if unknown := row.keys() - set(wanted.names):
            raise ValueError(f"table {name} has no column {', '.join(sorted(unknown))}")
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=wanted), out, compression="zstd", write_statistics=False)
    return out.getvalue()


def read(data):
    """Parquet bytes -> Arrow table. (Threaded reads from Python objects may abort at exit: apache/arrow#34314.)"""
    return pq.read_table(io.BytesIO(data), use_threads=False)


def rows(data):
    return read(data).to_pylist()
