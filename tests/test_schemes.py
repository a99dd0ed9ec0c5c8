"""The scheme table against the published formulas, written again by hand; against torch.nn.init; public cases A1-A7."""

import math
import os
import subprocess
import sys
from types import SimpleNamespace
from zlib import crc32

import numpy as np
import pytest
import torch

from initscope.audit import checked
from initscope.distributions import DISTRIBUTIONS
from initscope.gains import GAINS_OF_THEORY, GAINS_OF_TORCH, gain
from initscope.schemes import GROUPS, SCHEMES, declared, drawn, useless
from initscope.streams import stream

D, F, V, LAYERS, S = 24, 40, 11, 3, 0.05
INIT = {"std": S, "gain": "paper", "activation": "gelu", "factor": 1.0, "seed": 7}


def tensor(kind, fan_in=None, fan_out=None, layer=None, layers=LAYERS, width=D, branches=0, passed=0, reads=None):
    """What the schemes read of a `models.layout.Tensor`."""
    shape = (fan_in, fan_out) if kind.endswith("embedding") else (fan_out, fan_in) if fan_in else (fan_out,)
    name = kind if layer is None else f"layers.{layer}.{kind}"
    place = {"width": width, "layers": layers, "branches": branches, "passed": passed, "reads": reads}
    return SimpleNamespace(name=name, kind=kind, layer=layer, shape=shape, fan_in=fan_in, fan_out=fan_out, **place)


def transformer():
    """One tensor of each kind, the blocks' from block 1 of 3 and, where depth counts, from each block."""
    whole = {"branches": 2 * LAYERS}
    found = [tensor("token_embedding", V, D, **whole), tensor("position_embedding", 16, D, **whole)]
    for layer in range(LAYERS):
        block = {"layer": layer, "passed": 2 * (layer + 1), **whole}
        found += [tensor("attention_out", D, D, **block), tensor("mlp_out", F, D, **block)]
        if layer == 1:
            found += [tensor(kind, D, D, **block) for kind in ("query", "key", "value")]
            found += [tensor(kind, D, F, **block) for kind in ("mlp_gate", "mlp_in")]
            found += [tensor("bias", None, D, reads=F, **block)]
    return [*found, tensor("norm_scale", None, D), tensor("norm_offset", None, D), tensor("head", D, V, **whole)]


def plain():
    return [
        tensor("input", 10, D, 0),
        tensor("hidden", D, D, 1),
        tensor("bias", None, D, 1, reads=D),
        tensor("head", D, V),
    ]


def residual():
    branches = [tensor("branch_out", D, D, layer, branches=2, passed=layer) for layer in (1, 2)]
    return [tensor("input", 10, D, 0, branches=2), *branches, tensor("head", D, V, branches=2)]


MODELS = {"transformer": transformer(), "mlp": plain(), "residual_mlp": residual()}
RESIDUAL = ("attention_out", "mlp_out", "branch_out")
CUT2, CUT3 = 0.8796256610, 0.9865783925  # std of a normal cut at 2 and at 3: the tables of any textbook


def by_hand(scheme, t):
    """(std of a sample, largest |x| or None), from the papers' formulas and not from the code under test."""
    fi, fo, out, root3 = t.fan_in, t.fan_out, t.kind in RESIDUAL, math.sqrt(3)
    if t.kind in ("norm_scale", "norm_offset"):
        return 0.0, None
    if t.kind == "bias":
        return (1 / math.sqrt(3 * t.reads), 1 / math.sqrt(t.reads)) if scheme == "torch_default" else (0.0, None)
    if scheme == "torch_default":
        return (1.0, None) if t.kind.endswith("embedding") else (1 / math.sqrt(3 * fi), 1 / math.sqrt(fi))
    number = 2 if t.kind == "branch_out" else 2 * LAYERS
    upto = t.layer if t.kind == "branch_out" else 2 * (t.layer + 1) if out else None
    return {
        "normal": lambda: (S, None),
        "uniform": lambda: (S, S * root3),
        "truncated_normal": lambda: (S * CUT2, 2 * S),
        "xavier_normal": lambda: (math.sqrt(2 / (fi + fo)), None),
        "xavier_uniform": lambda: (math.sqrt(6 / (fi + fo)) / root3, math.sqrt(6 / (fi + fo))),
        "he_normal": lambda: (math.sqrt(2 / fi), None),
        "he_uniform": lambda: (math.sqrt(2 / fi), math.sqrt(6 / fi)),
        "lecun_normal": lambda: (math.sqrt(1 / fi), None),
        "orthogonal": lambda: (1 / math.sqrt(max(fi, fo)), None),
        "scaled_residual": lambda: (S * number**-0.5 if out else S, None),
        "scaled_residual_variance": lambda: (math.sqrt(S**2 / math.sqrt(number)) if out else S, None),
        "scaled_attention_out": lambda: (S * (2 * LAYERS) ** -0.5 if t.kind == "attention_out" else S, None),
        "scaled_attention_out_variance": lambda: (
            math.sqrt(S**2 / math.sqrt(2 * LAYERS)) if t.kind == "attention_out" else S,
            None,
        ),
        "depth_scaled": lambda: (S * upto**-0.5 if out else S, None),
        "fan_in_depth": lambda: tuple(c * ((fi * upto) ** -0.5 if out else D**-0.5) for c in (CUT3, 3)),
        "small_init_wang": lambda: (2 / LAYERS / math.sqrt(D) if out else math.sqrt(0.4 / D), None),
        "zero_residual": lambda: (0.0 if out else S, None),
    }[scheme]()


