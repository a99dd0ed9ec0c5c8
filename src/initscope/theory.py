"""Closed-form predictions for the start of training: pure functions, each with its formula, source and range."""

import math
from functools import cache

import numpy as np


def prediction(value):
    """Nine significant digits: NumPy's exp differs in its last bit from CPU to CPU, and tables must not."""
    return float(f"{value:.9g}")


@cache
def mean_log_partition(n, variance):
    """E ln sum_i exp(z_i) of n independent z_i ~ N(0, variance), exact at every variance.

    ln Z = int (exp(-e^x) - exp(-Z e^x)) dx (Frullani), so E ln Z = int (exp(-e^x) - L(x)^n) dx
    with L(x) = E exp(-e^(x + z)). Both integrals by the trapezoid rule, which converges fast for these integrands.
    """
    s = math.sqrt(variance)
    z = np.linspace(-8, 8, 401)
    weight = np.exp(-z * z / 2)
    x = np.linspace(-30 - 9 * s, 8 + 9 * s, 2000)
    exponent = np.minimum(x[:, None] + s * z, 50.0)
    laplace = (np.exp(-np.exp(exponent)) * weight).sum(1) / weight.sum()
    return float(np.trapezoid(np.exp(-np.exp(np.minimum(x, 50.0))) - laplace**n, x))


def initial_loss(vocabulary, logit_variance):
    """Expected cross-entropy of independent N(0, logit_variance) logits, in nats.

    -E ln softmax = E ln Z - E z_target = E ln Z, since the target's own logit has mean 0 in an untied head.
    To second order ln V + (1 - 1/V) variance / 2.
    """
    return mean_log_partition(vocabulary, logit_variance)


def normalized_mean_square(mean_square, width, norm, eps=1e-5):
    """E h^2 after a norm with scale 1, of entries with the given mean square: v / (v + eps).

    v = mean_square for RMSNorm and mean_square (1 - 1/width) for LayerNorm, which takes the mean out first.
    """
    if norm == "none":
        return mean_square
    variance = mean_square * (1 - 1 / width) if norm == "layernorm" else mean_square
    return variance / (variance + eps)


def linear_mean_square(fan_in, weight_std, input_mean_square):
    """Second moment of W x: fan_in * std(W)^2 * E x^2 (zero bias)."""
    return fan_in * weight_std**2 * input_mean_square
