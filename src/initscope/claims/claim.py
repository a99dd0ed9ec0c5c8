"""A claim, its cases, and the verdict that follows from them. No verdict is written by hand."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from initscope.intervals import FEWEST, bounded_interval, interval

FIRST, SECOND = "Initialization Sets the First Signal Scale", "Layer Initialization with Normalization"
OWN = "our own"


@dataclass(frozen=True)
class Case:
    """One circumstance in which a claim is put to the test.

    value: what was measured, low and high: its interval (the value itself where it is exact). It holds where all of
    that lies within [least, most].
    """

    name: str
    value: float
    low: float
    high: float
    least: float = -math.inf
    most: float = math.inf

    @property
    def holds(self):
        return self.least <= self.low and self.high <= self.most


def case(name, values, least=-math.inf, most=math.inf):
    """The median over seeds, with the interval that holds it; under 6 seeds from the smallest to the largest.

    A single number is exact. Where one of several is not a number, nothing is known: NaN, which holds nowhere. Where
    there is none, because the study has no such cell, there is no case: None.
    """
    values = sorted(float(value) for value in (values if hasattr(values, "__iter__") else [values]))
    if not values:
        return None
    if any(map(math.isnan, values)):
        return Case(name, math.nan, math.nan, math.nan, least, most)
    if len(values) < FEWEST:
        return Case(name, median(values), values[0], values[-1], least, most)
    return Case(name, *interval(values), least, most)


def bounded(name, pairs, least=-math.inf, most=math.inf):
    """The same of values that are known by their bounds only."""
    pairs = list(pairs)
    if len(pairs) < FEWEST:
        lows, highs = zip(*pairs)
        return Case(name, (median(lows) + median(highs)) / 2, min(lows), max(highs), least, most)
    return Case(name, *bounded_interval(pairs), least, most)


@dataclass(frozen=True)
class Claim:
    """says: in our words; section: where it stands in `source`; cases: (the studies) -> Cases."""

    name: str
    says: str
    source: str
    section: str
    studies: tuple
    query: str
    cases: Callable


def claim(says, source, section, studies, query):
    """Decorates a function that yields the cases of a claim, given the studies that it names: it becomes the Claim."""
    return lambda cases: Claim(cases.__name__, says, source, section, tuple(studies), query, cases)


def claims(module):
    """The claims of a module, in the order in which they stand there."""
    return [value for value in vars(module).values() if isinstance(value, Claim)]


def held(cases):
    """The cases that hold."""
    return [case for case in cases if case.holds]


def kind(cases):
    """The verdict in short, without the cases that it names."""
    if not cases:
        return "not tested"
    if not held(cases):
        return "does not hold here"
    return "holds" if len(held(cases)) == len(cases) else "holds within limits"


def verdict(cases):
    """`holds` in every case, `holds within` those named, `does not hold here` in any; `not tested` without a case."""
    some = kind(cases) == "holds within limits"
    return f"holds within {'; '.join(case.name for case in held(cases))}" if some else kind(cases)


def in_words(case):
    """`std 0.1: 1.07 (1.02 to 1.13)`."""
    exact = case.low == case.high or math.isnan(case.value)
    return f"{case.name}: {case.value:.3g}" + ("" if exact else f" ({case.low:.3g} to {case.high:.3g})")


def limits(case):
    """What a case must be to hold, in words."""
    bounds = [f"at least {case.least:.3g}"] if case.least > -math.inf else []
    return " and ".join(bounds + ([f"at most {case.most:.3g}"] if case.most < math.inf else []))