FITTING = [
    pytest.param(scheme, t, id=f"{scheme}-{model}-{t.name}")
    for model, tensors in MODELS.items()
    for scheme in SCHEMES
    if not useless(scheme, {t.kind for t in tensors})
    for t in tensors
]


@pytest.mark.parametrize("scheme, t", FITTING)
def test_measured_std_within_four_standard_errors(scheme, t):
    """Pooled over 30 seeds. Constants are exact, and nothing lies outside a bound."""
    start = declared(t, {**INIT, "scheme": scheme})
    draws = [drawn(t, {**INIT, "scheme": scheme, "seed": seed}) for seed in range(30)]
    values = np.stack(draws).astype(np.float64)
    std, bound = by_hand(scheme, t)
    assert start.expected_std == pytest.approx(std, rel=1e-8)
    assert (start.bound is None and bound is None) or start.bound == pytest.approx(bound)
    assert draws[0].dtype == np.float32 and draws[0].shape == t.shape
    if std == 0:
        assert (values == (1 if t.kind == "norm_scale" else 0)).all() and start.constant == values.flat[0]
    else:
        assert abs(values.std() - std) < 4 * start.standard_error(values.size)
        assert abs(values.mean()) < 4 * std / math.sqrt(values.size)
        assert bound is None or 0.9 * bound < np.abs(values).max() <= bound * (1 + 1e-6)


def test_every_kind_of_every_group_is_tested():
    assert {kind for kinds in GROUPS.values() for kind in kinds} <= {t.kind for ts in MODELS.values() for t in ts}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_text_of_a_formula_is_its_function(scheme):
    """What the docs print, evaluated."""
    for t in (t for ts in MODELS.values() for t in ts if not useless(scheme, {t.kind for t in ts})):
        for group, rule in SCHEMES[scheme].rules.items():
            if t.kind in GROUPS.get(group, (group,)) or (group == "*" and t.fan_in):
                names = {"fi": t.fan_in or t.reads, "fo": t.fan_out, "d": t.width, "L": t.layers}
                names |= {"B": t.branches, "b": t.passed, "s": 0.3, "g": 1.7, "sqrt": math.sqrt}
                assert rule.std(t, 0.3, 1.7) == pytest.approx(eval(rule.formula, names))


@pytest.mark.parametrize("key, value", [("std", 3 * S), ("gain", "theory")])
def test_a_scheme_uses_what_it_says_it_uses(key, value):
    for scheme in SCHEMES:
        init = {"scheme": scheme, "factor": 1.0, "activation": "gelu"}
        init |= {used: INIT[used] for used in SCHEMES[scheme].uses}  # without what it does not use
        (head,) = (t for t in MODELS["transformer"] if t.kind == "head")
        moved = declared(head, {**init, key: value}).std != declared(head, init).std
        assert moved == (key in SCHEMES[scheme].uses), scheme


@pytest.mark.parametrize("scheme", SCHEMES)
def test_factor_multiplies_every_std(scheme):
    for t in MODELS["transformer"]:
        once, thrice = (declared(t, {**INIT, "scheme": scheme, "factor": factor}) for factor in (1.0, 3.0))
        assert (thrice.std, thrice.constant) == (3 * once.std, once.constant)


def test_the_draws_of_normal_are_what_they_always_were():
    t = tensor("query", D, D, 1)
    unit = stream("weights", 7, "layers.1.query").standard_normal((D, D), dtype=np.float32)
    assert np.array_equal(drawn(t, {"scheme": "normal", "std": 0.1, "seed": 7}), np.float32(0.1) * unit)


