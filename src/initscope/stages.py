"""Which stages there are: what makes each, from which settings and stages, and where results/ shows its files."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    module: str  # the module of the package whose `make` does the work, {source}: of the corpus
    settings: tuple  # the settings that reach its bytes: sections of the setup, or section.key
    upstream: tuple  # the stages it reads
    files: dict  # its files -> where results/<study>/ shows them
    per: str = "cell"  # one artifact per cell, per point (of the axes beside seed and std), or per study
    axes: bool = True  # do the cell's axis values reach its bytes (as columns)?
    of: tuple = ("audit", "train", "zone", "sweep")  # a study that does one of these has this stage


COMPUTE = ("compute.determinism", "compute.device")
SHAPES = ("corpus.vocabulary", "corpus.features")
STAGES = {
    "corpus": Stage(
        "corpora.{source}",
        ("corpus",),
        (),
        per="study",
        axes=False,
        files={"examples.safetensors": "corpus/examples.safetensors", "source.json": "corpus/source.json"},
    ),
    "init": Stage(
        "init",
        (*SHAPES, "model", "init"),
        (),
        axes=False,
        of=("audit", "train"),
        files={"weights.safetensors": "weights/initial/{cell}.safetensors"},
    ),
    "audit": Stage(
        "audit",
        (*SHAPES, "batches", "model", "init", *COMPUTE),
        ("corpus", "init"),
        of=("audit",),
        files={"parameters.parquet": "parameters/{cell}.parquet", "signals.parquet": "signals/{cell}.parquet"},
    ),
    "train": Stage(
        "training",
        (*SHAPES, "batches", "model", "init", "training", *COMPUTE),
        ("corpus", "init"),
        of=("train",),
        files={"curves.parquet": "curves/{cell}.parquet", "weights.safetensors": "weights/final/{cell}.safetensors"},
    ),
    "sweep": Stage(
        "sweep",
        (*SHAPES, "batches", "model", "init", "training", *COMPUTE),
        ("corpus",),
        of=("sweep",),
        files={"curves.parquet": "curves/{cell}.parquet"},
    ),
    "zone": Stage(
        "search",
        (*SHAPES, "batches", "model", "init", "training", "outcome", "zone", *COMPUTE),
        ("corpus",),
        per="point",
        of=("zone",),
        files={"tried.parquet": "tried/{cell}.parquet"},
    ),
    "summary": Stage(
        "summary",
        ("outcome",),
        ("corpus", "init", "audit", "train", "sweep"),
        per="study",
        of=("audit", "train", "sweep"),
        files={
            "cells.parquet": "summary/cells.parquet",
            "loss_curves.csv": "summary/loss_curves.csv",
            "metrics.json": "summary/metrics.json",
        },
    ),
    "brackets": Stage(
        "brackets",
        ("zone",),
        ("zone",),
        per="study",
        of=("zone",),
        files={"zones.parquet": "summary/zones.parquet", "brackets.parquet": "summary/brackets.parquet"},
    ),
    "cascade": Stage(
        "cascade",
        ("outcome", "zone"),
        ("corpus", "train"),
        per="study",
        of=("cascade",),
        files={"cascade.parquet": "summary/cascade.parquet", "persistence.parquet": "summary/persistence.parquet"},
    ),
    "figures": Stage(
        "figures.draw",
        ("model", "init", "training", "zone"),
        ("corpus", "audit", "train", "zone", "summary", "brackets", "cascade"),
        per="study",
        files={},  # as the study asks: see `files`
    ),
    "verdicts": Stage(
        "claims.make",
        (),
        (),
        per="config",
        of=(),
        files={
            "claims.parquet": "claims.parquet",
            "cases.parquet": "cases.parquet",
            "claims.md": "claims.md",
            "claims.svg": "figures/claims.svg",
            "claims.png": "figures/claims.png",
        },
    ),
}
