"""Tables of zones, from hand-made cells: L learned, a dot did not, at stds of 0.01, 0.1, 1, ..."""

import math

import pytest
from helpers import Memory, mlp
from hypothesis import given
from hypothesis import strategies as st

from initscope import tables
from initscope.brackets import cells_of_a_grid, make, seed_rows, zone_rows

INF = math.inf


def tried(*seeds, **point):
    """The rows of seeds 1, 2, ...; the final x is the place in the row."""
    return [
        {
            **point,
            "seed": seed,
            "std": 10.0 ** (i - 2),
            "outcome": "learned" if letter == "L" else "slow",
            "final_x": float(i),
        }
        for seed, letters in enumerate(seeds, 1)
        for i, letter in enumerate(letters)
    ]


def over_seeds(*seeds):
    (row,) = zone_rows(tried(*seeds), "std", [])
    return row


def ends(row, name):
    return row[name], row[f"{name}_low"], row[f"{name}_high"]


# -- seeds together


def test_a_bracket_is_the_median_over_seeds_with_the_second_to_the_ninth_of_ten():
    """Seed i of 1 to 10 learns from 10^(i+1) to 10^20 and was tried at 10^i and 10^21."""
    cells = [
        {"seed": i, "std": 10.0**exponent, "outcome": outcome, "final_x": 0.1}
        for i in range(1, 11)
        for exponent, outcome in ((i, "dead"), (i + 1, "learned"), (20, "learned"), (21, "unstable"))
    ]
    (row,) = zone_rows(cells, "std", [], resolution=50)
    # between i and i + 1 decades: medians 5.5 and 6.5, the 2nd of the least is 2, the 9th of the greatest 10
    assert ends(row, "lower") == pytest.approx((10.0**6, 10.0**2, 10.0**10))
    # every seed's lies between 20 and 21 decades
    assert ends(row, "upper") == pytest.approx((10.0**20.5, 10.0**20, 10.0**21))
    # from inside to inside 19 - i (9 to 18, median 13.5), from outside to outside 21 - i (11 to 20, median 15.5)
    assert ends(row, "decades") == pytest.approx((14.5, 10, 19))
    assert (row["along"], row["seeds"], row["learned"]) == ("std", 10, 10)
    assert (row["cells"], row["grid_cells"]) == (40, 500), "10 seeds with 4 cells; with 50"
    assert row["zone"] == "std from 1e+06 (1e+02 to 1e+10) to 3.2e+20 (1e+20 to 1e+21); 10 of 10 seeds learn"


@pytest.mark.parametrize(
    ("seeds", "lower", "upper", "words"),
    [
        (["LLL."] * 10, (0, 0, 0.01), (10**0.5, 1, 10), "std from beyond 0.01 to 3.2 (1 to 10)"),
        ([".LLL"] * 10, (10**-1.5, 0.01, 0.1), (INF, 10, INF), "std from 0.032 (0.01 to 0.1) to beyond 10.0"),
        (["LLLL"] * 10, (0, 0, 0.01), (INF, 10, INF), "std from beyond 0.01 to beyond 10.0"),
        # the interval alone reaches beyond: two of ten, one more than it leaves out
        (
            [".LL."] * 8 + ["LLL."] * 2,
            (10**-1.5, 0, 0.1),
            (10**0.5, 1, 10),
            "std from 0.032 (beyond 0.01 to 0.1) to 3.2 (1 to 10)",
        ),
        # one of ten is left out
        (
            [".LL."] * 9 + [".LLL"],
            (10**-1.5, 0.01, 0.1),
            (10**0.5, 1, 10),
            "std from 0.032 (0.01 to 0.1) to 3.2 (1 to 10)",
        ),
        # five of ten beyond: the mean of the middle two is infinite
        (
            [".LL."] * 5 + [".LLL"] * 5,
            (10**-1.5, 0.01, 0.1),
            (INF, 1, INF),
            "std from 0.032 (0.01 to 0.1) to beyond 10.0",
        ),
    ],
)
def test_what_lies_beyond_the_grid_is_never_told_as_a_bracket(seeds, lower, upper, words):
    row = over_seeds(*seeds)
    assert ends(row, "lower") == pytest.approx(lower)
    assert ends(row, "upper") == pytest.approx(upper)
    assert row["zone"] == f"{words}; 10 of 10 seeds learn"


