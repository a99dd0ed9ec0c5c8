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

from initscope.config import Cell, dumped
from initscope.stages import STAGES

PACKAGE = Path(__file__).parent


@dataclass(frozen=True)
class Artifact:
    """What one stage makes of one cell (of a point, of a whole study)."""

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
    """Every artifact of the named studies, upstream first; `claims` is all of those that it reads, and then itself."""
    read = config.claims if "claims" in studies else []
    known = {name: config.study(name) for name in dict.fromkeys([*studies, *read]) if name != "claims"}
    made = {name: of_study(study) for name, study in known.items()}
    found = [artifact for artifacts in made.values() for artifact in artifacts]
    return [*found, of_claims(known, made, read)] if read else found


def of_claims(studies, made, read):
    """The artifact of all claims, which reads everything that its studies make but figures."""
    upstream = {}
    for artifact in (a for name in read for a in made[name] if a.stage != "figures"):
        upstream.setdefault(f"{artifact.cell.study}/{artifact.stage}", []).append(artifact.digest)
    spec = {
        "stage": "verdicts",
        "settings": {},
        "axes": {},
        "studies": {name: {"axes": studies[name].axes, "settings": studies[name].cells[0].settings} for name in read},
        "upstream": upstream,
    }
    return Artifact("verdicts", Cell("claims", {}, studies[read[0]].cells[0].setup), {**spec, **code(module(spec))})


def of_study(study):
    made = {}
    for name, stage in STAGES.items():
        if set(stage.of) & set(study.stages) and (name != "figures" or study.figures):
            made[name] = [artifact(name, study, cell, i, made) for i, cell in enumerate(cells(study, stage))]
    return [artifact for stage in made.values() for artifact in stage]


def cells(study, stage):
    return {"cell": study.cells, "point": study.points, "study": study.cells[:1]}[stage.per]


def artifact(name, study, cell, i, made):
    stage = STAGES[name]
    axes = study.axes if stage.per == "study" else cell.axes
    spec = {
        "stage": name,
        "settings": settings(cell, stage.settings),
        "axes": axes if stage.axes else {},
        **({"along": study.along} if stage.per == "point" else {}),
        "upstream": {up: upstream(stage, up, i, made) for up in stage.upstream if up in made},
        **({"figures": list(study.figures)} if name == "figures" else {}),
    }
    return Artifact(name, cell, {**spec, **code(module(spec))})


def settings(cell, keys):
    """The part of a setup that keys name: ("init", "compute.device") -> {"init": {...}, "compute": {"device": ...}}."""
    return {section: part(getattr(cell.setup, section), named) for section, named in sections(keys).items()}


@cache
def sections(keys):
    """{section: the keys of it that are named, all where it is named whole}"""
    found = {}
    for section, _, key in (name.partition(".") for name in keys):
        found[section] = (*found.get(section, ()), *filter(None, [key]))
    return found


@cache
def part(section, keys):
    """Some or all of a section as plain values, which all specs share that hold it."""
    whole = dumped(section)
    return {key: whole[key] for key in keys if key in whole} if keys else whole


def upstream(stage, up, i, made):
    """A cell reads the study's corpus and its own weights; a study reads all of its cells, and of its points."""
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
    libraries -= {*sys.stdlib_module_names, "threadpoolctl"}  # which says how BLAS is set and computes nothing
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
