"""Families of random numbers with mean 0: how they are drawn, and what a sample of them should show.

NumPy and math only; no BLAS, no LAPACK, no vectorised exp or erf: their last bits depend on the CPU, and these draws
decide the bytes of every artifact.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np


@dataclass(frozen=True)
class Distribution:
    """A family with mean 0 and declared std 1, to be scaled."""

    draw: Callable  # (numpy.random.Generator, shape) -> float32 array of that shape
    kurtosis: float  # E x^4 / (E x^2)^2: sets the standard error of a sample std
    shrink: float = 1.0  # std of what is drawn / declared std: below 1 where the tails are cut
    bound: float | None = None  # largest |x| / declared std, up to float32's rounding; None: no such limit


def rounded(value):
    """Nine significant digits: the last bits of exp, erf and tanh differ from CPU to CPU."""
    return float(f"{value:.9g}")


def normal(rng, shape):
    return rng.standard_normal(shape, dtype=np.float32)


def uniform(rng, shape):
    """U(-sqrt 3, sqrt 3), which has std 1."""
    return (2 * rng.random(shape, dtype=np.float32) - 1) * np.float32(math.sqrt(3))


def truncated(cut):
    """N(0, 1) cut at +-cut. "std 1" is that of the normal before the cut, as in every library (keras#8048).

    With m = 2 cut phi(cut) / P(|z| < cut): E z^2 = 1 - m and E z^4 = 3 (1 - m) - cut^2 m (by parts).
    """
    m = 2 * cut * math.exp(-(cut**2) / 2) / math.sqrt(2 * math.pi) / math.erf(cut / math.sqrt(2))
    square, fourth = 1 - m, 3 * (1 - m) - cut**2 * m
    return Distribution(partial(redrawn, cut), rounded(fourth / square**2), rounded(math.sqrt(square)), float(cut))


def redrawn(cut, rng, shape):
    """Normals, those outside +-cut drawn anew: an inverse CDF in float32 may return the bound (pytorch#155588)."""
    x = normal(rng, shape)
    while (outside := np.abs(x) > cut).any():
        x[outside] = normal(rng, outside.sum())
    return x


def orthogonal(rng, shape):
    """A matrix with orthonormal rows or columns, whichever are fewer, Haar-distributed; times sqrt(the larger size).

    Modified Gram-Schmidt of a Gaussian matrix, in float64: its R has a positive diagonal, so its Q is Haar-distributed
    (Mezzadri, math-ph/0609050). The factor makes the rms of the entries exactly 1.
    """
    few, many = sorted(shape)
    q = normal(rng, (few, many)).astype(np.float64)
    for i, row in enumerate(q):
        row /= math.sqrt((row * row).sum())
        later = q[i + 1 :]
        later -= (later * row).sum(axis=1, keepdims=True) * row
    unit = (q * math.sqrt(many)).astype(np.float32)
    return unit if unit.shape == shape else np.ascontiguousarray(unit.T)


DISTRIBUTIONS = {
    "normal": Distribution(normal, kurtosis=3.0),
    "uniform": Distribution(uniform, kurtosis=9 / 5, bound=math.sqrt(3)),
    "truncated_2": truncated(2),
    "truncated_3": truncated(3),
    # 3 in the limit of many entries; the rms of a draw is exact, so its z-score is about 0
    "orthogonal": Distribution(orthogonal, kurtosis=3.0),
}
