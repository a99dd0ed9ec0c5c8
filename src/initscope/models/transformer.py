"""A decoder-only pre-norm Transformer in plain torch, for one cell; `torch.func.vmap` makes it a stack of cells."""

import math

import torch
import torch.nn.functional as F

from initscope.models.activations import ACTIVATIONS

EPS = 1e-5


def forward(p, tokens, model, taps=None):
    """Logits of the next token and everything measured on the way to them.

    p: {tensor name: tensor}; tokens: int64 (batch, context); model: the setup's model section.
    taps: {probe: zeros}, added at the residual stream; their gradient is the gradient of the stream there.
    Returns (logits (batch * context, vocabulary), {(probe, layer): tensor}). Streams, inputs, queries, updates are
    (batch * context, width); scores and attention (batch, heads, context, context).
    """
    out, taps = {}, taps or {}

    def at(probe, layer, value):
        out[probe, layer] = value + taps[probe, layer] if (probe, layer) in taps else value
        return out[probe, layer]

    def linear(x, *names):
        """x W^T + b; several tensors that read one input are one product."""
        weight, bias = (torch.cat([p[f"{name}.{part}"] for name in names]) for part in ("weight", "bias"))
        return x @ weight.T + bias

    batch, context = tokens.shape
    phi = ACTIVATIONS[model["activation"]]
    x = p["token_embedding.weight"][tokens] + p["position_embedding.weight"][:context]
    x = at("embedding", None, x.flatten(0, 1))
    for n in range(model["layers"]):
        x = at("attention_stream", n, x)
        h = at("attention_input", n, normalized(p, f"layers.{n}.attention_norm", x, model["norm"]))
        qkv = linear(h, *(f"layers.{n}.{kind}" for kind in ("query", "key", "value"))).chunk(3, -1)
        q, k, v = (at(kind, n, z) for kind, z in zip(("query", "key", "value"), qkv))
        mix = attention(q, k, v, batch, model["heads"], lambda probe, value, n=n: at(probe, n, value))
        x = x + at("attention_update", n, linear(mix, f"layers.{n}.attention_out"))

        x = at("mlp_stream", n, x)
        h = at("mlp_input", n, normalized(p, f"layers.{n}.mlp_norm", x, model["norm"]))
        z = at("mlp_preactivation", n, linear(h, f"layers.{n}.mlp_in"))
        a = at("mlp_postactivation", n, phi(z))
        x = x + at("mlp_update", n, linear(a, f"layers.{n}.mlp_out"))
    x = at("final_stream", None, x)
    h = at("final_input", None, normalized(p, "final_norm", x, model["norm"]))
    return at("logits", None, linear(h, "head")), out


def attention(q, k, v, batch, heads, at):
    """Causal softmax(q k^T / sqrt(head width)) v, by head; (batch * context, width) in and out."""
    q, k, v = (z.unflatten(0, (batch, -1)).unflatten(-1, (heads, -1)).transpose(1, 2) for z in (q, k, v))
    scores = at("scores", q @ k.transpose(-1, -2) * (1 / math.sqrt(q.shape[-1])))
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
    weights = at("attention", scores.masked_fill(hidden, -math.inf).softmax(-1))
    return (weights @ v).transpose(1, 2).flatten(2).flatten(0, 1)


def normalized(p, name, x, norm):
    if norm == "layernorm":
        return F.layer_norm(x, x.shape[-1:], p[f"{name}.scale"], p[f"{name}.offset"], EPS)
    if norm == "rmsnorm":
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPS) * p[f"{name}.scale"]
    return x


def streams(model):
    """The probes on the residual stream, where gradients are measured too."""
    inner = [(f"{part}_stream", n) for n in range(model["layers"]) for part in ("attention", "mlp")]
    return [("embedding", None), *inner, ("final_stream", None)]
