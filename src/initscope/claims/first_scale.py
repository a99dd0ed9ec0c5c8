"""The claims of "Initialization Sets the First Signal Scale"."""

import numpy as np

from initscope.batches import order
from initscope.claims.claim import FIRST, case, claim
from initscope.corpora import markov
from initscope.init import weights
from initscope.models.layout import tensors
from initscope.spelling import spelled
from initscope.tensors import about, unpack

NEAR = (0.9, 1.1)  # of ln V: the source calls 2.1898, 1.053 ln 8, near
REPORTED = {"training corpus": 2.1898, "validation": 2.1918}  # nats, of the source's own network


@claim(
    "Before the first update the loss is near ln V, that of a uniform guess.",
    FIRST,
    "Audit Distributions, Not One Convenient Number",
    ["scale"],
    "initial loss on the training corpus / ln V, at every std; the source calls 1.053 near",
)
def uniform_loss(scale):
    for std, cells in scale.cells.groupby("std"):
        yield case(f"std {spelled(std)}", cells["initial_loss_training_corpus"] / cells["ln_vocabulary"], *NEAR)


@claim(
    "The frozen setup begins at 2.1898 nats on the training corpus and at 2.1918 on validation.",
    FIRST,
    "Audit Distributions, Not One Convenient Number",
    ["scale"],
    "smallest and largest initial loss of our seeds at std 0.1 / the reported one, whose network's width is not stated",
)
def reported_loss(scale):
    cells = scale.cells[scale.cells["std"] == 0.1]
    for part, loss in REPORTED.items():
        found = cells[f"initial_loss_{part.replace(' ', '_')}"] / loss
        yield case(f"smallest, {part}", found.min(), most=1.0)
        yield case(f"largest, {part}", found.max(), least=1.0)


@claim(
    "A near-uniform loss does not prove that the scales inside are healthy.",
    FIRST,
    "Audit Distributions, Not One Convenient Number",
    ["scale", "zone_sgd"],
    "among starts whose loss is within 10 % of ln V: how far scales inside differ (largest / smallest of the stds' "
    "medians), and which share of cells without a norm never learns",
)
def loss_proves_little(scale, zone_sgd):
    near = scale.cells["initial_loss_training_corpus"] / scale.cells["ln_vocabulary"]
    stds = [std for std, ratio in near.groupby(scale.cells["std"]).median().items() if NEAR[0] <= ratio <= NEAR[1]]
    for name, probe, direction in (
        ("gradient of the first query weights", "query.weight", "backward"),
        ("attention scores", "scores", "forward"),
    ):
        medians = [np.median(scale.values(probe, direction=direction, layer=0, std=std)) for std in stds]
        yield case(name, max(medians) / min(medians), least=1000)
    tried = zone_sgd.tried[zone_sgd.tried["norm"] == "none"]
    ratio = tried["initial_loss_validation"] / zone_sgd.source["ln_vocabulary"]
    same = tried[(ratio >= NEAR[0]) & (ratio <= NEAR[1])]
    yield case("share of such cells that never learn", (same["outcome"] != "learned").mean(), least=0.1)


def against(scale, probe, small, usual, column="rms", direction="forward", **where):
    """What is measured at one std / the same at another, seed by seed."""
    one, other = (scale.values(probe, column, direction, std=std, **where) for std in (small, usual))
    return one / other


@claim(
    "Very small weights give weak distinctions and small updates, in some paths.",
    FIRST,
    "Compare Scale while Holding Everything Else Fixed",
    ["scale"],
    "what is measured at std 0.001 / at std 0.1, seed by seed",
)
def weak_distinctions(scale):
    def ratio(probe, **how):
        return against(scale, probe, 0.001, 0.1, **how)

    yield case("std of the logits", ratio("logits", column="measured_std"), most=0.1)
    yield case("attention scores", ratio("scores", layer=0), most=0.1)
    yield case("what attention adds / its stream", ratio("attention_update_ratio", layer=0), most=0.1)
    yield case("what the MLP adds / its stream", ratio("mlp_update_ratio", layer=0), most=0.1)
    yield case("gradient of the query weights", ratio("query.weight", direction="backward", layer=0), most=0.1)
    yield case("gradient of the head", ratio("head.weight", direction="backward"), most=0.1)
    first = scale.cells.pivot(index="seed", columns="std", values="first_update_ratio")
    yield case("Adam's first update / the weights", first[0.001] / first[0.1], most=0.1)


@claim(
    "Very large weights bring extreme attention scores.",
    FIRST,
    "Compare Scale while Holding Everything Else Fixed",
    ["scale"],
    "rms of the first block's scores before softmax; above 5 one score decides",
)
def extreme_scores(scale):
    for std in (1.0, 3.0):
        yield case(f"std {spelled(std)}", scale.values("scores", layer=0, std=std), least=5)


@claim(
    "Very large weights bring saturated probabilities.",
    FIRST,
    "Compare Scale while Holding Everything Else Fixed",
    ["scale"],
    "share of the first block's attention rows that put more than 0.99 on one token",
)
def saturated_probabilities(scale):
    for std in (1.0, 3.0):
        yield case(f"std {spelled(std)}", scale.values("attention_peaked", "mean", layer=0, std=std), least=0.5)


