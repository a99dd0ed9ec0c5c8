"""The stage `zone`: a grid and rounds of bisection, each cell the same as where the stage `train` trains it.

The bar of `learned` is set where these small networks reach it after 20 or 60 updates, so that there are zones to find.
"""

from itertools import product

import pytest
from helpers import Memory, mlp, study

from initscope import tables
from initscope.records import canonical
from initscope.spelling import spelled
from initscope.zones import refinements, zone

SHORT = {"corpus": {"training_examples": 200}, "batches": {"size": 16}, "training": {"updates": 20}}
EASY = {"outcome": {"learned_below": 0.95}}
SEEDS = {"seed": [7, 8]}
APART = 2.0

# the zone's axis, and a study with it
CASES = {
    "a network with and without norm": (
        mlp,
        "std",
        {"norm": ["none", "layernorm"], **SEEDS, "std": [0.01, 0.1, 1.0]},
        {**SHORT, **EASY},
    ),
    "a Transformer": (
        study,
        "std",
        {**SEEDS, "std": [0.01, 0.1, 1.0]},
        {"model": {"norm": "none"}, "training": {"updates": 60}, **EASY},
    ),
    "along the factor of a scheme": (
        mlp,
        "factor",
        {"factor": [0.1, 1.0, 10.0], **SEEDS},
        {"init": {"scheme": "he_normal"}, **SHORT, **EASY},
    ),
    "along the learning rate": (
        mlp,
        "learning_rate",
        {**SEEDS, "learning_rate": [0.01, 0.1, 1.0]},
        {"init": {"scheme": "he_normal"}, **SHORT, **EASY},
    ),
}


class Case:
    """A finished search: the rows of every point, {path: rows}."""

    def __init__(self, small, axis, axes, over):
        self.small, self.axis, self.axes, self.over = small, axis, axes, over
        self.zones = self.study(axes, "zone")
        self.made = Memory(self.zones, ("corpus", "zone"))
        self.points = {path: tables.rows(files["tried.parquet"]) for path, files in self.made.bytes("zone").items()}
        self.rows = [row for rows in self.points.values() for row in rows]

    def study(self, axes, stage):
        return self.small(axes, stages=[stage], zone={"axis": self.axis, "apart": APART}, **self.over)

    def tried(self, rows, below=float("inf")):
        """{seed: cells as zones takes them} of the rounds below one."""
        return {
            seed: [
                (row[self.axis], row["outcome"], row["final_x"])
                for row in rows
                if row["seed"] == seed and row["round"] < below
            ]
            for seed in SEEDS["seed"]
        }


@pytest.fixture(scope="module", params=CASES)
def case(request):
    return Case(*CASES[request.param])


def test_round_0_is_the_grid_and_later_rounds_lie_between_what_was_tried(case):
    grid = set(product(SEEDS["seed"], case.axes[case.axis]))
    assert max(row["round"] for row in case.rows) >= 2
    for rows in case.points.values():
        assert {(row["seed"], row[case.axis]) for row in rows if row["round"] == 0} == grid
        assert len({(row["seed"], row[case.axis]) for row in rows}) == len(rows), "a cell was trained twice"
        for row in (row for row in rows if row["round"]):
            before = [value for value, _, _ in case.tried(rows, row["round"])[row["seed"]]]
            assert min(before) < row[case.axis] < max(before)
            assert row[case.axis] not in before


def test_the_values_of_a_round_are_those_that_refining_asks_for(case):
    for rows in case.points.values():
        last = max(row["round"] for row in rows)
        for number in range(1, last + 2):
            chosen = {
                seed: [row[case.axis] for row in rows if (row["seed"], row["round"]) == (seed, number)]
                for seed in SEEDS["seed"]
            }
            wanted = refinements(case.tried(rows, number), APART)
            assert {seed: values for seed, values in chosen.items() if values} == wanted
        assert wanted == {}, "a round is missing"


def test_refining_ends_where_brackets_are_close_enough(case):
    pairs = [
        sorted(pair)
        for rows in case.points.values()
        for found in map(zone, case.tried(rows).values())
        for pair in (found.lower, found.upper)
        if pair
    ]
    closed = [high / low for low, high in pairs if low > 0 and high < float("inf")]
    assert closed and max(closed) <= APART


def test_a_cell_is_the_same_bit_for_bit_as_stage_train_makes_it(case):
    """Outcome and evidence, x, losses and gradient norms: every column that the two tables share."""
    values = sorted({row[case.axis] for row in case.rows})
    trained = Memory(case.study({**case.axes, case.axis: values}, "train"))
    cells = {tuple(row[name] for name in case.axes): row for row in trained.rows("summary", "cells.parquet")}
    columns = [column.name for column in tables.TRAINED]
    for row in case.rows:
        cell = cells[tuple(row[name] for name in case.axes)]
        assert {name: repr(row[name]) for name in columns} == {name: repr(cell[name]) for name in columns}


def test_a_point_is_one_artifact_whose_spec_knows_the_grid_only(case):
    others = [axis for axis in case.axes if axis not in ("seed", case.axis)]
    specs = [a.spec for a in case.made.plan if a.stage == "zone"]
    assert [list(spec["axes"]) for spec in specs] == [others] * len(case.points)
    chosen = {spelled(row[case.axis]) for row in case.rows if row["round"]}
    for spec in specs:
        assert spec["along"] == {axis: values for axis, values in case.axes.items() if axis not in others}
        assert not [value for value in chosen if value in canonical(spec)]


def test_a_row_carries_its_place_in_the_grid(case):
    others = [axis for axis in case.axes if axis not in ("seed", case.axis)]
    for path, rows in case.points.items():
        assert {"/".join(f"{axis}~{row[axis]}" for axis in others) or "cell" for row in rows} == {path}
        assert {tuple(row)[: len(case.axes)] for row in rows} == {(*others, "seed", case.axis)}
        assert {(type(row["seed"]), type(row[case.axis])) for row in rows} == {(int, float)}


def test_neither_order_nor_company_changes_a_cell():
    case = Case(*CASES["a network with and without norm"])
    backwards = {axis: values[::-1] for axis, values in reversed(case.axes.items())}
    turned = Memory(case.study(backwards, "zone"), ("corpus", "zone"), stack=1)
    rows = [row for files in turned.bytes("zone").values() for row in tables.rows(files["tried.parquet"])]
    place = lambda row: (row["norm"], row["seed"], row["std"])
    assert {place(row): list(map(repr, sorted(row.items()))) for row in rows} == {
        place(row): list(map(repr, sorted(row.items()))) for row in case.rows
    }
    alone = case.made.bytes("zone")
    case.made.make([a for a in case.made.plan if a.stage == "zone"])  # both points in one call
    assert case.made.bytes("zone") == alone
