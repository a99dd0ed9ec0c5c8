"""The second text's claims about variance: what a layer does to the signal, which scheme preserves it, and depth."""

import numpy as np

from initscope.claims.claim import SECOND, case, claim
from initscope.spelling import spelled

KEPT = (0.9, 1.1)  # of a variance, by one layer
DRIFT = 0.1  # |ln| of the rms a layer: a signal is preserved that changes by less than 10 % a layer
LAYER = 20  # the depth that the source names


def per_layer(study, **where):
    """rms of the stream behind every layer: (seeds, layers)."""
    rows = study.at("mlp_stream", **where)
    return np.stack([part.sort_values("layer")["rms"].to_numpy() for _, part in rows.groupby("seed")])


@claim(
    "A linear layer multiplies the variance: Var(z) = Var(W) n_in Var(x).",
    SECOND,
    "The Core Insight: Variance Preservation",
    ["variance"],
    "measured factor of the second moment / (fan_in times the measured variance of the weights), geometric mean over "
    "the layers, every scheme; torch's default draws biases too",
)
def variance_rule(variance):
    for scheme in variance.axes["scheme"]:
        parameters = variance.parameters[
            (variance.parameters["scheme"] == scheme) & (variance.parameters["tensor"].str.contains("linear.weight"))
        ]
        rule = [(part["fan_in"] * part["measured_std"] ** 2).to_numpy()[1:] for _, part in parameters.groupby("seed")]
        squares = per_layer(variance, scheme=scheme) ** 2
        factors = squares[:, 1:] / squares[:, :-1] / np.stack(rule)
        yield case(scheme, np.exp(np.log(factors).mean(1)), 0.95, 1.05)


@claim(
    "Var(W) = 1 / n_in preserves the variance of a linear network.",
    SECOND,
    "The Core Insight: Variance Preservation",
    ["variance"],
    "factor of the second moment a layer, from the first of twelve to the last",
)
def unit_variance(variance):
    squares = per_layer(variance, scheme="lecun_normal") ** 2
    yield case("lecun_normal", (squares[:, -1] / squares[:, 0]) ** (1 / (squares.shape[1] - 1)), *KEPT)


@claim(
    "Xavier satisfies both passes, forward and backward, at once.",
    SECOND,
    "Xavier/Glorot Initialization",
    ["variance"],
    "factor of the second moment by one layer whose fan-in equals its fan-out, and where it does not",
)
def xavier_both(variance):
    where = {"scheme": "xavier_normal"}
    width, features = variance.settings["model"]["width"], variance.settings["corpus"]["features"]
    classes = variance.settings["corpus"]["vocabulary"]
    squares = per_layer(variance, **where) ** 2
    gradients = np.stack(
        [variance.values("mlp_stream", direction="backward", layer=n, **where) for n in (0, squares.shape[1] - 1)]
    )
    steps = 1 / (squares.shape[1] - 1)
    yield case(f"forward, {width} to {width}", (squares[:, -1] / squares[:, 0]) ** steps, *KEPT)
    yield case(f"backward, {width} to {width}", (gradients[0] / gradients[1]) ** (2 * steps), *KEPT)
    inputs = variance.values("input", **where) ** 2
    yield case(f"forward, {features} to {width}", squares[:, 0] / inputs, *KEPT)
    logits = variance.values("logits", **where) ** 2 / variance.values("final_stream", **where) ** 2
    yield case(f"forward, {width} to {classes}", logits, *KEPT)


def drift(study, direction, **where):
    """|ln| of the factor that the rms changes by a layer, from the first stream to the last."""
    last = study.settings["model"]["layers"] - 2
    ends = [study.values("mlp_stream", direction=direction, layer=n, **where) for n in (0, last)]
    return np.abs(np.log(ends[1] / ends[0])) / last


def preserved(study, scheme, activations, **limit):
    for activation in activations:
        for direction in ("forward", "backward"):
            found = drift(study, direction, activation=activation, scheme=scheme)
            yield case(f"{activation}, {direction}", found, **limit)


