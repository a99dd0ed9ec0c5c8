"""An axis as two ends and a count."""

import pytest
from helpers import refused, study
from hypothesis import given
from hypothesis import strategies as st

from initscope.ranges import DIGITS, Range


def values(low, high, count, spacing):
    return Range.model_validate({"from": low, "to": high, "count": count, "spacing": spacing}).values


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ((0.001, 10.0, 5, "log"), [0.001, 0.01, 0.1, 1, 10]),
        ((1.0, 10.0, 4, "log"), [1, 2.15443, 4.64159, 10]),  # the cube root of 10 is 2.1544347, its square 4.6415888
        ((0.0, 1.0, 5, "linear"), [0, 0.25, 0.5, 0.75, 1]),
        ((0.123456789, 1.0, 2, "log"), [0.123456789, 1]),  # the ends are not rounded
        ((2, 64, 6, "log"), [2, 4, 8, 16, 32, 64]),
        ((7, 10, 4, "linear"), [7, 8, 9, 10]),
    ],
)
def test_values_by_hand(given, wanted):
    assert values(*given) == wanted


@given(st.floats(1e-9, 1e3), st.floats(1.1, 1e6), st.integers(2, 40), st.sampled_from(["linear", "log"]))
def test_steps_are_equal_to_the_last_digit(low, factor, count, spacing):
    high = low * factor
    found = values(low, high, count, spacing)
    assert (found[0], found[-1], len(found)) == (low, high, count) and found == sorted(found)
    for i, value in enumerate(found):
        part = i / (count - 1)
        exact = low * factor**part if spacing == "log" else low + (high - low) * part
        assert value == pytest.approx(exact, rel=0.5001 * 10 ** (1 - DIGITS))  # half a unit of the last digit
        assert i in (0, count - 1) or float(f"{value:.{DIGITS}g}") == value


STD = {"from": 0.001, "to": 10.0, "count": 9, "spacing": "log"}


def test_a_study_with_ranges_is_the_study_with_their_values():
    axes = {"seed": {"from": 7, "to": 9, "count": 3, "spacing": "linear"}, "std": STD}
    found = study(axes)
    assert found.axes == {"seed": [7, 8, 9], "std": values(*STD.values())}
    assert [cell.path for cell in found.cells[:2]] == ["seed~7/std~0.001", "seed~7/std~0.00316228"]
    assert [cell.settings for cell in study(found.axes).cells] == [cell.settings for cell in found.cells]


@pytest.mark.parametrize(
    ("over", "said"),
    [
        ({"count": 1}, "std.count: 1: it should be greater than or equal to 2"),
        ({"count": 9.5}, "std.count: 9.5: it should be a valid integer"),
        ({"from": 0}, "std.from: 0.0: equal factors need an end above 0"),
        ({"from": 10}, "std.from: 10.0: it must be below `to`, which is 10.0"),
        ({"to": 1e-4}, "std.from: 0.001: it must be below `to`, which is 0.0001"),
        ({"to": float("inf")}, "std.to: inf: it should be a finite number"),
        ({"to": "far"}, "std.to: 'far': it should be a valid number"),
        ({"spacing": "logarithmic"}, "std.spacing: 'logarithmic': it should be 'linear' or 'log'"),
        ({"counts": 9}, "std.counts is not a key; did you mean 'count'?"),
        ({"from": 1.0, "to": 1.00001}, "std.count: 9: two values are the same in 6 digits; use fewer"),
        ({"from": -1.0, "spacing": "linear"}, "std: -1: it should be greater than 0"),
    ],
)
def test_a_fault_is_one_line(over, said):
    assert f"test: studies.test.axes.{said}" in refused(lambda: study({"std": {**STD, **over}}))


def test_what_is_missing_is_named():
    assert "axes.std.to is missing; add it (last value, the greatest)" in refused(lambda: study({"std": {"from": 1}}))
    whole = {"from": 1, "to": 9, "count": 4, "spacing": "log"}
    assert "axes.layers: 2.08008: it should be a valid integer" in refused(lambda: study({"layers": whole}))
