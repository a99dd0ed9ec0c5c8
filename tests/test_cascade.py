"""Cells outside their seed's zone, from hand-made curves of 60 updates (n = 20). floor 1, baseline 2: x = loss - 1."""

import math

import pytest
from helpers import PUBLISHED, Memory, mlp

from initscope import tables
from initscope.cascade import groups, trained, with_gaps
from initscope.marks import marks

LIMITS = PUBLISHED.setup["outcome"]
SOURCE = {"x_zero_loss": 1.0, "unigram_entropy": 2.0}
INF = math.inf


def curve(now, later, lost=INF, scale=0.0):
    """x is `now` up to n updates and `later` after them; from update `lost` on nothing is finite.

    Gradient norm and update ratio are the number of updates so far, plus `scale`; they are large after 10.
    """
    rows = []
    for update in range(61):
        row = {"update": update, "recorded": update in marks(60), "finite": update < lost}
        if row["recorded"]:
            size = scale + (update if update <= 10 else 1e6)
            loss = 1 + (now if update <= 20 else later) if update < lost else math.nan
            row |= {"validation_loss": loss, "gradient_norm": size, "update_ratio": size if update else None}
        rows.append(row)
    return rows


def gaps(cells, seed=7):
    """{std: row} of one seed's cells, {std: curve}."""
    found = [{"seed": seed, "std": std, **trained(rows, SOURCE, LIMITS)} for std, rows in cells.items()]
    return {row["std"]: row for row in with_gaps(found, "std")}


INSIDE = {0.1: curve(0.1, 0.0), 1.0: curve(0.2, 0.2)}  # learned: x <= 0.3; medians 0.15 at n, 0.1 at 3 n


def test_gaps_are_x_less_the_median_inside():
    found = gaps({0.01: curve(0.9, 0.5), **INSIDE, 10.0: curve(1.2, 0.85)})
    assert {std: row["side"] for std, row in found.items()} == {
        0.01: "below",
        0.1: "inside",
        1.0: "inside",
        10.0: "above",
    }
    assert [(row["gap"], row["gap_later"]) for row in found.values()] == [
        pytest.approx(pair)
        for pair in [(0.75, 0.4), (-0.05, -0.1), (0.05, 0.1), (1.05, 0.75)]  # 0.9 - 0.15 and 0.5 - 0.1, and so on
    ]
    assert [found[std]["ratio"] for std in (0.01, 10.0)] == pytest.approx([0.4 / 0.75, 0.75 / 1.05])
    assert found[0.1]["ratio"] is found[1.0]["ratio"] is None


@pytest.mark.parametrize(
    ("now", "outcome"), [(0.9, "slow"), (0.99, "dead"), (1.2, "unstable"), (2.5, "diverged"), (0.2, "learned")]
)
def test_the_outcome_is_that_at_n_updates(now, outcome):
    """0.2: learned too, but two stds away from the zone. What it ends at decides nothing."""
    found = gaps({0.001: curve(now, 0.0), 0.01: curve(0.9, 0.9), 0.03: curve(0.9, 0.9), **INSIDE})
    assert found[0.001]["outcome"] == outcome
    assert (found[0.001]["x"], found[0.001]["x_later"]) == (pytest.approx(now), 0.0)
    assert found[0.001]["side"] == "below"


def test_a_std_between_two_that_learned_is_inside():
    found = gaps({0.01: curve(0.9, 0.9), 0.1: curve(0.1, 0.1), 0.3: curve(0.6, 0.6), 1.0: curve(0.2, 0.2)})
    assert (found[0.3]["side"], found[0.3]["ratio"]) == ("inside", None)
    assert found[0.01]["gap"] == pytest.approx(0.7), "0.9 less the median of 0.1, 0.6 and 0.2"


@pytest.mark.parametrize("lost", [0, 5, 20, 30])
def test_a_loss_that_is_not_finite_never_catches_up(lost):
    row = gaps({**INSIDE, 10.0: curve(0.9, 0.9, lost=lost)})[10.0]
    assert (row["ratio"], row["gap_later"]) == (INF, INF)
    assert row["outcome"] == ("slow" if lost > 20 else "diverged")
    assert row["gap"] == (pytest.approx(0.75) if lost > 20 else INF)


def test_a_seed_that_learns_nowhere_has_no_rows():
    assert gaps({0.01: curve(0.9, 0.1), 0.1: curve(0.5, 0.1)}) == {}


def test_early_scales_are_medians_over_the_recorded_of_the_first_ten_updates():
    row = trained(curve(0.9, 0.9), SOURCE, LIMITS)
    assert row["early_gradient_norm"] == 2, "of updates 0, 1, 2, 5 and 10"
    assert row["early_update_ratio"] == 3.5, "of updates 1, 2, 5 and 10: there is none before the first"


# -- seeds together


def persistence(later, now=0.9, **about):
    """The one group of seeds whose zone is one cell with x = 0, and whose outside cell ends at one of `later`."""
    found = []
    for seed, x in enumerate(later):
        cells = {0.01: curve(now, x, scale=seed), 0.1: curve(0.0, 0.0)}
        found += gaps(cells, seed).values()
    (row,) = groups([{**row, **about} for row in found], list(about))
    return row