def test_a_seed_that_learns_nowhere_has_no_bracket_but_a_width():
    row = over_seeds(*[".LL."] * 7, *["...."] * 3)
    assert (row["seeds"], row["learned"]) == (10, 7)
    assert ends(row, "lower") == pytest.approx((10**-1.5, 0.01, 0.1)), "of the seven"
    # seven widths of 1 to 3 decades and three of 0: the 2nd of ten is 0
    assert ends(row, "decades") == (2, 0, 3)
    assert row["zone"].endswith("; 7 of 10 seeds learn")


def test_seeds_that_all_learn_nowhere():
    row = over_seeds(*["...."] * 10)
    assert ends(row, "lower") == ends(row, "upper") == (None, None, None)
    assert ends(row, "decades") == (0, 0, 0)
    assert (row["learned"], row["zone"]) == (0, "0 of 10 seeds learn")


def test_five_seeds_have_no_interval():
    row = over_seeds(*[".LL."] * 4, ".L..")
    assert ends(row, "lower") == (pytest.approx(10**-1.5), None, None)
    assert ends(row, "decades") == (2, None, None)
    assert row["zone"] == "std from 0.032 to 3.2; 5 of 5 seeds learn"


def test_five_of_ten_that_learn_have_no_interval_but_ten_widths_have():
    row = over_seeds(*[".LL."] * 5, *["...."] * 5)
    assert ends(row, "upper") == (pytest.approx(10**0.5), None, None)
    assert ends(row, "decades") == (1, 0, 3), "medians 0.5 of 0 and 1, 1.5 of 0 and 3"


def test_holes_and_what_learned_apart_are_counted_over_seeds():
    row = over_seeds(*[".L.L..L"] * 3, *[".LL...."] * 7)
    assert (row["holes"], row["apart"]) == (3, 3)


# -- a point beside norm none


def wider(**norms):
    """{norm: the columns `wider`} of {norm: outcomes of its seeds}"""
    cells = [row for norm, seeds in norms.items() for row in tried(*seeds, norm=norm)]
    return {row["norm"]: ends(row, "wider") for row in zone_rows(cells, "std", ["norm"])}


def test_wider_is_the_difference_from_norm_none():
    found = wider(none=[".LL..."] * 10, layernorm=[".LLLL."] * 10, rmsnorm=[".LLLLL"] * 10)
    # widths are 1 to 3, 3 to 5, and 4 or more decades
    assert found == {"none": (None,) * 3, "layernorm": (2, 0, 4), "rmsnorm": (INF, 1, INF)}


def test_wider_is_paired_by_seed():
    one, other = [".LL......"] * 5, [".LLLL...."] * 5
    # each seed is two decades wider than itself, known to two more on both sides; unpaired it were 0 to 4 of five
    paired = wider(none=one + other, layernorm=[".LLLL...."] * 5 + [".LLLLLL.."] * 5)
    assert paired["layernorm"] == (2, 0, 4)
    crossed = wider(none=one + other, layernorm=other + one)
    assert crossed["layernorm"] == (0, -4, 4), "half are wider by 2, half narrower by 2"


@pytest.mark.parametrize(
    "norms",
    [{"layernorm": [".LL."] * 10, "rmsnorm": [".L.."] * 10}, {"none": [".LL."] * 5, "layernorm": [".LLL"] * 5}],
    ids=["without none", "five seeds"],
)
def test_wider_than_what_is_not_known_is_null(norms):
    assert set(wider(**norms).values()) == {(None, None, None)}


def test_wider_compares_with_all_else_equal():
    cells = [
        row
        for norm, layers, letters in [
            ("none", 2, ".LLLL."),
            ("none", 8, "..L..."),
            ("layernorm", 2, ".LLLL."),
            ("layernorm", 8, ".LLLL."),
        ]
        for row in tried(*[letters] * 10, layers=layers, norm=norm)
    ]
    found = {(row["norm"], row["layers"]): row["wider"] for row in zone_rows(cells, "std", ["layers", "norm"])}
    assert found == {("none", 2): None, ("none", 8): None, ("layernorm", 2): 0, ("layernorm", 8): 3}


# -- seeds by themselves


