"""A plain deep network in plain torch, for a stack of cells: linear, norm, activation, layer by layer, and a head."""

from initscope.models.activations import ACTIVATIONS
from initscope.models.norms import normalized
from initscope.models.parts import linear


def forward(p, inputs, model, at):
    """Logits of the class, (cells, batch, classes).

    p: {tensor name: (cells, *shape)}; inputs: float32 (batch, features), the same for every cell; model: the setup's
    model section; at: `Probes`, to which everything on the way is shown; each is (cells, batch, width).

    z_n = W_n a_{n-1} + b_n;  a_n = phi(norm(z_n)). With residual connections z_n = z_{n-1} + W_n a_{n-1} + b_n from the
    second layer on, so the stream is the sum of what every layer adds (pre-activation, arXiv 1603.05027).
    """
    phi = ACTIVATIONS[model["activation"]]
    z = a = at("input", None, inputs.expand(len(p["head.bias"]), *inputs.shape))
    for n in range(model["layers"] - 1):
        update = linear(p, a, f"layers.{n}.linear")
        adds = model["residual"] and n > 0
        z = z + at("mlp_update", n, update) if adds else update
        z = at("mlp_stream", n, z)
        h = at("mlp_preactivation", n, normalized(p, f"layers.{n}.norm", z, model["norm"]))
        a = at("mlp_postactivation", n, phi(h))
    a = at("final_stream", None, a)
    return at("logits", None, linear(p, a, "head"))


def streams(model):
    """The probes where gradients are measured too."""
    return [*(("mlp_stream", n) for n in range(model["layers"] - 1)), ("final_stream", None)]
