"""Figures: deterministic bytes; nothing that is not finite is dropped without a word."""

import pytest
from helpers import Memory, study

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
