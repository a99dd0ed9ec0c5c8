"""Gradient kernels: G[n, m] = E g_n . g_m / width of the loss's gradients at the tokens n, m; from the loss back.

The loss is the mean cross-entropy over all N tokens. A gradient is taken as independent of the forward signal at its
place (Schoenholz et al. 2017, section 5), but for what the head pulls along its own input (`radial`). All are to
leading order in 1/width; the mean squares that they predict are means over seeds.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from initscope.theory.integrals import kernel, lognormal_mean, read, softmax_tables
from initscope.theory.kernels import correlation, linear


@dataclass(frozen=True)
class Logits:
    """Gradient at the logits, p - y, of independent normal logits.

    D[n, m] = E (p_n - y_n) . (p_m - y_m) / N^2 = ([y_n = y_m] - 2 / V + P[n, m]) / N^2, where P = E p_n . p_m is the
    softmax share of what the two tokens' logits have in common, c v, damped as a mean over the rest is:
    S_V(c v / (1 + pi (1 - c) v / 8)) (MacKay 1992, eq. 30). On the diagonal P = S_V(v), exactly.
    Range: exact to first order in v; measured within 5 % at logit variances 0.1 to 10.
    """

    variance: np.ndarray  # logit kernel (N, N)
    targets: np.ndarray  # (N,)
    vocabulary: int
    varied: float  # variance from seed to seed of the logarithm of the logits' variance

    @cached_property
    def table(self):
        return softmax_tables((self.vocabulary,))[0][0]

    @cached_property
    def kernel(self):
        v, c = np.sqrt(np.outer(np.diag(self.variance), np.diag(self.variance))), correlation(self.variance)
        common = np.clip(c, 0.0, 1.0)
        damped = common * v / (1 + np.pi / 8 * (1 - common) * v)
        together = lognormal_mean(lambda factor: 1 - read(self.table, damped * factor), self.varied)
        same = self.targets[:, None] == self.targets
        return (same - 2 / self.vocabulary + together) / len(self.targets) ** 2

    @property
    def pull(self):
        """1 - E sum p^2, (N,): p follows the head's rows, so that E W^T (p - y) = std(W)^2 (1 - E sum p^2) h.

        (Stein's lemma: sum_v E dp_v / dz_v = 1 - E sum p^2.)
        """
        return read(self.table, np.diag(self.variance))


def radial(logits, weight_std):
    """r, (N,): the head's input gradient is r h along its input h, and the rest. r = std^2 pull / N (`Logits.pull`)."""
    return weight_std**2 * logits.pull / len(logits.targets)


def along(radial, forward):
    """What that part adds to the mean square of the gradient of the scale of a norm with output h: sum_n r_n h_n^2.

    E h_n^2 h_m^2 = q_n q_m + 2 K[n, m]^2 for normal h.
    """
    q = np.diag(forward)
    return float(radial @ (np.outer(q, q) + 2 * forward**2) @ radial)


def before_activation(gradients, radial, activation, forward):
    """(gradient kernel before phi, mean square of the gradient of the scale of a norm right before phi).

    The gradient at a = phi(h) is g + radial a, g independent of h: kernels E phi' phi' (Schoenholz et al. 2017, eq. 8)
    and E phi phi', and for the scale, sum_n h_n phi'(h_n) delta_n, those of h phi' and h phi phi'.
    Derivation: ours. Range: normal h.
    """
    phi, slope, q, c = activation.phi, activation.slope, np.diag(forward), correlation(forward)
    parts = [(gradients, slope, lambda x: x * slope(x))]
    if np.any(radial):
        parts.append((np.outer(radial, radial), lambda x: phi(x) * slope(x), lambda x: x * phi(x) * slope(x)))
    before = sum(g * kernel(f, q, c) for g, f, _ in parts)
    return before, sum(weight_square(g, kernel(f, q, c)) for g, _, f in parts)


def through(gradients, fan_out, weight_std):
    """Gradient kernel at the input of W x + b: fan_out std(W)^2 G. Source: Glorot & Bengio 2010, eq. 6."""
    return linear(gradients, fan_out, weight_std)


def weight_square(gradients, forward):
    """Mean square of the gradient of a weight, of any entry: sum_nm G[n, m] K[n, m].

    Derivation: dW_ij = sum_n g_ni x_nj, g and x independent. `forward` is the kernel of the weight's input.
    """
    return float((gradients * forward).sum())


def bias_square(gradients):
    """Mean square of the gradient of a bias or an offset: sum_nm G[n, m]; exactly 0 where a norm takes it out again."""
    total = float(gradients.sum())
    return total if total > 1e-9 * np.abs(gradients).sum() else 0.0


def slope_kernel(activation, forward):
    """E phi'(x_n) phi'(x_m): what a gradient kernel is multiplied by on its way back through phi.

    Source: Schoenholz et al. 2017, eq. 8.
    """
    return kernel(activation.slope, np.diag(forward), correlation(forward))


@dataclass(frozen=True)
class FlatAttention:
    """Gradients through causal attention near its flat start, a_nm = 1/t.

    With V~ the value kernel centred over what n sees (left) and what m sees (right),
    B[n, m] = G[n, m] sum_uw a_nu a_mw V~_uw C_uw: gradients at the queries are (key gain) B, at the values A^T G A,
    and at the keys, with the query kernel Q, sum_nm a_nu a_mw G[n, m] Q[n, m] V~_uw. A key bias has gradient 0: it
    shifts all scores of a query alike. Gains: width std^2.
    Derivation: ours (prototype: measured within 10 % for layers 0 and 1). Range: score variance below 0.1.
    """

    gradients: np.ndarray  # G, at the mix
    flat: np.ndarray  # A
    forward: np.ndarray  # C, the kernel of the sublayer's input
    value_gain: float  # width std(W_value)^2
    key_gain: float
    width: int

    @cached_property
    def value(self):
        return self.flat.T @ self.gradients @ self.flat

    @cached_property
    def overlap(self):
        """sum_uw a_nu a_mw V~_uw C_uw / value_gain, with what the finite width adds to the square of a kernel."""
        a, c = self.flat, self.forward
        ac = a @ c
        aca = ac @ a.T
        square = a @ (c * c) @ a.T - (ac * ac) @ a.T - a @ (ac.T * ac.T) + aca * aca
        rest = a @ np.diag(c) - np.diag(aca)
        return square * (1 + 1 / self.width) + np.outer(rest, rest) / self.width

    @cached_property
    def base(self):
        return self.gradients * self.value_gain * self.overlap

    @cached_property
    def query(self):
        return self.key_gain * self.base

    def key(self, query):
        """Gradient kernel at the keys; query: the kernel of the queries."""
        a, c, common = self.flat, self.forward, self.gradients * query
        ac = a @ c
        side = a.T @ (ac * (common @ a))
        inner = c * (a.T @ common @ a) - side - side.T + a.T @ (common * (ac @ a.T)) @ a
        return self.value_gain * inner
