"""The tables of a study, as figures need them."""

import pandas as pd
import pyarrow as pa
import seaborn as sns

from initscope.figures import positive
from initscope.spelling import spelled
from initscope.tables import read as table

RANGE = ("pi", 100)  # a band from the smallest to the largest seed: no bootstrap, nothing random


# {frame of a study: the stage that makes its table, and the file}
FRAMES = {
    "parameters": ("audit", "parameters.parquet"),
    "signals": ("audit", "signals.parquet"),
    "curves": ("train", "curves.parquet"),
    "cells": ("summary", "cells.parquet"),
    "tried": ("zone", "tried.parquet"),
    "zones": ("brackets", "zones.parquet"),
    "brackets": ("brackets", "brackets.parquet"),
    "cascade": ("cascade", "cascade.parquet"),
    "persistence": ("cascade", "persistence.parquet"),
}


def in_words(found, axes):
    """The values of these axes in every row: `norm none, layers 2`."""
    words = [f"{axis} " + found[axis].map(spelled) for axis in axes if axis in found]
    return words[0].str.cat(words[1:], sep=", ") if words else ""


def axis_in_words(axis):
    return "std of the weights" if axis == "std" else axis.replace("_", " ")


class Study:
    """The tables of a study as data frames; None for those that it does not make.

    Every row stands at one value of the main axis: `std` where the study varies it, else its first axis beside the
    seed. Columns: `at`, that value (its place in the axis where it is no positive number); `label`, as it is spelled;
    `variant`, the other axes in words; `point`, all axes in words but seed and the one that zones run along.
    """

    def __init__(self, spec, read):
        self.axes, self.settings = spec["axes"], spec["settings"]
        varied = [axis for axis in self.axes if axis != "seed"]
        self.main = "std" if "std" in varied or not varied else varied[0]
        self.values = self.axes.get(self.main, [self.settings["init"].get("std", "not used")])
        self.others = [axis for axis in varied if axis != self.main]
        self.along = self.settings["zone"]["axis"]
        for frame, (stage, file) in FRAMES.items():
            keys = spec["upstream"].get(stage, ())
            setattr(self, frame, self.frame(read(key, file) for key in ([keys] if isinstance(keys, str) else keys)))

    def frame(self, files):
        files = list(files)
        if not files:
            return None
        found = pa.concat_tables(table(data) for data in files).to_pandas()
        found["point"] = in_words(found, [axis for axis in self.axes if axis not in ("seed", self.along)])
        found["variant"] = in_words(found, self.others)
        if self.main in self.axes and self.main not in found:  # a table over all of its values
            return found
        main = found[self.main] if self.main in self.axes else pd.Series(self.values[0], index=found.index)
        found["at"] = main if self.numeric else main.map(self.values.index)
        found["label"] = main.map(spelled)
        return found

    @property
    def numeric(self):
        return all(positive(value) for value in self.values)

    @property
    def ordered(self):
        return sorted(self.values) if self.numeric else self.values

    @property
    def labels(self):
        """The values of the main axis as they are spelled, numbers in their order."""
        return [spelled(value) for value in self.ordered]

    @property
    def named(self):
        """The main axis in words."""
        return axis_in_words(self.main)

    @property
    def style(self):
        """The column that tells points apart where the study varies more than seed and std."""
        return "variant" if self.cells["variant"].nunique() > 1 else None

    def lines(self, data, **how):
        """A line per value of the main axis (colour) and variant (dashes): median over seeds, a band that holds all."""
        colour = {"hue": "label", "hue_order": self.labels, "palette": "viridis"}
        return sns.lineplot(data, **colour, estimator="median", errorbar=RANGE, style=self.style, **how)

    def caption(self):
        """The setup in one line; what the study varies is only named."""
        seeds = len(self.axes.get("seed", [0]))
        model, training = self.settings["model"], self.settings["training"]
        fixed = [f"{key} {model[key]}" for key in ("layers", "width", "norm", "activation") if key not in self.axes]
        varied = [f"varied: {', '.join(self.axes)}"] if self.axes else []
        scheme = [] if "scheme" in self.axes else [f"scheme {self.settings['init']['scheme']}"]
        untrained = self.tried is None and self.cells["outcome"].isna().all()
        trained = [] if untrained else [f"{training['updates']} updates of {training['optimizer']}"]
        return "; ".join([model["kind"], *fixed, *scheme, *trained, f"{seeds} seed{'s' * (seeds > 1)}", *varied])
