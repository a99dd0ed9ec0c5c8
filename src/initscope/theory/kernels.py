"""What each operator of a network makes of a token kernel, forward.

A token kernel K is (N, N) over the N tokens (or inputs) of a batch: K[n, m] = E x_n . x_m / width, over the draws of
the weights, of vectors whose `width` units are independent normals given the tokens.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import roots_genlaguerre

from initscope.theory.integrals import VARIANCES, read, softmax_tables

EPS = 1e-5  # of every norm
KEYS = 40


def correlation(kernel):
    """K[n, m] / sqrt(K[n, n] K[m, m]), within [-1, 1]; 0 for tokens that are 0."""
    scale = np.sqrt(np.maximum(np.diag(kernel), 1e-300))
    return np.clip(kernel / scale[:, None] / scale, -1.0, 1.0)


def linear(kernel, fan_in, weight_std, bias_std=0.0):
    """Kernel of W x + b: fan_in std(W)^2 K + std(b)^2.

    Source: Poole et al. 2016, eq. 3. Range: exact for independent zero-mean weights, of any distribution.
    """
    return fan_in * weight_std**2 * kernel + bias_std**2


@dataclass(frozen=True)
class TokenNorm:
    """LayerNorm or RMSNorm with scale 1, offset 0 of a kernel of independent normal units.

    LayerNorm takes the mean out first: v = q (1 - 1/width), `freedom` width - 1 of width. Then
    K'[n, m] = corr(K)[n, m] sqrt(r_n r_m) with r = v / (v + eps).
    Derivation: ours, to leading order in 1/width (within 1 % of Monte Carlo at width 24). Range: every scale.
    """

    source: np.ndarray  # K
    own: np.ndarray  # relative covariance of the tokens' mean squares: 2 / width corr^2 for normal x (signals.py)
    width: int
    freedom: int

    @cached_property
    def variance(self):
        return np.diag(self.source) * self.freedom / self.width

    @cached_property
    def kept(self):
        """r = v / (v + eps)."""
        return self.variance / (self.variance + EPS)

    @cached_property
    def divisor(self):
        return np.sqrt(self.variance + EPS)

    @cached_property
    def kernel(self):
        return correlation(self.source) * np.sqrt(np.outer(self.kept, self.kept))

    @cached_property
    def passed(self):
        """What a given part of x is multiplied by: 1 / sqrt(v + eps), (N,)."""
        return 1 / self.divisor

    def back(self, gradients):
        """Gradient kernel before the norm, from that after it.

        dx = (P - h h^T / width) dh / sqrt(v + eps), P taking the mean out. E trace of two such matrices / width:
        (f - r - r' + r r' c^2) / width, f = freedom; and E 1 / (divisor divisor') = (1 + 3 (F_nn + F_mm) / 8 +
        F_nm / 4) / their product, with F = r r' own. Derivation: ours, to second order in 1/width. Range: dh
        independent of h. (What x inherits of its scale is left out: it cancels against what the gradient meets of
        that scale on its way further back.)
        """
        r, varied = self.kept, np.outer(self.kept, self.kept) * self.own
        trace = self.freedom - np.add.outer(r, r) + np.outer(r, r) * correlation(self.source) ** 2
        moved = 1 + 3 / 8 * np.add.outer(np.diag(varied), np.diag(varied)) + varied / 4
        return gradients * trace / self.width * moved / np.outer(self.divisor, self.divisor)


@dataclass(frozen=True)
class BatchNorm:
    """Batch norm with scale 1, offset 0: every unit is normalised over all N rows.

    A unit's column x over the batch is N(0, K). With P K P = U diag(l) U^T (P takes the mean out) and
    P x = U diag(l)^.5 g, h = P x / sqrt(sum_k l_k g_k^2 / N + eps). Powers of the divisor become integrals over an
    exponential, under which g stays normal: E h h^T = U diag(int w l_i(t) dt) U^T, with
    l_i(t) = l_i / (1 + 2 t l_i / N) and w(t) = exp(-eps t) prod_k (1 + 2 t l_k / N)^(-1/2).
    Derivation: ours. Range: exact for normal units, at every eps.
    """

    source: np.ndarray  # K

    @cached_property
    def spectrum(self):
        n = len(self.source)
        rows = self.source - self.source.mean(0)
        values, vectors = np.linalg.eigh(rows - rows.mean(1, keepdims=True))
        return np.maximum(values, 0.0), vectors, n

    @cached_property
    def integral(self):
        """(t, weights w(t) dt, l_i(t) of shape (len(t), N))."""
        values, _, n = self.spectrum
        log_t = np.linspace(np.log(1e-7 / (values.mean() + EPS)), np.log(40 / EPS), 300)
        t = np.exp(log_t)
        growth = 1 + 2 * np.outer(t, values) / n
        weight = np.exp(-EPS * t - np.log(growth).sum(1) / 2) * t * (log_t[1] - log_t[0])
        return t, weight, values / growth

    def turned(self, diagonal):
        vectors = self.spectrum[1]
        return (vectors * diagonal) @ vectors.T

    @cached_property
    def kernel(self):
        _, weight, values = self.integral
        return self.turned(weight @ values)

    @cached_property
    def kept(self):
        """v / (v + eps) with the mean variance v of a unit over the batch, (N,)."""
        values, _, n = self.spectrum
        return np.full(n, values.sum() / (values.sum() + n * EPS))

    @cached_property
    def passed(self):
        """What a given part of x is multiplied by: about 1 / sqrt(v + eps), (N,); leading order."""
        return np.sqrt((1 - self.kept) / EPS)

    def back(self, gradients):
        """Gradient kernel before the norm, from that after it: dx = (P dh - h (h . dh) / N) / divisor.

        E over x of the square of that, by the same integrals: m P G P - (B P G P + P G P B) / N
        + (2 int L G L + int L tr(L G)) / N^2, with m = int w dt, B = E h h^T / divisor^2 = int w t L dt, L = diag l(t).
        Derivation: ours. Range: exact for normal units and dh independent of h.
        """
        t, weight, values = self.integral
        vectors, n = self.spectrum[1], self.spectrum[2]
        centred = gradients - gradients.mean(0)
        inner = vectors.T @ (centred - centred.mean(1, keepdims=True)) @ vectors
        once = (weight * t) @ values
        twice = (values.T * (weight * t * t / 2)) @ values
        own = (weight * t * t / 2 * (values @ np.diag(inner))) @ values
        total = inner * (weight.sum() - np.add.outer(once, once) / n + 2 * twice / n**2) + np.diag(own) / n**2
        return vectors @ total @ vectors.T


NORMS = ("none", "layernorm", "rmsnorm", "batchnorm")  # those with a formula


def norm_of(kernel, own, width, norm):
    """The norm of that name applied to a kernel: an object with .kernel, .kept, .passed and .back(gradients)."""
    if norm == "batchnorm":
        return BatchNorm(kernel)
    return TokenNorm(kernel, own, width, width - 1 if norm == "layernorm" else width)


@dataclass(frozen=True)
class Attention:
    """Causal softmax attention by head over a batch of sequences of length `context`, tokens in sequence order.

    Given a query, its scores are N(0, |q|^2 / head_width * key kernel): what the visible keys share drops out of the
    softmax, so they count as independent with variance v = E q^2 (mean visible diagonal - mean visible off-diagonal of
    the key kernel), times a chi-square of head_width degrees for |q|^2 (12 Gauss-Laguerre nodes).
    Derivation: ours. Range: every scale; the keys' correlations are taken as equal (within 10 % of Monte Carlo).
    """

    query: np.ndarray  # kernels (N, N)
    key: np.ndarray
    context: int
    head_width: int

    @cached_property
    def flat(self):
        """A[n, m] = 1 / t for the t tokens m that n sees."""
        place = np.arange(len(self.query))
        same = place[:, None] // self.context == place // self.context
        sees = same & (place <= place[:, None])
        return sees / sees.sum(1, keepdims=True)

    @cached_property
    def seen(self):
        """t, the number of visible tokens; (N,)."""
        return np.arange(len(self.query)) % self.context + 1

    def visible_means(self, kernel):
        """Means of a kernel over the visible diagonal, and over the visible off-diagonal (0 where there is none)."""
        diagonal, t = self.flat @ np.diag(kernel), self.seen
        everything = ((self.flat @ kernel) * self.flat).sum(1)
        return diagonal, np.where(t > 1, (everything * t - diagonal) / np.maximum(t - 1, 1), 0.0)

    @cached_property
    def score_squares(self):
        """E score^2 of every pair, (N, N): E q_n^2 E k_m^2."""
        return np.outer(np.diag(self.query), np.diag(self.key))

    @cached_property
    def score_mean_square(self):
        """Mean over the visible pairs."""
        visible = self.flat > 0
        return float(self.score_squares[visible].mean())

    @cached_property
    def tables(self):
        """(1 - E sum a^2, E entropy) over `VARIANCES` for every t, averaged over |q|^2; each (context, ...)."""
        nodes, weights = roots_genlaguerre(12, self.head_width / 2 - 1)
        factors = nodes / (self.head_width / 2)
        average = lambda row: weights @ [read(row, VARIANCES * factor) for factor in factors] / weights.sum()
        return [np.array([average(row) for row in rows]) for rows in softmax_tables(tuple(range(1, self.context + 1)))]

    @cached_property
    def share(self):
        """E sum_m a_nm^2, (N,)."""
        diagonal, off = self.visible_means(self.key)
        variance = np.diag(self.query) * np.maximum(diagonal - off, 0.0)
        return np.array([1 - read(self.tables[0][t - 1], v) for t, v in zip(self.seen, variance)])

    def entropy(self):
        """Mean over the tokens that see t >= 2 of E entropy / ln t: 1 where attention is flat, 0 where it takes one.

        The mean over all pairs of visible keys of the entropy at the pair's variance, E q^2 (K_uu + K_ww - 2 K_uw) / 2:
        right to first order where attention is flat, and where it is peaked, for it is then a sum over ties.
        (Of more than KEYS visible keys, evenly spaced ones.)
        """
        found = []
        for n in np.flatnonzero(self.seen > 1):
            t = self.seen[n]
            keys = n - t + 1 + np.unique(np.linspace(0, t - 1, min(t, KEYS)).astype(int))
            u, w = np.triu_indices(len(keys), 1)
            block, own = self.key[np.ix_(keys, keys)], np.diag(self.key)[keys]
            pairs = np.diag(self.query)[n] * (own[u] + own[w] - 2 * block[u, w]) / 2
            found.append(read(self.tables[1][t - 1], np.maximum(pairs, 0.0)).mean() / np.log(t))
        return float(np.mean(found))

    def mix(self, value):
        """Kernel of sum_m a_nm v_m: A K A^T, and on the diagonal off + (diagonal - off) E sum_m a_m^2."""
        diagonal, off = self.visible_means(value)
        kernel = self.flat @ value @ self.flat.T
        np.fill_diagonal(kernel, off + (diagonal - off) * self.share)
        return kernel
