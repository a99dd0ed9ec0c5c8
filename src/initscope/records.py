"""What every artifact is made from, as canonical JSON (its spec), and the digest of that, which names the artifact."""

import ast
import hashlib
import json
import platform
import sys
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path

from initscope.config import MEASURES, Cell

PACKAGE = Path(__file__).parent


@dataclass(frozen=True)
class Stage:
    module: str  # the module of the package whose `make` does the work, {source}: of the corpus
    settings: tuple  # the settings that reach its bytes: sections of the setup, or section.key
    upstream: tuple  # the stages it reads
    files: dict  # its files -> where results/<study>/ shows them
    per: str = "cell"  # one artifact per cell, or one per study
    axes: bool = True  # do the cell's axis values reach its bytes (as columns)?


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
        files={"weights.safetensors": "weights/initial/{cell}.safetensors"},
    ),
    "audit": Stage(
        "audit",
        (*SHAPES, "batches", "model", "init", *COMPUTE),
        ("corpus", "init"),
        files={"parameters.parquet": "parameters/{cell}.parquet", "signals.parquet": "signals/{cell}.parquet"},
    ),
    "train": Stage(
        "training",
        (*SHAPES, "batches", "model", "init", "training", *COMPUTE),
        ("corpus", "init"),
        files={"curves.parquet": "curves/{cell}.parquet", "weights.safetensors": "weights/final/{cell}.safetensors"},
    ),
    "summary": Stage(
        "summary",
        ("outcome",),
        ("corpus", "init", "audit", "train"),
        per="study",
        files={
            "cells.parquet": "summary/cells.parquet",
            "loss_curves.csv": "summary/loss_curves.csv",
            "metrics.json": "summary/metrics.json",
        },
    ),
    "figures": Stage(
        "figures.draw",
        ("model", "init", "training"),
        ("corpus", "audit", "train", "summary"),
        per="study",
        files={},  # as the study asks: see `files`
    ),
}


@dataclass(frozen=True)
class Artifact:
    """What one stage makes of one cell (or of a whole study)."""

    stage: str
    cell: Cell
    spec: dict

    @cached_property
    def digest(self):
        return digest(self.spec)

    @cached_property
    def places(self):
        """{file: its path under results/}, its record's included."""
        return places(self.spec, self.cell.study, self.cell.path)


def places(spec, study, cell):
    """Where results/ shows the files of an artifact, and the record beside the first of them."""
    shown = {name: f"results/{study}/{path.format(cell=cell)}" for name, path in files(spec).items()}
    folder, _, first = next(iter(shown.values())).rpartition("/")
    return {**shown, "record.json": f"{folder}/_{first.rpartition('.')[0]}.json"}


def files(spec):
    """{file: its place under results/<study>/} of what a spec makes."""
    drawn = [f"{name}.{kind}" for name in spec.get("figures", ()) for kind in ("svg", "png")]
    return STAGES[spec["stage"]].files or {name: f"figures/{name}" for name in drawn}


def module(spec):
    """The module of the package that makes it."""
    return STAGES[spec["stage"]].module.format(**spec["settings"].get("corpus", {}))


def plan(config, studies):
    """Every artifact of the named studies, upstream first."""
    return [artifact for name in studies for artifact in of_study(config.study(name))]


def of_study(study):
    made = {}
    for name, stage in STAGES.items():
        if name in MEASURES and name not in study.stages:
            continue
        count = len(study.cells) if stage.per == "cell" else 1
        made[name] = [artifact(name, study, i, made) for i in range(count)]
    return [artifact for stage in made.values() for artifact in stage]


def artifact(name, study, i, made):
    stage, cell = STAGES[name], study.cells[i]
    axes = cell.axes if stage.per == "cell" else study.axes
    spec = {
        "stage": name,
        "settings": settings(cell, stage.settings),
        "axes": axes if stage.axes else {},
        "upstream": {up: upstream(stage, up, i, made) for up in stage.upstream if up in made},
        **({"figures": list(study.figures)} if name == "figures" else {}),
    }
    return Artifact(name, cell, {**spec, **code(module(spec))})


def settings(cell, keys):
    """The part of a setup that keys name: ("init", "compute.device") -> {"init": {...}, "compute": {"device": ...}}."""
    found = {}
    for section, _, key in (name.partition(".") for name in keys):
        whole = cell.settings[section]
        if key in whole or not key:
            found.setdefault(section, {}).update({key: whole[key]} if key else whole)
    return found


def upstream(stage, up, i, made):
    """A cell reads the study's corpus and its own weights; a study reads all of its cells."""
    if STAGES[up].per == "study":
        return made[up][0].digest
    return made[up][i].digest if stage.per == "cell" else [cell.digest for cell in made[up]]


def upstreams(spec):
    """The digests of everything that an artifact is made from."""
    for keys in spec["upstream"].values():
        yield from [keys] if isinstance(keys, str) else keys


CANONICAL = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


def canonical(value):
    """One text for one value. Keys stay in their order, which the setup's fields and the study's axes give.

    (The order of the axes is that of columns, paths and figures: sorting would lose it on the way to a job.)
    """
    return CANONICAL.encode(value)


def digest(spec):
    return hashlib.sha256(canonical(spec).encode()).hexdigest()[:32]


PACKAGES = {"sklearn": "scikit-learn"}  # where a package is not named as what is imported


@cache
def code(module):
    """Digest of a module's syntax tree and of every module of ours that it imports; the libraries that these import."""
    ours, libraries, todo = {}, set(), [f"initscope.{module}"]
    while todo:
        name = todo.pop()
        path = source(name)
        if name in ours or path is None:
            continue
        tree = ast.parse(path.read_text())
        ours[name] = shape(tree)
        for imported in imports(tree):
            if imported.split(".")[0] == "initscope":
                todo.append(imported)
            else:
                libraries.add(imported.split(".")[0])
    libraries -= sys.stdlib_module_names
    # without a build's mark (2.13.0+cpu): how torch was packaged decides no bytes of what it computes on a CPU
    packages = sorted(PACKAGES.get(name, name) for name in libraries)
    versions = {name: version(name).partition("+")[0] for name in packages}
    return {"code": digest(ours), "libraries": versions, "machine": platform.machine()}


def source(name):
    """The file of a module of ours; None where the name is not a module (but a function in one)."""
    path = PACKAGE.joinpath(*name.split(".")[1:])
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.exists()), None)


def imports(tree):
    """The dotted names that a module imports: modules, and what is taken from them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def shape(node):
    """The syntax tree without positions, comments, docstrings or empty fields (which Python versions add)."""
    if isinstance(node, list):
        return [shape(n) for n in node if not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))]
    if isinstance(node, ast.AST):
        fields = [[key, shape(value)] for key, value in ast.iter_fields(node) if value not in (None, [])]
        return [type(node).__name__, *fields]
    return repr(node)
