"""What a call of Snakemake's main process asks for, and the lock."""

import subprocess
import sys
from dataclasses import replace

import pytest
from helpers import PUBLISHED, REPOSITORY

from initscope import records, targets
from initscope.config import Config
from initscope.run import Run

CURVE = "results/scale/curves/seed~7/std~0.1.parquet"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def ordered(*asked):
    """{stage: cells} of everything that a dry run would make."""
    run = Run(PUBLISHED, list(asked), dry=True)
    found = {}
    for artifact in {a.digest: a for a in run.plan if a.digest in run.done}.values():
        found[artifact.stage] = found.get(artifact.stage, 0) + 1
    return found


def test_nothing_named_is_everything_published():
    # the frozen cell shares corpus and initial weights with a cell of scale
    assert ordered("all") == {"corpus": 1, "init": 72, "audit": 73, "train": 73, "summary": 2, "figures": 2}


def test_one_file_is_that_cell_and_what_it_needs():
    assert ordered(CURVE) == {"corpus": 1, "init": 1, "train": 1}


def test_a_stage_of_a_study():
    assert ordered("scale_train") == {"corpus": 1, "init": 72, "train": 72}
    assert ordered("seeds_audit") == {"corpus": 1, "init": 64, "audit": 64}
    assert ordered("frozen_figures") == {"corpus": 1, "init": 1, "audit": 1, "train": 1, "summary": 1, "figures": 1}


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("scal", "'scal' is no target; did you mean 'scale'?"),
        ("scale_trian", "did you mean 'scale_train'?"),
        ("results/scal/curves/seed~7/std~0.1.parquet", "no study 'scal'; did you mean 'scale'?"),
        (
            "results/scale/curves/seed~99/std~0.1.parquet",
            "no artifact of this config; did you mean 'results/scale/",
        ),
        ("results/scale/curves/seed~7/std~0.10.parquet", "did you mean 'results/scale/curves/seed~7/std~0.1"),
    ],
)
def test_a_target_that_names_nothing(target, said):
    with pytest.raises(SystemExit) as stop:
        Run(PUBLISHED, [target], dry=True)
    assert said in str(stop.value) and "\n" not in str(stop.value)


def configured(**studies):
    return Config("c.yaml", PUBLISHED.setup, {"scale": {}, **studies}, ["scale"], ["scale"])


@pytest.mark.parametrize("name", ["scale_train", "train", "zone", "verdicts", "all", "claims"])
def test_a_study_that_is_named_like_another_target(name):
    with pytest.raises(SystemExit, match=f"^c.yaml: studies: '{name}' would name two things; rename a study$"):
        targets.names(configured(**{name: {}}))


@pytest.mark.parametrize(
    ("stages", "groups"),
    [
        (["audit"], {"corpus", "init", "audit", "figures"}),
        (["zone"], {"corpus", "zone", "figures"}),
        (["train", "cascade"], {"corpus", "init", "train", "cascade", "figures"}),
        ("audit", set()),  # refused in one line where the study is made
    ],
)
def test_a_study_has_targets_for_what_it_does(stages, groups):
    known = targets.names(configured(mine={"stages": stages}))
    assert {name for name in known if name.startswith("mine")} == {"mine", *(f"mine_{group}" for group in groups)}


def test_claims_ask_for_everything_of_their_studies_but_figures():
    config = configured(mine={"stages": ["zone"], "axes": {"seed": [7, 8], "std": [0.1, 1.0]}})
    run = Run(replace(config, claims=["scale", "mine"]), ["claims"], dry=True)
    waits = run.orders("claims")
    assert waits == list({run.done[a.digest] for a in run.plan if a.stage == "verdicts"}) and len(waits) == 1
    ordered = {(a.cell.study, a.stage) for a in run.plan if a.digest in run.done}
    assert ordered == {
        *(("scale", stage) for stage in ("corpus", "init", "audit", "train", "summary")),
        *(("mine", stage) for stage in ("corpus", "zone", "brackets")),
        ("claims", "verdicts"),
    }


def test_the_plan_names_every_file_once():
    plan = records.plan(PUBLISHED, ["frozen", "scale"])
    assert len(targets.places(plan)) == sum(len(a.places) for a in plan)


def test_a_second_run_is_refused_in_one_line_and_a_dry_run_is_not():
    program = "import initscope.run, sys; lock = initscope.run.locked(); print('locked', flush=True); sys.stdin.read()"
    other = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(REPOSITORY / "src")},
    )
    try:
        assert other.stdout.readline() == "locked\n"
        with pytest.raises(SystemExit, match="Another run is at work in this directory"):
            Run(PUBLISHED, [CURVE])
        Run(PUBLISHED, [CURVE], dry=True)
        other.kill()
        other.wait()
        Run(PUBLISHED, [CURVE])  # the kernel has dropped the killed process's lock
    finally:
        other.kill()
