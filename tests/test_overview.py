"""What `python -m initscope summary` prints: outcomes, zones, how sure, what was held fixed."""

import json
from pathlib import Path

import pytest
from helpers import Memory, mlp, study

from initscope.overview import overview

ZONE = ("corpus", "zone", "brackets")


def shown(folder, made):
    """The files of a study in memory, as results/ shows them, with their records."""
    for artifact in (a for a in made.plan if a.digest in made.files):
        record = json.dumps({"format": 1, "spec": artifact.spec, "files": {"x": [0, ""]}}).encode()
        for name, place in artifact.places.items():
            path = folder / Path(place)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes({**made.files[artifact.digest], "record.json": record}[name])
    return overview(folder / "results")


@pytest.fixture(scope="module")
def refined():
    axes = {"norm": ["none", "layernorm"], "seed": [7, 8], "std": [0.01, 0.1, 1.0]}
    return Memory(mlp(axes, stages=["zone"], outcome={"learned_below": 0.9}), ZONE)


def test_a_zone_study_says_where_how_sure_and_what_was_held_fixed(refined, tmp_path):
    said = shown(tmp_path, refined)
    zones = refined.rows("brackets", "zones.parquet")
    assert "test: where cells learn" in said
    for row in zones:
        assert f"norm {row['norm']}: {row['zone']}; {row['learned']} seeds are too few for an interval" in said
    fixed = " ".join(said.partition("held fixed: ")[2].split())
    assert "kind mlp, layers 3, width 8, activation relu, residual False" in fixed
    assert "optimizer sgd, learning_rate 0.1, momentum 0.0, updates 6" in fixed
    varied = fixed.partition("Where it lies")[0]
    assert not any(f" {axis} " in varied for axis in ("norm", "std", "seed")), varied


def test_an_ordinary_study_over_the_std_has_a_zone_too(tmp_path):
    axes = {"seed": [7, 8, 9, 10, 11, 12], "std": [0.01, 0.1, 1.0]}
    forgiving = dict.fromkeys(("unstable_above", "unstable_rise", "dead_above", "learned_below"), 1e3)
    made = Memory(study(axes, stages=["train"], outcome=forgiving))
    said = shown(tmp_path, made)
    assert "std from beyond 0.01 to beyond 1.0; 6 of 6 seeds learn" in said
    assert "in brackets: an interval that holds the median over seeds with 95 %" in said and "6 learned" in said


def test_a_study_without_stds_has_no_zone(tmp_path):
    said = shown(tmp_path, Memory(study({"seed": [7, 8]}, stages=["train"])))
    assert "where cells learn" not in said and "held fixed" not in said


def test_nothing_to_show_is_one_line(tmp_path):
    with pytest.raises(SystemExit, match="no study has a summary there yet"):
        overview(tmp_path)
