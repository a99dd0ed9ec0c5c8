import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from initscope.streams import stream

identities = st.tuples(st.text(max_size=8), st.integers(0, 10**9), st.text(max_size=8))


@given(identities)
def test_the_same_identity_gives_the_same_numbers(identity):
    assert np.array_equal(stream(*identity).random(8), stream(*identity).random(8))


@given(identities, identities)
def test_another_identity_gives_other_numbers(one, other):
    if one != other:  # ("a", 1, "b") and ("a", 1, "bc") included: the parts cannot run into each other
        assert not np.array_equal(stream(*one).random(8), stream(*other).random(8))


def test_drawing_from_one_stream_moves_no_other():
    expected = stream("weights", 7, "head.weight").random(4)
    first = stream("weights", 7, "query.weight")
    first.random(1000)
    assert np.array_equal(stream("weights", 7, "head.weight").random(4), expected)


def test_the_global_generator_is_not_touched():
    np.random.seed(0)
    before = np.random.get_state()[1].copy()
    stream("weights", 7, "x").standard_normal(10)
    assert np.array_equal(np.random.get_state()[1], before)
