"""A UTF-8 text of the user's, by character or by byte: its beginning to train on, its end held out."""

import numpy as np

from initscope.corpora.files import entropy, shares, written
from initscope.streams import stream
from initscope.texts import parts, read_text


def make(stack, read):
    return written(stack, examples)


def examples(corpus):
    """Windows of `length` tokens that begin anywhere in their part, and what is known of the text.

    No entropy rate is known of a text. x = 0 is the entropy of a symbol given the one before it, counted in the
    training part: where a network that sees one symbol ends. One that reads further may go below.
    """
    symbols = parts(read_text(corpus["path"], corpus["sha256"]), corpus["unit"], corpus["held_out"])
    alphabet = sorted(set(symbols["training"]))
    codes = {symbol: code for code, symbol in enumerate(alphabet)}
    tokens = {name: np.array([codes[symbol] for symbol in part]) for name, part in symbols.items()}
    windows = {
        name: cut(part, corpus[f"{name}_sequences"], corpus["length"], stream("corpus", corpus["seed"], name))
        for name, part in tokens.items()
    }
    pairs = counted(tokens["training"][:-1] * len(alphabet) + tokens["training"][1:], len(alphabet) ** 2)
    single = counted(tokens["training"][:-1], len(alphabet))
    about = {
        "entropy_rate": None,
        "x_zero_loss": entropy(shares(pairs)) - entropy(shares(single)),  # H(next | token) = H(pair) - H(token)
        "unigram_entropy": entropy(shares(counted(tokens["training"], len(alphabet)))),
        "alphabet": alphabet,
    }
    return windows, about


def cut(tokens, count, length, rng):
    """`count` windows, int64 (count, length), that begin at random places."""
    starts = rng.integers(0, len(tokens) - length + 1, size=count)
    return tokens[starts[:, None] + np.arange(length)]


def counted(codes, size):
    return np.bincount(codes, minlength=size).tolist()
