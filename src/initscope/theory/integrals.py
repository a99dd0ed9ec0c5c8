"""Expectations over normal variables: the softmax of normal scores, and kernels of functions of normals."""

from functools import cache

import numpy as np
from scipy.special import ndtr

# ---- softmax of independent normal scores ----------------------------------------------------------------------------


def laplace(x, std):
    """L(x) = E exp(-e^(x + z)) and M(x) = E e^(2(x + z)) exp(-e^(x + z)) for z ~ N(0, std^2); x: (n,).

    Trapezoid rule, over z where std is small; otherwise over y = x + z, where the integrand has a fixed width:
    L(x) = int e^(y - e^y) Phi((y - x) / std) dy (by parts), M(x) = int e^(2y - e^y) N(y; x, std^2) dy.
    Derivation: ours. Range: every std >= 0; both are good to about 1e-12.
    """
    if std < 2:
        z = np.arange(-8.5, 8.5, 0.3 / max(std, 1.0))
        weight = np.exp(-z * z / 2)
        power = np.exp(np.minimum(x[:, None] + std * z, 50.0))
        terms = np.exp(-power) * (weight / weight.sum())
        return terms.sum(1), (power * power * terms).sum(1)
    y, step = np.linspace(-40, 5, 226, retstep=True)
    distance = (y - x[:, None]) / std
    density = np.exp(-distance * distance / 2) / (std * np.sqrt(2 * np.pi))
    return ndtr(distance) @ np.exp(y - np.exp(y)) * step, density @ np.exp(2 * y - np.exp(y)) * step


def abscissae(std, shift=0.0):
    """Points x between which L(x)^n falls from 1 to 0, and their distance."""
    step = 0.1 * max(2.0, std)
    x = np.arange(-45 - 9 * std - abs(shift), 8 + 9 * std + abs(shift), step)
    return x, step


def mean_log_partition(n, variance):
    """E ln sum_i exp(z_i) of n independent z_i ~ N(0, variance), in nats.

    ln Z = int (exp(-e^x) - exp(-Z e^x)) dx (Frullani), and int_a exp(-e^x) dx = -a - gamma for a << 0, so
    E ln Z = -a - gamma - int_a L(x)^n dx, L as in `laplace`.
    Derivation: ours. Range: exact at every variance; tested against draws to n = 128,256 and variance 768.
    """
    return mean_log_partition_tied(n + 1, variance, own_mean=-np.inf, own_variance=0.0)


@cache
def mean_log_partition_tied(n, variance, own_mean, own_variance):
    """The same where one of the n scores has another mean and variance: N(own_mean, own_variance).

    L(x)^n becomes L(x)^(n - 1) L_own(x + own_mean); own_mean = -inf leaves that score out. Where it stands 50 standard
    deviations and more above all others it is ln Z. NaN where a variance is not finite.
    """
    std, own_std = float(np.sqrt(variance)), float(np.sqrt(own_variance))
    if not np.isfinite([std, own_std]).all() or np.isnan(own_mean):
        return np.nan
    there = np.isfinite(own_mean)
    if own_mean > 50 * (1 + std + own_std):
        return float(own_mean)
    x, step = abscissae(max(std, own_std), own_mean if there else 0.0)
    integrand = laplace(x, std)[0] ** (n - 1)
    if there:
        integrand = integrand * laplace(x + own_mean, own_std)[0]
    return float(-x[0] - np.euler_gamma - np.trapezoid(integrand, dx=step))


def softmax_share(n, variance):
    """E sum_i p_i^2 of p = softmax of n independent N(0, variance) scores: 1/n where flat, 1 where one takes all.

    n int E[e^(2(x + z)) exp(-e^(x + z))] L(x)^(n - 1) dx (from 1 / Z^2 = int e^(2x) exp(-Z e^x) dx).
    Derivation: ours. Range: exact at every variance.
    """
    x, step = abscissae(np.sqrt(variance))
    power, square = laplace(x, np.sqrt(variance))
    return float(n * np.trapezoid(square * power ** (n - 1), dx=step))


def softmax_entropy(n, variance):
    """E of the entropy of that softmax, in nats: E ln Z - E sum p_i z_i = E ln Z - variance (1 - E sum p_i^2).

    (By Stein's lemma E p_i z_i = variance E dp_i/dz_i = variance E p_i (1 - p_i).) Range: exact at every variance.
    """
    return mean_log_partition(n, variance) - variance * (1 - softmax_share(n, variance))


VARIANCES = np.geomspace(1e-6, 1e6, 161)


@cache
def softmax_tables(counts):
    """(1 - share, entropy) of the softmax of n scores for n in `counts`, each (len(counts), len(VARIANCES)).

    To be interpolated in ln variance (`read`): one pass over the integrals serves all n, and every later call.
    """
    n = np.array(counts)[:, None]
    share, entropy = (np.empty((len(counts), len(VARIANCES))) for _ in range(2))
    for i, variance in enumerate(VARIANCES):
        x, step = abscissae(np.sqrt(variance))
        power, square = laplace(x, np.sqrt(variance))
        rest = np.exp((n - 1) * np.log(np.maximum(power, 1e-300)))
        share[:, i] = n[:, 0] * np.trapezoid(square * rest, dx=step)
        log_partition = -x[0] - np.euler_gamma - np.trapezoid(power * rest, dx=step)
        entropy[:, i] = log_partition - variance * (1 - share[:, i])
    return 1 - share, entropy