@claim(
    "Very large weights bring unstable residual and gradient scales.",
    FIRST,
    "Compare Scale while Holding Everything Else Fixed",
    ["scale"],
    "rms of the final stream / of the embedding; gradient at the embedding / at the final stream",
)
def unstable_scales(scale):
    for std in (1.0, 3.0):
        ends = [scale.values(probe, std=std) for probe in ("final_stream", "embedding")]
        yield case(f"std {spelled(std)}, stream", ends[0] / ends[1], least=10)
        ends = [scale.values(probe, direction="backward", std=std) for probe in ("embedding", "final_stream")]
        yield case(f"std {spelled(std)}, gradient", ends[0] / ends[1], least=10)


@claim(
    "No standard deviation that succeeded once suits every setup.",
    FIRST,
    "Compare Scale while Holding Everything Else Fixed",
    ["zone_adam", "zone_sgd", "zone_mlp"],
    "decades between the smallest and the largest median bracket of the setups; infinite where one is beyond",
)
def no_universal_std(*studies):
    for end in ("lower", "upper"):
        medians = np.concatenate([study.zones[end].dropna().to_numpy() for study in studies])
        with np.errstate(divide="ignore"):
            yield case(f"{end} bracket", np.ptp(np.log10(medians)), least=0.3)


# ---- seeds -----------------------------------------------------------------------------------------------------------


def reseeded(settings, section):
    return {**settings, section: {**settings[section], "seed": settings[section]["seed"] + 1}}


def examples(settings):
    ((_, files),) = markov.make({"": {"settings": settings}}, None)
    return unpack(files["examples.safetensors"])


def first_order(settings):
    return {"order": order(settings["batches"], settings["corpus"]["training_sequences"], 64)}


def share_that_differs(one, other):
    """Of all entries of two sets of arrays."""
    return np.concatenate([(one[name] != other[name]).ravel() for name in one]).mean()


@claim(
    "Another seed of the corpus or of the batches leaves the weights alone.",
    FIRST,
    "Seed before Constructing the Model",
    ["frozen"],
    "share of the frozen setup's initial weights that differ after another seed; drawn anew by this claim",
)
def weights_alone(frozen):
    drawn = weights(frozen.settings)
    for section in ("corpus", "batches"):
        again = weights(reseeded(frozen.settings, section))
        yield case(f"another {section} seed", share_that_differs(drawn, again), most=0.0)
    matrices = {name: values for name, values in drawn.items() if values.std()}
    yield case(
        "another model seed", share_that_differs(matrices, weights(reseeded(frozen.settings, "init"))), least=1.0
    )


@claim(
    "Data sampling and batch order use generators of their own: changing one does not change the other.",
    FIRST,
    "Seed before Constructing the Model",
    ["frozen"],
    "share of tokens, or of positions in the order of the batches, that differ after another seed",
)
def data_and_order(frozen):
    for section in ("batches", "init"):
        again = examples(reseeded(frozen.settings, section))
        yield case(f"tokens, another {section} seed", share_that_differs(examples(frozen.settings), again), most=0.0)
    for section in ("corpus", "init"):
        again = first_order(reseeded(frozen.settings, section))
        yield case(f"order, another {section} seed", share_that_differs(first_order(frozen.settings), again), most=0.0)
    again = examples(reseeded(frozen.settings, "corpus"))
    yield case("tokens, another corpus seed", share_that_differs(examples(frozen.settings), again), least=0.5)
    again = first_order(reseeded(frozen.settings, "batches"))
    yield case("order, another batches seed", share_that_differs(first_order(frozen.settings), again), least=0.9)


def in_turn(rng, settings):
    """Every tensor from one generator, in the order of construction: the usual way."""
    return {t.name: rng.standard_normal(t.shape) for t in tensors(settings["model"], settings["corpus"])}


def generator(seed):
    return np.random.Generator(np.random.Philox(seed))


@claim(
    "A seed that is set after construction cannot reproduce what was drawn before.",
    FIRST,
    "Seed before Constructing the Model",
    ["frozen"],
    "share of entries that differ between two constructions, from one generator (the usual way, simulated) whose state "
    "was another before; and from streams named by tensor",
)
def seed_after(frozen):
    rngs = generator(1), generator(2)
    built = [in_turn(rng, frozen.settings) for rng in rngs]
    yield case("seeded after", share_that_differs(*built), least=1.0)
    again = [in_turn(generator(7), frozen.settings) for _ in rngs]
    yield case("seeded before", share_that_differs(*again), most=0.0)
    yield case("named streams", share_that_differs(weights(frozen.settings), weights(frozen.settings)), most=0.0)


@claim(
    "The rule and the seed, stored, explain how a run began.",
    FIRST,
    "Initialization Is the First Recorded Experiment State",
    ["frozen"],
    "share of the initial weights that differ from a redraw by the scheme, std and seed which their file names",
)
def recorded_start(frozen):
    named = {key: value for key, value in about(frozen.initial_weights).items() if key != "digest"}
    again = weights({**frozen.settings, "init": named})
    yield case("redrawn from its file", share_that_differs(unpack(frozen.initial_weights), again), most=0.0)
