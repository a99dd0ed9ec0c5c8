"""Figures: deterministic bytes; nothing that is not finite is dropped without a word."""

import numpy as np
import pytest
from helpers import Memory, mlp, refused, study

from initscope.figures import USUAL
from initscope.figures.boundary import boundary, edges
from initscope.figures.draw import Study, drawing
from initscope.tables import write_rows
from initscope.training import marks

TRANSFORMER = set(USUAL) - {"zones", "cascade", "map"}  # one that is audited and trained
OUTCOMES = {"l": "learned", "s": "slow", "d": "dead", "u": "unstable", "x": "diverged"}


@pytest.fixture(scope="module")
def made():
    return Memory(study({"seed": [7, 8], "std": [0.1, 1.0, 1e20]}, model={"norm": "none"}))


def figures(made):
    (files,) = made.bytes("figures").values()
    return files


def test_every_figure_as_svg_and_png(made):
    files = figures(made)
    assert set(files) == {f"{name}.{kind}" for name in TRANSFORMER for kind in ("svg", "png")}
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
    texts = {name: [t.get_text() for ax in drawing(name)(study).axes for t in ax.texts] for name in TRANSFORMER}
    assert texts["final_loss"] == ["2 not finite"]
    lost = 2 * len(marks(6))  # two seeds, every recorded update
    assert texts["loss_curves"] == [f"{lost} recorded values are not finite and not drawn"]
    assert "not finite" in texts["signal_depth"][0]


def test_a_study_of_one_cell_and_one_with_other_axes_have_figures_too():
    for axes in ({}, {"learning_rate": [0.001, 0.01]}, {"norm": ["none", "layernorm"], "std": [0.1, 1.0]}):
        assert len(figures(Memory(study(axes)))) == 2 * len(TRANSFORMER)


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
    assert drawn(mlp(axes, init={"scheme": "he_normal"})) == TRANSFORMER - {"attention"}


def test_a_study_that_only_measures_has_no_training():
    made = Memory(study({"std": [0.1, 0.2]}, stages=["audit"]))
    assert {a.stage for a in made.plan} == {"corpus", "init", "audit", "summary", "figures"}
    assert {name.partition(".")[0] for name in figures(made)} == TRANSFORMER - {"loss_curves", "final_loss"}
    (row, _) = made.rows("summary", "cells.parquet")
    assert row["outcome"] is None and row["final_x"] is None and row["initial_loss_validation"] > 0


def test_a_study_that_only_trains_has_no_audit():
    made = Memory(study({"std": [0.1, 0.2]}, stages=["train"]))
    assert {name.partition(".")[0] for name in figures(made)} == {"loss_curves", "final_loss"}
    (row, _) = made.rows("summary", "cells.parquet")
    assert row["logits_std"] is None and row["final_x"] > 0


def zone_study(norms):
    """A study of zones with made-up outcomes: {norm: a string a seed, a letter a std}."""
    (strings, *_) = norms.values()
    axes = {"norm": list(norms), "seed": list(range(len(strings))), "std": [10.0 ** (i - 3) for i in range(6)]}
    made = Memory(mlp(axes, stages=["zone"]), stages=())
    for artifact in made.plan:
        if artifact.stage == "zone":
            at = artifact.cell.axes
            seeds = enumerate(norms[at["norm"]])
            rows = [
                {**at, "seed": seed, "std": std, "round": 0, "outcome": OUTCOMES[letter], "final_x": 0.1}
                for seed, letters in seeds
                for std, letter in zip(axes["std"], letters)
            ]
            made.files[artifact.digest] = {"tried.parquet": write_rows("tried", {**at, "seed": 0, "std": 1.0}, rows)}
    for stage in ("brackets", "figures"):
        made.make([artifact for artifact in made.plan if artifact.stage == stage])
    return made


def texts(made, name):
    """What a figure says beside its axes, line by line."""
    (artifact,) = [a for a in made.plan if a.stage == "figures"]
    plots = drawing(name)(Study(artifact.spec, made.read)).axes
    return [line for ax in plots for text in ax.texts for line in text.get_text().splitlines()]


def test_zones_of_few_seeds():
    made = zone_study({"none": ["llllll", "dlslux"], "layernorm": ["ddddux", "dddddx"]})  # x: diverged
    assert {a.stage for a in made.plan} == {"corpus", "zone", "brackets", "figures"}
    assert set(figures(made)) == {"zones.svg", "zones.png"}
    said = texts(made, "zones")
    assert said.count("beyond") == 2 and "width not known: beyond what was tried" in said
    assert "1 cell inside that did not learn" in said and "0 of 2 seeds learn" in said


def test_zones_with_intervals():
    made = zone_study({"none": ["ddlllx"] * 6, "layernorm": ["dlllll"] * 5 + ["dddddx"]})
    said = texts(made, "zones")
    assert "6 of 6 seeds learn" in said and "5 of 6 seeds learn" in said
    assert any(line.startswith("width 3.00 (2.00 to 4.00) decades") for line in said)
    assert any(line.startswith("against norm none: ") for line in said)
    before = figures(made)
    made.make([a for a in made.plan if a.stage == "figures"])
    assert figures(made) == before


