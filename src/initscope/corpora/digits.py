"""The handwritten digits that scikit-learn ships: 1,797 images of 8 x 8 pixels (UCI, test set of Alpaydin and Kaynak).

Training and validation images are parts of one permutation, drawn from the corpus seed. Pixels are standardized by the
mean and the standard deviation over all pixels of all training images: one number each, so that edges stay dark.
"""

import numpy as np
from sklearn.datasets import load_digits

from initscope.corpora.files import entropy, shares, written
from initscope.streams import stream


def make(stack, read):
    return written(stack, examples)


def examples(corpus):
    """Images float32 (count, 64) and their classes int64 (count,), for training and validation."""
    data = load_digits()
    shuffled = stream("corpus", corpus["seed"], "split").permutation(len(data.target))
    count = corpus["training_examples"]
    parts = {"training": shuffled[:count], "validation": shuffled[count : count + corpus["validation_examples"]]}
    pixels = data.data[parts["training"]]  # whole numbers from 0 to 16, so sums are exact
    mean = pixels.sum() / pixels.size
    std = np.sqrt(np.square(pixels).sum() / pixels.size - mean**2)
    found = {}
    for name, rows in parts.items():
        found[f"{name}_inputs"] = ((data.data[rows] - mean) / std).astype(np.float32)
        found[f"{name}_targets"] = data.target[rows].astype(np.int64)
    frequencies = shares(np.bincount(found["training_targets"], minlength=10).tolist())
    # the image tells the digit: an ideal predictor loses nothing
    return found, {"entropy_rate": 0.0, "x_zero_loss": 0.0, "unigram_entropy": entropy(frequencies)}
