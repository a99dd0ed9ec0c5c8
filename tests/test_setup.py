"""What a setup accepts, and the one line that names key, value and mend where it does not."""

import pytest
from helpers import SMALL, config, mlp, refused, study

SEEDS, STDS = {"seed": [7, 8]}, {"std": [0.1, 1.0]}
GRID = SEEDS | STDS
DIGITS = {"source": "digits", "seed": 1, "training_examples": 40, "validation_examples": 24}


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: mlp(init={"scheme": "scaled_residual"}), ["init.scheme", "'scaled_residual'", "this model has none"]),
        (lambda: mlp(init={"scheme": "fan_in_depth"}), ["init.scheme", "'fan_in_depth'", "embedding"]),
        (lambda: study(init={"scheme": "he_normal", "gain": "torch"}), ["init.gain", "gelu", "use theory"]),
        (lambda: mlp(model={"layers": 0}), ["model.layers", "0", "greater than or equal to 2"]),
        (lambda: study(model={"layers": 0}), ["model.layers", "0", "greater than or equal to 1"]),
        (
            lambda: mlp(model={"norm": "batchnorm"}, batches={"size": 1}),
            ["batches.size", "1", "batchnorm", "at least 2"],
        ),
        (lambda: study(model={"width": 25}), ["model.heads", "divide the width 25"]),
        (lambda: study(corpus=DIGITS), ["model.kind", "'transformer'", "cannot read digits", "markov or text"]),
        (
            lambda: mlp(corpus={**SMALL["corpus"], "source": "markov", "vocabulary": 8, "seed": 1}),
            ["cannot read markov"],
        ),
        (lambda: mlp(corpus={"training_examples": 1700, "validation_examples": 98}), ["training_examples", "1797"]),
        (lambda: mlp(model={"heads": 3}), ["model.heads is not a key"]),
        (lambda: study(model={"kind": "mpl"}), ["model.kind", "'mpl'", "'transformer' or 'mlp'"]),
        (lambda: study(corpus={"source": "makrov"}), ["corpus.source", "'makrov'", "'markov'"]),
        (lambda: study(model={"kind": "mlp"}), ["model.layers is missing"]),
        (lambda: mlp({"std": [0.1, 0.2]}, init={"scheme": "he_normal"}), ["axes.std", "changes nothing", "std~0.1"]),
        (lambda: study({"momentum": [0.0, 0.9]}), ["axes.momentum", "changes nothing"]),
        (lambda: study(stages=["audits"]), ["stages", "'audits'", "'audit'"]),
        (lambda: study(stages=[]), ["stages", "[]", "audit, train"]),
        (lambda: study(stages=["audit"], figures=["loss_curves"]), ["figures", "'loss_curves'", "not possible"]),
        (lambda: mlp(figures=["depth"]), ["figures", "'depth'", "not possible"]),
        (lambda: mlp(figures=["attention"]), ["figures", "'attention'", "not possible"]),
        (lambda: study(stages="audit"), ["studies.test.stages", "'audit'", "give a list"]),
        (lambda: study(stages=["zoo"]), ["studies.test.stages", "'zoo'", "'zone'"]),
        (lambda: study(STDS, stages=["zone"]), ["studies.test.axes.seed", "None", "the stage zone needs", "add them"]),
        (lambda: study(SEEDS, stages=["zone"]), ["studies.test.axes.std", "None", "the stage zone needs", "add them"]),
        (
            lambda: study(GRID, stages=["zone"], zone={"axis": "learning_rate"}),
            ["studies.test.axes.learning_rate", "None", "the stage zone needs", "add them"],
        ),
        (
            lambda: study(SEEDS, stages=["train", "cascade"], training={"updates": 60}),
            ["studies.test.axes.std", "None", "the stage cascade needs", "add them"],
        ),
        (
            lambda: study(GRID, stages=["audit", "cascade"], training={"updates": 60}),
            ["studies.test.stages", "['audit', 'cascade']", "the curves of train", "add it"],
        ),
        *[
            (
                lambda n=updates: study(GRID, stages=["train", "cascade"], training={"updates": n}),
                ["studies.test.training.updates", str(updates), "a third", "60, 150, 300"],
            )
            for updates in (200, 90)  # no multiple of 3; 30, which is not recorded
        ],
        (
            lambda: study({**GRID, "updates": [60, 90]}, stages=["train", "cascade"]),
            ["updates", "90", "a third", "60, 150, 300"],
        ),
        (lambda: study(GRID, stages=["zone"], zone={"apart": 1.0}), ["zone.apart", "1.0", "greater than 1"]),
        (lambda: study(zone={"axis": "layers"}), ["zone.axis", "'layers'", "'std'"]),
    ],
)
def test_what_does_not_fit_is_refused(made, said):
    line = refused(made)
    assert all(part in line for part in said), line


