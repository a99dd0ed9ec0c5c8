"""Each formula of theory against a Monte Carlo of what it describes, a closed form, or a published number."""

import math

import numpy as np
import pytest
import torch
from reference_networks import PHI

from initscope.gains import GAINS_OF_THEORY
from initscope.theory import activations, gradients, integrals, kernels, loss, meanfield
from initscope.theory.rounding import prediction
from initscope.theory.signals import Signal

ALL = list(activations.ACTIVATIONS)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def log_partition(z):
    top = z.max(-1, keepdims=True)
    return top[..., 0] + np.log(np.exp(z - top).sum(-1))


def softmax(z):
    return np.exp(z - log_partition(z)[..., None])


def tokens_kernel(n=6):
    """A kernel of n tokens with unequal mean squares and all kinds of correlations."""
    x = np.random.default_rng(1).standard_normal((n, n)) + 0.7
    return x @ x.T / n * np.linspace(0.5, 1.5, n) * np.linspace(0.5, 1.5, n)[:, None]


def draws(rng, kernel, count, units):
    """(count, N, units): units are independent, tokens covary as the kernel says."""
    return np.linalg.cholesky(kernel) @ rng.standard_normal((count, len(kernel), units))


def measured(x, y=None):
    """E x_n . x_m / units over draws (count, N, units)."""
    y = x if y is None else y
    return np.einsum("snd,smd->nm", x, y) / (len(x) * x.shape[-1])


def assert_within(found, expected, share):
    """Within that share of the largest entry (off-diagonal entries may be near 0)."""
    assert np.abs(found - expected).max() < share * np.abs(expected).max()


# ---- softmax of normal scores ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("variance", [1e-6, 0.01, 0.24, 1.0, 4.0, 24.0, 216.0])
@pytest.mark.parametrize("n", [2, 8, 100])
def test_mean_log_partition(n, variance, rng):
    """200,000 draws of n normals; within 5 standard errors of the sample, plus 1e-5 for the quadrature."""
    sample = log_partition(rng.standard_normal((200_000, n)) * math.sqrt(variance))
    error = sample.std() / math.sqrt(len(sample))
    assert abs(integrals.mean_log_partition(n, variance) - sample.mean()) < 5 * error + 1e-5


@pytest.mark.parametrize(("n", "variance"), [(32_128, 768.0), (32_128, 512.0), (128_256, 0.974), (50_257, 1 / 3)])
def test_mean_log_partition_of_large_vocabularies(n, variance, rng):
    """100 draws of a whole vocabulary; within 5 standard errors."""
    sample = np.array([log_partition(rng.standard_normal(n) * math.sqrt(variance)) for _ in range(100)])
    assert abs(integrals.mean_log_partition(n, variance) - sample.mean()) < 5 * sample.std() / 10


@pytest.mark.parametrize("variance", [1e-4, 0.3, 3.9, 4.1, 100.0, 1e4])
@pytest.mark.parametrize("n", [2, 16])
def test_softmax_share_and_entropy(n, variance, rng):
    """200,000 draws; within 5 standard errors, plus 1e-6. (3.9, 4.1: either side of the change of quadrature.)"""
    p = softmax(rng.standard_normal((200_000, n)) * math.sqrt(variance))
    for found, sample in (
        (integrals.softmax_share(n, variance), (p * p).sum(1)),
        (integrals.softmax_entropy(n, variance), -(p * np.log(np.maximum(p, 1e-300))).sum(1)),
    ):
        assert abs(found - sample.mean()) < 5 * sample.std() / math.sqrt(len(sample)) + 1e-6


@pytest.mark.parametrize("variance", [1e-7, 1e-3, 0.7, 30.0, 5e5, 1e8])
def test_tables_are_the_integrals(variance):
    """Interpolation in ln variance: within 0.2 %; beyond the table by its fall, 1 / sqrt(variance)."""
    concentration, entropy = integrals.softmax_tables((2, 8))
    for i, n in enumerate((2, 8)):
        exact = 1 - integrals.softmax_share(n, variance), integrals.softmax_entropy(n, variance)
        assert integrals.read(concentration[i], variance) == pytest.approx(exact[0], rel=1e-3)
        assert integrals.read(entropy[i], variance) == pytest.approx(exact[1], rel=2e-3)


