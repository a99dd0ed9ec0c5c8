"""The second text's claims about norms before any training."""

import numpy as np

from initscope.claims.claim import SECOND, case, claim
from initscope.claims.preservation import HE
from initscope.spelling import spelled

NORMS = ("layernorm", "rmsnorm", "batchnorm")


@claim(
    "A norm brings any layer's output back to mean 0 and standard deviation 1.",
    SECOND,
    "How Normalization Changes the Picture",
    ["depth"],
    "over all layers and stds: the mean that is farthest from 0, the standard deviation that is farthest from 1",
)
def corrected(depth):
    for norm in NORMS:
        rows = depth.at("mlp_preactivation", norm=norm).groupby("seed")
        yield case(f"{norm}, |mean|", rows["mean"].agg(lambda x: x.abs().max()), most=0.05)
        yield case(f"{norm}, |std - 1|", rows["measured_std"].agg(lambda x: (x - 1).abs().max()), most=0.05)


@claim(
    "The next layer sees well-scaled inputs whatever the weights are.",
    SECOND,
    "How Normalization Changes the Picture",
    ["scale"],
    "standard deviation of what the first block's LayerNorm hands on, at every std (eps is 1e-5)",
)
def well_scaled(scale):
    for std in scale.axes["std"]:
        yield case(f"std {spelled(std)}", scale.values("attention_input", "measured_std", layer=0, std=std), 0.95, 1.05)


@claim(
    "The first layer has no norm before it, so its gradients may still be poorly scaled.",
    SECOND,
    "How Normalization Changes the Picture",
    ["depth"],
    "gradient at the first stream / at the last, or its inverse, in the deepest network; and how far the first "
    "weights' gradient, in units of the weights, differs between the smallest and the largest std",
)
def first_layer(depth):
    layers = max(depth.axes["layers"])
    for norm in NORMS:
        where = {"norm": norm, "layers": layers, "std": HE}
        ends = [depth.values("mlp_stream", direction="backward", layer=n, **where) for n in (0, layers - 2)]
        yield case(f"{norm}, through depth", np.exp(np.abs(np.log(ends[0] / ends[1]))), least=10)
        weights = [
            relative_gradient(depth, norm, layers, std) for std in (min(depth.axes["std"]), max(depth.axes["std"]))
        ]
        yield case(f"{norm}, per unit of weight", weights[0] / weights[1], least=10)


def relative_gradient(depth, norm, layers, std):
    """Gradient of the first layer's weights / their std, a number a seed."""
    return depth.values("linear.weight", direction="backward", layer=0, norm=norm, layers=layers, std=std) / std


@claim(
    "Scale 1 and offset 0 pass the normalized signal unchanged.",
    SECOND,
    "LayerNorm's own initialization",
    ["scale"],
    "share of norm parameters that are exactly 1 and 0 at the start; rms behind the norm at std 0.1",
)
def unchanged(scale):
    for kind, value in (("norm_scale", 1), ("norm_offset", 0)):
        rows = scale.parameters[scale.parameters["kind"] == kind]
        yield case(f"{kind} is {value}", ((rows["min"] == value) & (rows["max"] == value)).mean(), least=1.0)
    yield case("rms behind it", scale.values("attention_input", layer=0, std=0.1), 0.98, 1.02)


@claim(
    "Extreme pre-activations carry extreme gradients through the norm.",
    SECOND,
    "How Normalization Changes the Picture",
    ["depth"],
    "gradient before the last norm / behind its layer, at std 3 in units of the same at std 0.1 (the backward pass of "
    "a norm is divided by the scale of its input)",
)
def extreme_gradients(depth):
    layers = max(depth.axes["layers"])
    for norm in NORMS:
        passed = []
        for std in (3.0, 0.1):
            where = {"direction": "backward", "norm": norm, "layers": layers, "std": std}
            passed.append(depth.values("mlp_stream", layer=layers - 2, **where) / depth.values("final_stream", **where))
        yield case(norm, passed[0] / passed[1], least=1.0)