@claim(
    "Xavier preserves variance with saturating activations.",
    SECOND,
    "Xavier/Glorot Initialization",
    ["preservation"],
    "|ln| of the factor by which a layer changes the rms of the signal and of its gradient; 20 layers",
)
def xavier_saturating(preservation):
    yield from preserved(preservation, "xavier_normal", ("tanh", "sigmoid"), most=DRIFT)


@claim(
    "Xavier does not preserve it with ReLU.",
    SECOND,
    "Xavier/Glorot Initialization",
    ["preservation"],
    "|ln| of the factor by which a layer changes the rms of the signal and of its gradient; 20 layers",
)
def xavier_relu(preservation):
    yield from preserved(preservation, "xavier_normal", ("relu",), least=DRIFT)


@claim(
    "He preserves variance with ReLU, leaky ReLU and ELU.",
    SECOND,
    "He Initialization",
    ["preservation"],
    "|ln| of the factor by which a layer changes the rms of the signal and of its gradient; 20 layers",
)
def he_relu(preservation):
    yield from preserved(preservation, "he_normal", ("relu", "leaky_relu", "elu"), most=DRIFT)


@claim(
    "With tanh it is the other way round: He does not preserve it.",
    SECOND,
    "He Initialization",
    ["preservation"],
    "|ln| of the factor by which a layer changes the rms of the signal and of its gradient; 20 layers",
)
def he_tanh(preservation):
    yield from preserved(preservation, "he_normal", ("tanh",), least=DRIFT)


@claim(
    "ReLU halves the variance: Var(ReLU(z)) = 0.5 Var(z).",
    SECOND,
    "He Initialization",
    ["preservation"],
    "behind a layer's ReLU / before it, mean over 20 layers: of the variance, and of the second moment (theory: 0.341 "
    "and 0.5)",
)
def relu_half(preservation):
    for name, column in (("variance", "measured_std"), ("second moment", "rms")):
        before, after = (
            preservation.at(f"mlp_{part}activation", activation="relu", scheme="he_normal").set_index(["seed", "layer"])
            for part in ("pre", "post")
        )
        yield case(name, ((after[column] / before[column]) ** 2).groupby("seed").mean(), 0.475, 0.525)


HE = 0.1768  # sqrt(2 / 64): between too small and too large


@claim(
    "Without a norm, weights that are too large overflow by layer 20.",
    SECOND,
    "Why Initialization Matters",
    ["depth"],
    "the first layer whose signal is not finite, in the deepest network, from stds above He's 0.1768; infinite: none",
)
def overflows(depth):
    deepest = {"norm": "none", "layers": max(depth.axes["layers"])}
    for std in (std for std in depth.axes["std"] if std > HE):
        rows = depth.at("mlp_stream", std=std, **deepest)
        lost = [part.loc[~part["finite"], "layer"].min() + 1 for _, part in rows.groupby("seed")]
        yield case(f"std {spelled(std)}", np.nan_to_num(lost, nan=np.inf), most=LAYER)


@claim(
    "Without a norm, weights that are too small let signal and gradient vanish by layer 20.",
    SECOND,
    "Why Initialization Matters",
    ["depth"],
    "decades by which the rms changes over 20 layers (the first ones forward, the last ones backward) of a network of "
    "32, from stds below He's 0.1768; a millionth counts as gone",
)
def vanishes(depth):
    for std in (std for std in depth.axes["std"] if std < HE):
        for direction, first, last in (("forward", 0, LAYER - 1), ("backward", 30, 31 - LAYER)):
            where = {"direction": direction, "norm": "none", "layers": 32, "std": std}
            ends = [depth.values("mlp_stream", layer=n, **where) for n in (first, last)]
            yield case(f"std {spelled(std)}, {direction}", np.log10(ends[1] / ends[0]), most=-6)
