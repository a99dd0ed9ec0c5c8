"""What the studies under results/ show, as a short table for the terminal."""

from pathlib import Path

import pandas as pd

from initscope.spelling import spelled


def overview(results="results"):
    """One line per study and std: cells, outcomes, initial and final loss, and where the figures are."""
    found = [cells.parent.parent for cells in sorted(Path(results).glob("*/summary/cells.parquet"))]
    if not found:
        raise SystemExit(f"{results}: no study has a summary there yet; run snakemake --cores all")
    rows = [row for study in found for row in lines(study)]
    table = pd.DataFrame(rows).to_string(index=False, justify="left")
    figures = "\n".join(f"figures of {study.name}: {study / 'figures'}/*.png" for study in found)
    return f"\n{table}\n\nLosses in nats per token: median over seeds.\n{figures}"


def lines(study):
    cells = pd.read_parquet(study / "summary" / "cells.parquet")
    groups = cells.groupby("std") if "std" in cells else [("", cells)]
    for std, group in groups:
        yield {
            "study": study.name,
            "std": std and spelled(std),
            "cells": len(group),
            "outcomes": ", ".join(f"{count} {name}" for name, count in group["outcome"].value_counts().items()),
            "initial loss": f"{group['initial_loss_training_corpus'].median():.4f}",
            "ln V": f"{group['ln_vocabulary'].iloc[0]:.4f}",
            "predicted": f"{group['predicted_initial_loss'].iloc[0]:.4f}",
            "final loss": f"{group['final_loss_validation'].median():.4f}",
            "floor": f"{group['loss_floor'].iloc[0]:.4f}",
        }
