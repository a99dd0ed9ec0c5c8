"""THE table: scheme x group of tensors -> distribution and std, and the drawing from it. NumPy only, no torch."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from initscope.distributions import DISTRIBUTIONS
from initscope.gains import gain
from initscope.streams import stream

# The groups that a scheme may treat differently, and the kinds of tensor in each.
GROUPS = {
    "embedding": ("token_embedding", "position_embedding"),
    "inner": ("query", "key", "value", "mlp_in", "mlp_gate", "input", "hidden"),
    "residual": ("attention_out", "mlp_out", "branch_out"),  # what writes into the residual stream
    "head": ("head",),
}
GROUP = {kind: group for group, kinds in GROUPS.items() for kind in kinds}

# Where a scheme has no rule for these kinds they are constant. (Constants are exact: the audit tests for equality.)
CONSTANTS = {"bias": 0.0, "norm_scale": 1.0, "norm_offset": 0.0}


@dataclass(frozen=True)
class Rule:
    """How a scheme draws the tensors of a group: the distribution, its std as a function, and that function as text."""

    distribution: str  # of DISTRIBUTIONS, or "constant": all 0
    std: Callable  # (tensor, s, g) -> declared std; s is init.std, g the gain
    formula: str  # in the SYMBOLS


# What stands in the formulas -> what it means, for the docs.
SYMBOLS = {
    "s": "`init.std`",
    "g": "the gain that `init.gain` chooses",
    "fi": "fan-in (of a bias: that of its weight)",
    "fo": "fan-out",
    "d": "the width",
    "L": "the number of layers",
    "B": "the residual branches of the network, 2 L in a Transformer",
    "b": "those up to the end of the tensor's block, 2 (l + 1) in block l = 0, 1, ... of a Transformer",
}


@dataclass(frozen=True)
class Scheme:
    """One row of the table."""

    description: str  # what it does, and its source
    rules: dict  # {group or kind: Rule}; "*" stands for every weight without a rule of its own, "bias" for drawn biases
    uses: tuple = ()  # which of init.std and init.gain its formulas contain: "std", "gain"
    gain: float | None = None  # the gain as its authors wrote it, where one is used
    needs: tuple = ()  # groups, or kinds, without which it is another scheme under a wrong name


def sigma(t, s, g):
    return s


def glorot(t, s, g):
    return g * math.sqrt(2 / (t.fan_in + t.fan_out))


def kaiming(t, s, g):
    return g / math.sqrt(t.fan_in)


def small(t, s, g):
    return math.sqrt(2 / (5 * t.width))


SHARED = Rule("normal", lambda t, s, g: s / math.sqrt(t.branches), "s / sqrt(B)")
VARIANCE_SHARED = Rule("normal", lambda t, s, g: s / math.sqrt(math.sqrt(t.branches)), "s / sqrt(sqrt(B))")
SCHEMES = {
    "normal": Scheme(
        "one normal for every weight; with s = 0.02 as in GPT-1 (Radford et al. 2018)",
        {"*": Rule("normal", sigma, "s")},
        uses=("std",),
    ),
    "uniform": Scheme(
        "the same std from a uniform, U(-sqrt(3) s, sqrt(3) s)",
        {"*": Rule("uniform", sigma, "s")},
        uses=("std",),
    ),
    "truncated_normal": Scheme(
        "a normal cut at 2 s; with s = 0.02 as in BERT's code (google-research/bert)",
        {"*": Rule("truncated_2", sigma, "s")},
        uses=("std",),
    ),
    "xavier_normal": Scheme(
        "between keeping the signal and keeping its gradient: Glorot and Bengio 2010, eq. 12",
        {"*": Rule("normal", glorot, "g * sqrt(2 / (fi + fo))")},
        uses=("gain",),
        gain=1.0,
    ),
    "xavier_uniform": Scheme(
        "the same std from a uniform, whose bound is g * sqrt(6 / (fi + fo)): Glorot and Bengio 2010, eq. 16",
        {"*": Rule("uniform", glorot, "g * sqrt(2 / (fi + fo))")},
        uses=("gain",),
        gain=1.0,
    ),
    "he_normal": Scheme(
        "keeps the second moment of a ReLU network: He et al., arXiv:1502.01852, eq. 10",
        {"*": Rule("normal", kaiming, "g / sqrt(fi)")},
        uses=("gain",),
        gain=math.sqrt(2),
    ),
    "he_uniform": Scheme(
        "the same std from a uniform, whose bound is g * sqrt(3 / fi): torch's kaiming_uniform_",
        {"*": Rule("uniform", kaiming, "g / sqrt(fi)")},
        uses=("gain",),
        gain=math.sqrt(2),
    ),
    "lecun_normal": Scheme(
        "keeps the variance of a linear map: LeCun et al. 1998, Efficient BackProp, section 4.6",
        {"*": Rule("normal", lambda t, s, g: 1 / math.sqrt(t.fan_in), "1 / sqrt(fi)")},
    ),
    "orthogonal": Scheme(
        "g times orthonormal rows or columns, whichever are fewer: Saxe et al., arXiv:1312.6120",
        {"*": Rule("orthogonal", lambda t, s, g: g / math.sqrt(max(t.fan_in, t.fan_out)), "g / sqrt(max(fi, fo))")},
        uses=("gain",),
        gain=1.0,
    ),
    "scaled_residual": Scheme(
        "the branches add up to one of std s: GPT-2 (Radford et al. 2019, section 2.3), Megatron-LM (arXiv:1909.08053)",
        {"*": Rule("normal", sigma, "s"), "residual": SHARED},
        uses=("std",),
        needs=("residual",),
    ),
    "scaled_residual_variance": Scheme(
        "the VARIANCE divided by sqrt(B), as GPT-2's rule is often retold: the stream still grows with depth",
        {"*": Rule("normal", sigma, "s"), "residual": VARIANCE_SHARED},
        uses=("std",),
        needs=("residual",),
    ),
    "scaled_attention_out": Scheme(
        "scaled_residual's rule on the attention's output projection alone; the MLP's branch is as wide as it was",
        {"*": Rule("normal", sigma, "s"), "attention_out": SHARED},
        uses=("std",),
        needs=("attention_out",),
    ),
    "scaled_attention_out_variance": Scheme(
        "scaled_residual_variance's rule on the attention's output projection alone",
        {"*": Rule("normal", sigma, "s"), "attention_out": VARIANCE_SHARED},
        uses=("std",),
        needs=("attention_out",),
    ),
    "depth_scaled": Scheme(
        "the deeper a branch, the less it adds: torchtitan's Llama, after DS-Init (Zhang et al., arXiv:1908.11365)",
        {
            "*": Rule("normal", sigma, "s"),
            "residual": Rule("normal", lambda t, s, g: s / math.sqrt(t.passed), "s / sqrt(b)"),
        },
        uses=("std",),
        needs=("residual",),
    ),
    "fan_in_depth": Scheme(
        "Mitchell's, by fan-in and depth, cut at 3 std: OLMo (arXiv:2402.00838; InitFnType.mitchell in its code)",
        {
            "*": Rule("truncated_3", lambda t, s, g: 1 / math.sqrt(t.width), "1 / sqrt(d)"),
            "residual": Rule("truncated_3", lambda t, s, g: 1 / math.sqrt(t.fan_in * t.passed), "1 / sqrt(fi * b)"),
        },
        needs=("embedding", "residual"),
    ),
    "small_init_wang": Scheme(
        "SmallInit (Nguyen and Salazar, arXiv:1910.05895), Wang's rule in the branches: GPT-NeoX (arXiv:2204.06745)",
        {
            "*": Rule("normal", small, "sqrt(2 / (5 * d))"),
            "residual": Rule("normal", lambda t, s, g: 2 / (t.layers * math.sqrt(t.width)), "2 / (L * sqrt(d))"),
        },
        needs=("embedding", "residual"),
    ),
    "zero_residual": Scheme(
        "every branch begins as nothing, as in Fixup (Zhang et al., arXiv:1901.09321), which also scales the rest",
        {
            "*": Rule("normal", sigma, "s"),
            "residual": Rule("constant", lambda t, s, g: 0.0, "0"),
        },
        uses=("std",),
        needs=("residual",),
    ),
    "torch_default": Scheme(
        "what torch.nn.Embedding and torch.nn.Linear do by themselves: U(-1/sqrt(fi), 1/sqrt(fi)), biases too",
        {
            "embedding": Rule("normal", lambda t, s, g: 1.0, "1"),
            "*": Rule("uniform", lambda t, s, g: 1 / math.sqrt(3 * t.fan_in), "1 / sqrt(3 * fi)"),
            "bias": Rule("uniform", lambda t, s, g: 1 / math.sqrt(3 * t.reads), "1 / sqrt(3 * fi)"),
        },
    ),
}


def useless(scheme, kinds):
    """Why a scheme has nothing to do in a model with these kinds of tensor, in words; None where it has."""
    for group in SCHEMES[scheme].needs:
        members = GROUPS.get(group, (group,))
        if not set(members) & set(kinds):
            named = ", ".join(members)
            return f"{scheme} has a formula of its own for {group} tensors ({named}), and this model has none"
    return None


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

    @property
    def bound(self):
        """The largest absolute value that can be drawn, up to float32's rounding; None where there is no limit."""
        limit = DISTRIBUTIONS[self.distribution].bound if self.constant is None else None
        return None if limit is None else self.std * limit

    def standard_error(self, n):
        """Of a sample std over n entries: s sqrt((k - 1) / (4 n)), k the distribution's kurtosis."""
        return self.expected_std * math.sqrt((DISTRIBUTIONS[self.distribution].kurtosis - 1) / (4 * n))


