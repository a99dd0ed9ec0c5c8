"""config.yaml -> studies -> cells: every key typed, every fault one line that names key, value and mend."""

import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from initscope.spelling import spelled


def number(value):
    """`--config` and YAML 1.1 writers hand over numbers such as 1e-3 as text: take the number it means."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


Float = Annotated[float, Field(strict=True, allow_inf_nan=False), BeforeValidator(number)]
Positive = Annotated[Float, Field(gt=0)]
Decay = Annotated[Float, Field(ge=0, lt=1)]
Count = Annotated[int, Field(strict=True, ge=1)]
Seed = Annotated[int, Field(strict=True, ge=0)]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Corpus(Section):
    source: Literal["markov"] = Field(description="order-1 Markov chain, drawn from its seed")
    vocabulary: Annotated[Count, Field(ge=2)] = Field(description="tokens in the vocabulary")
    seed: Seed = Field(description="draws the chain and both sets of sequences, each from a stream of its own")
    length: Annotated[Count, Field(ge=2)] = Field(description="tokens in a sequence; at least model.context + 1")
    training_sequences: Count = Field(description="sequences to train on")
    validation_sequences: Count = Field(description="sequences held out")


class Batches(Section):
    seed: Seed = Field(description="the order in which training sequences are seen")
    size: Count = Field(description="sequences in a batch")


class Model(Section):
    kind: Literal["transformer"] = Field(description="decoder-only Transformer with learned positions")
    context: Count = Field(description="tokens that the network reads")
    layers: Count = Field(description="blocks of attention and MLP")
    width: Count = Field(description="entries of the residual stream")
    heads: Count = Field(description="attention heads; must divide the width")
    mlp_width: Count = Field(description="hidden units of each MLP")
    activation: Literal["gelu", "relu", "tanh"] = Field(description="activation of the MLP")
    norm: Literal["layernorm", "rmsnorm", "none"] = Field(description="normalization, eps 1e-5")
    norm_position: Literal["pre"] = Field(description="before each sublayer, and once before the head")
    tied_head: Literal[False] = Field(description="the head is a tensor of its own")
    dropout: Float = Field(description="only 0: dropout would be a second source of randomness")

    @model_validator(mode="after")
    def fits(self):
        if self.width % self.heads:
            refuse("heads", self.heads, f"heads must divide the width {self.width}")
        if self.dropout:
            refuse("dropout", self.dropout, "only 0 is accepted: dropout would be a second source of randomness")
        return self


class Init(Section):
    scheme: Literal["normal"] = Field(description="initialization scheme")
    std: Positive = Field(description="standard deviation the weights are drawn with")
    seed: Seed = Field(description="the model seed")


class Training(Section):
    optimizer: Literal["adam"] = Field(description="Adam without weight decay")
    learning_rate: Positive = Field(description="step size")
    betas: tuple[Decay, Decay] = Field(description="decay of the first and second moment")
    eps: Positive = Field(description="added to the root of the second moment")
    updates: Count = Field(description="optimizer updates, the same for every cell")


class Outcome(Section):
    diverged_above: Float = Field(description="diverged: not finite, or x ends above this and no lower than it began")
    unstable_above: Float = Field(description="unstable: x ends above this")
    unstable_rise: Positive = Field(description="unstable: x ends this much above its best recorded value")
    settled_after: Seed = Field(description="the best value counts from this update on")
    dead_above: Float = Field(description="dead: x ends above this and hardly moved")
    dead_change: Positive = Field(description="dead: x moved less than this over the last half of training")
    learned_below: Float = Field(description="learned: x ends at or below this; else slow")


class Compute(Section):
    determinism: Literal["portable", "native"] = Field(description="portable: the same bits on every x86-64 CPU")
    device: Literal["cpu"] = Field(description="where audit and training run")
    stack: Count = Field(description="cells that one job computes together, at most; changes no bit of any result")


class Setup(Section):
    corpus: Corpus
    batches: Batches
    model: Model
    init: Init
    training: Training
    outcome: Outcome
    compute: Compute

    @model_validator(mode="after")
    def fits(self):
        if self.model.context + 1 > self.corpus.length:
            refuse("model.context", self.model.context,
                   f"a sequence has {self.corpus.length} tokens; use a context of at most {self.corpus.length - 1} "
                   "or a longer corpus.length")
        if self.batches.size > self.corpus.training_sequences:
            refuse("batches.size", self.batches.size,
                   f"there are {self.corpus.training_sequences} training sequences; use a smaller batch")
        return self


def refuse(key, value, mend):
    raise PydanticCustomError("refused", "{mend}", {"key": key, "value": value, "mend": mend})


# An axis is named by the setup key it varies; these sections differ from cell to cell, the others are the study's.
AXES = {key: name for name, section in (("model", Model), ("init", Init), ("training", Training))
        for key in section.model_fields}


@dataclass(frozen=True)
class Cell:
    """One point of a study's grid. `axes`: {axis: value}; `setup`: everything that fixes the run."""

    study: str
    axes: dict
    setup: Setup

    @cached_property
    def path(self):
        return "/".join(f"{axis}~{spelled(value)}" for axis, value in self.axes.items()) or "cell"


@dataclass(frozen=True)
class Study:
    name: str
    axes: dict
    cells: list


