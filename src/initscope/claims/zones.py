"""The second text's claims about what lives: zones and their boundaries, and the cascade."""

from itertools import pairwise

import numpy as np
from scipy.stats import binomtest, spearmanr

from initscope.claims.claim import OWN, SECOND, Case, bounded, case, claim
from initscope.intervals import FEWEST
from initscope.spelling import spelled
from initscope.tables import PERSISTS
from initscope.zones import bounds

BOUNDARY, CASCADE = "The Saturation and Divergence Boundary", "The Cascade Risk"
ZONES = ["zone_adam", "zone_sgd", "zone_mlp"]
MOST_OF = 0.5  # share of cells


def points(studies, normed=None):
    """(name, study, norm) of every point; normed: only those with, or without, a norm."""
    for study in studies:
        for norm in study.axes["norm"]:
            if normed is None or (norm != "none") == normed:
                yield f"{study.name.removeprefix('zone_')} {norm}", study, norm


def ends(study, end, axis, value):
    """{seed: (least, greatest) log10 of a bracket} at one point of a study, of the seeds that learn somewhere."""
    rows = study.brackets[(study.brackets[axis] == value) & study.brackets["anchor"].notna()]
    return {row["seed"]: bounds((row[f"{end}_outside"], row[f"{end}_inside"])) for _, row in rows.iterrows()}


def zone(study, norm):
    return study.zones[study.zones["norm"] == norm].iloc[0]


@claim(
    "A norm widens the zone in which cells learn.",
    SECOND,
    BOUNDARY,
    ZONES,
    "decades by which it is wider than without a norm, seed by seed; where both reach beyond the smallest std that was "
    "tried, decades by which the upper bracket lies higher",
)
def norm_widens(*studies):
    for name, study, norm in points(studies, normed=True):
        if zone(study, norm)["lower"] == zone(study, "none")["lower"] == 0:
            one, other = (ends(study, "upper", "norm", which) for which in (norm, "none"))
            yield bounded(f"{name}, upper bracket", differences(one, other), least=0.01)
        else:
            row = zone(study, norm)
            yield Case(f"{name}, width", *(row[f"wider{which}"] for which in ("", "_low", "_high")), least=0.01)


def differences(one, other):
    """(least, greatest) of one - other, of the seeds that both have."""
    seeds = [seed for seed in one if seed in other]
    return [(one[seed][0] - other[seed][1], one[seed][1] - other[seed][0]) for seed in seeds]


@claim(
    "A norm does not remove the boundaries of the zone.",
    SECOND,
    BOUNDARY,
    ZONES,
    "every bracket and its interval: between the smallest and the largest std that were tried, or beyond them",
)
def norm_has_limits(*studies):
    for name, study, norm in points(studies, normed=True):
        row, stds = zone(study, norm), study.axes["std"]
        for end in ("lower", "upper"):
            found = [row[f"{end}{which}"] for which in ("", "_low", "_high")]
            yield Case(f"{name}, {end}", *found, least=min(stds), most=max(stds))


def outside(study, norm, end):
    """The cells of the half-decade grid on one side of their seed's zone (bisection's crowd at the brackets)."""
    rows = study.tried[(study.tried["norm"] == norm) & (study.tried["round"] == 0)]
    known = study.brackets[study.brackets["norm"] == norm].set_index("seed")[f"{end}_inside"]
    edge = rows["seed"].map(known)
    return rows[rows["std"] < edge] if end == "lower" else rows[rows["std"] > edge]


def share(name, chosen, least):
    """The share of cells, with its Wilson interval."""
    test = binomtest(int(chosen.sum()), len(chosen)).proportion_ci(method="wilson")
    return Case(name, float(chosen.mean()), test.low, test.high, least)


@claim(
    "Weights that are too large: the loss becomes NaN.",
    SECOND,
    BOUNDARY,
    ZONES,
    "share of the grid's cells above the zone whose loss or gradient is not finite within the training: at least half",
)
def too_large_is_nan(*studies):
    for name, study, norm in points(studies):
        if len(cells := outside(study, norm, "upper")):
            yield share(name, cells["diverged_at"].notna(), MOST_OF)


@claim(
    "Weights that are too large: training is unstable.",
    SECOND,
    BOUNDARY,
    ZONES,
    "share of the grid's cells above the zone that end unstable or diverged: at least half",
)
def too_large_is_unstable(*studies):
    for name, study, norm in points(studies):
        if len(cells := outside(study, norm, "upper")):
            yield share(name, cells["outcome"].isin(["unstable", "diverged"]), MOST_OF)