def read(row, variance):
    """A row of `softmax_tables` at any variances: flat below them; above, both fall like 1 / sqrt(variance).

    (Where two scores tie: their distance has a density at 0 that falls so.)
    """
    tie = np.sqrt(np.minimum(1.0, VARIANCES[-1] / np.maximum(variance, VARIANCES[0])))
    return np.interp(np.log(np.maximum(variance, VARIANCES[0])), np.log(VARIANCES), row) * tie


# ---- kernels of functions of normals ---------------------------------------------------------------------------------

# z and the weights of E f(z) = sum w f(z), z ~ N(0, 1): the trapezoid rule in u for z ~ sinh u, dense around 0, where
# activations bend, however wide their input.
_u = np.linspace(-1, 1, 401)
Z = 9 * np.sinh(8 * _u) / np.sinh(8)
WEIGHTS = np.exp(-Z * Z / 2) * np.cosh(8 * _u)
WEIGHTS /= WEIGHTS.sum()
ORDER = 24


def hermite_polynomials():
    """He_k(z) / sqrt(k!), k = 0..ORDER, orthonormal under N(0, 1); (ORDER + 1, len(Z))."""
    h = [np.ones_like(Z), Z]
    for k in range(1, ORDER):
        h.append((Z * h[k] - np.sqrt(k) * h[k - 1]) / np.sqrt(k + 1))
    return np.array(h)


PROJECTION = hermite_polynomials() * WEIGHTS


def expectation(f, squares):
    """E f(sqrt(q) z), z ~ N(0, 1), for every q of `squares`; the shape of `squares`."""
    q = np.asarray(squares, dtype=float)
    return f(np.sqrt(q)[..., None] * Z) @ WEIGHTS


def lognormal_mean(g, log_variance):
    """E g(x) of a lognormal factor x with mean 1, by three Gauss-Hermite nodes in ln x. Range: log_variance below 1."""
    if log_variance < 1e-6:
        return g(1.0)
    weights, factors = np.array([1, 4, 1]) / 6, np.exp(np.sqrt(3 * log_variance) * np.array([-1, 0, 1]))
    return sum(w * g(x) for w, x in zip(weights, factors / (weights @ factors)))


def interpolated(g, squares, nodes=16):
    """g(q) for every q of `squares` (n,), g: (m,) -> (..., m), computed at a few q and interpolated in ln q."""
    if not np.isfinite(squares).all():
        return g(np.ones(1)) * np.full(len(squares), np.nan)
    log = np.log(np.maximum(squares, 1e-300))
    low, high = log.min(), log.max()
    if high - low < 1e-9:
        return np.broadcast_to(g(np.exp([low])), (*g(np.exp([low])).shape[:-1], len(squares)))
    position = (log - low) / (high - low) * (nodes - 1)
    i = np.minimum(position.astype(int), nodes - 2)
    values, part = g(np.exp(np.linspace(low, high, nodes))), position - i
    return values[..., i] * (1 - part) + values[..., i + 1] * part


def kernel(f, squares, correlation, without=()):
    """E f(x_n) f(x_m) of jointly normal x with variances `squares` (N,) and the given correlation; (N, N).

    without: orders k to leave out; without=(0,) is the covariance.

    Mehler: sum_k a_k(q_n) a_k(q_m) c^k with a_k(q) = E f(sqrt(q) z) He_k(z) / sqrt(k!). What is left of E f^2 after
    ORDER terms is taken as a geometric tail, rest c^(ORDER + 1) / (1 + j (1 - c)), so that the diagonal is exact; j,
    its mean order beyond that, is known from sum_k k a_k^2 = E f'^2.
    Source: Daniely, Frostig, Singer 2016 (dual activation); the tail: ours. Range: error under 1e-3 of the diagonal
    for smooth functions and kinks; for steps (the derivative of ReLU) 0.02, and 0.04 at correlations near -1.
    """

    def coefficients(q):
        values = f(np.sqrt(q)[:, None] * Z)
        a = PROJECTION @ values.T
        rest = np.maximum((values * values) @ WEIGHTS - (a * a).sum(0), 0.0)
        bends = (np.diff(values) / np.diff(Z)) ** 2 @ (WEIGHTS[1:] + WEIGHTS[:-1]) / 2
        orders = bends - np.arange(ORDER + 1) @ (a * a)
        beyond = orders / np.maximum(rest, 1e-12 * values.max() ** 2 + 1e-300) - ORDER - 1
        return np.vstack([a, np.sqrt(rest), np.clip(beyond, 0.0, 1e6)])

    *a, rest, beyond = interpolated(coefficients, squares)
    a = [0.0 * row if k in without else row for k, row in enumerate(a)]
    total = np.outer(rest, rest) / (1 + np.sqrt(np.outer(beyond, beyond)) * (1 - correlation))
    for row in reversed(a):
        total *= correlation
        if np.any(row):
            total += row[:, None] * row
    return total
