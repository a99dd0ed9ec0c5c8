"""A signal on its way through a network: its token kernel, and how much its scale varies from seed to seed."""

from dataclasses import dataclass, replace

import numpy as np

from initscope.theory.activations import ACTIVATIONS
from initscope.theory.integrals import expectation, interpolated, kernel
from initscope.theory.kernels import NORMS, correlation, linear


def covered(model):
    """Has theory a formula for the activation and the norm of a model (the setup's section)?"""
    return model["activation"] in ACTIVATIONS and model["norm"] in NORMS


@dataclass(frozen=True)
class Signal:
    """kernel: (N, N), E x_n . x_m / units. inherited: (N, N), the relative covariance from seed to seed of the scales
    that all units share (of E x_n^2 and E x_m^2, given the layers before). units: how many independent normal units
    the tokens have, which add to that; infinite where `inherited` says it all. fan_in: the number of drawn units that
    they are sums of; infinite where the kernel is exact. fixed: Hermite orders of the units that a norm has fixed.
    tied: (N, N), the relative covariance of the scale of token n where this branch left the stream and token m here.
    held: (N, N), what a norm keeps the units from varying.
    """

    kernel: np.ndarray
    inherited: np.ndarray
    units: float = np.inf
    fan_in: float = np.inf
    fixed: tuple = ()
    tied: np.ndarray | float = 0.0
    held: np.ndarray | float = 0.0

    @property
    def squares(self):
        return np.diag(self.kernel)

    @property
    def correlation(self):
        return correlation(self.kernel)

    @property
    def overlap(self):
        """E of the squared correlation of two tokens, itself a sample over fan_in units: c^2 + (1 - c^2)^2 / fan_in."""
        square = self.correlation**2
        return square + (1 - square) ** 2 / self.fan_in

    @property
    def own(self):
        """Relative covariance of the tokens' mean squares that comes from the units' own draw (a chi-square's)."""
        return 2 / self.units * self.overlap - self.held

    @property
    def spread(self):
        """Relative covariance of the tokens' mean squares, of two independent factors: (1 + inherited)(1 + own) - 1."""
        return self.inherited + self.own + self.inherited * self.own

    def row(self):
        """{"rms": the mean over seeds of the rms over the batch, "scatter": its relative standard deviation}.

        With the batch mean square lognormal of mean m and relative variance V: sqrt(m) (1 + V)^(-1/8), and
        sqrt((1 + V)^(1/4) - 1). Derivation: ours; exact to first order in V.
        """
        share = self.squares / max(self.squares.sum(), 1e-300)
        return rms_row(self.squares.mean(), share @ self.spread @ share)

    def through(self, fan_in, weight_std, bias_std, units, given=False):
        """W x + b with `units` rows: the scale of x is inherited, as far as the bias leaves it. given: x is data."""
        new = linear(self.kernel, fan_in, weight_std, bias_std)
        share = 1 - bias_std**2 / np.maximum(np.diag(new), 1e-300)
        spread = self.spread * np.outer(share, share)
        return Signal(new, spread, units, np.inf if given else fan_in, tied=self.tied * share)

    def branch(self):
        """The same signal, where a branch leaves the stream."""
        return replace(self, tied=self.spread)

    def plus(self, update):
        """Stream plus update, whose units are drawn independently but whose scale may be tied to the stream's.

        Units that a norm has fixed vary no more: what the stream's own part would add to the sum is held.
        """
        old = np.maximum(self.squares + update.squares, 1e-300)
        p, r = self.squares / old, update.squares / old
        cross = np.outer(p, r) * update.tied
        inherited = np.outer(p, p) * self.inherited + np.outer(r, r) * update.inherited + cross + cross.T
        held = np.outer(p, p) * (2 / update.units * self.overlap - self.own)
        return Signal(self.kernel + update.kernel, inherited, update.units, held=held)

    def normed(self, norm, name):
        """After a norm, which fixes the units' mean square (order 2) and, but for RMSNorm, their mean (order 1).

        Only its eps lets something of the scale pass: d ln (v / (v + eps)) / d ln v = 1 - kept.
        """
        passes = 1 - norm.kept
        inherited = self.spread * np.outer(passes, passes)
        return Signal(norm.kernel, inherited, fixed=(2,) if name == "rmsnorm" else (1, 2), tied=self.tied * passes)

    def mixed(self, attention):
        """Attention's mix of this signal as the values; the weights' own draw is not counted."""
        a = attention.flat
        tied = self.tied @ a.T if np.ndim(self.tied) else self.tied
        return Signal(attention.mix(self.kernel), a @ self.inherited @ a.T, self.units, self.fan_in, tied=tied)

    def ratio(self, stream):
        """{"rms": ...} of |x| / |stream| by token: E x^2 / E stream^2 (1 + spread - tied), to second order."""
        tied = np.diag(self.tied) if np.ndim(self.tied) else self.tied
        square = self.squares / stream.squares * (1 + np.diag(stream.spread) - tied)
        return {"rms": float(np.sqrt(square.mean()))}

    def activated(self, activation, units):
        """phi(x), by unit. The kernel is E phi phi'; its scale varies with that of x, and by the units' own draw.

        With m(q) = E phi^2 and D = d ln m / d ln q: relative covariance D D' inherited and
        cov(phi^2, phi'^2) / (units m m'). To second order the mean is moved by q^2 m'' inherited / 2 (0 for ReLU,
        which is homogeneous). Derivation: ours. Range: inherited below about 1.
        """
        phi, q, c = ACTIVATIONS[activation].phi, self.squares, self.correlation
        square = lambda x: phi(x) ** 2
        moment, slope, bend = interpolated(lambda q: moments(square, q), q)
        moved = np.sqrt(np.maximum(1 + bend * np.diag(self.inherited) / 2, 0.1))
        own = kernel(square, q, c, without=(0, *self.fixed)) / np.outer(moment, moment)
        given = np.outer(slope, slope) * self.inherited
        spread = given + (1 + given) * own / units
        return Signal(kernel(phi, q, c) * np.outer(moved, moved), spread, tied=self.tied * slope)

    def times(self, value, units):
        """The product by unit of this gate with a value drawn independently from the same input: kernels multiply.

        Second moments of a unit multiply: 1 + units * spread is taken as their ratio to the squared mean. What both
        inherit of their input's scale, `tied`, moves the mean too: E xy = 1 + cov, and (1 + cov)^2 in the square.
        Derivation: ours. Range: exact where nothing is inherited; inherited below about 1.
        """
        common = (self.tied + np.transpose(self.tied)) / 2
        spread = self.spread + value.spread + units * (self.spread * value.spread)
        spread = (1 + spread) * (1 + common) ** 2 - 1
        return Signal(self.kernel * value.kernel * (1 + common), spread, tied=self.tied + value.tied)


def moments(square, q, step=0.1):
    """m = E phi^2, D = d ln m / d ln q and q^2 m'' / m = D' + D^2 - D, by differences in ln q."""
    low, middle, high = (np.log(np.maximum(expectation(square, q * np.exp(s)), 1e-150)) for s in (-step, 0.0, step))
    slope, bend = (high - low) / (2 * step), (high - 2 * middle + low) / step**2
    return np.array([np.exp(middle), slope, bend + slope**2 - slope])


def rms_row(mean_square, variance):
    """`Signal.row` of a mean square and its relative variance."""
    variance = max(float(variance), 0.0)
    rms = np.sqrt(mean_square) * (1 + variance) ** (-1 / 8)
    return {"rms": float(rms), "scatter": float(np.sqrt(np.expm1(np.log1p(variance) / 4)))}