# Distributions


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_kurtosis_and_the_standard_error_of_a_sample_std(name):
    """Over 1,000 samples of 24 x 40: the kurtosis within 5 of its own errors, the scatter of the stds within 12 %."""
    family = DISTRIBUTIONS[name]
    draws = np.stack([family.draw(stream("test", i, name), (24, 40)) for i in range(1000)]).astype(np.float64)
    kurtosis = (draws**4).mean((1, 2)) / (draws**2).mean((1, 2)) ** 2
    stds = draws.std((1, 2))
    if name == "orthogonal":  # 3 n / (n + 2) for n entries on a sphere, and stds that hardly scatter
        assert kurtosis.mean() == pytest.approx(3 * 40 / 42, rel=0.01) and stds.std() < 1e-3
    else:
        assert abs(kurtosis.mean() - family.kurtosis) < 5 * kurtosis.std() / math.sqrt(1000) + 10 / 960
        assert stds.std() == pytest.approx(family.shrink * math.sqrt((family.kurtosis - 1) / (4 * 960)), rel=0.12)


@pytest.mark.parametrize("shape", [(24, 24), (24, 40), (40, 24), (1, 5), (5, 1), (256, 256)])
def test_orthonormal_rows_or_columns_whichever_are_fewer(shape):
    unit = DISTRIBUTIONS["orthogonal"].draw(stream("test", 1, "q"), shape)
    q = (unit if shape[0] <= shape[1] else unit.T).astype(np.float64) / math.sqrt(max(shape))
    assert unit.shape == shape and unit.dtype == np.float32
    assert np.abs(q @ q.T - np.eye(len(q))).max() < 1e-6


def test_orthogonal_matrices_are_haar_distributed():
    """The trace of a Haar matrix has mean 0 and variance 1 (Diaconis and Shahshahani 1994); a wrong sign shows."""
    draw = DISTRIBUTIONS["orthogonal"].draw
    traces = np.array([np.trace(draw(stream("test", i, "haar"), (8, 8))) for i in range(2000)]) / math.sqrt(8)
    assert abs(traces.mean()) < 4 / math.sqrt(2000)
    assert abs(traces.var() - 1) < 4 * math.sqrt(2 / 2000)


def test_golden_draws():
    """As first made (numpy 2.4.6), float32: a change must be meant."""
    golden = {
        "normal": [0.48156202, 2.2528515],
        "uniform": [-0.93135005, 0.61841047],
        "truncated_2": [0.48156202, 0.064656287],
        "truncated_3": [0.48156202, 2.2528515],
        "orthogonal": [0.60670787, 1.0303124],
    }
    for name, values in golden.items():
        draw = DISTRIBUTIONS[name].draw(stream("test", 1, "golden"), (2, 3))
        assert draw.ravel()[[0, 5]].tolist() == pytest.approx(values, rel=1e-6)


DIGEST = """
import hashlib
from initscope.distributions import DISTRIBUTIONS
from initscope.gains import GAINS_OF_THEORY
from initscope.streams import stream
for name, family in DISTRIBUTIONS.items():
    draw = family.draw(stream("test", 1, name), (61, 83))
    print(name, family.kurtosis, family.shrink, hashlib.sha256(draw.tobytes()).hexdigest())
print(GAINS_OF_THEORY)
"""