@pytest.mark.parametrize(
    ("letters", "row"),
    [
        (".LL.", {"anchor": 0.1, "lower": (0.01, 0.1), "upper": (1, 10), "holes": 0, "apart": 0, "width": (1, 3)}),
        ("LL..", {"anchor": 0.01, "lower": (0, 0.01), "upper": (0.1, 1), "holes": 0, "apart": 0, "width": (1, INF)}),
        ("..LL", {"anchor": 1.0, "lower": (0.1, 1), "upper": (10, INF), "holes": 0, "apart": 0, "width": (1, INF)}),
        (".L.L..L", {"anchor": 0.1, "lower": (0.01, 0.1), "upper": (10, 100), "holes": 1, "apart": 1, "width": (2, 4)}),
        ("....", {"anchor": None, "lower": (None,) * 2, "upper": (None,) * 2, "holes": 0, "apart": 0, "width": (0, 0)}),
    ],
)
def test_the_row_of_a_seed(letters, row):
    (found,) = seed_rows(tried(letters, norm="none"), "std", ["norm"])
    assert (found["norm"], found["seed"]) == ("none", 1)
    assert {
        "anchor": found["anchor"],
        "lower": (found["lower_outside"], found["lower_inside"]),
        "upper": (found["upper_inside"], found["upper_outside"]),
        "holes": found["holes"],
        "apart": found["apart"],
        "width": (found["decades_least"], found["decades_greatest"]),
    } == row


@given(st.lists(st.lists(st.sampled_from("L."), min_size=5, max_size=5), min_size=12, max_size=20))
def test_the_median_lies_within_its_interval(letters):
    half = len(letters) // 2
    cells = [*tried(*letters[:half], norm="none"), *tried(*letters[half : 2 * half], norm="rmsnorm")]
    for row in zone_rows(cells, "std", ["norm"]):
        for name in ("lower", "upper", "decades", "wider"):
            middle, low, high = ends(row, name)
            assert low is None or math.isnan(middle) or low <= middle <= high
            assert low is not None or name == "wider" or row["learned"] < 6


# -- the stage


def test_the_cells_of_a_grid():
    # 0.0001 to 30, neighbours a tenth apart: log(300,000) / log(1.1) = 132.3, so 133 steps (as in test_zones)
    assert cells_of_a_grid([0.0001, 0.3, 30.0], 1.1) == 134
    assert cells_of_a_grid([0.1, 0.4], 2.0) == 3
    assert cells_of_a_grid([0.1], 1.1) == 1


def test_tables_have_their_columns_and_types():
    axes = {"norm": ["none", "layernorm"], "seed": list(range(1, 7)), "std": [0.01, 0.1, 1.0, 10.0]}
    points = {
        norm: tables.write_rows("tried", {"norm": norm, "seed": 1, "std": 0.1}, tried(*[".LL."] * 6, norm=norm))
        for norm in axes["norm"]
    }
    spec = {"settings": {"zone": {"axis": "std", "apart": 10.0}}, "axes": axes, "upstream": {"zone": axes["norm"]}}
    ((_, files),) = make({"digest": spec}, lambda key, name: points[key])
    zones, brackets = (tables.read(files[f"{name}.parquet"]) for name in ("zones", "brackets"))
    assert zones.schema.equals(tables.schema("zones", {"norm": "none"}))
    assert brackets.schema.equals(tables.schema("brackets", {"norm": "none", "seed": 1}))
    assert zones.column("norm").to_pylist() == axes["norm"]
    assert zones.column("grid_cells").to_pylist() == [24, 24], "6 seeds with 4 cells, one a decade"
    assert zones.column("wider").to_pylist() == [None, 0.0]
    assert [(row["norm"], row["seed"]) for row in brackets.to_pylist()] == [
        (norm, seed) for norm in axes["norm"] for seed in axes["seed"]
    ]


def test_the_models_width_is_not_the_zones():
    """An axis may be called as a column is."""
    axes = {"width": [8, 9], "seed": [7], "std": [0.1, 1.0]}
    made = Memory(mlp(axes, stages=["zone"], training={"updates": 1}), ("corpus", "zone", "brackets"))
    assert [row["width"] for row in made.rows("brackets", "zones.parquet")] == [8, 9]
