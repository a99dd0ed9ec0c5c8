"""THE table: scheme x tensor kind -> distribution and std, and the drawing from it. NumPy only, no torch."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from initscope.streams import stream


@dataclass(frozen=True)
class Distribution:
    """A family of random numbers with mean 0 and std 1, to be scaled."""

    draw: Callable  # (generator, shape) -> float32 array
    kurtosis: float  # E x^4 / (E x^2)^2: sets the standard error of a sample std
    shrink: float  # std of what is drawn / declared std (1 unless the tails are cut)


DISTRIBUTIONS = {
    "normal": Distribution(lambda rng, shape: rng.standard_normal(shape, dtype=np.float32), kurtosis=3.0, shrink=1.0),
}

# Kinds that every scheme starts alike. (Constants are exact: the audit tests them for equality.)
CONSTANTS = {"bias": 0.0, "norm_scale": 1.0, "norm_offset": 0.0}


@dataclass(frozen=True)
class Rule:
    """How a scheme draws tensors of some kinds: the distribution, its std as a formula, and that formula in words."""

    distribution: str
    std: Callable  # (tensor, s) -> declared std
    formula: str


# {scheme: {kind: rule}}; "*" stands for every kind that is not listed and not a constant.
SCHEMES = {
    "normal": {"*": Rule("normal", lambda tensor, s: s, "s")},
}


@dataclass(frozen=True)
class Declared:
    """What a tensor is said to start as: a constant, or a distribution with its std."""

    distribution: str
    std: float
    constant: float | None = None

    @property
    def expected_std(self):
        """Std of the sample, after truncation."""
        return self.std * DISTRIBUTIONS[self.distribution].shrink if self.constant is None else 0.0

    def standard_error(self, n):
        """Of a sample std over n entries: s sqrt((k - 1) / (4 n)), k the distribution's kurtosis."""
        return self.expected_std * math.sqrt((DISTRIBUTIONS[self.distribution].kurtosis - 1) / (4 * n))


def declared(tensor, init):
    """The table's entry for a tensor. init: {"scheme", "std", ...}"""
    if tensor.kind in CONSTANTS:
        return Declared("constant", 0.0, CONSTANTS[tensor.kind])
    rules = SCHEMES[init["scheme"]]
    rule = rules.get(tensor.kind, rules.get("*"))
    return Declared(rule.distribution, rule.std(tensor, init["std"]))


def drawn(tensor, init):
    """The tensor's initial values: float32(std) times a unit draw that depends on (seed, tensor name, shape) alone."""
    start = declared(tensor, init)
    if start.constant is not None:
        return np.full(tensor.shape, start.constant, dtype=np.float32)
    rng = stream("weights", init["seed"], tensor.name)
    return np.float32(start.std) * DISTRIBUTIONS[start.distribution].draw(rng, tensor.shape)
