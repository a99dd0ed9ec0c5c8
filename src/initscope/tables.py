"""The Arrow schema of every table, and every read and write of one.

NaN and infinity are values and stay; null means "does not apply". Files hold no statistics (Parquet's min and max
leave NaN out, so that readers which push filters down lose exactly the NaN rows), no times and no host names.
"""

import io
import math
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

VERDICT = [
    real("first_update_ratio", "norm of the first update / norm of the initial weights"),
    real("weight_gradient_norm", "norm of the last gradient over the weights (without biases and norms)"),
    real("largest_gradient_norm", "largest norm of the gradient at a recorded update"),
    real("saturated", "share of flat hidden units, or of peaked attention rows if that is larger, at the last update"),
    text("outcome", "learned, slow, dead, unstable or diverged; what follows from training is null without it"),
    text("evidence", "the numbers behind the outcome"),
    whole("diverged_at", "first update with a loss or gradient that is not finite; null: none", "updates"),
]
TRAINED = [
    real("gradient_norm", "norm of the initial gradient"),
    real("initial_loss_validation", "mean loss on the validation sequences before the first update", NATS),
    real("final_loss_validation", "mean loss on the validation sequences after the last update", NATS),
    real("initial_x", "(initial validation loss - zero) / (baseline - zero), with zero the x_zero_loss"),
    real("final_x", "the same of the final validation loss"),
    *VERDICT,
]
PERSISTS = 0.8  # of the gap at n updates: what is left of it at 3 n
INTERVAL = "an interval that holds the median over seeds with 95 % or more; null under 6 seeds"


