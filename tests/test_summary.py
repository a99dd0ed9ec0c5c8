import json
import math

import numpy as np
import pytest
from helpers import Memory, study

from initscope import tables
from initscope.summary import METRICS, metrics, spread


@pytest.fixture(scope="module")
def made():
    return Memory(study({"seed": [7, 8], "std": [0.1, 1e20]}, model={"norm": "none"}))


def strict(data):
    """JSON as strict readers take it: a bare NaN or Infinity is an error."""
    return json.loads(data, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))


def test_a_cells_row_repeats_the_tables_it_comes_from(made):
    rows = made.rows("summary", "cells.parquet", "seed~7/std~0.1")
    assert [(row["seed"], row["std"]) for row in rows] == [(7, 0.1), (7, 1e20), (8, 0.1), (8, 1e20)]
    cell = rows[0]
    curve = made.rows("train", "curves.parquet", "seed~7/std~0.1")
    assert cell["final_loss_validation"] == curve[-1]["validation_loss"]
    assert cell["final_loss_training_corpus"] == curve[-1]["training_corpus_loss"]
    assert cell["first_update_ratio"] == curve[1]["update_ratio"]
    assert cell["ln_vocabulary"] == math.log(8)
    assert {row["train_digest"] for row in rows} == {a.digest for a in made.plan if a.stage == "train"}


def test_every_row_is_its_own_cell():
    """Axes in an order that is not the alphabet's: a row has the digests and the numbers of the tables of its cell."""
    made = Memory(study({"std": [0.1, 1.0], "norm": ["none", "layernorm"], "seed": [7, 8]}))
    rows = made.rows("summary", "cells.parquet")
    assert list(rows[0])[:3] == ["std", "norm", "seed"]
    audits = {a.digest: a.cell for a in made.plan if a.stage == "audit"}
    for row in rows:
        cell = audits[row["audit_digest"]]
        assert {axis: row[axis] for axis in cell.axes} == cell.axes
        curve = made.rows("train", "curves.parquet", cell.path)
        assert row["final_loss_validation"] == curve[-1]["validation_loss"]
    assert len(rows) == 8


def test_metrics_hold_no_nan_and_say_why(made):
    # D3 of the public cases
    found = strict(made.bytes("summary")["seed~7/std~0.1"]["metrics.json"])
    assert list(found) == ["std~0.1", "std~1e+20"]
    lost = found["std~1e+20"]
    assert lost["final_loss_validation"] == {"median": None, "min": None, "max": None}
    assert lost["outcomes"] == {"diverged": 2}
    assert found["std~0.1"]["initial_loss_validation"]["min"] <= found["std~0.1"]["initial_loss_validation"]["median"]


def test_metrics_of_a_single_cell_are_plain_numbers():
    made = Memory(study())
    found = strict(made.bytes("summary")["cell"]["metrics.json"])
    (row,) = made.rows("summary", "cells.parquet")
    assert found == {**{name: row[name] for name in METRICS}, "outcome": row["outcome"]}


def test_a_study_without_a_std_axis_is_grouped_by_its_others():
    rows = [
        {**dict.fromkeys(METRICS, 1.0), "seed": seed, "norm": norm, "outcome": "slow"}
        for seed in (7, 8)
        for norm in ("none", "layernorm")
    ]
    assert list(metrics(rows, ["seed", "norm"])) == ["norm~none", "norm~layernorm"]
    assert list(metrics(rows[:2], ["seed"])) == ["cell"]


def test_spread():
    assert spread([3.0, 1.0, 2.0]) == {"median": 2.0, "min": 1.0, "max": 3.0}
    assert spread([1.0, math.nan]) == {"median": None, "min": None, "max": None}


def test_every_table_has_its_schema(made):
    for stage, name, table in (
        ("audit", "parameters.parquet", "parameters"),
        ("audit", "signals.parquet", "signals"),
        ("train", "curves.parquet", "curves"),
        ("summary", "cells.parquet", "cells"),
    ):
        for files in made.bytes(stage).values():
            assert tables.read(files[name]).schema.equals(tables.schema(table, {"seed": 7, "std": 0.1}))


def test_the_not_finite_stay_and_are_counted(made):
    rows = made.rows("audit", "signals.parquet", "seed~7/std~1e+20")
    lost = [row for row in rows if not row["finite"]]
    assert lost and all(row["n_nonfinite"] > 0 for row in lost)
    assert all((row["n_nonfinite"] == 0) == row["finite"] for row in rows)
    assert any(np.isnan(row["mean"]) or np.isinf(row["mean"]) for row in lost)
