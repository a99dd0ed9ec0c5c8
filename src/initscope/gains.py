"""The gain of an activation phi: the factor on the weights that makes up for what phi does to a signal. math only."""

import math

from initscope.distributions import rounded


def normal_mean(f):
    """E f(z), z ~ N(0, 1), for analytic f, by the trapezoid rule.

    Its error is about exp(-2 pi a / h), a the distance of f's nearest pole from the real line: exp(-79) for tanh^2.
    (Gauss-Hermite needs many nodes for that pole, and NumPy takes the nodes from LAPACK.)
    """
    h = 1 / 8
    points = [h * i for i in range(-80, 81)]
    return h * sum(f(z) * math.exp(-z * z / 2) for z in points) / math.sqrt(2 * math.pi)


def normal_cdf(x):
    return math.erfc(-x / math.sqrt(2)) / 2


def sigmoid(z):
    return 1 / (1 + math.exp(-z))


# {activation: E phi(z)^2, z ~ N(0, 1)}; what an activation does stands in models/activations
SECOND_MOMENTS = {
    "identity": 1.0,
    "relu": 1 / 2,
    "leaky_relu": (1 + 0.01**2) / 2,  # slope 0.01
    # alpha 1; of (e^z - 1)^2 over z < 0, since E e^(a z) [z < 0] = e^(a^2 / 2) Phi(-a)
    "elu": rounded(1 + math.exp(2) * normal_cdf(-2) - 2 * math.exp(1 / 2) * normal_cdf(-1)),
    "gelu": 1 / 4 + (1 / math.sqrt(3) + math.pi / 6) / (2 * math.pi),  # z Phi(z)
    "silu": rounded(normal_mean(lambda z: (z * sigmoid(z)) ** 2)),
    "tanh": rounded(normal_mean(lambda z: math.tanh(z) ** 2)),
    "sigmoid": rounded(normal_mean(lambda z: sigmoid(z) ** 2)),
}
GAINS_OF_THEORY = {activation: math.sqrt(1 / moment) for activation, moment in SECOND_MOMENTS.items()}

# torch.nn.init.calculate_gain; it has none for gelu, silu and elu.
GAINS_OF_TORCH = {
    "identity": 1.0,
    "relu": math.sqrt(2),
    "leaky_relu": math.sqrt(2 / (1 + 0.01**2)),
    "sigmoid": 1.0,
    "tanh": 5 / 3,
}


def gain(kind, activation, paper):
    """The gain of `init.gain` for the model's activation.

    kind: "paper", the scheme as its authors wrote it: `paper`, whatever the activation is;
    "theory", 1 / sqrt(E phi(z)^2), z ~ N(0, 1); or "torch", the value of torch.nn.init.calculate_gain.
    KeyError where torch has no gain for the activation.
    """
    return paper if kind == "paper" else {"theory": GAINS_OF_THEORY, "torch": GAINS_OF_TORCH}[kind][activation]
