"""The second text's claims about residual branches, Transformers and its interaction table."""

import numpy as np

from initscope.claims.claim import SECOND, case, claim
from initscope.figures.comparison import RECOMMENDED

TRANSFORMERS = "Initialization in Transformers Specifically"
NEAR = 0.05  # of x: what counts as no worse
SMALL = 0.25  # of the stream: what a branch adds that barely moves it


@claim(
    "A residual sum can be large, and a norm does not see it until the branch recombines.",
    SECOND,
    "How Normalization Changes the Picture",
    ["scale"],
    "at std 3: rms of the final stream / of the embedding, and rms of what the norms hand to the sublayers meanwhile; "
    "share of cells that end unstable or diverged",
)
def residual_sum(scale):
    stream, embedding = (scale.values(probe, std=3.0) for probe in ("final_stream", "embedding"))
    last = scale.settings["model"]["layers"] - 1
    yield case("stream grows", stream / embedding, least=10)
    for probe in ("attention_input", "mlp_input"):
        yield case(f"{probe} stays", scale.values(probe, std=3.0, layer=last), 0.95, 1.05)
    outcomes = scale.cells.loc[scale.cells["std"] == 3.0, "outcome"]
    yield case("unstable or diverged", outcomes.isin(["unstable", "diverged"]).mean(), least=0.5)


@claim(
    "A small sigma of 0.02 starts a block near the identity.",
    SECOND,
    TRANSFORMERS,
    ["identity"],
    "what a sublayer of the first block adds / the stream it adds to",
)
def near_identity(identity):
    for width in identity.axes["width"]:
        for part in ("attention", "mlp"):
            found = identity.values(f"{part}_update_ratio", "mean", layer=0, width=width, scheme="normal")
            yield case(f"width {width}, {part}", found, most=SMALL)


@claim(
    "Attention moves the representation less from sigma 0.02 than from He or Xavier.",
    SECOND,
    TRANSFORMERS,
    ["identity"],
    "what attention adds / the stream, from sigma 0.02 / from the other scheme, seed by seed",
)
def less_than_he(identity):
    for width in identity.axes["width"]:
        for scheme in ("xavier_normal", "he_normal"):
            small, other = (
                identity.values("attention_update_ratio", "mean", layer=0, width=width, scheme=name)
                for name in ("normal", scheme)
            )
            yield case(f"width {width}, {scheme}", small / other, most=1.0)


def growth(residual, scheme, few=4):
    """Exponent of the depth with which the final stream's second moment grows, from 4 layers to the most."""
    many = max(residual.axes["layers"])
    ends = [residual.values("final_stream", scheme=scheme, layers=layers) for layers in (few, many)]
    return 2 * np.log(ends[1] / ends[0]) / np.log(many / few)


@claim(
    "Without scaling the output projections, the variance at the output grows in proportion to depth.",
    SECOND,
    TRANSFORMERS,
    ["residual"],
    "exponent of the depth with which the second moment of the final stream grows, from 4 layers to 32: nearer to 1 "
    "than to 1/2 or 3/2",
)
def grows(residual):
    yield case("normal", growth(residual, "normal"), 0.75, 1.25)


@claim(
    "Output projections of variance sigma^2 / sqrt(2 n_layers) account for it.",
    SECOND,
    TRANSFORMERS,
    ["residual"],
    "the same exponent, in both readings (the VARIANCE divided by sqrt(2 L), as the source writes, or the STD, as "
    "GPT-2 does), on the attention's output alone, as the source says, and on both branches: nearer to 0 than to 1/2",
)
def output_scaling(residual):
    for name, scheme in (
        ("variance, attention alone", "scaled_attention_out_variance"),
        ("variance, both branches", "scaled_residual_variance"),
        ("std, attention alone", "scaled_attention_out"),
        ("std, both branches", "scaled_residual"),
    ):
        yield case(name, growth(residual, scheme), most=0.25)


@claim(
    "With scaled output projections each residual block barely modifies what passes through it.",
    SECOND,
    "The Residual Identity at Birth",
    ["residual"],
    "what attention adds / the stream, at std 0.1, median over blocks; the std of both branches divided by sqrt(2 L)",
)
def quiet_blocks(residual):
    for layers in residual.axes["layers"]:
        rows = residual.at("attention_update_ratio", scheme="scaled_residual", layers=layers)
        yield case(f"{layers} layers", rows.groupby("seed")["mean"].median(), most=SMALL)


def learned(study):
    """The x up to which a cell of this study counts as learned."""
    return study.settings["outcome"]["learned_below"]


def row(interaction, activations, normed):
    """The recommended start of a row of the interaction table: its final x, and the limit that it must keep."""
    cells = interaction.cells.assign(x=interaction.cells["final_x"].fillna(np.inf))
    for activation in activations:
        for norm in interaction.axes["norm"]:
            if (norm != "none") == normed:
                here = cells[(cells["activation"] == activation) & (cells["norm"] == norm)]
                yield recommended(f"{activation}, {norm}", here, RECOMMENDED[activation, normed], learned(interaction))


def recommended(name, cells, starts, limit):
    """x of the recommended start that ends lowest: learned, and no worse than what else was tried."""
    middle = cells.groupby(["scheme", "factor"])["x"].median()
    start = min(starts, key=lambda key: middle[key])
    others = middle[[key not in starts for key in middle.index]].min()
    x = cells[(cells["scheme"] == start[0]) & (cells["factor"] == start[1])]["x"]
    return case(name, x, most=min(limit, others + NEAR))


TABLE = "The Interaction Table"
ROW = (
    "final x of the recommended start (the one that ends lowest where there are several): learned, and no more than "
    "0.05 above the lowest of the other starts; He, Xavier and sigma 0.02, each also at half and twice its std"
)


@claim("ReLU and GELU without a norm: He.", SECOND, TABLE, ["interaction"], ROW)
def row_relu_bare(interaction):
    yield from row(interaction, ("relu", "gelu"), False)


@claim("ReLU and GELU with a norm: He, or a smaller sigma.", SECOND, TABLE, ["interaction"], ROW)
def row_relu_normed(interaction):
    yield from row(interaction, ("relu", "gelu"), True)


@claim("Sigmoid and tanh without a norm: Xavier.", SECOND, TABLE, ["interaction"], ROW)
def row_tanh_bare(interaction):
    yield from row(interaction, ("sigmoid", "tanh"), False)


@claim("Sigmoid and tanh with a norm: Xavier, or slightly smaller.", SECOND, TABLE, ["interaction"], ROW)
def row_tanh_normed(interaction):
    yield from row(interaction, ("sigmoid", "tanh"), True)


@claim(
    "Transformer blocks with a norm before: a small sigma, with scaled output projections.",
    SECOND,
    TABLE,
    ["blocks"],
    "final x of that start: learned, and no more than 0.05 above the lowest of the other starts",
)
def row_blocks(blocks):
    middle = blocks.cells.groupby("scheme")["final_x"].median()
    limit = min(learned(blocks), middle.drop("scaled_residual").min() + NEAR)
    x = blocks.cells.loc[blocks.cells["scheme"] == "scaled_residual", "final_x"]
    yield case("scaled_residual", x, most=limit)


@claim(
    "He or Xavier works well where a norm precedes the MLP.",
    SECOND,
    TRANSFORMERS,
    ["blocks"],
    "final x of a Transformer whose weights are all drawn so: learned",
)
def feed_forward(blocks):
    for scheme in ("he_normal", "xavier_normal"):
        yield case(scheme, blocks.cells.loc[blocks.cells["scheme"] == scheme, "final_x"], most=learned(blocks))
