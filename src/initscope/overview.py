"""What the studies under results/ show, for the terminal: outcomes and losses; zones, how sure, what was held fixed."""

import textwrap
from pathlib import Path

import pandas as pd

from initscope.brackets import zone_rows
from initscope.intervals import FEWEST
from initscope.spelling import spelled
from initscope.store import record

MOST = 24  # lines of one study; more are better read as a figure
SHOWN = ("corpus", "batches", "model", "init", "training")


def overview(results="results"):
    """A table of all studies with cells, and the zone of every study that has one."""
    found = sorted({path.parent.parent for path in Path(results).glob("*/summary/*.parquet")})
    if not found:
        raise SystemExit(f"{results}: no study has a summary there yet; run snakemake --cores all")
    rows = [row for study in found for row in lines(study)]
    table = pd.DataFrame(rows).to_string(index=False, justify="left") + "\n" if rows else ""
    zones = "\n".join(text for study in found for text in zones_of(study))
    drawn = [study for study in found if (study / "figures").exists()]
    figures = "\n".join(f"figures of {study.name}: {study / 'figures'}/*.png" for study in drawn)
    return f"\n{table}\n{zones}\nLosses in nats: median over the cells of a line.\n{figures}"


def cells_of(study):
    """The cell table; None where the study has none."""
    path = study / "summary" / "cells.parquet"
    return pd.read_parquet(path) if path.exists() else None


def axes_of(cells):
    columns = list(cells.columns)
    return [axis for axis in columns[: columns.index("logits_std")] if axis != "seed"]


def lines(study):
    """One line per point of the study's grid."""
    cells = cells_of(study)
    if cells is None:
        return
    axes = axes_of(cells)
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
    return "" if pd.isna(value) else f"{value:.4f}" if value < 1e4 else f"{value:.4g}"


def zones_of(study):
    """Where cells learn, how sure that is, and all that was held fixed."""
    settings = settings_of(study)
    zones, axes = zone_table(study, settings.get("zone", {}).get("axis", "std"))
    if zones is None or not len(zones):
        return
    yield f"{study.name}: where cells learn (in brackets: an interval that holds the median over seeds with 95 %)"
    if len(zones) > MOST:
        yield f"  {len(zones)} points, see its figures"
    for row in zones.to_dict("records") if len(zones) <= MOST else ():
        point = ", ".join(f"{axis} {spelled(row[axis])}" for axis in axes)
        yield textwrap.indent(": ".join(filter(None, [point, row["zone"] + sure(row)])), "  ")
    yield textwrap.fill(
        held_fixed(settings, [*axes, row["along"], "seed"]), 116, initial_indent="  ", subsequent_indent="    "
    )
    yield "  Where it lies depends on all of that; no std is right by itself.\n"


def zone_table(study, axis):
    """The table `zones`, and its axes; without one, of the cells of a study that varies the std: nothing is refined."""
    path = study / "summary" / "zones.parquet"
    if path.exists():
        zones = pd.read_parquet(path)
        return zones, list(zones.columns[: zones.columns.get_loc("along")])
    cells = cells_of(study)
    if cells is None or axis not in cells or cells[axis].nunique() < 3 or cells["outcome"].isna().any():
        return None, []
    cells = cells if "seed" in cells else cells.assign(seed=0)
    axes = [name for name in axes_of(cells) if name != axis]
    return pd.DataFrame(zone_rows(cells.to_dict("records"), axis, axes)), axes


def sure(row):
    """What makes it less sure than it looks."""
    few = f"; {row['learned']} seeds are too few for an interval" if row["learned"] < FEWEST else ""
    return few + (f"; {row['holes']} holes, cells inside that did not learn" if row["holes"] else "")


def settings_of(study):
    """The settings in the record of what was measured, all of them."""
    records = sorted(study.glob("tried/**/_*.json")) or sorted(study.glob("curves/**/_*.json"))
    found = record(records[0]) if records else None
    return found["spec"]["settings"] if found else {}


def held_fixed(settings, varied):
    """Every setting that was the same for all cells, in words."""
    parts = [
        f"{name}: " + ", ".join(f"{key} {spelled(value)}" for key, value in settings[name].items() if key not in varied)
        for name in SHOWN
        if name in settings
    ]
    return "held fixed: " + "; ".join(parts)
