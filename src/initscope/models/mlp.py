"""A plain deep network in plain torch, for one cell: linear, norm, activation, layer after layer, and a linear head."""

from initscope.models.activations import ACTIVATIONS
from initscope.models.norms import normalized
from initscope.models.parts import Probes, linear


def forward(p, inputs, model, taps=None):
    """Logits of the class and everything measured on the way to them.

    p: {tensor name: tensor}; inputs: float32 (batch, features); model: the setup's model section.
    taps: as in `transformer.forward`. Returns (logits (batch, classes), {(probe, layer): tensor (batch, width)}).

    z_n = W_n a_{n-1} + b_n;  a_n = phi(norm(z_n)). With residual connections z_n = z_{n-1} + W_n a_{n-1} + b_n from the
    second layer on, so the stream is the sum of what every layer adds (pre-activation, arXiv 1603.05027).
    """
    at, phi = Probes(taps), ACTIVATIONS[model["activation"]]
    z = a = at("input", None, inputs)
    for n in range(model["layers"] - 1):
        update = linear(p, a, f"layers.{n}.linear")
        adds = model["residual"] and n > 0
        z = z + at("mlp_update", n, update) if adds else update
        z = at("mlp_stream", n, z)
        h = at("mlp_preactivation", n, normalized(p, f"layers.{n}.norm", z, model["norm"]))
        a = at("mlp_postactivation", n, phi(h))
    a = at("final_stream", None, a)
    return at("logits", None, linear(p, a, "head")), at.out


def streams(model):
    """The probes where gradients are measured too."""
    return [*(("mlp_stream", n) for n in range(model["layers"] - 1)), ("final_stream", None)]