def test_the_lognormal_mean(rng):
    """E of a square root and of a square, which have closed forms: E x^a = exp(a (a - 1) s^2 / 2)."""
    for power in (0.5, 2):
        exact = math.exp(power * (power - 1) * 0.2 / 2)
        assert integrals.lognormal_mean(lambda x, power=power: x**power, 0.2) == pytest.approx(exact, rel=0.02)


# ---- losses ----------------------------------------------------------------------------------------------------------


def test_small_variance_is_the_second_order_formula():
    # ln V + (1 - 1/V) v / 2, exact to O(v^2)
    for v in (1e-8, 1e-4):
        assert loss.initial_loss(8, v) == pytest.approx(math.log(8) + 7 / 16 * v, abs=1e-7)
        assert loss.second_order_loss(8, v) == pytest.approx(math.log(8) + 7 / 16 * v, abs=1e-12)


def test_the_frozen_prediction():
    # DESIGN section 9: 2.183 by the exact form, with logit variance 24 * 0.1^2
    assert loss.initial_loss(8, 24 * 0.1**2) == pytest.approx(2.183, abs=5e-4)


def test_b1_of_the_public_cases():
    """T5's untied head at std 1: V 32,128, width 768 (512). The second-order formula says 394 and is out of range.

    Exact for independent logits: 114.6 (93.6); measured in transformers 4.57.1: 115.3 (94.6). The case's own
    simulation, 118 (96.5), is 3 % above both.
    """
    for width, measured, simulated in ((768, 115.3, 118.0), (512, 94.6, 96.5)):
        assert loss.second_order_loss(32_128, width) is None
        assert loss.first_loss(32_128, width, 1.0) == pytest.approx(measured, rel=0.012)
        assert loss.first_loss(32_128, width, 1.0) == pytest.approx(simulated, rel=0.035)


def test_b2_of_the_public_cases():
    """(a) GPT-124M with a default Linear head; reported 10.9876 and 10.9811. (b) Llama3-8B; 12.2254 to 12.2648."""
    gpt = loss.first_loss(50_257, 768, math.sqrt(1 / (3 * 768)))
    assert gpt == pytest.approx(10.9916, abs=1e-4)
    assert abs(gpt - 10.9876) < 0.011
    llama = loss.first_loss(128_256, 4096, 0.9866 * 4096**-0.5)
    assert llama == pytest.approx(12.2488, abs=5e-4)
    assert 12.2254 - 0.005 < llama < 12.2648


def test_b2c_the_tied_head_of_gpt2():
    """(c) GPT-2 124M, tied, std 0.02; the case measured 10.9633 (logit variance 0.3065), and reports about 11.0.

    Its final stream: two embeddings, and 12 layers with std 0.02 / sqrt(24) into the stream: 3072 GELUs of variance
    768 * 0.02^2, and attention's mix of a tenth of the value variance. Its own logit is then of order 1, and does not
    show among 50,257.
    """
    value, out = 768 * 0.02**2, 0.02**2 / 24
    stream = 2 * 0.02**2 + 12 * out * (3072 * activations.second_moment("gelu", value) + 768 * value / 10)
    tied = loss.first_loss(50_257, 768, 0.02, tied_stream_std=math.sqrt(stream))
    assert tied == pytest.approx(10.9633, abs=0.03)
    # where nothing but the embeddings is in the stream, the own logit is 10.9, and as large as all others together
    assert loss.first_loss(50_257, 768, 0.02, tied_stream_std=0.02 * math.sqrt(2)) > tied + 0.5


def test_b6_of_the_public_cases():
    # makemore's first loss: 27 classes, logit variance 167: 26.33 measured; ln V + v/2 would say 86.8. Scaled: 3.3041
    assert loss.initial_loss(27, 167) == pytest.approx(25.9, abs=0.1)
    assert loss.second_order_loss(27, 167) is None
    assert loss.initial_loss(27, 167 * 0.01**2) == pytest.approx(3.3041, abs=5e-4)


