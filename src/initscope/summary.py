"""Stage `summary`: one row per cell, and a few numbers for DVC and for people."""

import csv
import io
import json
import math
from statistics import median

from initscope.spelling import spelled
from initscope.tables import rows, write_rows
from initscope.verdicts import verdict

METRICS = (
    "initial_loss_training_corpus",
    "initial_loss_validation",
    "ln_vocabulary",
    "predicted_initial_loss",
    "loss_floor",
    "final_loss_validation",
    "final_x",
)


def make(stack, read):
    for digest, spec in stack.items():
        up, axes = spec["upstream"], list(spec["axes"])
        source = json.loads(read(up["corpus"], "source.json"))
        cells, losses = [], {}
        for keys in by_cell(up):
            signals = signal_rows(read(keys["audit"], "signals.parquet")) if "audit" in keys else None
            curve = rows(read(keys["train"], "curves.parquet")) if "train" in keys else []  # of one cell at a time
            first = curve[0] if curve else signals["logits", "forward"]
            cells.append(
                {
                    **{axis: first[axis] for axis in axes},
                    **{f"{stage}_digest": key for stage, key in keys.items()},
                    **losses_of(source),
                    **(trained(curve, source, spec["settings"]["outcome"]) if curve else {}),
                    **(audited(signals) if signals else {}),  # a sweep leaves out the training corpus
                }
            )
            for row in (row for row in curve if row["recorded"]):
                at = losses.setdefault(row["update"], {}).setdefault(point(row, axes), [])
                at.append(row["validation_loss"])
        types = {axis: values[0] for axis, values in spec["axes"].items()}
        yield (
            digest,
            {
                "cells.parquet": write_rows("cells", types, cells),
                "loss_curves.csv": loss_curves(losses).encode(),
                "metrics.json": json.dumps(metrics(cells, axes), indent=1).encode() + b"\n",
            },
        )


def by_cell(up):
    """{stage: digest} of every cell; a sweep is a training too."""
    stages = {"init": "init", "audit": "audit", "train": "train", "sweep": "train"}
    found = {named: up[stage] for stage, named in stages.items() if stage in up}
    return [dict(zip(found, keys)) for keys in zip(*found.values())]


def signal_rows(data):
    """{(probe, direction): row}, of the rows outside the blocks."""
    return {(row["probe"], row["direction"]): row for row in rows(data) if row["layer"] is None}


def losses_of(source):
    """The losses that mean something, whatever the network."""
    return {
        "ln_vocabulary": source["ln_vocabulary"],
        "loss_floor": source["entropy_rate"],
        "x_zero_loss": source["x_zero_loss"],
        "baseline_loss": source["unigram_entropy"],
    }


def audited(signals):
    """What the audit adds to the row of a cell."""
    return {
        "logits_std": signals["logits", "forward"]["measured_std"],
        "residual_rms": signals["final_stream", "forward"]["rms"],
        "initial_loss_training_corpus": signals["loss_training_corpus", "forward"]["mean"],
        "initial_loss_validation": signals["loss_validation", "forward"]["mean"],
        "predicted_initial_loss": signals["loss_training_corpus", "forward"]["expected_mean"],
    }


def trained(curve, source, limits):
    """What training adds to the row of a cell."""
    return {
        "initial_loss_training_corpus": curve[0]["training_corpus_loss"],
        "final_loss_training_corpus": curve[-1]["training_corpus_loss"],
        **verdict(curve, source, limits),
    }


def metrics(cells, axes):
    """The numbers of a single cell; of a grid, their median, minimum and maximum over seeds at every other point."""
    if len(cells) == 1:
        return {**{name: finite(cells[0].get(name)) for name in METRICS}, "outcome": cells[0].get("outcome")}
    groups = {}
    for row in cells:
        groups.setdefault(point(row, axes), []).append(row)
    return {
        name: {**{metric: spread([row.get(metric) for row in group]) for metric in METRICS}, "outcomes": counts(group)}
        for name, group in groups.items()
    }


def point(row, axes):
    """Where in the grid a row stands, whatever its seed: `std~0.1`; `cell` where the study varies nothing else."""
    return "/".join(f"{axis}~{spelled(row[axis])}" for axis in axes if axis != "seed") or "cell"


def loss_curves(losses):
    """CSV that DVC plots, of {recorded update: {point of the grid: validation losses of its seeds}}.

    A column per point, the median over seeds; empty: not finite.
    """
    lines = [{"update": update, **{p: spread(of)["median"] for p, of in at.items()}} for update, at in losses.items()]
    out = io.StringIO()
    writer = csv.DictWriter(out, list(lines[0]) if lines else ["update"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return out.getvalue()


def spread(values):
    """Median, minimum and maximum. JSON has no NaN: where one value is not finite, so is each of these, as null."""
    if any(finite(value) is None for value in values):
        return {"median": None, "min": None, "max": None}
    return {"median": median(values), "min": min(values), "max": max(values)}


def counts(cells):
    found = [row["outcome"] for row in cells if "outcome" in row]
    return {name: found.count(name) for name in sorted(set(found))}


def finite(value):
    return value if value is not None and math.isfinite(value) else None
