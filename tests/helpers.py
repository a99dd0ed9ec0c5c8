"""A pipeline in memory: the stages' own `make`, on small studies, without Snakemake and without a disk."""

from importlib import import_module
from pathlib import Path

from initscope import config, orders, tables
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


def study(axes=None, small=True, **over):
    """A study of the published setup, made SMALL: `axes` as in config.yaml, `over` section by section."""
    sections = config.merged(SMALL if small else {}, over)
    return config.Config("test", PUBLISHED.setup, {"test": {**sections, "axes": axes or {}}}, ["test"]).study("test")


class Memory:
    """Runs stages of a study and keeps what they make: {digest: {file: bytes}}."""

    def __init__(self, study, stages=tuple(STAGES), stack=None):
        self.plan, self.files = of_study(study), {}
        for stage, group in orders.stacks([a for a in self.plan if a.stage in stages]):
            size = stack or len(group)
            for i in range(0, len(group), size):
                self.make(stage, group[i : i + size])

    def make(self, stage, artifacts):
        module = import_module(f"initscope.{STAGES[stage].module}")
        self.files |= dict(module.make({a.digest: a.spec for a in artifacts}, self.read))

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
