"""Activations and their derivatives in NumPy, and what they make of normal inputs."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import expit, ndtr

from initscope.theory.integrals import expectation

LEAK = 0.01  # of leaky_relu


@dataclass(frozen=True)
class Activation:
    phi: Callable
    slope: Callable  # phi'


def density(x):
    return np.exp(-x * x / 2) / np.sqrt(2 * np.pi)


def above(x):
    """1 for x > 0, 0 for x < 0, and 1/2 between, as the quadrature over a step wants it."""
    return np.heaviside(x, 0.5)


ACTIVATIONS = {
    "identity": Activation(lambda x: x, np.ones_like),
    "relu": Activation(lambda x: np.maximum(x, 0.0), above),
    "leaky_relu": Activation(lambda x: np.maximum(x, LEAK * x), lambda x: LEAK + (1 - LEAK) * above(x)),
    "elu": Activation(lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0.0))), lambda x: np.exp(np.minimum(x, 0.0))),
    "gelu": Activation(lambda x: x * ndtr(x), lambda x: ndtr(x) + x * density(x)),
    "silu": Activation(lambda x: x * expit(x), lambda x: expit(x) * (1 + x * expit(-x))),
    "tanh": Activation(np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    "sigmoid": Activation(expit, lambda x: expit(x) * expit(-x)),
}


def mean(activation, square):
    """E phi(x), x ~ N(0, square).

    ReLU: s / sqrt(2 pi); GELU: s sqrt(a / (2 pi)) with a = s^2 / (1 + s^2) (derivation: by parts); the others by
    quadrature. Range: every square >= 0.
    """
    if activation == "relu":
        return np.sqrt(square / (2 * np.pi))
    if activation == "gelu":
        return square / np.sqrt(2 * np.pi * (1 + square))
    return expectation(ACTIVATIONS[activation].phi, square)


def second_moment(activation, square):
    """E phi(x)^2, x ~ N(0, square).

    ReLU: s^2 / 2 (He et al. 2015, eq. 8). GELU, with a = s^2 / (1 + s^2):
    s^2 / 4 + s^2 / (2 pi) (2 s^2 / ((1 + s^2) sqrt(1 + 2 s^2)) + asin a) (derivation: E x^2 Phi(x)^2 by parts).
    The others by quadrature. Range: every square >= 0.
    """
    if activation == "relu":
        return square / 2
    if activation == "gelu":
        bent = 2 * square / ((1 + square) * np.sqrt(1 + 2 * square)) + np.arcsin(square / (1 + square))
        return square / 4 + square / (2 * np.pi) * bent
    phi = ACTIVATIONS[activation].phi
    return expectation(lambda x: phi(x) ** 2, square)


def slope_second_moment(activation, square):
    """E phi'(x)^2, x ~ N(0, square): 1/2 for ReLU (He et al. 2015, eq. 13); the others by quadrature."""
    if activation == "relu":
        return 0.5 + 0.0 * square
    slope = ACTIVATIONS[activation].slope
    return expectation(lambda x: slope(x) ** 2, square)


@cache
def flat_intervals(activation, flat):
    """The intervals of x where |phi'(x)| < flat, as [(low, high), ...]."""
    x = np.linspace(-60, 60, 240_000)  # 0, where ReLU bends, is halfway between two points
    below = np.abs(ACTIVATIONS[activation].slope(x)) < flat
    edges = np.flatnonzero(np.diff(below)) + 1
    ends = [-np.inf] * bool(below[0]) + list((x[edges] + x[edges - 1]) / 2) + [np.inf] * bool(below[-1])
    return list(zip(ends[::2], ends[1::2]))


def saturated_share(activation, square, flat=0.02):
    """P(|phi'(x)| < flat), x ~ N(0, square): a sum of normal probabilities over `flat_intervals`. Exact."""
    s = np.sqrt(np.maximum(square, 1e-300))
    return sum(ndtr(high / s) - ndtr(low / s) for low, high in flat_intervals(activation, flat)) + 0.0 * s
