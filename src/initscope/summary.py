"""Stage `summary`: one row per cell, and a few numbers for DVC and for people."""

import json
import math
from statistics import median

from initscope.spelling import spelled
from initscope.tables import rows, write_rows
from initscope.verdicts import diverged_at, outcome, scaled

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
        up = spec["upstream"]
        source = json.loads(read(up["corpus"], "source.json"))
        cells = [cell(*keys, source, spec, read) for keys in zip(up["init"], up["audit"], up["train"])]
        yield (
            digest,
            {
                "cells.parquet": write_rows("cells", {axis: values[0] for axis, values in spec["axes"].items()}, cells),
                "metrics.json": json.dumps(metrics(cells, list(spec["axes"])), indent=1).encode() + b"\n",
            },
        )


def cell(init, audit, train, source, spec, read):
    """The row of one cell, from its signal and curve tables."""
    signals = {
        (row["probe"], row["direction"]): row for row in rows(read(audit, "signals.parquet")) if row["layer"] is None
    }
    curve = rows(read(train, "curves.parquet"))
    first, last = curve[0], curve[-1]
    floor, baseline = source["entropy_rate"], source["unigram_entropy"]
    verdict, evidence = outcome(curve, floor, baseline, spec["settings"]["outcome"])
    return {
        **{axis: first[axis] for axis in spec["axes"]},
        "logits_std": signals["logits", "forward"]["measured_std"],
        "residual_rms": signals["final_stream", "forward"]["rms"],
        "gradient_norm": first["gradient_norm"],
        "initial_loss_training_corpus": signals["loss_training_corpus", "forward"]["mean"],
        "initial_loss_validation": signals["loss_validation", "forward"]["mean"],
        "ln_vocabulary": source["ln_vocabulary"],
        "predicted_initial_loss": signals["loss_training_corpus", "forward"]["expected_mean"],
        "loss_floor": floor,
        "baseline_loss": baseline,
        "final_loss_training_corpus": last["training_corpus_loss"],
        "final_loss_validation": last["validation_loss"],
        "initial_x": scaled(first["validation_loss"], floor, baseline),
        "final_x": scaled(last["validation_loss"], floor, baseline),
        "first_update_ratio": curve[1]["update_ratio"],
        "outcome": verdict,
        "evidence": evidence,
        "diverged_at": diverged_at(curve),
        "init_digest": init,
        "audit_digest": audit,
        "train_digest": train,
    }


def metrics(cells, axes):
    """The numbers of a single cell; of a grid, their median, minimum and maximum over seeds at every other point."""
    if len(cells) == 1:
        return {**{name: finite(cells[0][name]) for name in METRICS}, "outcome": cells[0]["outcome"]}
    groups = {}
    for row in cells:
        point = "/".join(f"{axis}~{spelled(row[axis])}" for axis in axes if axis != "seed") or "all"
        groups.setdefault(point, []).append(row)
    return {
        point: {**{name: spread([row[name] for row in group]) for name in METRICS}, "outcomes": counts(group)}
        for point, group in groups.items()
    }


def spread(values):
    """Median, minimum and maximum. JSON has no NaN: where one value is not finite, so is each of these, as null."""
    if any(finite(value) is None for value in values):
        return {"median": None, "min": None, "max": None}
    return {"median": median(values), "min": min(values), "max": max(values)}


def counts(cells):
    found = [row["outcome"] for row in cells]
    return {name: found.count(name) for name in sorted(set(found))}


def finite(value):
    return value if value is not None and math.isfinite(value) else None
