"""docs/extending.md: each of its diffs applies to this tree by itself, makes stale what the page says, and works."""

import json
import math
import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise

import pytest
from helpers import REPOSITORY, Memory, study

from initscope import records
from initscope.gains import GAINS_OF_THEORY
from initscope.models import activations, layout, norms

PAGE = (REPOSITORY / "docs" / "extending.md").read_text()
DIFFS = dict(re.findall(r"^## An? (\w+)\n.*?^```diff\n(.*?)^```", PAGE, re.M | re.S))  # {"scheme": diff, ...}


def extended(folder, *names):
    """A copy of the tree with these diffs applied."""
    for part in ("src", "tests", "docs"):
        shutil.copytree(REPOSITORY / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copy(REPOSITORY / "config.yaml", folder)
    alone = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}  # no repository above it counts
    for name in names:
        subprocess.run(["git", "apply"], input=DIFFS[name], cwd=folder, env=alone, text=True, check=True)
    return folder


def test_every_section_has_one_diff():
    assert list(DIFFS) == ["scheme", "norm", "activation", "probe", "study", "figure", "task"]
    assert PAGE.count("```diff\n") == len(DIFFS)


# ---- what the table says ---------------------------------------------------------------------------------------------


def row(name):
    """(files to edit, stages that become stale) of the page's table."""
    (edit, stale) = re.search(rf"^\| \[{name}\]\(#an?-{name}\) \| (.*?) \| (.*?) \|", PAGE, re.M).groups()
    return re.findall("`(.*?)`", edit), re.findall("`(.*?)`", stale)


@pytest.fixture(scope="module")
def before():
    return digests()


def digests():
    """{stage: digest} of a small cell of the published setup."""
    records.code.cache_clear()
    return {artifact.stage: artifact.digest for artifact in records.of_study(study())}


@pytest.mark.parametrize("name", DIFFS)
def test_a_diff_edits_and_makes_stale_what_the_table_says(name, before, tmp_path, monkeypatch):
    files, stale = row(name)
    copy = extended(tmp_path / "copy", name)
    assert re.findall(r"^\+\+\+ b/(?:src/initscope/)?(.*)$", DIFFS[name], re.M) == files
    monkeypatch.setattr(records, "PACKAGE", copy / "src" / "initscope")
    assert [stage for stage, digest in digests().items() if digest != before[stage]] == stale
    records.code.cache_clear()


def test_a_test_that_is_to_be_extended_is_there():
    named = re.findall(r"`(\w+)`\s+in\s+`(tests/\w+\.py)`", PAGE)
    assert {path for _, path in named} >= {"tests/test_schemes.py", "tests/test_stack.py", "tests/test_audit.py"}
    for thing, path in named:
        assert thing in (REPOSITORY / path).read_text(), (thing, path)


# ---- each of them, used ----------------------------------------------------------------------------------------------

