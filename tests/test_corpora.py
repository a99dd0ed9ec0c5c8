"""Texts, digits and Gaussian inputs."""

import json
import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from helpers import REPOSITORY, Memory, mlp, study
from sklearn.datasets import load_digits

from initscope import texts
from initscope.tensors import unpack

TEXT = (REPOSITORY / "data" / "sonnets.txt").read_text()


def corpus(cells):
    """(arrays, source) of a study's corpus."""
    (files,) = Memory(cells, ["corpus"]).files.values()
    return unpack(files["examples.safetensors"]), json.loads(files["source.json"])


@pytest.fixture(scope="module")
def sonnets():
    over = {"source": "text", "path": str(REPOSITORY / "data/sonnets.txt"), "unit": "character", "held_out": 0.1}
    counts = {"seed": 11, "length": 33, "training_sequences": 50, "validation_sequences": 20}
    return corpus(study(corpus={**over, **counts}))


def test_sequences_are_pieces_of_their_part_of_the_text(sonnets):
    arrays, source = sonnets
    cut = len(TEXT) - round(len(TEXT) * 0.1)
    for name, part in (("training", TEXT[:cut]), ("validation", TEXT[cut:])):
        for row in arrays[name]:
            assert "".join(source["alphabet"][code] for code in row) in part


def test_the_entropies_of_a_text(sonnets):
    """Counted here by hand, from the training part; a text has no known entropy rate."""
    _, source = sonnets
    part = TEXT[: len(TEXT) - round(len(TEXT) * 0.1)]
    entropy = lambda counts: -sum(n / counts.total() * math.log(n / counts.total()) for n in counts.values())
    assert source["unigram_entropy"] == pytest.approx(entropy(Counter(part)), rel=1e-12)
    pairs = entropy(Counter(pairwise(part))) - entropy(Counter(part[:-1]))
    assert source["x_zero_loss"] == pytest.approx(pairs, rel=1e-12)
    assert source["entropy_rate"] is None
    assert source["x_zero_loss"] < source["unigram_entropy"] < source["ln_vocabulary"] == math.log(len(set(part)))


def test_a_text_that_changed_since_the_plan_is_not_read(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("abab")
    with pytest.raises(ValueError, match="changed since"):
        texts.read_text(str(path), "0" * 64)


def test_digits_are_scikit_learns_split_by_a_stream():
    arrays, source = corpus(mlp(corpus={"training_examples": 1437, "validation_examples": 360}))
    data = load_digits()
    both = np.concatenate([arrays["training_inputs"], arrays["validation_inputs"]])
    training = arrays["training_inputs"].astype(float)
    assert abs(training.mean()) < 1e-6 and training.std() == pytest.approx(1, abs=1e-6)
    # every image once: the sorted pixels are an affine map of the data's
    assert np.corrcoef(np.sort(both.sum(1)), np.sort(data.data.sum(1)))[0, 1] == pytest.approx(1, abs=1e-6)
    labels = np.concatenate([arrays["training_targets"], arrays["validation_targets"]])
    assert np.array_equal(np.bincount(labels), np.bincount(data.target))
    assert source["entropy_rate"] == 0 and source["unigram_entropy"] == pytest.approx(math.log(10), abs=0.01)


def test_gaussian_inputs_have_the_set_variance_and_learnable_classes():
    over = {"source": "gaussian", "variance": 2.5, "features": 64, "vocabulary": 4, "seed": 1}
    arrays, source = corpus(mlp(corpus={**over, "training_examples": 2000, "validation_examples": 500}))
    x, y = arrays["training_inputs"].astype(float), arrays["training_targets"]
    assert x.var() == pytest.approx(2.5, rel=5 * math.sqrt(2 / x.size))
    assert abs(x.mean()) < 5 * math.sqrt(2.5 / x.size)
    assert np.bincount(y, minlength=4).min() > 300 and source["entropy_rate"] == 0
    # a linear classifier by least squares, fitted here, tells most of them: chance is 1/4
    fit = np.linalg.lstsq(x, np.eye(4)[y], rcond=None)[0]
    test = arrays["validation_inputs"] @ fit
    assert (test.argmax(1) == arrays["validation_targets"]).mean() > 0.8