@pytest.mark.parametrize(
    ("later", "low", "persists"),
    [
        ([0.9] * 6, 1.0, True),
        ([0.9] * 5 + [0.72], 0.8, False),  # 0.72 / 0.9 = 0.8, which is the limit itself; of 6 all count
        ([0.9] * 5 + [0.45], 0.5, False),
        ([0.9] * 9 + [0.45], 1.0, True),  # of ten, the 2nd to the 9th
        ([0.9] * 8 + [0.45] * 2, 0.5, False),
        ([0.9] * 5, None, None),
    ],
)
def test_a_gap_persists_where_its_whole_interval_does(later, low, persists):
    row = persistence(later)
    assert (row["side"], row["outcome"], row["seeds"]) == ("below", "slow", len(later))
    assert row["ratio"] == pytest.approx(1.0)
    assert row["ratio_low"] == (None if low is None else pytest.approx(low))
    assert row["persists"] is persists


def test_cells_that_diverged_persist():
    found = []
    for seed in range(6):
        found += gaps({**INSIDE, 10.0: curve(0.9, 0.9, lost=5)}, seed).values()
    (row,) = groups(found, [])
    assert (row["side"], row["outcome"], row["seeds"]) == ("above", "diverged", 6), "no group is inside"
    assert (row["ratio"], row["ratio_low"], row["ratio_high"], row["persists"]) == (INF, INF, INF, True)
    assert math.isnan(row["x_later"]) and row["x_later_low"] is None


def test_a_group_has_medians_and_intervals_of_what_its_seeds_were():
    row = persistence([0.9] * 6, norm="none")
    assert row["norm"] == "none"
    ends = lambda name: [row[name], row[f"{name}_low"], row[f"{name}_high"]]
    assert ends("early_gradient_norm") == [4.5, 2, 7], "2 at seed 0, one more a seed: 2 to 7"
    assert ends("early_update_ratio") == [6, 3.5, 8.5], "3.5 to 8.5 likewise"
    assert ends("x_later") == pytest.approx([0.9] * 3)


def test_a_group_is_one_side_and_one_outcome_and_a_seed_counts_once():
    found = []
    for seed in range(6):
        # ratios 1, 1/2 and 1/3 below: the seed's median is 1/2. Above: dead
        below = {0.001: curve(0.9, 0.9), 0.003: curve(0.8, 0.4), 0.01: curve(0.6, 0.2)}
        found += gaps({**below, 0.1: curve(0.0, 0.0), 1.0: curve(0.99, 0.99)}, seed).values()
    rows = {(row["side"], row["outcome"]): row for row in groups(found, [])}
    assert {key: row["seeds"] for key, row in rows.items()} == {("below", "slow"): 6, ("above", "dead"): 6}
    assert rows["below", "slow"]["ratio_low"] == rows["below", "slow"]["ratio_high"] == pytest.approx(1 / 2)
    assert rows["above", "dead"]["ratio"] == pytest.approx(1)


# -- the stage


def test_a_small_study():
    """After a third of its training x is below 0.97 at std 0.1 and above it elsewhere: the bar is set between."""
    study = mlp(
        {"norm": ["layernorm"], "seed": [7, 8], "std": [0.001, 0.1, 10.0]},
        stages=["train", "cascade"],
        corpus={"training_examples": 200},
        batches={"size": 16},
        training={"updates": 60},
        outcome={"learned_below": 0.97},
    )
    made = Memory(study, ("corpus", "init", "train", "cascade"))
    files = made.bytes("cascade")["norm~layernorm/seed~7/std~0.001"]
    cells, found = (tables.read(files[f"{name}.parquet"]) for name in ("cascade", "persistence"))
    assert cells.schema.equals(tables.schema("cascade", {"norm": "none", "seed": 7, "std": 0.1}))
    assert found.schema.equals(tables.schema("persistence", {"norm": "none"}))
    rows = cells.to_pylist()
    assert {(row["seed"], row["std"]): row["side"] for row in rows} == {
        (seed, std): side for seed in (7, 8) for std, side in ((0.001, "below"), (0.1, "inside"), (10.0, "above"))
    }
    inside = {row["seed"]: row for row in rows if row["side"] == "inside"}
    for row in rows:
        curve = made.rows("train", "curves.parquet", f"norm~layernorm/seed~{row['seed']}/std~{row['std']}")
        # the losses' difference, in units of baseline less floor, which cancel in the ratio
        loss = lambda update, of: of[update]["validation_loss"]
        same = made.rows("train", "curves.parquet", f"norm~layernorm/seed~{row['seed']}/std~0.1")
        differences = [loss(update, curve) - loss(update, same) for update in (20, 60)]
        assert row["gap"] == pytest.approx(row["x"] - inside[row["seed"]]["x"])
        if row["side"] == "inside":
            assert row["ratio"] is None
        else:
            assert row["ratio"] == pytest.approx(differences[1] / differences[0], rel=1e-9)
    assert {row["seeds"] for row in found.to_pylist()} <= {1, 2}
    assert {row["persists"] for row in found.to_pylist()} == {None}, "two seeds have no interval"
