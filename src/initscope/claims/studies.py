"""The tables of the studies that claims read, as data frames that are read when they are asked for."""

import json
from functools import cached_property

import pyarrow as pa

from initscope.tables import read as table


class Study:
    """One study: its `axes`, the `settings` of its first cell, and every table of it.

    A row of `signals` has the probe's column of every layer; tables that the study does not make are refused.
    """

    def __init__(self, name, about, upstream, read):
        self.name, self.axes, self.settings = name, about["axes"], about["settings"]
        self.upstream, self.read = upstream, read

    def frame(self, stage, name):
        files = [self.read(key, f"{name}.parquet") for key in self.upstream[f"{self.name}/{stage}"]]
        return pa.concat_tables(table(data) for data in files).to_pandas()

    @cached_property
    def parameters(self):
        return self.frame("audit", "parameters")

    @cached_property
    def signals(self):
        return self.frame("audit", "signals")

    @cached_property
    def cells(self):
        return self.frame("summary", "cells")

    @cached_property
    def tried(self):
        return self.frame("zone", "tried")

    @cached_property
    def zones(self):
        return self.frame("brackets", "zones")

    @cached_property
    def brackets(self):
        return self.frame("brackets", "brackets")

    @cached_property
    def cascade(self):
        return self.frame("cascade", "cascade")

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
