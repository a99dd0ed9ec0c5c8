"""A pipeline in memory: the stages' own `make`, on small studies, without Snakemake and without a disk."""

import json
from importlib import import_module
from pathlib import Path

import pytest

from initscope import config, orders, records, tables
from initscope.records import STAGES, of_study
from initscope.tensors import unpack

REPOSITORY = Path(__file__).parents[1]
PUBLISHED = config.load(REPOSITORY / "config.yaml")

# Small enough to train in a second; every part of the published setup is there.
SMALL = {
    "corpus": {"training_sequences": 40, "validation_sequences": 24, "length": 7},
    "batches": {"size": 4},
    "model": {"context": 6, "width": 8, "heads": 2, "mlp_width": 12},
    "training": {"updates": 6},
}


SMALL_MLP = {
    "corpus": {"source": "digits", "seed": 11, "training_examples": 40, "validation_examples": 24},
    "model": {"kind": "mlp", "layers": 3, "width": 8, "activation": "relu", "norm": "none", "residual": False},
    "training": {"optimizer": "sgd", "learning_rate": 0.1},
}


def refused(made):
    """The one line that a setup is refused with."""
    with pytest.raises(SystemExit) as stop:
        made()
    assert "\n" not in str(stop.value)
    return str(stop.value)


def study(axes=None, small=True, base=SMALL, **over):
    """A study of the published setup, made SMALL: `axes` as in config.yaml, `over` section by section."""
    of_study = {key: over.pop(key) for key in ("stages", "figures") if key in over}
    sections = config.merged(base if small else {}, over)
    studies = {"test": {**sections, **of_study, "axes": axes or {}}}
    return config.Config("test", PUBLISHED.setup, studies, ["test"], []).study("test")


def mlp(axes=None, **over):
    """A study of a small plain network on the digits."""
    return study(axes, base=config.merged(SMALL, SMALL_MLP), **over)


class Memory:
    """Runs stages of a study and keeps what they make: {digest: {file: bytes}}."""

    def __init__(self, study, stages=tuple(STAGES), stack=None):
        self.plan, self.files = of_study(study), {}
        for _, group in orders.jobs([a for a in self.plan if a.stage in stages]):
            size = stack or len(group)
            for i in range(0, len(group), size):
                self.make(group[i : i + size])

    def make(self, artifacts):
        given = {a.digest: json.loads(records.canonical(a.spec)) for a in artifacts}  # as an order hands it over
        for specs in orders.stacks(given):
            module = import_module(f"initscope.{records.module(next(iter(specs.values())))}")
            self.files |= dict(module.make(specs, self.read))

    def read(self, key, name):
        return self.files[key][name]

    def bytes(self, stage):
        """{cell path: {file: bytes}} of one stage."""
        return {a.cell.path: self.files[a.digest] for a in self.plan if a.stage == stage}

    def rows(self, stage, name, cell=None):
        """The rows of one table of one cell (the first, unless told otherwise)."""
        files = self.bytes(stage)
        return tables.rows(files[cell or next(iter(files))][name])

    def weights(self, stage="init", cell=None):
        files = self.bytes(stage)
        return unpack(files[cell or next(iter(files))]["weights.safetensors"])