def test_a_tied_head(rng):
    """2,000 draws of 12 embeddings of width 48, and a normed sum of one of them and a position; within 5 errors."""
    positions, embeddings = rng.standard_normal((2000, 48)) * 0.3, rng.standard_normal((2000, 12, 48)) * 0.3
    x = embeddings[:, 0] + positions
    h = x / np.sqrt((x * x).mean(1, keepdims=True))
    z = np.einsum("svd,sd->sv", embeddings, h)
    mean, variance = loss.own_logit(48, 0.3, 1 / (0.3 * math.sqrt(2)), 1.0)
    own = z[:, 0]
    assert own.mean() == pytest.approx(mean, abs=5 * own.std() / math.sqrt(2000) + 0.01 * mean)
    assert own.var() == pytest.approx(variance, rel=0.15)
    for repeated, target in ((0.0, 1), (1.0, 0)):
        sample = log_partition(z) - z[:, target]
        found = loss.initial_loss_tied(12, 48 * 0.3**2, mean, variance, repeated)
        assert found == pytest.approx(sample.mean(), abs=5 * sample.std() / math.sqrt(2000))
    assert loss.first_loss(12, 48, 0.3, tied_stream_std=0.3 * math.sqrt(2)) == pytest.approx(
        loss.initial_loss_tied(12, 48 * 0.3**2, mean, variance)
    )


def test_the_loss_of_a_batch_whose_scale_varies(rng):
    """Tokens of unequal logit variance, common factor lognormal: 20,000 draws, within 5 errors and 0.5 %."""
    variances = np.array([0.5, 1.0, 4.0])
    factor = np.exp(math.sqrt(0.3) * rng.standard_normal((20_000, 1)) - 0.15)
    z = np.sqrt(factor * variances)[..., None] * rng.standard_normal((20_000, 3, 10))
    sample = log_partition(z).mean(1)
    found = loss.batch_loss(10, variances, 0.3)
    assert found == pytest.approx(sample.mean(), abs=5 * sample.std() / math.sqrt(20_000) + 0.005 * found)


# ---- activations -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_activations_are_torchs(name):
    """phi and phi' at 200 points, to 1e-12."""
    x = torch.linspace(-6, 6, 200, dtype=torch.float64, requires_grad=True)
    y = PHI[name](x)
    y.sum().backward()
    entry = activations.ACTIVATIONS[name]
    np.testing.assert_allclose(entry.phi(x.detach().numpy()), y.detach().numpy(), atol=1e-12)
    np.testing.assert_allclose(entry.slope(x.detach().numpy()), x.grad.numpy(), atol=1e-12)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("square", [0.01, 1.0, 50.0])
def test_moments_of_activations(name, square, rng):
    """400,000 draws; within 5 standard errors."""
    x, entry = rng.standard_normal(400_000) * math.sqrt(square), activations.ACTIVATIONS[name]
    for found, sample in (
        (activations.mean(name, square), entry.phi(x)),
        (activations.second_moment(name, square), entry.phi(x) ** 2),
        (activations.slope_second_moment(name, square), entry.slope(x) ** 2),
        (activations.saturated_share(name, square), np.abs(entry.slope(x)) < 0.02),
    ):
        assert abs(found - sample.mean()) < 5 * sample.std() / math.sqrt(len(x)) + 1e-6


@pytest.mark.parametrize("name", ["relu", "gelu"])
def test_closed_forms_are_the_quadrature(name):
    """DESIGN section 9's closed forms against E phi(sqrt(q) z)^2 by quadrature, to 1e-4, over 14 decades."""
    squares, phi = np.geomspace(1e-8, 1e6, 15), activations.ACTIVATIONS[name].phi
    quadrature = integrals.expectation(lambda x: phi(x) ** 2, squares)
    np.testing.assert_allclose(activations.second_moment(name, squares), quadrature, rtol=1e-4)
    np.testing.assert_allclose(activations.mean(name, squares), integrals.expectation(phi, squares), rtol=1e-4)


