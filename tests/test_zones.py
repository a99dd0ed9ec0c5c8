"""Zones of hand-made grids; what refining finds and costs; how often the intervals hold the median."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from initscope.intervals import bounded_interval, difference, interval
from initscope.zones import Zone, bounds, bracket, refine, refinements, width, zone

GRID = [round(digit * 10.0**exponent, 4) for exponent in range(-4, 2) for digit in (1, 3)]  # 1e-4 to 30
FACTOR = 1.1
SEEDS = range(10)


def grid(outcomes, x=None):
    """Cells at 0.01, 0.1, 1, ...: L learned, a dot did not; x: their final x, by default the place in the row."""
    verdicts = ["learned" if letter == "L" else "slow" for letter in outcomes]
    return list(zip([10.0 ** (i - 2) for i in range(len(verdicts))], verdicts, x or range(len(verdicts))))


def threshold(low, high):
    """A system that learns between low and high: its cell at a std."""
    return lambda std: (std, "learned" if low < std < high else "dead", abs(math.log(std * std / (low * high))))


def explored(cell, factor=FACTOR):
    """(cells, rounds) of the grid and of every refinement of it."""
    cells, rounds = [cell(std) for std in GRID], 0
    while stds := refine(cells, factor):
        cells, rounds = cells + [cell(std) for std in stds], rounds + 1
    return cells, rounds


# -- hand-made grids


@pytest.mark.parametrize(
    ("outcomes", "found"),
    [
        (".LL.", Zone(0.1, (0.01, 0.1), (10.0, 1.0))),
        ("LL..", Zone(0.01, (0.0, 0.01), (1.0, 0.1))),
        ("..LL", Zone(1.0, (0.1, 1.0), (math.inf, 10.0))),
        ("LLLL", Zone(0.01, (0.0, 0.01), (math.inf, 10.0))),
        ("..L.", Zone(1.0, (0.1, 1.0), (10.0, 1.0))),
        ("....", Zone()),
        ("", Zone()),
        (".LL.L.", Zone(0.1, (0.01, 0.1), (1000.0, 100.0), holes=(10.0,))),
        (".L.L.L", Zone(0.1, (0.01, 0.1), (math.inf, 1000.0), holes=(1.0, 100.0))),
        (".LL..L", Zone(0.1, (0.01, 0.1), (10.0, 1.0), apart=(1000.0,))),
        ("L.L..L.L", Zone(0.01, (0.0, 0.01), (10.0, 1.0), holes=(0.1,), apart=(1e3, 1e5))),  # not the other run's hole
    ],
)
def test_zones(outcomes, found):
    assert zone(grid(outcomes)) == found
    assert zone(grid(outcomes)[::-1]) == found, "the order of the cells matters"


def test_the_zone_is_the_run_around_the_smallest_x_of_what_learned():
    x = [0.2, 0.2, 0.9, 0.9, 0.1, math.nan, 0.0]
    assert zone(grid("LL..L..", x)) == Zone(100.0, (10.0, 100.0), (1000.0, 100.0), apart=(0.01, 0.1))


def test_a_bracket_as_a_number_and_as_what_is_known_of_it():
    assert bracket((0.01, 1.0)) == bracket((1.0, 0.01)) == -1.0
    assert bounds((0.01, 1.0)) == bounds((1.0, 0.01)) == (-2.0, 0.0)
    assert bracket((0.0, 0.01)) == -math.inf and bounds((0.0, 0.01)) == (-math.inf, -2.0)
    assert bracket((math.inf, 1.0)) == math.inf and bounds((math.inf, 1.0)) == (0.0, math.inf)


def test_a_width_is_known_from_inside_to_inside_and_from_outside_to_outside():
    known = {".LL.": (1, 3), "..L.": (0, 2), "....": (0, 0), "LL..": (1, math.inf), "LLLL": (3, math.inf)}
    assert {outcomes: width(zone(grid(outcomes))) for outcomes in known} == known


# -- refining


def test_refining_bisects_in_the_exponent():
    assert refine(grid(".LL."), FACTOR) == [0.03162, 3.162]
    assert refine(grid("LL.."), FACTOR) == [0.3162], "nothing is tried past the grid's end"
    assert refine(grid("...."), FACTOR) == refine(grid("LLLL"), FACTOR) == refine(grid(".LL."), 10.0) == []


def test_refining_ends_where_four_digits_do():
    assert refine([(1.0, "dead", 1.0), (1.001, "learned", 0.1)], 1.0001) == []


def test_seeds_are_refined_together_until_none_is_left():
    assert refinements({7: grid(".LL."), 8: grid("LL.."), 9: grid("....")}, FACTOR) == {
        7: [0.03162, 3.162],
        8: [0.3162],
    }
    assert refinements({9: grid("....")}, FACTOR) == {}


@given(st.floats(-5, 1), st.floats(0.53, 5), st.sampled_from([1.05, 1.1, 1.3, 2.0]))
def test_refining_finds_the_true_brackets(lower, decades, factor):
    """In the rounds that halving the grid's widest step takes (10/3 to 1.1: 4), and with shortly spelled stds."""
    low, high = 10**lower, 10 ** (lower + decades)
    cells, rounds = explored(threshold(low, high), factor)
    found = zone(cells)
    assert rounds <= math.ceil(math.log2(math.log(10 / 3) / math.log(factor)))
    assert len({std for std, _, _ in cells}) == len(cells), "a std was tried twice"
    assert all(std == float(f"{std:.4g}") for std, _, _ in cells)
    for true, (outside, inside) in ((low, found.lower), (high, found.upper)):
        assert min(outside, inside) <= true <= max(outside, inside)
        assert outside in (0, math.inf) or max(outside, inside) <= factor * min(outside, inside)
    assert (found.lower[0] == 0) == (low < GRID[0]) and (found.upper[0] == math.inf) == (high > GRID[-1])