def test_only_what_reaches_the_weights_is_in_the_settings():
    he = mlp(init={"scheme": "he_normal"}).cells[0].settings["init"]
    assert he == {"scheme": "he_normal", "gain": "paper", "factor": 1.0, "seed": 7}
    assert "gain" not in study().cells[0].settings["init"]


def test_only_what_the_optimizer_uses_is_in_the_settings():
    assert "momentum" not in study().cells[0].settings["training"]
    sgd = study(training={"optimizer": "sgd"}).cells[0].settings["training"]
    assert "betas" not in sgd and sgd["momentum"] == 0.0


def test_what_the_stages_along_a_zone_accept():
    found = study({"norm": ["none", "rmsnorm"], **GRID}, stages=["zone"])
    assert found.along == GRID
    assert [point.path for point in found.points] == ["norm~none", "norm~rmsnorm"]
    for updates in (60, 150, 300, 600):  # 3 times 20, 50, 100, 200
        assert study(GRID, stages=["train", "cascade"], training={"updates": updates}).stages == ("train", "cascade")


def test_a_study_without_other_axes_is_one_point():
    (point,) = study(GRID, stages=["zone"]).points
    assert (point.path, point.axes) == ("cell", {})


def test_another_kind_of_section_stands_for_itself():
    base = {"model": {"kind": "transformer", "heads": 3}, "init": {"std": 0.1, "seed": 7}}
    over = {"model": {"kind": "mlp", "width": 8}, "init": {"std": 0.2}}
    assert config.merged(base, over) == {"model": over["model"], "init": {"std": 0.2, "seed": 7}}
    assert config.merged(base, {"model": {"heads": 4}})["model"] == {"kind": "transformer", "heads": 4}


# ---- text ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def text(tmp_path, monkeypatch):
    """Write a text and make the study that reads it."""
    monkeypatch.chdir(tmp_path)

    def written(data, **over):
        if data is not None:
            (tmp_path / "mine.txt").write_bytes(data)
        corpus = {"source": "text", "path": "mine.txt", "unit": "character", "held_out": 0.2, "seed": 3, "length": 7}
        counts = {"training_sequences": 20, "validation_sequences": 10}
        return study(corpus={**corpus, **counts, **over})

    return written


@pytest.mark.parametrize(
    ("data", "over", "said"),
    [
        (None, {}, ["No such file", "UTF-8"]),
        (b"", {}, ["empty"]),
        (b"\x80\x81" * 100, {}, ["not UTF-8"]),
        (b"abc\0" * 100, {}, ["binary"]),
        (b"abc" * 5, {}, ["3 symbols", "corpus.length 7"]),
        (b"a" * 100, {}, ["no symbol but ['a']", "at least 2"]),
        (b"ab" * 50 + b"c" * 10, {}, ["the training part lacks: ['c']", "held_out"]),
        (b"ab" * 50, {"path": "../mine.txt"}, ["'../mine.txt'", "out of the folder"]),
        (b"ab" * 50, {"unit": "word"}, ["corpus.unit", "'word'", "'character' or 'byte'"]),
        (b"ab" * 50, {"held_out": 1.0}, ["corpus.held_out", "1.0", "less than 1"]),
    ],
)
def test_a_text_that_will_not_do(text, data, over, said):
    line = refused(lambda: text(data, **over))
    assert "corpus." in line
    assert all(part in line for part in said), line


def test_the_vocabulary_is_that_of_the_training_part(text):
    corpus = text("äbc".encode() * 50).cells[0].settings["corpus"]
    assert corpus["vocabulary"] == 3 and len(corpus["sha256"]) == 64
    assert text("äbc".encode() * 50, unit="byte").cells[0].settings["corpus"]["vocabulary"] == 4