PROGRAM = """
import json, sys
from initscope import compute

compute.before_torch("portable")
compute.settle("portable")

from helpers import PUBLISHED, Memory, study
from initscope import tables
from initscope.tensors import unpack

def made(run, named=None, **small):
    memory = Memory(PUBLISHED.study(named) if named else study(**small), run)
    files = {stage: list(memory.bytes(stage).values()) for stage in run}
    rows = lambda stage, name: [row for made in files.get(stage, ()) for row in tables.rows(made[name])]
    (corpus,) = files["corpus"]
    return {
        "parameters": rows("audit", "parameters.parquet"),
        "signals": rows("audit", "signals.parquet"),
        "cells": rows("summary", "cells.parquet"),
        "figures": [name for made in files.get("figures", ()) for name in made],
        "source": json.loads(corpus["source.json"]),
        "examples": {name: values[:20].tolist() for name, values in unpack(corpus["examples.safetensors"]).items()},
    }

json.dump({name: made(**asked) for name, asked in json.load(sys.stdin).items()}, sys.stdout)
"""
WAYS = ("forward", "backward")
AUDIT = ("corpus", "init", "audit")
COUNTING = {"source": "counting", "vocabulary": 8, "seed": 11, "length": 7}
STUDIES = {
    "scheme": {"run": AUDIT, "axes": {"scheme": ["he_fan_out"]}},
    "norm": {
        "run": tuple(records.STAGES),
        "axes": {"norm": ["layernorm", "l1norm"]},
        "figures": ["attention", "initial_loss"],  # those that draw what theory predicts
    },
    "activation": {
        "run": AUDIT,
        "axes": {"activation": ["relu", "relu_squared"]},
        "init": {"scheme": "he_normal", "gain": "theory"},
    },
    "probe": {"run": AUDIT},
    "study": {"run": AUDIT, "named": "heads"},
    "figure": {
        "run": (*AUDIT, "summary", "figures"),
        "axes": {"heads": [1, 2], "seed": [7, 8]},
        "stages": ["audit"],
        "figures": ["heads"],
    },
    "task": {"run": AUDIT, "corpus": {**COUNTING, "training_sequences": 40, "validation_sequences": 24}},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """What a small study with each of them makes, in one process on a copy with all of them: {name: tables, ...}."""
    copy = extended(tmp_path_factory.mktemp("extended") / "copy", *DIFFS)
    places = {**os.environ, "PYTHONPATH": os.pathsep.join([str(copy / "src"), str(copy / "tests")])}
    command, asked = [sys.executable, "-c", PROGRAM], json.dumps(STUDIES)
    done = subprocess.run(command, input=asked, cwd=copy, env=places, text=True, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def of(rows, **wanted):
    """The rows that have these values."""
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def unpredicted(rows):
    return all(
        row[key] is None for row in rows for key in row if key.startswith("expected_") or key == "relative_error"
    )


@pytest.mark.parametrize("name", STUDIES)
def test_every_tensor_passes_its_check(made, name):
    assert made[name]["parameters"] and all(row["check"] for row in made[name]["parameters"])


def test_the_scheme_has_its_std(made):
    """He et al., eq. 14: sqrt(2 / fan_out); the small MLP has 12 hidden units."""
    for row in of(made["scheme"]["parameters"], kind="mlp_in"):
        assert row["declared_std"] == pytest.approx(math.sqrt(2 / 12))


def test_the_norm_is_measured_trained_drawn_and_not_predicted(made):
    """The norm makes mean |x| 1. By Jensen the rms is above that; over 8 entries it is at most sqrt(8)."""
    rows = of(made["norm"]["signals"], norm="l1norm")
    for row in of(rows, probe="attention_input", direction="forward"):
        assert 1 < row["rms"] < math.sqrt(8)
    assert unpredicted(rows) and not unpredicted(of(made["norm"]["signals"], norm="layernorm"))
    (cell,) = of(made["norm"]["cells"], norm="l1norm")
    assert cell["outcome"] and cell["predicted_initial_loss"] is None
    assert {"attention.svg", "initial_loss.svg"} < set(made["norm"]["figures"])


def test_the_activation_has_a_gain_and_no_prediction(made):
    """E relu(z)^4 = 3/2, so the gain of theory is sqrt(2/3); mlp_in reads 8 units."""
    rows = of(made["activation"]["parameters"], activation="relu_squared", kind="mlp_in")
    assert {round(row["declared_std"], 12) for row in rows} == {round(math.sqrt(2 / 3 / 8), 12)}
    signals = of(made["activation"]["signals"], activation="relu_squared")
    assert signals and unpredicted(signals)
    assert not unpredicted(of(made["activation"]["signals"], activation="relu"))


def test_the_probe_is_measured_both_ways_and_moves_no_other_bit(made):
    """Every other row is that of this tree; a probe has 4 x 6 tokens of 8 units."""
    rows = made["probe"]["signals"]
    mix = of(rows, probe="attention_mix")
    assert [(row["layer"], row["direction"]) for row in mix] == [(n, way) for way in WAYS for n in (0, 1)]
    assert all(row["n"] == 4 * 6 * 8 and row["rms"] > 0 for row in mix) and unpredicted(mix)
    assert [row for row in rows if row not in mix] == Memory(study(), AUDIT).rows("audit", "signals.parquet")


def test_the_study_asks_its_question(made):
    """A head's width is divided out of the scores: but for their scatter (1 %), one prediction whatever the heads."""
    scores = of(made["study"]["signals"], probe="scores", layer=0)
    assert [row["heads"] for row in scores] == [1, 1, 3, 3, 8, 8]
    assert max(row["expected_rms"] for row in scores) < 1.01 * min(row["expected_rms"] for row in scores)
    assert all(abs(row["relative_error"]) < 4 * row["expected_scatter"] for row in scores)


def test_the_figure_is_drawn(made):
    assert made["figure"]["figures"] == ["heads.svg", "heads.png"]


def test_the_task_counts(made):
    """After token t comes t + 1: entropy rate 0; all tokens are equally frequent: ln 8."""
    assert made["task"]["source"]["entropy_rate"] == 0
    assert made["task"]["source"]["unigram_entropy"] == pytest.approx(math.log(8))
    for tokens in made["task"]["examples"].values():
        assert all((b - a) % 8 == 1 for sequence in tokens for a, b in pairwise(sequence))


# ---- what stands in two tables, since one of them needs torch --------------------------------------------------------


def test_every_norm_and_activation_is_in_both_tables():
    assert list(norms.NORMS) == list(layout.NORMS)
    assert list(activations.ACTIVATIONS) == list(GAINS_OF_THEORY)