def test_gains():
    """sqrt(2) for ReLU (He et al. 2015); tanh 1.5927 and GELU 1.5335 by adaptive quadrature (scipy.integrate.quad)."""
    from scipy.integrate import quad

    assert GAINS_OF_THEORY["relu"] == pytest.approx(math.sqrt(2))
    assert GAINS_OF_THEORY["identity"] == pytest.approx(1.0)
    for name in ("tanh", "gelu", "silu", "elu"):
        phi = activations.ACTIVATIONS[name].phi
        exact = quad(lambda z, phi=phi: phi(np.float64(z)) ** 2 * activations.density(z), -12, 12, points=[0.0])[0]
        assert GAINS_OF_THEORY[name] == pytest.approx(exact**-0.5, rel=1e-6)


def test_the_kernel_of_relu_is_the_arc_cosine_kernel():
    """Cho & Saul 2009: E relu relu' = sqrt(q q') (sin t + (pi - t) cos t) / 2 pi, E step step' = (pi - t) / 2 pi."""
    c = np.linspace(-0.999, 1.0, 201)
    t, relu = np.arccos(c), activations.ACTIVATIONS["relu"]
    for f, exact, share in (
        (relu.phi, 3 * (np.sin(t) + (np.pi - t) * c) / (2 * np.pi), 1e-3),
        (relu.slope, (np.pi - t) / (2 * np.pi), 4e-2),
    ):
        found = [integrals.kernel(f, np.array([1.0, 9.0]), np.array([[1, x], [x, 1]]))[0, 1] for x in c]
        assert np.abs(np.array(found) - exact).max() < share * exact.max()


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("square", [0.04, 2.0, 200.0])
def test_kernels_of_activations(name, square, rng):
    """E phi phi' and E slope slope' at three correlations, unequal variances; 400,000 draws, 5 errors and 1 %."""
    entry = activations.ACTIVATIONS[name]
    u, w = rng.standard_normal((2, 400_000))
    for c in (-0.6, 0.3, 0.95):
        x, y = math.sqrt(square) * u, math.sqrt(square / 2) * (c * u + math.sqrt(1 - c * c) * w)
        for f in (entry.phi, entry.slope):
            sample = f(x) * f(y)
            found = integrals.kernel(f, np.array([square, square / 2]), np.array([[1, c], [c, 1]]))
            largest = np.sqrt(found[0, 0] * found[1, 1])
            assert abs(found[0, 1] - sample.mean()) < 5 * sample.std() / math.sqrt(len(u)) + 0.01 * largest


# ---- operators, forward ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias_std", [0.0, 0.4])
def test_linear(bias_std, rng):
    """20,000 draws of uniform weights on fixed inputs, within 3 %."""
    x = rng.standard_normal((4, 32)) + 0.5
    w = rng.uniform(-1, 1, (20_000, 32)) * 0.2 * math.sqrt(3)
    z = (w @ x.T + bias_std * rng.standard_normal((20_000, 1)))[..., None]
    assert_within(measured(z), kernels.linear(x @ x.T / 32, 32, 0.2, bias_std), 0.03)


def norm(x, name, eps=1e-5):
    """x: (count, N, units)."""
    axis = 1 if name == "batchnorm" else 2
    c = x - x.mean(axis, keepdims=True) if name != "rmsnorm" else x
    return c / np.sqrt((c * c).mean(axis, keepdims=True) + eps)


