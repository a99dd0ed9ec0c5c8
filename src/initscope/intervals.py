"""What several seeds say together: order statistics, of what each seed knows only between two bounds."""

import math
from statistics import median

from scipy.stats import binom

from initscope.zones import width

FEWEST = 6  # seeds that an interval of 95 % takes: even the whole range of 5 covers 1 - 2 / 2^5 = 93.75 % only


def interval(values):
    """(median, low, high): the sample's median, and an interval that holds the population's with 95 % or more.

    Order statistics: no distribution is assumed, and +-inf are values like others. Of 10 values, the 2nd to the 9th
    (97.9 %). The median of an even number is the mean of the middle two: infinite as soon as one of them is ("beyond"
    where half of the seeds are), NaN between -inf and inf. ValueError under 6 values, which cannot give 95 %, and for
    a NaN: a seed without a zone has no bracket, so leave it out, and say how many learned.
    """
    values = sorted(values)
    n = len(values)
    if n < FEWEST or any(map(math.isnan, values)):
        raise ValueError(f"an interval of 95 % takes {FEWEST} numbers or more: {values}")
    # P(k-th smallest > median) = P(B < k), B ~ Binomial(n, 1/2), and as much on the other side:
    # coverage 1 - 2 P(B < k); ppf gives the largest k with P(B < k) < 0.025 (David & Nagaraja, Order Statistics, 7.1)
    k = int(binom.ppf(0.025, n, 0.5))
    return median(values), values[k - 1], values[n - k]


def bounded_interval(pairs):
    """`interval` of values each known only to lie between the (least, greatest) of its pair.

    low is that of the least values, high that of the greatest: whatever the values are, their own interval lies
    within, so it holds the median at least as often. The median is the middle of the two medians: infinite where the
    bounds leave one side open, NaN where they leave both.
    """
    least, greatest = (interval(values) for values in zip(*pairs))
    return (least[0] + greatest[0]) / 2, least[1], greatest[2]


def difference(one, other):
    """(median, low, high) of width(one) - width(other) in decades, of two {seed: Zone}, paired by seed.

    Each difference lies between its least and its greatest, so that a bracket beyond opens the side that it can move:
    in `one` high, in `other` low, in both of them both. low > 0 then means wider, wherever the hidden brackets are.
    """
    if one.keys() != other.keys():
        raise ValueError(f"differences are paired by seed: {sorted(one)} and {sorted(other)}")
    pairs = [(width(one[seed]), width(other[seed])) for seed in one]
    return bounded_interval([(a[0] - b[1], a[1] - b[0]) for a, b in pairs])
