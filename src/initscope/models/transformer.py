"""A decoder-only Transformer in plain torch, for a stack of cells."""

import math

import torch

from initscope.models.activations import ACTIVATIONS
from initscope.models.norms import normalized
from initscope.models.parts import affine, linear
from initscope.models.products import product


def forward(p, tokens, model, at):
    """Logits of the next token, (cells, batch * context, vocabulary).

    p: {tensor name: (cells, *shape)}; tokens: int64 (batch, context), the same for every cell; model: the setup's model
    section; at: `Probes`, to which everything on the way is shown. Streams, inputs, queries, updates are
    (cells, batch * context, width); scores and attention (cells, batch, heads, context, context).
    """
    context = tokens.shape[1]
    pre = model["norm_position"] == "pre"

    def norm(x, name, where):
        return normalized(p, name, x, model["norm"]) if where else x

    def joined(part, n, x, update):
        """The residual sum; post-norm normalises it."""
        if pre:
            return x + update
        return norm(at(f"{part}_sum", n, x + update), f"layers.{n}.{part}_norm", True)

    x = p["token_embedding.weight"][:, tokens] + p["position_embedding.weight"][:, None, :context]
    x = at("embedding", None, x.flatten(1, 2))
    for n in range(model["layers"]):
        x = at("attention_stream", n, x)
        h = at("attention_input", n, norm(x, f"layers.{n}.attention_norm", pre))
        qkv = linear(p, h, *(f"layers.{n}.{kind}" for kind in ("query", "key", "value"))).chunk(3, -1)
        q, k, v = (at(kind, n, z) for kind, z in zip(("query", "key", "value"), qkv))
        mix = attention(q, k, v, context, model["heads"], lambda probe, value, n=n: at(probe, n, value))
        x = joined("attention", n, x, at("attention_update", n, linear(p, mix, f"layers.{n}.attention_out")))

        x = at("mlp_stream", n, x)
        h = at("mlp_input", n, norm(x, f"layers.{n}.mlp_norm", pre))
        a = at("mlp_postactivation", n, mlp(p, h, n, model, at))
        x = joined("mlp", n, x, at("mlp_update", n, linear(p, a, f"layers.{n}.mlp_out")))
    x = at("final_stream", None, x)
    h = at("final_input", None, norm(x, "final_norm", pre))
    head = p["token_embedding.weight" if model["tied_head"] else "head.weight"]
    return at("logits", None, affine(h, head, p["head.bias"]))


def attention(q, k, v, context, heads, at):
    """Causal softmax(q k^T / sqrt(head width)) v, by head; (cells, batch * context, width) in and out."""
    q, k, v = (z.unflatten(1, (-1, context)).unflatten(-1, (heads, -1)).transpose(2, 3) for z in (q, k, v))
    hidden = torch.ones(context, context, dtype=torch.bool, device=q.device).triu(1)
    # filled, though adding -inf is faster: a hidden score that overflowed would reach the tokens that do not see it
    scores = product(q, k.mT).mul_(1 / math.sqrt(q.shape[-1])).masked_fill_(hidden, -math.inf)
    weights = at("attention", at("scores", scores).softmax(-1))
    return product(weights, v).transpose(2, 3).flatten(3).flatten(1, 2)


def mlp(p, h, n, model, at):
    """phi(W h + b), or, gated, phi(gate) times a second product (arXiv 2002.05202: SwiGLU where phi is SiLU)."""
    phi = ACTIVATIONS[model["activation"]]
    if not model["gated"]:
        return phi(at("mlp_preactivation", n, linear(p, h, f"layers.{n}.mlp_in")))
    gate, value = linear(p, h, f"layers.{n}.mlp_gate", f"layers.{n}.mlp_in").chunk(2, -1)
    return phi(at("mlp_preactivation", n, gate)) * at("mlp_value", n, value)


def streams(model):
    """The probes on the residual stream, where gradients are measured too."""
    inner = [(f"{part}_stream", n) for n in range(model["layers"]) for part in ("attention", "mlp")]
    return [("embedding", None), *inner, ("final_stream", None)]