@pytest.mark.parametrize("name", ["layernorm", "rmsnorm", "batchnorm"])
@pytest.mark.parametrize("scale", [1e-3, 3e-3, 1.0])  # mean squares around eps = 1e-5, and above
@pytest.mark.parametrize("width", [24, 256])
def test_norms(name, scale, width, rng):
    """The kernel after a norm, within 3 % of 4,000 (width 256: 400) draws of normal units."""
    kernel = scale**2 * tokens_kernel()
    h = norm(draws(rng, kernel, 100_000 // width, width), name)
    own = 2 / width * kernels.correlation(kernel) ** 2
    assert_within(measured(h), kernels.norm_of(kernel, own, width, name).kernel, 0.03)


@pytest.mark.parametrize("name", ["layernorm", "rmsnorm", "batchnorm"])
@pytest.mark.parametrize("scale", [3e-3, 1.0])
def test_norms_backward(name, scale, rng):
    """Gradients that are independent of the input, through autograd: within 3 % of 20,000 draws at width 24."""
    kernel, width = scale**2 * tokens_kernel(), 24
    given = np.array(tokens_kernel()[::-1, ::-1])
    x = torch.tensor(draws(rng, kernel, 20_000, width), requires_grad=True)
    axis = 1 if name == "batchnorm" else 2
    c = x - x.mean(axis, keepdim=True) if name != "rmsnorm" else x
    h = c / (c.square().mean(axis, keepdim=True) + 1e-5).sqrt()
    h.backward(torch.tensor(draws(rng, given, 20_000, width)))
    own = 2 / width * kernels.correlation(kernel) ** 2
    assert_within(measured(x.grad.numpy()), kernels.norm_of(kernel, own, width, name).back(given), 0.03)


@pytest.mark.parametrize(("std", "share"), [(0.1, 0.03), (0.2, 0.05), (0.4, 0.1), (1.0, 0.1)])
def test_attention(std, share, rng):
    """Score variances 0.06 to 576 at width 24, 3 heads, on 2 sequences of 8 tokens whose tokens repeat.

    The mean square of the mix, and the relative entropy, over 300 draws of embeddings and weights: within 3 % where
    attention is nearly flat, 10 % elsewhere.
    """
    d, heads, context = 24, 3, 8
    tokens = np.array([[0, 1, 1, 2, 0, 3, 3, 1], [2, 2, 0, 1, 3, 0, 1, 2]])
    kernel = (np.equal.outer(tokens.ravel(), tokens.ravel()) + np.kron(np.ones((2, 2)), np.eye(context))) / 2
    q = kernels.linear(kernel, d, std)
    attention = kernels.Attention(q, q, context, d // heads)
    mixes, entropies = [], []
    sees = np.tril(np.ones((context, context), bool))
    for _ in range(300):
        x = (rng.standard_normal((4, d))[tokens] + rng.standard_normal((context, d))) / math.sqrt(2)
        queries, keys, values = (
            (x @ rng.standard_normal((d, d)) * std).reshape(2, context, heads, -1).transpose(0, 2, 1, 3)
            for _ in range(3)
        )
        scores = queries @ keys.transpose(0, 1, 3, 2) / math.sqrt(d // heads)
        p = softmax(np.where(sees, scores, -1e9))
        mixes.append(((p @ values) ** 2).mean())
        entropy = -(p * np.log(np.maximum(p, 1e-300))).sum(-1)[..., 1:]
        entropies.append((entropy / np.log(np.arange(2, context + 1))).mean())
    mix = np.diag(attention.mix(kernels.linear(kernel, d, std))).mean()
    assert mix == pytest.approx(np.mean(mixes), rel=share + 5 * np.std(mixes) / np.mean(mixes) / math.sqrt(300))
    assert attention.entropy() == pytest.approx(np.mean(entropies), rel=share)


# ---- scatter ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["relu", "tanh", "gelu"])
def test_scatter_of_two_layers(name, rng):
    """rms of phi(W2 phi(W1 x)) over a batch of 5 inputs, width 32, over 4,000 draws: mean to 1 %, scatter to 10 %."""
    x, width, std = rng.standard_normal((5, 16)) + 0.4, 32, 1.6
    phi = activations.ACTIVATIONS[name].phi
    a = x
    for fan_in in (16, width):
        w = rng.standard_normal((4000, fan_in, width)) * std / math.sqrt(fan_in)
        a = phi(a @ w)
    rms = np.sqrt((a * a).mean((1, 2)))
    signal = Signal(x @ x.T / 16, np.zeros((5, 5)))
    for fan_in in (16, width):
        signal = signal.through(fan_in, std / math.sqrt(fan_in), 0.0, width, given=fan_in == 16)
        signal = signal.activated(name, width)
    row = signal.row()
    assert row["rms"] == pytest.approx(rms.mean(), rel=0.01)
    assert row["scatter"] == pytest.approx(rms.std() / rms.mean(), rel=0.1)


def test_scatter_of_a_deep_relu_net_on_one_input():
    """DESIGN section 9: the log of the rms varies by 5 / (4 width) a layer; here by the general formulas."""
    signal, width, layers = Signal(np.ones((1, 1)), np.zeros((1, 1))), 1000, 20
    for _ in range(layers):
        signal = signal.through(width, math.sqrt(2 / width), 0.0, width).activated("relu", width)
    assert np.log1p(signal.spread.item()) / 4 == pytest.approx(5 * layers / (4 * width), rel=0.01)
    mean, std = meanfield.finite_width_log(layers, width)
    assert signal.row()["scatter"] == pytest.approx(std, rel=0.05)
    assert math.log(signal.row()["rms"]) == pytest.approx(mean + std**2 / 2, rel=0.05)  # E of a lognormal


# ---- operators, backward ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("std", [0.05, 0.2, 0.5])
def test_the_gradient_at_the_logits(std, rng):
    """Logit variances 0.1 to 10: E (p - y).(p' - y') over 4,000 heads on fixed inputs of width 40; within 5 %."""
    h = rng.standard_normal((5, 40)) + 0.6
    targets, vocabulary = np.array([0, 1, 1, 2, 0]), 8
    head = rng.standard_normal((4000, vocabulary, 40)) * std
    g = (softmax(h @ head.transpose(0, 2, 1)) - np.eye(vocabulary)[targets]) / 5
    kernel = h @ h.T / 40
    logits = gradients.Logits(kernels.linear(kernel, 40, std), targets, vocabulary, 0.0)
    assert_within(measured(g) * vocabulary, logits.kernel, 0.05)
    along = np.einsum("snv,svd,nd->n", g, head, h) / (4000 * (h * h).sum(1))
    np.testing.assert_allclose(along, gradients.radial(logits, std), rtol=0.1)


@pytest.mark.parametrize("name", ["relu", "gelu", "tanh"])
def test_gradients_through_an_activation(name, rng):
    """20,000 draws of normal pre-activations of 4 tokens and independent gradients; within 3 %."""
    kernel, given = tokens_kernel(4), tokens_kernel(4)[::-1, ::-1]
    x, g = draws(rng, kernel, 4000, 20), draws(rng, given, 4000, 20)
    entry = activations.ACTIVATIONS[name]
    before, scale = gradients.before_activation(given, np.zeros(4), entry, kernel)
    assert_within(measured(g * entry.slope(x)), before, 0.03)
    assert scale == pytest.approx(((g * entry.slope(x) * x).sum(1) ** 2).mean(), rel=0.03)


def test_gradients_through_attention(rng):
    """Autograd through 2 sequences of 6 tokens, width 32, 2 heads, score variance 0.03: within 10 % of 400 draws."""
    d, heads, context, n = 32, 2, 6, 12
    stds = {"query": 0.07, "key": 0.08, "value": 0.2}
    tokens = rng.integers(0, 5, n)
    place = np.tile(np.arange(context), 2)
    forward = np.equal.outer(tokens, tokens) / 2 + np.equal.outer(place, place) / 2
    given = tokens_kernel(n)
    found = dict.fromkeys(("query", "key", "value", "query.weight", "key.weight", "value.weight"), 0.0)
    sees = torch.ones(context, context, dtype=torch.bool).tril()
    factor = np.linalg.cholesky(given)
    for _ in range(400):
        x = (rng.standard_normal((5, d))[tokens] + rng.standard_normal((context, d))[place]) / math.sqrt(2)
        weights = {k: torch.tensor(rng.standard_normal((d, d)) * s, requires_grad=True) for k, s in stds.items()}
        maps = {k: torch.tensor(x) @ w.T for k, w in weights.items()}
        for z in maps.values():
            z.retain_grad()
        q, k, v = (z.view(2, context, heads, -1).transpose(1, 2) for z in maps.values())
        p = (q @ k.transpose(-1, -2) / math.sqrt(d // heads)).masked_fill(~sees, -math.inf).softmax(-1)
        (p @ v).transpose(1, 2).reshape(n, d).backward(torch.tensor(factor @ rng.standard_normal((n, d))))
        for name, z in maps.items():
            found[name] += float(z.grad.square().mean()) / 400
            found[f"{name}.weight"] += float(weights[name].grad.square().mean()) / 400
    gain = {k: d * s**2 for k, s in stds.items()}
    query = gain["query"] * forward
    flat = kernels.Attention(query, gain["key"] * forward, context, d // heads).flat
    back = gradients.FlatAttention(given, flat, forward, gain["value"], gain["key"], d)
    expected = {
        "value": np.diag(back.value).mean(),
        "query": np.diag(back.query).mean(),
        "key": np.diag(back.key(query)).mean(),
        "value.weight": gradients.weight_square(back.value, forward),
        "query.weight": gradients.weight_square(back.query, forward),
        "key.weight": gradients.weight_square(back.base, query),
    }
    for name, square in expected.items():
        assert math.sqrt(square) == pytest.approx(math.sqrt(found[name]), rel=0.1), name


def test_a_bias_that_a_norm_takes_out_has_no_gradient():
    given = kernels.BatchNorm(tokens_kernel()).back(tokens_kernel()[::-1, ::-1])
    assert gradients.bias_square(given) == 0.0
    assert gradients.bias_square(tokens_kernel()) == pytest.approx(tokens_kernel().sum())


# ---- mean field of deep MLPs -----------------------------------------------------------------------------------------


def test_he_and_relu_keep_the_mean_field():
    """He et al. 2015: with weights of variance 2 / fan_in, q' = q and chi_1 = 1 at every q."""
    for q in (0.1, 1.0, 10.0):
        assert meanfield.next_square("relu", q, math.sqrt(2)) == pytest.approx(q)
        assert meanfield.chi_1("relu", math.sqrt(2), q) == pytest.approx(1.0)
    assert meanfield.critical_weight_std("relu", 1.0) == pytest.approx(math.sqrt(2))


def test_the_fixed_point_of_tanh():
    """q* solves its equation; it is 0 for sw < 1 without biases; chi_1 = 1 on the critical line (Poole et al. 2016)."""
    q = meanfield.fixed_point("tanh", 1.5, 0.3)
    assert meanfield.next_square("tanh", q, 1.5, 0.3) == pytest.approx(q, rel=1e-9)
    assert meanfield.fixed_point("tanh", 0.9) == 0.0
    assert meanfield.fixed_point("relu", 1.6) == math.inf
    assert meanfield.chi_1("tanh", meanfield.critical_weight_std("tanh", 0.7), 0.7) == pytest.approx(1.0)
    assert meanfield.critical_weight_std("tanh", 1e-9) == pytest.approx(1.0, abs=1e-6)


def test_the_finite_width_logarithm(rng):
    """He + ReLU on one input, width 64, 10 layers, 1,500 draws: mean and std of the log rms within 5 errors.

    DESIGN section 9, at width 256 and 49 layers: -0.239 and 0.489 (prototype measured -0.244 and 0.471).
    """
    assert meanfield.finite_width_log(49, 256) == pytest.approx((-0.239, 0.489), abs=1e-3)
    x = rng.standard_normal((1500, 1, 64))
    start = np.sqrt((x * x).mean((1, 2)))
    for _ in range(10):
        x = np.maximum(x @ (rng.standard_normal((1500, 64, 64), dtype=np.float32) * math.sqrt(2 / 64)), 0)
    log = np.log(np.sqrt((x * x).mean((1, 2))) / start)  # 10 times sqrt(2) W, and 10 ReLUs
    mean, std = meanfield.finite_width_log(10, 64)
    assert log.mean() == pytest.approx(mean, abs=5 * std / math.sqrt(1500))
    assert log.std() == pytest.approx(std, rel=0.1)


def test_the_layer_that_overflows():
    """sigma 1, width 256, batch 32, ReLU: predicted 36; 24 draws overflowed first at 36 (15) or 37 (9) (prototype)."""
    assert meanfield.overflow_layer(256, 1.0, 32, "relu") in (36, 37)
    assert meanfield.overflow_layer(256, math.sqrt(2 / 256), 32, "relu") is None
    assert meanfield.overflow_layer(256, 1.0, 32, "tanh") is None
    assert meanfield.overflow_layer(256, 1e38, 32, "tanh") == 1


# ---- rounding --------------------------------------------------------------------------------------------------------


def test_predictions_are_rounded_where_cpus_differ():
    assert prediction(2.18284400957) == prediction(2.18284400957 * (1 + 1e-15)) == 2.182844