@dataclass(frozen=True)
class Config:
    """The parsed file: `setup` and `studies` still raw, since each study is checked as its cells are built."""

    source: str
    setup: dict
    studies: dict
    published: list

    def study(self, name):
        """The study's cells, in the order of its axes. SystemExit with one line where the config is wrong."""
        if name not in self.studies:
            raise SystemExit(f"{self.source}: there is no study {name!r}{nearest(name, self.studies)}")
        over = dict(self.studies[name] or {})
        axes = over.pop("axes", {})
        raw = merged(self.setup, over)
        check = lambda point: self.checked(name, raw, over, point)  # noqa: E731
        if not isinstance(axes, dict):
            self.fail(f"studies.{name}.axes", axes, "write it as {axis: [values]}")
        axes = {axis: self.axis(name, axis, values, check) for axis, values in axes.items()}
        points = [dict(zip(axes, values)) for values in product(*axes.values())]
        return Study(name, axes, [Cell(name, point, check(point)) for point in points])

    def axis(self, study, axis, values, check):
        """The values of one axis as their setup key types them."""
        where = f"studies.{study}.axes.{axis}"
        if axis not in AXES:
            raise SystemExit(f"{self.source}: {where}: {axis!r} is no axis{nearest(axis, AXES)}")
        if not isinstance(values, list) or not values:
            self.fail(where, values, "give a list of at least one value")
        typed = [getattr(getattr(check({axis: value}), AXES[axis]), axis) for value in values]
        for value in typed:
            if typed.count(value) > 1:
                self.fail(where, value, "stands there twice; keep one")
        return typed

    def checked(self, study, raw, over, point):
        """The setup at one point of the grid. The line that SystemExit prints names the key where the user wrote it."""
        varied = merged(raw, at(point))
        try:
            return Setup.model_validate(varied)
        except ValidationError as error:
            raise SystemExit(f"{self.source}: {explained(error, lambda key: origin(study, over, point, key))}") from None

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
        if key not in ("setup", "studies", "published"):
            raise SystemExit(f"{path}: {key!r} is not a key{nearest(key, ('setup', 'studies', 'published'))}")
    for key, kind in (("setup", dict), ("studies", dict), ("published", list)):
        if not isinstance(raw.get(key), kind) or not raw[key]:
            raise SystemExit(f"{path}: {key} is missing or empty; docs/reference.md shows what belongs there")
    for name in raw["studies"]:
        if not re.fullmatch("[a-z][a-z0-9_]*", str(name)):
            raise SystemExit(f"{path}: studies: {name!r}: a study's name is lower-case letters, digits and _")
        if not isinstance(raw["studies"][name] or {}, dict):
            raise SystemExit(f"{path}: studies.{name}: {raw['studies'][name]!r}: write what it changes, or {{}}")
    for name in raw["published"]:
        if name not in raw["studies"]:
            raise SystemExit(f"{path}: published: there is no study {name!r}{nearest(name, raw['studies'])}")
    return Config(str(path), raw["setup"], raw["studies"], raw["published"])


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
        raise SystemExit(f"{path}: not a config: it must hold setup, studies and published")
    return raw


def merged(base, over):
    """`base` with the keys of `over` laid over it, section by section."""
    both = {**base, **over}
    return {key: merged(base[key], value) if isinstance(base.get(key), dict) and isinstance(value, dict) else value
            for key, value in both.items()}


def at(point):
    """{axis: value} as a part of a setup: {"std": 0.1, "seed": 7} -> {"init": {"std": 0.1, "seed": 7}}."""
    sections = {}
    for axis, value in point.items():
        sections.setdefault(AXES[axis], {})[axis] = value
    return sections


def explained(error, origin):
    """The first fault that pydantic found, as one line: key, value, mend."""
    fault = error.errors()[0]
    key = ".".join(str(part) for part in fault["loc"])
    if fault["type"] == "refused":
        key = ".".join(filter(None, [key, fault["ctx"]["key"]]))
        return f"{origin(key)}: {fault['ctx']['value']!r}: {fault['ctx']['mend']}"
    if fault["type"] == "extra_forbidden":
        return f"{origin(key)} is not a key{nearest(fault['loc'][-1], fields(fault['loc'][:-1]))}"
    if fault["type"] == "missing":
        return f"{origin(key)} is missing; add it ({meaning(fault['loc'])})"
    return f"{origin(key)}: {fault['input']!r}: {fault['msg'].replace('Input should', 'it should')}"


def origin(study, over, point, key):
    """Where in the file the user wrote the value of a setup key: an axis, the study, or the setup."""
    section, _, name = key.partition(".")
    name = name.partition(".")[0]
    if name in point and AXES[name] == section:
        return f"studies.{study}.axes.{name}"
    written = over.get(section)
    if section in over and (not isinstance(written, dict) or name in written):
        return f"studies.{study}.{key}"
    return f"setup.{key}"


def fields(place):
    """The keys that may stand at a place of the setup: () -> its sections, ("init",) -> scheme, std, seed."""
    model = Setup
    for part in place:
        model = model.model_fields[part].annotation
    return model.model_fields


def meaning(place):
    return fields(place[:-1])[place[-1]].description or "a section of the setup"


def nearest(name, known):
    close = get_close_matches(str(name), [str(key) for key in known], n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(str(key) for key in known)}"
