"""config.yaml -> studies -> cells."""

import json
import re
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import product
from pathlib import Path

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from initscope import figures
from initscope.faults import explained, nearest, origin
from initscope.marks import marks
from initscope.ranges import Range
from initscope.setup import AXES, Setup
from initscope.spelling import spelled

MEASURES = ("audit", "train", "sweep", "zone", "cascade")  # what a study may do with its cells
KEYS = {"setup": dict, "studies": dict, "published": list, "claims": list}
USUAL = MEASURES[:2]  # what it does unless it says


@dataclass(frozen=True)
class Cell:
    """One point of a study's grid. `axes`: {axis: value}; `setup`: everything that fixes the run."""

    study: str
    axes: dict
    setup: Setup

    @cached_property
    def settings(self):
        """The setup as plain values, section by section. Cells share those that are equal."""
        return {name: dumped(getattr(self.setup, name)) for name in Setup.model_fields}

    @cached_property
    def path(self):
        return "/".join(f"{axis}~{spelled(value)}" for axis, value in self.axes.items()) or "cell"


@cache
def dumped(section):
    return section.model_dump(mode="json")


@dataclass(frozen=True)
class Study:
    """stages: which of MEASURES it makes; figures: the names of those it draws."""

    name: str
    axes: dict
    cells: list
    stages: tuple
    figures: tuple

    @cached_property
    def points(self):
        """A cell for every combination of the axes that a zone does not run along: of all but seed and std."""
        found = {}
        for cell in self.cells:
            axes = {axis: value for axis, value in cell.axes.items() if axis not in self.along}
            found.setdefault(tuple(axes.items()), Cell(self.name, axes, cell.setup))
        return list(found.values())

    @property
    def along(self):
        """{axis: values} of the two axes that zones are made of."""
        return {axis: self.axes[axis] for axis in ("seed", self.cells[0].setup.zone.axis) if axis in self.axes}


@dataclass(frozen=True)
class Config:
    """The parsed file: `setup` and `studies` still raw, since each study is checked as its cells are built.

    published: the studies made when no target is named; claims: those that the sources' claims are put to.
    """

    source: str
    setup: dict
    studies: dict
    published: list
    claims: list

    def study(self, name):
        """The study's cells, in the order of its axes. SystemExit with one line where the config is wrong."""
        if name not in self.studies:
            raise SystemExit(f"{self.source}: there is no study {name!r}{nearest(name, self.studies)}")
        over = dict(self.studies[name] or {})
        axes = self.axes(name, over.pop("axes", {}))
        stages = self.chosen(f"studies.{name}.stages", over.pop("stages", list(USUAL)), MEASURES)
        drawn = over.pop("figures", None)
        points = [dict(zip(axes, values)) for values in product(*axes.values())]
        raw, checked = merged(self.setup, over), {}
        cells = [self.cell(name, raw, over, point, checked) for point in points]
        typed = {axis: list(dict.fromkeys(cell.axes[axis] for cell in cells)) for axis in axes}
        for axis, values in axes.items():
            if len(typed[axis]) < len(values):
                self.fail(f"studies.{name}.axes.{axis}", values, "a value stands there twice; keep one")
        self.all_different(name, cells)
        self.stages_possible(name, stages, cells)
        possible = figures.possible(stages, cells[0].setup.model.kind, typed)
        drawn = figures.usual(possible) if drawn is None else self.chosen(f"studies.{name}.figures", drawn, possible)
        return Study(name, typed, cells, stages, drawn)

    def chosen(self, key, names, known):
        """Names from a list that must be known and given once."""
        if not isinstance(names, list) or not names or len(set(map(str, names))) < len(names):
            self.fail(key, names, f"give a list of some of {', '.join(known)}")
        for name in names:
            if name not in known:
                raise SystemExit(f"{self.source}: {key}: {name!r} is not possible here{nearest(name, known)}")
        return tuple(names)

    def all_different(self, study, cells):
        """An axis that changes nothing would show one cell as two."""
        seen = {}
        for cell in cells:
            varied = [cell.settings[section] for section in at(cell.axes)]
            twin = seen.setdefault(json.dumps(varied, sort_keys=True), cell)
            if twin is not cell:
                axis = next(axis for axis in cell.axes if cell.axes[axis] != twin.axes[axis])
                mend = f"it changes nothing between {twin.path} and {cell.path}; take it out or vary something else"
                self.fail(f"studies.{study}.axes.{axis}", cell.axes[axis], mend)

    def stages_possible(self, study, stages, cells):
        """One training, not two; what `zone` and `cascade` need: seeds along an axis, three times as long as a mark."""
        if {"train", "sweep"} <= set(stages):
            mend = "a sweep is the same training, without weights; take one of the two out"
            self.fail(f"studies.{study}.stages", list(stages), mend)
        asked = [stage for stage in ("zone", "cascade") if stage in stages]
        for axis in ("seed", cells[0].setup.zone.axis) if asked else ():
            if axis not in cells[0].axes:
                self.fail(f"studies.{study}.axes.{axis}", None, f"the stage {asked[0]} needs its values; add them")
        if "cascade" in stages and "train" not in stages:
            self.fail(f"studies.{study}.stages", list(stages), "the stage cascade reads the curves of train; add it")
        for updates in dict.fromkeys(cell.setup.training.updates for cell in cells) if "cascade" in stages else ():
            if updates % 3 or updates // 3 not in marks(updates):
                mend = "cascade compares with a third of it, which must be recorded: give 60, 150, 300, 600, ..."
                self.fail(f"studies.{study}.training.updates", updates, mend)

    def axes(self, study, axes):
        """{axis: values} as the file has them, each a known axis with at least one value; a range as its values."""
        if not isinstance(axes, dict):
            self.fail(f"studies.{study}.axes", axes, "write it as {axis: [values]}")
        for axis in axes:
            if axis not in AXES:
                raise SystemExit(f"{self.source}: studies.{study}.axes: {axis!r} is no axis{nearest(axis, AXES)}")
        return {axis: self.values(f"studies.{study}.axes.{axis}", values) for axis, values in axes.items()}

    def values(self, key, values):
        """The values of an axis: a list of them, or two ends and a count."""
        if isinstance(values, dict):
            try:
                return Range.model_validate(values).values
            except ValidationError as error:
                raise SystemExit(f"{self.source}: {explained(error, f'{key}.{{}}'.format, Range)}") from None
        if not isinstance(values, list) or not values:
            self.fail(key, values, "give a list of at least one value, or {from: , to: , count: , spacing: }")
        return values

    def cell(self, study, raw, over, point, checked):
        """The cell at one point of the grid. SystemExit's line names a wrong key where the user wrote it.

        checked: {(section, what the point varies of it): the section}, for the cells that follow: of 10,000 cells most
        sections are equal, and are checked and held once.
        """
        varied = at(point)
        keys = {name: (name, repr(varied.get(name))) for name in Setup.model_fields}
        known = {name: checked[key] for name, key in keys.items() if key in checked}
        try:
            setup = Setup.model_validate(merged(raw, varied) | known)
        except ValidationError as error:
            where = partial(origin, study, over, point)
            raise SystemExit(f"{self.source}: {explained(error, where)}") from None
        checked |= {key: getattr(setup, name) for name, key in keys.items()}
        return Cell(study, {axis: getattr(getattr(setup, AXES[axis]), axis) for axis in point}, setup)

    def fail(self, key, value, mend):
        raise SystemExit(f"{self.source}: {key}: {value!r}: {mend}")