@claim(
    "Weights that are too small: the network is dead.",
    SECOND,
    BOUNDARY,
    ZONES,
    "share of the grid's cells below the zone that end dead: at least half",
)
def too_small_is_dead(*studies):
    for name, study, norm in points(studies):
        if len(cells := outside(study, norm, "lower")):
            yield share(name, cells["outcome"] == "dead", MOST_OF)


@claim(
    "Weights that are too small: gradients vanish.",
    SECOND,
    BOUNDARY,
    ZONES,
    "share of the grid's cells below the zone whose weights' gradient ends below `vanishing_below`: at least half",
)
def too_small_vanishes(*studies):
    for name, study, norm in points(studies):
        if len(cells := outside(study, norm, "lower")):
            limit = study.settings["outcome"]["vanishing_below"]
            yield share(name, cells["weight_gradient_norm"] < limit, MOST_OF)


@claim(
    "The same network on the same data with the same optimizer succeeds or fails by where it starts.",
    SECOND,
    "Starting Well",
    ZONES,
    "share of the half-decade grid that learns: neither nothing nor everything",
)
def start_decides(*studies):
    for name, study, norm in points(studies):
        grid = study.tried[(study.tried["norm"] == norm) & (study.tried["round"] == 0)]
        yield case(name, (grid["outcome"] == "learned").mean(), 0.01, 0.99)


@claim(
    "With a norm, too small is too large a learning rate: the lower bracket moves in proportion to it.",
    OWN,
    "docs/theory.md",
    ["zone_rate"],
    "decades by which the lower bracket moves per decade of the learning rate, seed by seed",
)
def moves_with_rate(zone_rate):
    rates = sorted(zone_rate.axes["learning_rate"])
    for low, high in pairwise(rates):
        moved = differences(*(ends(zone_rate, "lower", "learning_rate", rate) for rate in (high, low)))
        slopes = np.array(moved) / np.log10(high / low)
        if len(slopes):
            yield bounded(f"{spelled(low)} to {spelled(high)}", slopes, 0.5, 1.5)


# ---- the cascade -----------------------------------------------------------------------------------------------------


def groups(recovery):
    """(name, cells) of every norm, side and outcome outside the zone that six seeds or more have."""
    outside = recovery.cascade[recovery.cascade["side"] != "inside"]
    for (norm, side, outcome), cells in outside.groupby(["norm", "side", "outcome"], sort=False):
        if cells["seed"].nunique() >= FEWEST:
            yield f"{norm}, {side}, {outcome}", cells.groupby("seed")


@claim(
    "What a start sets persists: cells outside the zone stay behind however long they train.",
    SECOND,
    CASCADE,
    ["recovery"],
    "gap in x to the same seed's cells inside the zone, at 600 updates / at 200; groups of six seeds or more",
)
def persists(recovery):
    for name, seeds in groups(recovery):
        yield case(name, seeds["ratio"].median(), least=PERSISTS)


@claim(
    "Training goes on and the loss goes down, but the network stays worse than from a clean start.",
    SECOND,
    CASCADE,
    ["recovery"],
    "of the groups whose x falls between 200 and 600 updates: gap in x to the cells inside the zone at 600 updates",
)
def stays_worse(recovery):
    for name, seeds in groups(recovery):
        if (seeds["x_later"].median() < seeds["x"].median()).all():
            yield case(name, seeds["gap_later"].median(), least=0.05)


@claim(
    "The first few gradient steps decide.",
    SECOND,
    CASCADE,
    ["recovery"],
    "|rank correlation| over all cells between the scale of the first 10 updates (update / weights, gradient norm) and "
    "x at 600 updates",
)
def first_steps(recovery):
    for norm, cells in recovery.cascade.groupby("norm", sort=False):
        for column, words in (("early_update_ratio", "update"), ("early_gradient_norm", "gradient")):
            known = cells[np.isfinite(cells[column]) & np.isfinite(cells["x_later"])]
            yield correlation(f"{norm}, {words}", known[column], known["x_later"], least=0.5)


def correlation(name, one, other, least):
    """|Spearman's rank correlation| with the interval of Fisher's transformation."""
    rho = abs(spearmanr(one, other).statistic)
    error = 1.96 / np.sqrt(max(len(one) - 3, 1))
    low, high = (np.tanh(np.arctanh(min(rho, 1 - 1e-12)) + side * error) for side in (-1, 1))
    return Case(name, float(rho), max(0.0, float(low)), float(high), least)
