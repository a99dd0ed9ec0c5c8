"""Independent normal inputs of set variance, for checks of theory. The class is the largest of random linear forms.

So the class follows from the input (the loss floor is 0), and a network can learn it.
"""

import numpy as np

from initscope.corpora.files import entropy, shares, written
from initscope.streams import stream


def make(stack, read):
    return written(stack, examples)


def examples(corpus):
    """Inputs float32 (count, features) of the set variance and their classes int64 (count,)."""
    seed, features, classes = corpus["seed"], corpus["features"], corpus["vocabulary"]
    forms = stream("corpus", seed, "teacher").standard_normal((classes, features))
    found = {}
    for name in ("training", "validation"):
        x = stream("corpus", seed, name).standard_normal((corpus[f"{name}_examples"], features))
        found[f"{name}_inputs"] = (np.sqrt(corpus["variance"]) * x).astype(np.float32)
        # by class, with a plain sum: a matrix product's last bits depend on the CPU
        found[f"{name}_targets"] = np.stack([(x * form).sum(1) for form in forms]).argmax(0)
    frequencies = shares(np.bincount(found["training_targets"], minlength=classes).tolist())
    return found, {"entropy_rate": 0.0, "x_zero_loss": 0.0, "unigram_entropy": entropy(frequencies)}