def load(*paths, over=None):
    """Read and check config files, each laid over those before it, and `over` (Snakemake's `--config`) over all.

    SystemExit with one line for a file that is not there, not YAML, or wrong at its top level.
    """
    raw, path = {}, paths[-1]
    for layer in [*map(read_yaml, paths), over or {}]:
        raw = merged(raw, layer)
    for key in raw:
        if key not in KEYS:
            raise SystemExit(f"{path}: {key!r} is not a key{nearest(key, KEYS)}")
    for key, kind in KEYS.items():
        if not isinstance(raw.get(key), kind) or not raw[key]:
            raise SystemExit(f"{path}: {key} is missing or empty; docs/reference.md shows what belongs there")
    for name in raw["studies"]:
        if not re.fullmatch("[a-z][a-z0-9_]*", str(name)):
            raise SystemExit(f"{path}: studies: {name!r}: a study's name is lower-case letters, digits and _")
        if not isinstance(raw["studies"][name] or {}, dict):
            raise SystemExit(f"{path}: studies.{name}: {raw['studies'][name]!r}: write what it changes, or {{}}")
    for key in ("published", "claims"):
        for name in raw[key]:
            if name not in raw["studies"]:
                raise SystemExit(f"{path}: {key}: there is no study {name!r}{nearest(name, raw['studies'])}")
    return Config(str(path), *(raw[key] for key in KEYS))


def read_yaml(path):
    """YAML 1.2, in which 1e-3 is a number and a key may stand once."""
    try:
        raw = YAML(typ="safe", pure=True).load(Path(path))
    except OSError as error:
        raise SystemExit(f"{path}: {error.strerror}; name a config file that can be read") from None
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else "?"
        twice = re.match(r'found duplicate key "(.*?)"', error.problem or "")
        fault = f"the key {twice[1]!r} is written twice; keep one" if twice else f"not YAML: {error.problem}"
        raise SystemExit(f"{path}, line {line}: {fault}") from None
    except (YAMLError, UnicodeDecodeError) as error:
        raise SystemExit(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(raw, dict):
        raise SystemExit(f"{path}: not a config: it must hold " + ", ".join(KEYS))
    return raw


def merged(base, over):
    """`base` with the keys of `over` laid over it, section by section; another kind of section stands for itself."""
    both = dict(base)
    for key, value in over.items():
        nested = isinstance(base.get(key), dict) and isinstance(value, dict) and not another(base[key], value)
        both[key] = merged(base[key], value) if nested else value
    return both


def another(section, over):
    """Is it another model, or another corpus, with keys of its own?"""
    return any(over.get(key, section.get(key)) != section.get(key) for key in ("kind", "source"))


def at(point):
    """{axis: value} as a part of a setup: {"std": 0.1, "seed": 7} -> {"init": {"std": 0.1, "seed": 7}}."""
    sections = {}
    for axis, value in point.items():
        sections.setdefault(AXES[axis], {})[axis] = value
    return sections
