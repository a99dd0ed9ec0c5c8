"""Each formula against a Monte Carlo of what it describes."""

import math

import numpy as np
import pytest

from initscope import theory

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("variance", [1e-6, 0.01, 0.24, 1.0, 4.0, 24.0, 216.0])
@pytest.mark.parametrize("n", [2, 8, 100])
def test_mean_log_partition(n, variance):
    """200,000 draws of n normals; within 5 standard errors of the sample, plus 1e-5 for the quadrature."""
    z = RNG.standard_normal((200_000, n)) * math.sqrt(variance)
    sample = z.max(1) + np.log(np.exp(z - z.max(1, keepdims=True)).sum(1))
    error = sample.std() / math.sqrt(len(sample))
    assert abs(theory.mean_log_partition(n, variance) - sample.mean()) < 5 * error + 1e-5


def test_small_variance_is_the_second_order_formula():
    # ln V + (1 - 1/V) v / 2, exact to O(v^2)
    for v in (1e-8, 1e-4):
        assert theory.initial_loss(8, v) == pytest.approx(math.log(8) + 7 / 16 * v, abs=1e-7)


def test_the_frozen_prediction():
    # DESIGN section 9: 2.183 by the exact form, with logit variance 24 * 0.1^2
    assert theory.initial_loss(8, 24 * 0.1**2) == pytest.approx(2.183, abs=5e-4)


def test_b6_of_the_public_cases():
    # makemore's first loss: 27 classes, logit variance 167: 26.33 measured; ln V + v/2 would say 86.8
    assert theory.initial_loss(27, 167) == pytest.approx(25.9, abs=0.6)


@pytest.mark.parametrize("norm", ["layernorm", "rmsnorm"])
@pytest.mark.parametrize("mean_square", [1e-6, 1e-4, 1.0])
def test_normalized_mean_square(norm, mean_square):
    """Against the norm itself on 20,000 vectors of width 256, within 2 %."""
    x = RNG.standard_normal((20_000, 256)) * math.sqrt(mean_square)
    c = x - x.mean(1, keepdims=True) if norm == "layernorm" else x
    h = c / np.sqrt((c * c).mean(1, keepdims=True) + 1e-5)
    assert theory.normalized_mean_square(mean_square, 256, norm) == pytest.approx((h * h).mean(), rel=0.02)


def test_linear_mean_square():
    """3,000 weight draws, within 3 %."""
    x = RNG.standard_normal(64) + 0.5
    z = RNG.standard_normal((3000, 32, 64)) * 0.2 @ x
    assert theory.linear_mean_square(64, 0.2, (x * x).mean()) == pytest.approx((z * z).mean(), rel=0.03)


def test_predictions_are_rounded_where_cpus_differ():
    assert theory.prediction(2.18284400957) == theory.prediction(2.18284400957 * (1 + 1e-15)) == 2.18284401