def with_interval(name, meaning, unit=""):
    """A median over seeds and its interval."""
    ends = [real(f"{name}_{end}", f"{end} end of {INTERVAL}", unit) for end in ("low", "high")]
    return [real(name, f"{meaning}, median over seeds", unit), *ends]


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
        flag("finite", "training loss and, where recorded, gradient norm are finite; after a loss of NaN all is NaN"),
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
        real("saturated", "share of hidden units with |phi'| < 0.02, on the training batch; recorded updates only"),
        real("peaked", "share of attention rows with a probability > 0.99; likewise; null without attention"),
    ],
    "cells": [
        real("logits_std", "std of the initial logits on the first batch"),
        real("residual_rms", "rms of the initial residual stream before the last norm"),
        real("ln_vocabulary", "loss of uniform predictions", NATS),
        real("predicted_initial_loss", "what theory predicts before the first update; null out of its range", NATS),
        real("loss_floor", "entropy rate of the source: no predictor loses less; null where none is known", NATS),
        real("x_zero_loss", "the loss at which x = 0: the floor; of a text, the entropy given the symbol before", NATS),
        real("baseline_loss", "unigram entropy of the targets: what biases alone reach (x = 1)", NATS),
        real("initial_loss_training_corpus", "mean loss on all training sequences before the first update", NATS),
        real("final_loss_training_corpus", "mean loss on all training sequences after the last update", NATS),
        *TRAINED,
        text("init_digest", "names the initial weights in the store"),
        text("audit_digest", "names the audit in the store"),
        text("train_digest", "names the training in the store"),
    ],
    "tried": [
        whole("round", "0: the study's own values; from 1: those that bisection chose between two of them"),
        *TRAINED,
    ],
    "brackets": [
        real("anchor", "value of the smallest final x: what the zone is built around; null: this seed learns nowhere"),
        real("lower_outside", "largest value tried below the zone, which did not learn; 0: beyond what was tried"),
        real("lower_inside", "smallest value of the zone"),
        real("upper_inside", "largest value of the zone"),
        real("upper_outside", "smallest value tried above it, which did not learn; infinite: beyond what was tried"),
        whole("holes", "values between the brackets that did not learn, each between two that did"),
        whole("apart", "values that learned outside the zone"),
        real("decades_least", "from inside to inside; 0 where nothing learned", "decades"),
        real("decades_greatest", "from outside to outside; infinite where a bracket is beyond", "decades"),
    ],
    "zones": [
        text("along", "the axis that the zone is an interval of"),
        whole("seeds", "seeds that were tried"),
        whole("learned", "seeds that learned somewhere: the brackets are theirs"),
        *with_interval("lower", "lower bracket; 0: beyond what was tried"),
        *with_interval("upper", "upper bracket; infinite: beyond what was tried"),
        whole("holes", "holes, over all seeds"),
        whole("apart", "values that learned outside the zone, over all seeds"),
        *with_interval("decades", "width of the zone, 0 where nothing learned", "decades"),
        *with_interval("wider", "width less that of norm `none`, paired by seed; null without it", "decades"),
        whole("cells", "cells that were trained"),
        whole("grid_cells", "cells that a grid of the final resolution would take"),
        text("zone", "the zone in words"),
    ],
    "cascade": [
        text("side", "inside, below or above the zone at n updates, a third of all"),
        text("outcome", "outcome at n updates"),
        real("x", "x at n updates"),
        real("x_later", "x at 3 n updates"),
        real("gap", "x less the median x of the same seed's cells inside the zone, at n updates"),
        real("gap_later", "the same at 3 n updates"),
        real("ratio", "gap_later / gap; infinite where the loss is not finite; null inside"),
        real("early_gradient_norm", "median gradient norm over the recorded ones of the first 10 updates"),
        real("early_update_ratio", "median update / weights over the recorded ones of the first 10 updates"),
    ],
    "persistence": [
        text("side", "below or above the zone"),
        text("outcome", "outcome at n updates"),
        whole("seeds", "seeds with such a cell; of several, the seed's median ratio counts"),
        *with_interval("ratio", "gap at 3 n / gap at n updates"),
        *with_interval("early_gradient_norm", "gradient norm of the first 10 updates"),
        *with_interval("early_update_ratio", "update / weights of the first 10 updates"),
        *with_interval("x_later", "x at 3 n updates"),
        flag("persists", f"is the whole interval of the ratio above this: {PERSISTS}; null under 6 seeds"),
    ],
    "claims": [
        text("claim", "its name"),
        text("says", "the claim in our words"),
        text("source", "the text and section in which it stands"),
        text("studies", "the studies that test it"),
        text("query", "what is compared, and when it counts as holding"),
        whole("cases", "cases that were measured"),
        whole("holding", "cases that hold"),
        text("verdict", "holds (in every case), holds within ... (the cases named), does not hold here, or not tested"),
        text("found", "the cases with their numbers; or why it is not tested"),
    ],
    "cases": [
        text("claim", "the claim that it belongs to"),
        text("case", "under which circumstances"),
        real("value", "what was measured"),
        real("low", "lower end of its interval (docs/claims.md); the value itself where that is exact"),
        real("high", "upper end of it"),
        real("least", "it holds where the value and its interval are at or above this; null: no such limit"),
        real("most", "it holds where the value and its interval are at or below this; null: no such limit"),
        flag("holds", "does it hold"),
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


# No Arrow copy of the schema (Parquet's own gives the same types) and no dictionaries: a third of a small file.
WRITTEN = {"compression": "zstd", "write_statistics": False, "store_schema": False, "use_dictionary": False}


def write(name, axes, rows):
    """Rows ({column: value}, without the axes) of one cell's table -> Parquet bytes.

    `axes`: the cell's {axis: value}, repeated in every row. ValueError for a column that the schema lacks.
    """
    return write_rows(name, axes, [{**axes, **row} for row in rows])


def write_rows(name, axes, rows):
    """Rows that carry their own axis values; `axes` gives the types."""
    wanted, rows = schema(name, axes), list(rows)
    if unknown := {column for row in rows for column in row}.difference(wanted.names):
        raise ValueError(f"table {name} has no column {', '.join(sorted(unknown))}")
    rows = [{name: one_nan(value) for name, value in row.items()} for row in rows]
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=wanted), out, **WRITTEN)
    return out.getvalue()


def one_nan(value):
    """NaN has a sign and a payload, which depend on the kernel that made it, and so on the stack: all become one."""
    return math.nan if value != value else value


def read(data):
    """Parquet bytes -> Arrow table.

    Without threads and without Python's file objects: with either the process may abort at exit (apache/arrow#34314),
    and `read_table` reads ahead in a thread of its own, whatever `use_threads` says.
    """
    return pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)


def rows(data):
    return read(data).to_pylist()
