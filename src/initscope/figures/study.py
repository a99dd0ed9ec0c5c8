"""The tables of a study, as figures need them."""

import pyarrow as pa
import seaborn as sns

from initscope.spelling import spelled
from initscope.tables import read as table

RANGE = ("pi", 100)  # a band from the smallest to the largest seed: no bootstrap, nothing random


class Study:
    """The tables of a study as data frames; every row has a `std`, whether or not the study varies it."""

    def __init__(self, spec, read):
        self.axes, self.settings, up = spec["axes"], spec["settings"], spec["upstream"]
        self.parameters = self.frame(read(key, "parameters.parquet") for key in up.get("audit", ()))
        self.signals = self.frame(read(key, "signals.parquet") for key in up.get("audit", ()))
        self.curves = self.frame(read(key, "curves.parquet") for key in up.get("train", ()))
        self.cells = self.frame([read(up["summary"], "cells.parquet")])

    def frame(self, files):
        files = list(files)
        if not files:
            return None
        found = pa.concat_tables(table(data) for data in files).to_pandas()
        if "std" not in self.axes:
            found["std"] = self.settings["init"].get("std")
        found["std (label)"] = found["std"].map(spelled)
        others = [axis for axis in self.axes if axis not in ("seed", "std")]
        found["variant"] = [
            ", ".join(f"{axis} {spelled(row[axis])}" for axis in others) for row in found[others].to_dict("records")
        ]
        return found

    @property
    def labels(self):
        """The stds as they are spelled, in the order of their values."""
        return [spelled(value) for value in sorted(self.cells["std"].unique())]

    @property
    def style(self):
        """The column that tells points apart where the study varies more than seed and std."""
        return "variant" if self.cells["variant"].nunique() > 1 else None

    def lines(self, data, **how):
        """A line per std (colour) and variant (dashes): median over seeds, and a band that holds every seed."""
        colour = {"hue": "std (label)", "hue_order": self.labels, "palette": "viridis"}
        return sns.lineplot(data, **colour, estimator="median", errorbar=RANGE, style=self.style, **how)

    def caption(self):
        """The setup in one line; what the study varies is only named."""
        seeds = len(self.axes.get("seed", [0]))
        model, training = self.settings["model"], self.settings["training"]
        fixed = [f"{key} {model[key]}" for key in ("layers", "width", "norm", "activation") if key not in self.axes]
        varied = [f"varied: {', '.join(self.axes)}"] if self.axes else []
        scheme = [] if "scheme" in self.axes else [f"scheme {self.settings['init']['scheme']}"]
        trained = [] if self.curves is None else [f"{training['updates']} updates of {training['optimizer']}"]
        return "; ".join([model["kind"], *fixed, *scheme, *trained, f"{seeds} seed{'s' * (seeds > 1)}", *varied])
