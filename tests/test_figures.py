"""Figures: deterministic bytes; nothing that is not finite is dropped without a word."""

import pytest
from helpers import Memory, mlp, study

from initscope.figures import USUAL
from initscope.figures.draw import Study, drawing
from initscope.training import marks


@pytest.fixture(scope="module")
def made():
    return Memory(study({"seed": [7, 8], "std": [0.1, 1.0, 1e20]}, model={"norm": "none"}))


def figures(made):
    (files,) = made.bytes("figures").values()
    return files


def test_every_figure_as_svg_and_png(made):
    files = figures(made)
    assert set(files) == {f"{name}.{kind}" for name in USUAL for kind in ("svg", "png")}
    assert all(data.startswith(b"\x89PNG") for name, data in files.items() if name.endswith(".png"))
    assert all(b"<svg" in data for name, data in files.items() if name.endswith(".svg"))


def test_bytes_are_the_same_again(made):
    # E7 of the public cases: dates, salted ids and bootstrapped bands change the bytes of a run
    before = figures(made)
    made.make([a for a in made.plan if a.stage == "figures"])
    assert figures(made) == before


def test_no_date_in_an_svg(made):
    assert not any(b"<dc:date>" in data for name, data in figures(made).items() if name.endswith(".svg"))


def test_what_is_not_finite_is_counted_on_the_plot(made):
    (artifact,) = [a for a in made.plan if a.stage == "figures"]
    study = Study(artifact.spec, made.read)
    texts = {name: [t.get_text() for ax in drawing(name)(study).axes for t in ax.texts] for name in USUAL}
    assert texts["final_loss"] == ["2 not finite"]
    lost = 2 * len(marks(6))  # two seeds, every recorded update
    assert texts["loss_curves"] == [f"{lost} recorded values are not finite and not drawn"]
    assert "not finite" in texts["signal_depth"][0]


def test_a_study_of_one_cell_and_one_with_other_axes_have_figures_too():
    for axes in ({}, {"learning_rate": [0.001, 0.01]}, {"norm": ["none", "layernorm"], "std": [0.1, 1.0]}):
        assert len(figures(Memory(study(axes)))) == 2 * len(USUAL)


def drawn(cells):
    """The figures of a study, by name, each with bytes."""
    files = figures(Memory(cells))
    assert all(files.values())
    return {name.partition(".")[0] for name in files}


def test_the_figures_that_compare_with_theory():
    """Small versions of the studies variance, depth, interaction and residual."""
    linear = {"activation": "identity"}
    schemes = {"seed": [1, 2], "scheme": ["he_normal", "lecun_normal"]}
    assert drawn(mlp(schemes, model=linear, stages=["audit"], figures=["variance"])) == {"variance"}
    deep = {"norm": ["none", "batchnorm"], "layers": [2, 5], "std": [1e-30, 0.5, 1e20], "seed": [1, 2]}
    assert drawn(mlp(deep, stages=["audit"], figures=["depth"])) == {"depth"}
    table = {
        "activation": ["relu"],
        "norm": ["none", "layernorm"],
        "scheme": ["normal", "he_normal"],
        "factor": [1.0, 1e25],
    }
    assert drawn(mlp(table, stages=["train"], figures=["interaction"], training={"updates": 60})) == {"interaction"}
    branches = {"scheme": ["normal", "zero_residual"], "layers": [1, 3], "seed": [1]}
    assert drawn(study(branches, stages=["audit"], figures=["residual"])) == {"residual"}


@pytest.mark.parametrize(
    "axes", [{"scheme": ["he_normal", "orthogonal"]}, {"gain": ["paper", "theory"]}, {"residual": [True, False]}, {}]
)
def test_studies_without_a_std(axes):
    """He's scheme has none: the main axis is another one, or there is none."""
    assert drawn(mlp(axes, init={"scheme": "he_normal"})) == set(USUAL) - {"attention"}


def test_a_study_that_only_measures_has_no_training():
    made = Memory(study({"std": [0.1, 0.2]}, stages=["audit"]))
    assert {a.stage for a in made.plan} == {"corpus", "init", "audit", "summary", "figures"}
    assert {name.partition(".")[0] for name in figures(made)} == set(USUAL) - {"loss_curves", "final_loss"}
    (row, _) = made.rows("summary", "cells.parquet")
    assert row["outcome"] is None and row["final_x"] is None and row["initial_loss_validation"] > 0


def test_a_study_that_only_trains_has_no_audit():
    made = Memory(study({"std": [0.1, 0.2]}, stages=["train"]))
    assert {name.partition(".")[0] for name in figures(made)} == {"loss_curves", "final_loss"}
    (row, _) = made.rows("summary", "cells.parquet")
    assert row["logits_std"] is None and row["final_x"] > 0
