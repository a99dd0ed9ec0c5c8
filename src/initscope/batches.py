"""The order in which training sequences are seen: the same for every cell of a study."""

import numpy as np

from initscope.streams import stream


def order(batches, sequences, count):
    """Indices of the training sequences in the first `count` batches; shape (count, batches["size"]).

    One permutation of all sequences after another, cut into batches, so that every sequence comes equally often.
    """
    rng, needed = stream("batches", batches["seed"]), count * batches["size"]
    passes = [rng.permutation(sequences) for _ in range(-(-needed // sequences))]
    return np.concatenate(passes)[:needed].reshape(count, batches["size"])
