"""What the studies under results/ show, as a short table for the terminal."""

from pathlib import Path

import pandas as pd

from initscope.spelling import spelled

MOST = 24  # lines of one study; more are better read as a figure


def overview(results="results"):
    """One line per study and point of its grid: cells, outcomes, initial and final loss, and where the figures are."""
    found = [cells.parent.parent for cells in sorted(Path(results).glob("*/summary/cells.parquet"))]
    if not found:
        raise SystemExit(f"{results}: no study has a summary there yet; run snakemake --cores all")
    rows = [row for study in found for row in lines(study)]
    table = pd.DataFrame(rows).to_string(index=False, justify="left")
    figures = "\n".join(f"figures of {study.name}: {study / 'figures'}/*.png" for study in found)
    return f"\n{table}\n\nLosses in nats: median over the cells of a line.\n{figures}"


def lines(study):
    cells = pd.read_parquet(study / "summary" / "cells.parquet")
    columns = list(cells.columns)
    axes = [axis for axis in columns[: columns.index("logits_std")] if axis != "seed"]
    points = {
        ", ".join(f"{axis} {spelled(value)}" for axis, value in zip(axes, values)): group
        for values, group in (cells.groupby(axes, sort=False) if axes else [((), cells)])
    }
    if len(points) > MOST:
        points = {f"{len(points)} points, see its figures": cells}
    for point, group in points.items():
        yield {
            "study": study.name,
            "point": point,
            "cells": len(group),
            "outcomes": ", ".join(f"{count} {name}" for name, count in group["outcome"].value_counts().items()),
            "initial loss": number(group["initial_loss_training_corpus"].median()),
            "ln V": number(group["ln_vocabulary"].iloc[0]),
            "predicted": number(group["predicted_initial_loss"].median()),
            "final loss": number(group["final_loss_validation"].median()),
            "floor": number(group["loss_floor"].iloc[0]),
        }


def number(value):
    return "" if pd.isna(value) else f"{value:.4f}"
