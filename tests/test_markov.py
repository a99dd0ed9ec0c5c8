import json
import math

import numpy as np
import pytest
from helpers import Memory, study

from initscope.corpora import markov as corpus
from initscope.streams import stream
from initscope.tensors import unpack


@pytest.fixture(scope="module")
def chain():
    return corpus.transitions(8, seed=11)


def test_rows_are_probabilities(chain):
    assert (chain > 0).all()
    assert np.allclose(chain.sum(1), 1, atol=1e-15)


def test_the_stationary_distribution_is_the_left_eigenvector(chain):
    values, vectors = np.linalg.eig(chain.T)  # an independent way to the same numbers
    p = np.real(vectors[:, np.argmax(np.real(values))])
    assert np.allclose(corpus.stationary(chain), p / p.sum(), atol=1e-12)


def test_entropies_of_known_chains():
    uniform = np.full((4, 4), 0.25)
    assert corpus.entropy_rate(uniform) == pytest.approx(math.log(4), abs=1e-14)
    two = np.array([[0.9, 0.1], [0.5, 0.5]])  # stationary (5/6, 1/6)
    rate = 5 / 6 * -(0.9 * math.log(0.9) + 0.1 * math.log(0.1)) + 1 / 6 * math.log(2)
    assert corpus.entropy_rate(two) == pytest.approx(rate, abs=1e-12)


def test_sequences_follow_the_chain(chain):
    """Counts of 400,000 tokens against the chain's own probabilities, within 5 standard errors."""
    tokens = corpus.sequences(chain, 4000, 101, stream("test", 1))
    p, n = corpus.stationary(chain), tokens.size
    assert np.abs(np.bincount(tokens.ravel()) / n - p).max() < 5 * math.sqrt(5 / n)  # 5: tokens are correlated
    for token in range(8):
        after = tokens[:, 1:][tokens[:, :-1] == token]
        seen = np.bincount(after, minlength=8) / len(after)
        assert (np.abs(seen - chain[token]) < 5 * np.sqrt(chain[token] / len(after))).all()


def test_training_and_validation_come_from_streams_of_their_own():
    more = Memory(study(corpus={"validation_sequences": 30}), ["corpus"])
    fewer = Memory(study(corpus={"validation_sequences": 10}), ["corpus"])
    (more,), (fewer,) = more.files.values(), fewer.files.values()
    more, fewer = unpack(more["examples.safetensors"]), unpack(fewer["examples.safetensors"])
    assert np.array_equal(more["training"], fewer["training"])
    assert not np.array_equal(more["training"][:10], fewer["validation"])


def test_what_stands_beside_the_sequences(chain):
    (files,) = Memory(study(), ["corpus"]).files.values()
    source = json.loads(files["source.json"])
    assert source["entropy_rate"] == corpus.entropy_rate(chain)
    assert source["entropy_rate"] < source["unigram_entropy"] < source["ln_vocabulary"] == math.log(8)
    assert np.array_equal(source["transitions"], chain)