def chosen(settings):
    """What `declared` and `drawn` must know of a setup: its init section, and the activation that a gain is for."""
    return {**settings["init"], "activation": settings["model"]["activation"]}


def declared(tensor, init):
    """The table's entry for a tensor.

    init: {"scheme", "seed"}, and "std" or "gain" and "activation" where the scheme uses them; "factor", which
    multiplies every std, is 1 unless given.
    """
    scheme = SCHEMES[init["scheme"]]
    rule = rule_for(scheme, tensor.kind)
    if rule is None:
        return Declared("constant", 0.0, CONSTANTS[tensor.kind])
    if rule.distribution == "constant":
        return Declared("constant", 0.0, 0.0)
    s = init["std"] if "std" in scheme.uses else None
    g = gain(init["gain"], init["activation"], scheme.gain) if "gain" in scheme.uses else None
    return Declared(rule.distribution, init.get("factor", 1.0) * rule.std(tensor, s, g))


def rule_for(scheme, kind):
    """The rule of a scheme for a kind of tensor; None for what it leaves constant."""
    if kind in CONSTANTS:
        return scheme.rules.get(kind)
    return scheme.rules.get(kind) or scheme.rules.get(GROUP[kind], scheme.rules["*"])


def drawn(tensor, init):
    """The tensor's initial values: float32(std) times a unit draw that depends on (seed, tensor name, shape) alone."""
    start = declared(tensor, init)
    if start.constant is not None:
        return np.full(tensor.shape, start.constant, dtype=np.float32)
    rng = stream("weights", init["seed"], tensor.name)
    return np.float32(start.std) * DISTRIBUTIONS[start.distribution].draw(rng, tensor.shape)
