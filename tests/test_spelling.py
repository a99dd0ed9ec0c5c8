import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from initscope.spelling import spelled


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_reading_a_spelling_back_gives_the_value(value):
    assert float(spelled(value)) == value


@given(st.floats(1e-12, 1e12), st.floats(1e-12, 1e12))
def test_two_values_never_share_a_spelling(a, b):
    assert (spelled(a) == spelled(b)) == (a == b)


def test_spellings_that_paths_and_figures_show():
    # C5 of the public cases: one spelling each, whatever else stands in the sweep
    assert [spelled(x) for x in (0.1, 1e-1, 1.0, 0.00001, 200, "gelu")] == ["0.1", "0.1", "1.0", "1e-05", "200", "gelu"]
    assert spelled(np.float64(0.001)) == "0.001"
