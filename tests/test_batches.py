import numpy as np

from initscope.batches import order


def test_every_sequence_comes_equally_often():
    found = order({"seed": 13, "size": 16}, 48, 9)  # three passes over 48 sequences
    assert found.shape == (9, 16)
    assert (np.bincount(found.ravel(), minlength=48) == 3).all()
    assert len(set(found[:3].ravel())) == 48


def test_more_updates_only_add_batches():
    few, many = (order({"seed": 13, "size": 10}, 48, count) for count in (3, 30))
    assert np.array_equal(many[:3], few)


def test_the_order_is_its_seeds():
    first, other = (order({"seed": seed, "size": 16}, 1024, 4) for seed in (13, 14))
    assert not np.array_equal(first, other)
