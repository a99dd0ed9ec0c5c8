"""The stage `sweep`: what the stage `train` measures, without weights, and small enough for thousands of cells."""

import pytest
from helpers import Memory, mlp, study

from initscope.records import canonical

AXES = {"learning_rate": [0.001, 0.1], "std": [0.1, 1e20]}  # 1e20: no longer finite, beside cells that are
TRAINED = ("corpus", "init", "train", "summary")


@pytest.fixture(scope="module", params=[study, mlp], ids=["transformer", "mlp"])
def both(request):
    """The same study as a sweep and as a training."""
    over = {"model": {"norm": "none"}}
    return Memory(request.param(AXES, stages=["sweep"], **over)), Memory(
        request.param(AXES, stages=["train"], **over), TRAINED
    )


def without(rows, *columns):
    """As text: NaN equals itself, and every bit counts."""
    return [repr({name: value for name, value in row.items() if name not in columns}) for row in rows]


def test_curves_are_those_of_a_training_without_its_losses_on_the_training_corpus(both):
    for cell in both[0].bytes("sweep"):
        found, wanted = (made.rows(stage, "curves.parquet", cell) for made, stage in zip(both, ("sweep", "train")))
        assert without(found, "training_corpus_loss") == without(wanted, "training_corpus_loss")
        assert [row["training_corpus_loss"] for row in found] == [None] * len(found)


def test_the_cell_table_is_that_of_a_training(both):
    sweep, _ = both
    left = ("init_digest", "train_digest", "initial_loss_training_corpus", "final_loss_training_corpus")
    found, wanted = (made.rows("summary", "cells.parquet") for made in both)
    assert without(found, *left) == without(wanted, *left)
    assert [row["train_digest"] for row in found] == [a.digest for a in sweep.plan if a.stage == "sweep"]
    found, wanted = (next(iter(made.bytes("summary").values())) for made in both)
    assert found["loss_curves.csv"] == wanted["loss_curves.csv"]


def test_it_keeps_curves_only(both):
    sweep, _ = both
    assert {name for a in sweep.plan if a.stage == "sweep" for name in a.places} == {"curves.parquet", "record.json"}


def test_a_study_may_be_audited_and_swept():
    made = Memory(
        study({"std": [0.1, 1.0]}, stages=["audit", "sweep"]), ("corpus", "init", "audit", "sweep", "summary")
    )
    for row in made.rows("summary", "cells.parquet"):
        assert row["initial_loss_training_corpus"] > 0 and row["logits_std"] > 0 and row["outcome"]


def test_ten_thousand_cells_take_less_than_200_mb():
    """Once in the store and once in results/, with their records: 10 kB a cell and copy."""
    cells = study({"std": [0.1, 1.0]}, small=False, stages=["sweep"], training={"updates": 100})
    made = Memory(cells, ("corpus", "sweep"))
    for artifact in (a for a in made.plan if a.stage == "sweep"):
        assert len(made.files[artifact.digest]["curves.parquet"]) + len(canonical(artifact.spec)) < 10_000
