"""Plain networks for the tests of theory: one cell, float64, autograd; written from the description of the models.

They share no code with initscope.models. Every probe that theory predicts is kept in `out`.
"""

import math
from collections import defaultdict

import numpy as np
import torch
import torch.nn.functional as F

PHI = {
    "identity": lambda x: x,
    "relu": F.relu,
    "leaky_relu": F.leaky_relu,
    "elu": F.elu,
    "gelu": F.gelu,
    "silu": F.silu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
}
LOSS, MEANS = "loss_batch", ("loss_batch", "attention_entropy", "mlp_saturated")


def normalized(p, name, x, norm):
    if norm == "none":
        return x
    if norm == "layernorm":
        return F.layer_norm(x, x.shape[-1:], p[f"{name}.scale"], p[f"{name}.offset"], 1e-5)
    if norm == "rmsnorm":
        return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * p[f"{name}.scale"]
    centred = x - x.mean(0)
    return centred / (centred.square().mean(0) + 1e-5).sqrt() * p[f"{name}.scale"] + p[f"{name}.offset"]


def saturated(activation, x):
    x = x.detach().requires_grad_()
    (slope,) = torch.autograd.grad(PHI[activation](x).sum(), x)
    return (slope.abs() < 0.02).double()


def transformer(p, tokens, model):
    """Logits (batch * context, V) and {(probe, layer): tensor}; streams, updates: (batch * context, width)."""
    out, (batch, context), heads = {}, tokens.shape, model["heads"]
    norm, post, phi = model["norm"], model["norm_position"] == "post", PHI[model["activation"]]
    linear = lambda x, name: x @ p[f"{name}.weight"].T + p[f"{name}.bias"]
    split = lambda x: x.view(batch, context, heads, -1).transpose(1, 2)
    x = (p["token_embedding.weight"][tokens] + p["position_embedding.weight"][:context]).flatten(0, 1)
    out["embedding", None] = x
    sees = torch.ones(context, context, dtype=torch.bool).tril()
    for n in range(model["layers"]):
        out["attention_stream", n] = x
        h = x if post else normalized(p, f"layers.{n}.attention_norm", x, norm)
        q, k, v = (linear(h, f"layers.{n}.{kind}") for kind in ("query", "key", "value"))
        scores = split(q) @ split(k).transpose(-1, -2) / math.sqrt(q.shape[-1] // heads)
        attention = scores.masked_fill(~sees, -math.inf).softmax(-1)
        mix = (attention @ split(v)).transpose(1, 2).reshape(len(x), -1)
        update = linear(mix, f"layers.{n}.attention_out")
        rows = attention[..., 1:, :]
        entropy = -torch.special.xlogy(rows, rows).sum(-1) / torch.arange(2, context + 1).log()
        out |= {("attention_input", n): h, ("query", n): q, ("key", n): k, ("value", n): v}
        out |= {("scores", n): scores[..., sees], ("attention_entropy", n): entropy, ("attention_update", n): update}
        out["attention_update_ratio", n] = update.norm(dim=-1) / x.norm(dim=-1)
        x = x + update
        if post:
            out["attention_sum", n] = x
            x = normalized(p, f"layers.{n}.attention_norm", x, norm)
        out["mlp_stream", n] = x
        h = x if post else normalized(p, f"layers.{n}.mlp_norm", x, norm)
        z = linear(h, f"layers.{n}.mlp_gate" if model["gated"] else f"layers.{n}.mlp_in")
        a = phi(z)
        if model["gated"]:
            out["mlp_value", n] = linear(h, f"layers.{n}.mlp_in")
            a = a * out["mlp_value", n]
        update = linear(a, f"layers.{n}.mlp_out")
        out |= {("mlp_input", n): h, ("mlp_preactivation", n): z, ("mlp_postactivation", n): a}
        out |= {("mlp_update", n): update, ("mlp_update_ratio", n): update.norm(dim=-1) / x.norm(dim=-1)}
        out["mlp_saturated", n] = saturated(model["activation"], z)
        x = x + update
        if post:
            out["mlp_sum", n] = x
            x = normalized(p, f"layers.{n}.mlp_norm", x, norm)
    out["final_stream", None] = x
    h = x if post else normalized(p, "final_norm", x, norm)
    out["final_input", None] = h
    head = p["token_embedding.weight"] if model["tied_head"] else p["head.weight"]
    out["logits", None] = h @ head.T + p["head.bias"]
    return out["logits", None], out


def mlp(p, inputs, model):
    """Logits (batch, V) and {(probe, layer): tensor (batch, width)}."""
    out, a, z, phi = {("input", None): inputs}, inputs, None, PHI[model["activation"]]
    for n in range(model["layers"] - 1):
        update = a @ p[f"layers.{n}.linear.weight"].T + p[f"layers.{n}.linear.bias"]
        if model["residual"] and n > 0:
            out |= {("mlp_update", n): update, ("mlp_update_ratio", n): update.norm(dim=-1) / z.norm(dim=-1)}
            z = z + update
        else:
            z = update
        h = normalized(p, f"layers.{n}.norm", z, model["norm"])
        a = phi(h)
        out |= {("mlp_stream", n): z, ("mlp_preactivation", n): h, ("mlp_postactivation", n): a}
        out["mlp_saturated", n] = saturated(model["activation"], h)
    out["final_stream", None] = a
    out["logits", None] = a @ p["head.weight"].T + p["head.bias"]
    return out["logits", None], out


def shapes(model, vocabulary, features=None):
    """{tensor name: shape}, in the order of the forward pass."""
    linear = lambda name, fan_in, fan_out: {f"{name}.weight": (fan_out, fan_in), f"{name}.bias": (fan_out,)}
    parts = {"none": (), "rmsnorm": ("scale",), "layernorm": ("scale", "offset"), "batchnorm": ("scale", "offset")}
    norm = lambda name: {f"{name}.{part}": (d,) for part in parts[model["norm"]]}
    d, found = model["width"], {}
    if model["kind"] == "mlp":
        for n in range(model["layers"] - 1):
            found |= linear(f"layers.{n}.linear", d if n else features, d) | norm(f"layers.{n}.norm")
        return found | linear("head", d, vocabulary)
    found |= {"token_embedding.weight": (vocabulary, d), "position_embedding.weight": (model["context"], d)}
    for n in range(model["layers"]):
        found |= norm(f"layers.{n}.attention_norm")
        for kind in ("query", "key", "value", "attention_out"):
            found |= linear(f"layers.{n}.{kind}", d, d)
        found |= norm(f"layers.{n}.mlp_norm")
        for kind in ("mlp_gate", "mlp_in") if model["gated"] else ("mlp_in",):
            found |= linear(f"layers.{n}.{kind}", d, model["mlp_width"])
        found |= linear(f"layers.{n}.mlp_out", model["mlp_width"], d)
    found |= {} if model["norm_position"] == "post" else norm("final_norm")
    head = linear("head", d, vocabulary)
    return found | ({"head.bias": head["head.bias"]} if model["tied_head"] else head)


def drawn(shapes, stds, seed):
    """Normal weights of the given stds (0 where absent), norm scales 1."""
    rng = np.random.default_rng([seed, 20])
    draw = lambda name, shape: (
        np.ones(shape) if name.endswith("scale") else stds.get(name, 0.0) * rng.normal(size=shape)
    )
    return {name: torch.tensor(draw(name, shape)) for name, shape in shapes.items()}


def part(name):
    """(part, layer) of a tensor name, as the tables name gradients."""
    return (name.split(".", 2)[2], int(name.split(".")[1])) if name.startswith("layers.") else (name, None)


def measured(model, stds, inputs, targets, vocabulary, seeds):
    """{(probe, layer, direction): (seeds,) rms, or mean for MEANS}, over independent draws of the weights."""
    forward = mlp if model["kind"] == "mlp" else transformer
    inputs, targets, found = torch.as_tensor(inputs), torch.as_tensor(targets).flatten(), defaultdict(list)
    tensors = shapes(model, vocabulary, inputs.shape[-1])
    for seed in range(seeds):
        p = {name: value.requires_grad_() for name, value in drawn(tensors, stds, seed).items()}
        logits, out = forward(p, inputs, model)
        streams = {key: value for key, value in out.items() if key[0].endswith("stream") or key[0] == "embedding"}
        for value in streams.values():
            value.retain_grad()
        out[LOSS, None] = F.cross_entropy(logits, targets)
        out[LOSS, None].backward()
        for (probe, layer), value in out.items():
            value = value.detach()
            found[probe, layer, "forward"].append(
                float(value.mean() if probe in MEANS else value.square().mean().sqrt())
            )
        gradients = {key: x.grad for key, x in streams.items()} | {part(name): x.grad for name, x in p.items()}
        for (probe, layer), value in gradients.items():
            found[probe, layer, "backward"].append(float(value.square().mean().sqrt()))
    return {key: np.array(values) for key, values in found.items()}