def test_a_study_of_zones_along_the_learning_rate():
    axes = {"seed": [7, 8], "learning_rate": [0.01, 0.1]}
    assert drawn(mlp(axes, stages=["zone"], zone={"axis": "learning_rate"})) == {"zones"}


def cascade_study(axes, **outcome):
    training = {"optimizer": "adam", "learning_rate": 0.03, "betas": [0.9, 0.999], "eps": 1e-8, "updates": 60}
    over = {"corpus": {"training_examples": 400}, "batches": {"size": 32}, "training": training, "outcome": outcome}
    return Memory(mlp(axes, stages=["train", "cascade"], figures=["cascade"], **over))


def test_cascade():
    made = cascade_study({"seed": [7, 8], "std": [1e-5, 0.3, 1e20]}, learned_below=0.95)
    assert set(figures(made)) == {"cascade.svg", "cascade.png"}
    found = {(row["side"], row["outcome"]) for row in made.rows("cascade", "cascade.parquet")}
    assert found > {("inside", "learned"), ("above", "diverged")} and "below" in dict(found)
    assert texts(made, "cascade") == ["not finite or far out, on the edge:", "2 diverged", "not finite"]
    before = figures(made)
    made.make([a for a in made.plan if a.stage == "figures"])
    assert figures(made) == before


def test_cascade_of_seeds_that_learn_nowhere():
    said = texts(cascade_study({"seed": [7, 8], "std": [0.3]}, learned_below=-1.0), "cascade")
    assert said == [
        "left out, since their seed learns nowhere: the cells of 2 seeds",
        "no cell starts outside the zone of its seed",
    ]


def map_study(axes, outcomes):
    """A sweep with made-up outcomes: a letter a cell, in the order of the axes."""
    made = Memory(study(axes, stages=["sweep"]), stages=())
    (summary,) = (artifact for artifact in made.plan if artifact.stage == "summary")
    cells = [artifact.cell.axes for artifact in made.plan if artifact.stage == "sweep"]
    rows = [{**axes, "outcome": OUTCOMES[letter]} for axes, letter in zip(cells, outcomes, strict=True)]
    made.files[summary.digest] = {"cells.parquet": write_rows("cells", cells[0], rows)}
    made.make([artifact for artifact in made.plan if artifact.stage == "figures"])
    return made


RATES, STDS = [0.1, 0.01, 0.001], [0.01, 1.0]  # as a file may have them: in any order


def test_a_map_shows_every_outcome_at_its_place():
    made = map_study({"learning_rate": RATES, "std": STDS}, "xulsld")
    assert set(figures(made)) == {"map.svg", "map.png"}
    (artifact,) = [a for a in made.plan if a.stage == "figures"]
    (ax,) = drawing("map")(Study(artifact.spec, made.read)).axes
    (image, line) = ax.collections
    codes = [list(OUTCOMES.values()).index(OUTCOMES[letter]) for letter in "ldlsxu"]  # from the lowest rate up
    assert image.get_array().ravel().tolist() == codes
    assert ax.get_xlim() == pytest.approx((1e-3, 10)) and ax.get_ylim() == pytest.approx((10**-3.5, 10**-0.5))
    ends = [[(0.1, 10**-3.5), (0.1, 10**-2.5)], [(0.1, 10**-2.5), (0.1, 10**-1.5)], [(1e-3, 10**-1.5), (0.1, 10**-1.5)]]
    assert np.allclose(line.get_segments(), ends)
    assert [text.get_text() for text in ax.get_legend().get_texts()[:2]] == ["learned: 2", "slow: 1"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("std of the weights", "learning rate")
    before = figures(made)
    made.make([artifact])
    assert figures(made) == before


def test_a_map_has_a_panel_for_every_point_of_other_axes():
    axes = {"norm": ["none", "layernorm"], "learning_rate": RATES, "seed": [7, 8, 9], "std": STDS}
    made = map_study(axes, "lsduxl" * 6)
    (artifact,) = [a for a in made.plan if a.stage == "figures"]
    plots = drawing("map")(Study(artifact.spec, made.read)).axes
    assert [ax.get_title() for ax in plots] == [
        f"norm {norm}, seed {seed}" for norm in ("none", "layernorm") for seed in (7, 8, 9)
    ]


def test_a_map_takes_two_axes_of_numbers():
    assert study({"std": STDS}, stages=["sweep"]).figures == ()
    axes = {"norm": ["none", "layernorm"], "std": STDS}
    assert "'map' is not possible here" in refused(lambda: study(axes, stages=["sweep"], figures=["map"]))
    assert study({"width": [8, 16], "std": STDS}, stages=["sweep"]).figures == ("map",)


def test_edges_and_boundary_by_hand():
    assert edges([1.0, 10.0, 1000.0]) == pytest.approx([10**-0.5, 10**0.5, 100, 10_000])
    inside = np.array([[True, False], [True, True]])
    assert boundary(inside, [0, 1, 2], [0, 1, 2]) == [((1, 0), (1, 1)), ((1, 1), (2, 1))]
    assert boundary(np.ones((3, 2), dtype=bool), [0, 1, 2], [0, 1, 2, 3]) == []
