"""The Markov corpus: an order-1 chain over the vocabulary, whose entropy rate is the exact floor of the loss.

Row logits of the transition matrix are N(0, LOGIT_STD^2). math.exp and math.log instead of NumPy's, whose last
bit depends on the CPU; no BLAS or LAPACK for the same reason.
"""

import math

import numpy as np

from initscope.corpora.files import entropy, written
from initscope.streams import stream

LOGIT_STD = 1.5


def make(stack, read):
    return written(stack, examples)


def examples(corpus):
    """Sequences of tokens, and what is known of their source."""
    chain = transitions(corpus["vocabulary"], corpus["seed"])
    tokens = {
        name: sequences(chain, corpus[f"{name}_sequences"], corpus["length"], stream("corpus", corpus["seed"], name))
        for name in ("training", "validation")
    }
    p, rate = stationary(chain), entropy_rate(chain)
    about = {
        "entropy_rate": rate,
        "x_zero_loss": rate,
        "unigram_entropy": entropy(p),
        "stationary": p.tolist(),
        "transitions": chain.tolist(),
    }
    return tokens, about


def transitions(vocabulary, seed):
    """P[i, j] = probability of token j after token i; shape (vocabulary, vocabulary)."""
    logits = stream("corpus", seed, "transitions").standard_normal((vocabulary, vocabulary)) * LOGIT_STD
    weights = np.array([[math.exp(z) for z in row] for row in logits])
    return weights / weights.sum(1, keepdims=True)


def stationary(chain):
    """p with p = p P, by power iteration to a fixed point; every entry of P is positive, so there is one."""
    p = np.full(len(chain), 1 / len(chain))
    for _ in range(10_000):
        new = (p[:, None] * chain).sum(0)
        new /= new.sum()
        if np.abs(new - p).max() < 1e-15:
            break
        p = new
    return new


def entropy_rate(chain):
    """sum_i p_i H(P_i): what an ideal predictor that sees the previous token loses, in nats per token."""
    return math.fsum(p * entropy(row) for p, row in zip(stationary(chain), chain))


def sequences(chain, count, length, rng):
    """Tokens, int64 of shape (count, length); the first of each is drawn from the stationary distribution."""
    tokens = np.empty((count, length), dtype=np.int64)
    tokens[:, 0] = pick(np.cumsum(stationary(chain))[None], rng.random(count))
    reach = np.cumsum(chain, axis=1)
    for t in range(1, length):
        tokens[:, t] = pick(reach[tokens[:, t - 1]], rng.random(count))
    return tokens


def pick(reach, u):
    """Inverse transform: the first token whose cumulated probability exceeds u."""
    return (u[:, None] >= reach[:, :-1]).sum(1)
