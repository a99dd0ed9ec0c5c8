"""The tables of the studies that claims read, as data frames that are read when they are asked for."""

import json
from functools import cached_property

import pyarrow as pa

from initscope.figures.study import FRAMES
from initscope.tables import read as table


def tabled(name):
    """A table of a study, read once; KeyError where the study does not make it."""
    stage, file = FRAMES[name]

    def frame(study):
        return pa.concat_tables(
            table(study.read(key, file)) for key in study.upstream[f"{study.name}/{stage}"]
        ).to_pandas()

    return cached_property(frame)


class Study:
    """One study: its `axes`, the `settings` of its first cell, and every table of it.

    `signals` has a row per cell, probe, layer and direction.
    """

    def __init__(self, name, about, upstream, read):
        self.name, self.axes, self.settings = name, about["axes"], about["settings"]
        self.upstream, self.read = upstream, read

    parameters, signals, cells = tabled("parameters"), tabled("signals"), tabled("cells")
    tried, zones, brackets = tabled("tried"), tabled("zones"), tabled("brackets")
    cascade = tabled("cascade")

    @cached_property
    def source(self):
        (key,) = self.upstream[f"{self.name}/corpus"]
        return json.loads(self.read(key, "source.json"))

    @cached_property
    def initial_weights(self):
        """The bytes of the first cell's initial weights."""
        return self.read(self.upstream[f"{self.name}/init"][0], "weights.safetensors")

    def at(self, probe, direction="forward", **where):
        """The rows of one probe, at a layer and at values of the axes, in the order of the seeds."""
        rows = self.signals[(self.signals["probe"] == probe) & (self.signals["direction"] == direction)]
        for column, value in where.items():
            rows = rows[rows[column] == value]
        return rows.sort_values("seed", kind="stable")

    def values(self, probe, column="rms", direction="forward", **where):
        """One column of those rows, a number a seed."""
        return self.at(probe, direction, **where)[column].to_numpy()