def test_the_bits_do_not_depend_on_the_vector_instructions():
    """Without NumPy's AVX2 and AVX-512 kernels (NumPy 2.4 renamed them) and the C library's FMA variants of exp."""
    found = []
    for off in ("", "X86_V3 X86_V4 AVX512_ICL AVX512_SPR", "AVX2 FMA3 AVX512F AVX512CD AVX512_SKX"):
        env = {**os.environ, "PYTHONPATH": "src", "NPY_DISABLE_CPU_FEATURES": off, "PYTHONWARNINGS": "ignore"}
        env |= {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4"} if off else {}
        run = subprocess.run([sys.executable, "-c", DIGEST], capture_output=True, text=True, check=True, env=env)
        found.append(run.stdout)
    assert len(set(found)) == 1


# Gains

SQUARES = {
    "identity": lambda z: z,
    "relu": torch.relu,
    "leaky_relu": torch.nn.functional.leaky_relu,
    "gelu": torch.nn.functional.gelu,
    "elu": torch.nn.functional.elu,
    "silu": torch.nn.functional.silu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
}


@pytest.mark.parametrize("activation", GAINS_OF_THEORY)
def test_the_gain_of_theory_keeps_the_second_moment(activation):
    """E (gain phi(z))^2 = 1, by a fine grid in float64 on torch's own activation."""
    z = torch.linspace(-12, 12, 240_001, dtype=torch.float64)
    density = torch.exp(-z * z / 2) / math.sqrt(2 * math.pi) * 1e-4
    scaled = gain("theory", activation, paper=None) * SQUARES[activation](z)
    assert float((scaled**2 * density).sum()) == pytest.approx(1, rel=2e-8)


def test_the_gains_of_torch_are_torchs():
    names = {"identity": "linear"}
    for activation in GAINS_OF_THEORY:
        name = names.get(activation, activation)
        if activation in GAINS_OF_TORCH:
            assert gain("torch", activation, paper=None) == pytest.approx(torch.nn.init.calculate_gain(name), rel=1e-15)
        else:
            with pytest.raises(ValueError):
                torch.nn.init.calculate_gain(name)
            with pytest.raises(KeyError):
                gain("torch", activation, paper=None)


@pytest.mark.parametrize("kind, factor", [("paper", 2**0.5), ("theory", 1.5925374), ("torch", 5 / 3)])
def test_he_with_each_gain(kind, factor):
    start = declared(tensor("hidden", D, D, 1), {**INIT, "scheme": "he_normal", "gain": kind, "activation": "tanh"})
    assert start.std == pytest.approx(factor / math.sqrt(D), rel=1e-7)


# torch.nn.init, which takes fan_in = shape[1], also of an embedding: the other way round than ours


def generator(name):
    return torch.Generator().manual_seed(crc32(name.encode()))


TORCH = {
    "normal": lambda w, g: torch.nn.init.normal_(w, std=S, generator=g),
    "uniform": lambda w, g: torch.nn.init.uniform_(w, -S * 3**0.5, S * 3**0.5, generator=g),
    "truncated_normal": lambda w, g: torch.nn.init.trunc_normal_(w, std=S, a=-2 * S, b=2 * S, generator=g),
    "xavier_normal": lambda w, g: torch.nn.init.xavier_normal_(w, generator=g),
    "xavier_uniform": lambda w, g: torch.nn.init.xavier_uniform_(w, generator=g),
    "he_normal": lambda w, g: torch.nn.init.kaiming_normal_(w, generator=g),
    "he_uniform": lambda w, g: torch.nn.init.kaiming_uniform_(w, generator=g),
    "lecun_normal": lambda w, g: torch.nn.init.kaiming_normal_(w, nonlinearity="linear", generator=g),
    "orthogonal": lambda w, g: torch.nn.init.orthogonal_(w, generator=g),
}


def assert_same_distribution(ours, theirs):
    """Two-sample Kolmogorov-Smirnov, p > 1e-4: D sqrt(n m / (n + m)) < sqrt(-ln(1e-4 / 2) / 2)."""
    ours, theirs = np.sort(ours, axis=None), np.sort(theirs, axis=None)
    at = np.concatenate([ours, theirs])
    ranks = [np.searchsorted(x, at, side="right") / x.size for x in (ours, theirs)]
    scale = math.sqrt(ours.size * theirs.size / (ours.size + theirs.size))
    assert np.abs(ranks[0] - ranks[1]).max() * scale < math.sqrt(-math.log(1e-4 / 2) / 2)


def assert_like_torch(ours, theirs, start):
    theirs = theirs.detach().double().numpy()
    error = start.standard_error(ours.size)
    assert abs(ours.astype(np.float64).std() - theirs.std()) < 4 * math.sqrt(2) * error
    assert_same_distribution(ours, theirs)
    if start.bound:
        assert np.abs(theirs).max() == pytest.approx(np.abs(ours).max(), rel=2e-3)


@pytest.mark.parametrize("scheme", TORCH)
def test_a_linear_weight_is_like_torchs(scheme):
    t, init = tensor("mlp_in", 160, 240, 0), {**INIT, "scheme": scheme}
    theirs = TORCH[scheme](torch.empty(240, 160), generator(scheme))
    assert_like_torch(drawn(t, init), theirs, declared(t, init))


def test_an_embedding_is_like_torchs_with_the_fans_exchanged():
    t, init = tensor("token_embedding", 240, 160), {**INIT, "scheme": "he_normal"}
    theirs = torch.nn.init.kaiming_normal_(torch.empty(t.shape), mode="fan_out", generator=generator("embedding"))
    assert_like_torch(drawn(t, init), theirs, declared(t, init))


def test_modules_of_torch_start_as_torch_default():
    init = {**INIT, "scheme": "torch_default"}
    with torch.random.fork_rng():
        torch.manual_seed(5)
        linear, embedding = torch.nn.Linear(160, 2400), torch.nn.Embedding(240, 160)
    pairs = [
        (tensor("mlp_in", 160, 2400, 0), linear.weight),
        (tensor("bias", None, 2400, reads=160), linear.bias),
        (tensor("token_embedding", 240, 160), embedding.weight),
    ]
    for t, theirs in pairs:
        assert_like_torch(drawn(t, init), theirs, declared(t, init))


# Which schemes suit which models


def test_a_scheme_without_its_tensors_is_refused_in_words():
    refused = {m: {s for s in SCHEMES if useless(s, {t.kind for t in tensors})} for m, tensors in MODELS.items()}
    whole = {"fan_in_depth", "small_init_wang"}
    scaled = {"scaled_residual", "scaled_residual_variance", "depth_scaled", "zero_residual"}
    attention = {"scaled_attention_out", "scaled_attention_out_variance"}
    assert refused == {
        "transformer": set(),
        "mlp": whole | scaled | attention,
        "residual_mlp": whole | attention,
    }
    assert "residual tensors (attention_out, mlp_out, branch_out)" in useless("depth_scaled", ["input", "head"])


def test_a_tied_head_is_no_reason_to_refuse():
    kinds = {t.kind for t in MODELS["transformer"]} - {"head"}
    assert not any(useless(scheme, kinds) for scheme in SCHEMES)


# Public cases


def block(layer, layers, width=256):
    """The MLP of a SwiGLU block: w1, w3, w2 in Llama's names."""
    place = {"layer": layer, "layers": layers, "width": width, "branches": 2 * layers, "passed": 2 * (layer + 1)}
    maps = {"mlp_gate": (width, 2 * width), "mlp_in": (width, 2 * width), "mlp_out": (2 * width, width)}
    return {kind: tensor(kind, *fans, **place) for kind, fans in maps.items()}


def test_a1_gpt2s_residual_std():
    # transformers#47458: c_proj kept the plain std, 0.01997 for 0.004082
    t, init = block(5, 12)["mlp_out"], {**INIT, "scheme": "scaled_residual", "std": 0.02}
    assert declared(t, init).expected_std == pytest.approx(0.004082, abs=5e-7)
    assert checked(declared(t, init), drawn(t, init))["check"]
    assert not checked(declared(t, init), drawn(t, {**init, "scheme": "normal"}))["check"]


@pytest.mark.parametrize("layer", range(8))
def test_a3_the_value_branch_of_swiglu_writes_to_no_stream(layer):
    # torchtitan#3334: w3 was drawn with the std of w2
    tensors, init = block(layer, 8), {**INIT, "scheme": "depth_scaled", "std": 0.02}
    scaled = 0.02 / math.sqrt(2 * (layer + 1))
    stds = {kind: declared(t, init).std for kind, t in tensors.items()}
    assert stds == pytest.approx({"mlp_gate": 0.02, "mlp_in": 0.02, "mlp_out": scaled})
    wrong = drawn(tensors["mlp_in"], {**init, "scheme": "normal", "std": scaled})
    assert checked(declared(tensors["mlp_out"], init), drawn(tensors["mlp_out"], init))["check"]
    assert not checked(declared(tensors["mlp_in"], init), wrong)["check"]


def test_a4_a_factor_left_over_from_another_scheme():
    # OLMo#607: ff_out times 1 / sqrt(2 L) under the plain scheme; L = 32
    t, init = block(0, 32)["mlp_out"], {**INIT, "scheme": "normal", "std": 0.02}
    wrong = drawn(t, {**init, "scheme": "scaled_residual"})
    assert not checked(declared(t, init), wrong)["check"]
    assert wrong.std() / declared(t, init).expected_std == pytest.approx(1 / 8, rel=0.01)


def test_a5_what_is_cut_stays_inside():
    # pytorch#155588: a draw by inverse CDF in float32 returned 2.0 for std 0.001, a 2000-sigma value
    values = DISTRIBUTIONS["truncated_3"].draw(stream("test", 1, "cut"), (1000, 1000))
    assert 2.99 < np.abs(values).max() <= 3


def test_a7_a_cut_normal_is_narrower_than_its_parent():
    # keras#8048: stddev 0.02 is the parent's; the sample has 0.017593 and must pass
    t, init = tensor("hidden", 1000, 1000, 1), {**INIT, "scheme": "truncated_normal", "std": 0.02}
    start, values = declared(t, init), drawn(t, init)
    assert start.std == 0.02 and start.expected_std == pytest.approx(0.017593, abs=5e-7)
    assert start.bound == 0.04 and checked(start, values)["check"]
    assert not checked(declared(t, {**init, "scheme": "normal"}), values)["check"]
