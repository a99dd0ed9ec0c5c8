"""Zones: between which stds the cells of one seed learn, and where to look closer.

A bracket of a zone is never known as a number, only as a pair (outside, inside) of neighbouring stds that were tried:
the zone ends between them. "Beyond", where the grid's end lies inside the zone, is a pair whose outside is 0 or
infinity: nothing is said that was not tried, and logarithms, order and differences hold with no case of their own.
Sizes are decades, log10 of std. Each std is positive and tried once a seed.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Zone:
    """Where one seed learns; `Zone()`, without anchor and brackets, where it learns nowhere.

    anchor: the std of the smallest final x, only the place that the zone is built around.
    lower, upper: (outside, inside): neighbouring stds, the outer one not learned; its 0 or inf says "beyond".
    holes: stds between the brackets that did not learn. apart: stds that learned, but not in the zone.
    """

    anchor: float | None = None
    lower: tuple[float, float] | None = None
    upper: tuple[float, float] | None = None
    holes: tuple[float, ...] = ()
    apart: tuple[float, ...] = ()


def zone(cells):
    """The contiguous learned run around the anchor, of one seed's cells [(std, outcome, final x)] in any order.

    A hole is a single std that did not learn between two neighbours that did; the run goes on across it. Two in a row
    end the zone, and so does the last std of the grid if it did not learn. So a hole is narrower than two steps of
    the grid, and what `refine` adds makes no hole and fills none (it adds between a bracket's two stds only).
    """
    cells = sorted(cells, key=lambda cell: cell[0])
    stds = [0.0, *(std for std, _, _ in cells), math.inf]
    learned = [False, *(outcome == "learned" for _, outcome, _ in cells), False]
    if not any(learned):
        return Zone()
    anchor = min((i for i, yes in enumerate(learned) if yes), key=lambda i: cells[i - 1][2])
    holes = [i for i in range(1, len(cells) + 1) if learned[i - 1 : i + 2] == [True, False, True]]
    ends = [i for i, yes in enumerate(learned) if not yes and i not in holes]
    low, high = max(i for i in ends if i < anchor), min(i for i in ends if i > anchor)
    return Zone(
        anchor=stds[anchor],
        lower=(stds[low], stds[low + 1]),
        upper=(stds[high], stds[high - 1]),
        holes=tuple(stds[i] for i in holes if low < i < high),
        apart=tuple(stds[i] for i, yes in enumerate(learned) if yes and not low < i < high),
    )


def decades(std):
    """log10(std), of 0 too."""
    return math.log10(std) if std else -math.inf


def bracket(pair):
    """log10 of the pair's geometric mean: the bracket as one number; beyond, -inf (lower) or inf (upper)."""
    return sum(map(decades, pair)) / 2


def bounds(pair):
    """(least, greatest) log10 that the bracket can have."""
    return tuple(sorted(map(decades, pair)))


def refine(cells, factor):
    """The stds to try next, at most one a bracket: bisection in the exponent, until a pair is `factor` apart.

    [] where nothing is left: no zone, brackets beyond the grid, pairs close enough. The midpoint is rounded to 4
    significant digits, to be spelled shortly; where that leaves nothing between the two, they are as close as can be.
    """
    found, stds = zone(cells), []
    for low, high in (sorted(pair) for pair in (found.lower, found.upper) if pair):
        middle = float(f"{math.sqrt(low * high):.4g}")  # of a bracket beyond: 0 or inf, so not between the two
        if factor * low < high and low < middle < high:
            stds.append(middle)
    return stds


def refinements(seeds, factor):
    """{seed: stds to try next} for {seed: cells}: one round of `refine`; a seed with nothing left is not in it."""
    rounds = {seed: refine(cells, factor) for seed, cells in seeds.items()}
    return {seed: stds for seed, stds in rounds.items() if stds}


def width(zone):
    """(least, greatest) decades of one zone: from inside to inside, and from outside to outside.

    With a bracket beyond, only the least is known and the greatest is infinite. (0, 0) where nothing learned: a zone
    that lies beyond the grid, or between two neighbours of it, is not seen.
    """
    if zone.anchor is None:
        return 0.0, 0.0
    outer, inner = (decades(upper) - decades(lower) for lower, upper in zip(zone.lower, zone.upper))
    return inner, outer