def test_refining_costs_a_quarter_of_a_full_grid_at_most():
    full = math.ceil(math.log(GRID[-1] / GRID[0]) / math.log(FACTOR)) + 1
    costs = [len(explored(threshold(low, 20 * low))[0]) for low in np.geomspace(1e-5, 50, 200)]
    assert (full, max(costs)) == (134, 20)
    assert max(costs) <= full / 4


@given(st.lists(st.booleans(), min_size=12, max_size=12), st.lists(st.booleans(), min_size=8, max_size=8))
def test_refining_makes_no_hole_and_fills_none(first, then):
    answers = iter(first + then)
    cells, _ = explored(lambda std: (std, "learned" if next(answers) else "dead", std))
    before, after = zone(cells[: len(GRID)]), zone(cells)
    assert (before.holes, before.apart) == (after.holes, after.apart)


# -- seeds together


def test_the_interval_is_the_order_statistics():
    assert interval(range(1, 11)) == (5.5, 2, 9)
    assert interval([6, 1, 5, 2, 4, 3]) == (3.5, 1, 6)
    # the tables of the sign test: ranks 5 of 17 and 6 of 20
    assert interval(range(1, 18)) == (9, 5, 13) and interval(range(1, 21)) == (10.5, 6, 15)


def test_beyond_takes_its_place_among_the_order_statistics():
    inf = math.inf
    assert interval([1, 2, 3, 4, 5, 6, 7, 8, inf, inf]) == (5.5, 2, inf)
    assert interval([1, 2, 3, 4, 5, inf, inf, inf, inf, inf]) == (inf, 2, inf)
    assert interval([-inf, -inf, 1, 2, 3, 4]) == (1.5, -inf, 4)
    assert math.isnan(interval([-inf] * 5 + [inf] * 5)[0])


@pytest.mark.parametrize("values", [[], [1.0] * 5, [1.0] * 9 + [math.nan]])
def test_an_interval_needs_six_numbers(values):
    with pytest.raises(ValueError, match="6 numbers or more"):
        interval(values)


def test_a_bounded_interval_holds_whatever_the_values_are():
    assert bounded_interval([(i, i + 1) for i in range(1, 11)]) == (6.0, 2, 10)
    assert bounded_interval([(i, math.inf if i > 8 else i) for i in range(1, 11)]) == (5.5, 2, math.inf)


def zones(outcomes):
    return {seed: zone(grid(outcomes)) for seed in SEEDS}


def test_differences_are_between_the_least_and_the_greatest():
    assert difference(zones(".LLLL."), zones(".LL...")) == (2.0, 0.0, 4.0)
    assert difference(zones(".LLLL."), zones("......")) == (4.0, 3.0, 5.0)
    assert difference(zones(".LLLLL"), zones(".LL...")) == (math.inf, 1.0, math.inf), "wider, by 1 decade at least"
    assert difference(zones(".LL..."), zones("LLLLL.")) == (-math.inf, -math.inf, -1.0)
    unknown = difference(zones("LLLLL."), zones("LL...."))
    assert math.isnan(unknown[0]) and unknown[1:] == (-math.inf, math.inf)


def test_differences_are_paired():
    mixed = {seed: zone(grid(".LL..." if seed % 2 else ".LLLL.")) for seed in SEEDS}
    assert difference(mixed, mixed) == (0.0, -2.0, 2.0), "each width is known to 2 decades; from seed to seed, 0"
    with pytest.raises(ValueError, match="paired by seed"):
        difference(mixed, {7: Zone()})


def philox(*shape):
    return np.random.Generator(np.random.Philox(5)).normal(size=(500, *shape, len(SEEDS)))


@pytest.mark.parametrize(
    ("median", "scatter"),  # of the lower bracket, in decades; the grid begins at -4
    [(-2.2, 0.5), (-2.2, 0.1), (-2.2, 0.003), (-3.9, 0.5), (-4.3, 0.5)],
    ids=["wide", "narrow", "within one pair", "four in ten beyond", "median beyond"],
)
def test_intervals_cover_the_median_bracket(median, scatter):
    """500 times 10 seeds with lognormal brackets, through the grid, refining and the interval."""
    covered = 0
    for lows in 10 ** (median + scatter * philox()):
        found = [zone(explored(threshold(low, 10.0))[0]).lower for low in lows]
        _, low, high = bounded_interval(map(bounds, found))
        covered += low <= median <= high
    assert covered / 500 >= 0.95


@pytest.mark.parametrize("median", [-2, -3.9], ids=["within the grid", "four in ten beyond"])
def test_intervals_cover_the_median_difference(median):
    """Of widths, where one group begins a decade lower and shares half of its scatter with the other."""
    covered = 0
    for one, shared in philox(2):
        starts = median + (shared + one) / 4, median + 1 + shared / 4
        groups = [dict(enumerate(zone(explored(threshold(10**low, 10.0))[0]) for low in lows)) for lows in starts]
        _, low, high = difference(*groups)
        covered += low <= 1 <= high
    assert covered / 500 >= 0.95
