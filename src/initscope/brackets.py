"""Stage `brackets`: the zone of every seed, and what the seeds say together, of all cells that were tried."""

import math
from statistics import median

from initscope.intervals import FEWEST, bounded_interval, difference
from initscope.spelling import spelled
from initscope.tables import rows, write_rows
from initscope.zones import bounds, width, zone


def make(stack, read):
    for digest, spec in stack.items():
        axis, apart = spec["settings"]["zone"]["axis"], spec["settings"]["zone"]["apart"]
        tried = [row for key in spec["upstream"]["zone"] for row in rows(read(key, "tried.parquet"))]
        axes = {name: values[0] for name, values in spec["axes"].items() if name not in ("seed", axis)}
        resolution = cells_of_a_grid(spec["axes"][axis], apart)
        yield (
            digest,
            {
                "zones.parquet": write_rows("zones", axes, zone_rows(tried, axis, list(axes), resolution)),
                "brackets.parquet": write_rows(
                    "brackets", {**axes, "seed": spec["axes"]["seed"][0]}, seed_rows(tried, axis, list(axes))
                ),
            },
        )


def cells_of_a_grid(values, apart):
    """How many cells a seed takes in a grid from the first to the last value whose neighbours are `apart`."""
    return math.ceil(math.log(max(values) / min(values)) / math.log(apart)) + 1


def by_point(tried, axes):
    """{values of the other axes: their rows}"""
    found = {}
    for row in tried:
        found.setdefault(tuple(row[name] for name in axes), []).append(row)
    return found


def zones(tried, axis):
    """{seed: Zone} of rows with seed, outcome and final x."""
    seeds = {}
    for row in tried:
        seeds.setdefault(row["seed"], []).append((row[axis], row["outcome"], row["final_x"]))
    return {seed: zone(cells) for seed, cells in seeds.items()}


def seed_rows(tried, axis, axes):
    """The rows of table `brackets`."""
    for point, cells in by_point(tried, axes).items():
        for seed, found in zones(cells, axis).items():
            lower, upper = found.lower or (None, None), found.upper or (None, None)
            yield {
                **dict(zip(axes, point)),
                "seed": seed,
                "anchor": found.anchor,
                **dict(zip(("lower_outside", "lower_inside"), lower)),
                **dict(zip(("upper_outside", "upper_inside"), upper)),
                "holes": len(found.holes),
                "apart": len(found.apart),
                **dict(zip(("decades_least", "decades_greatest"), width(found))),
            }


def zone_rows(tried, axis, axes, resolution=None):
    """The rows of table `zones`, one a point; resolution: cells that a seed would take in a full grid."""
    points = by_point(tried, axes)
    for point, cells in points.items():
        found, named = zones(cells, axis), dict(zip(axes, point))
        yield {
            **named,
            **together(cells, found, axis),
            **with_ends("wider", widening(named, axes, points, axis)),
            "cells": len(cells),
            "grid_cells": resolution and resolution * len(found),
        }


def together(cells, found, axis):
    """The zone over seeds: its brackets, of the seeds that learned somewhere; its width, of all."""
    learned = [zone for zone in found.values() if zone.anchor is not None]
    lower, upper = (over_seeds([bounds(getattr(zone, end)) for zone in learned]) for end in ("lower", "upper"))
    row = {
        "along": axis,
        "seeds": len(found),
        "learned": len(learned),
        **with_ends("lower", map(power, lower)),
        **with_ends("upper", map(power, upper)),
        "holes": sum(len(zone.holes) for zone in learned),
        "apart": sum(len(zone.apart) for zone in learned),
        **with_ends("decades", over_seeds([width(zone) for zone in found.values()])),
    }
    said = f"{len(learned)} of {len(found)} seeds learn"
    if learned:
        lower, upper = (in_words(row, end, cells, axis) for end in ("lower", "upper"))
        said = f"{axis} from {lower} to {upper}; {said}"
    return {**row, "zone": said}


def over_seeds(pairs):
    """(median, low, high) of values known by their bounds; without an interval under 6 seeds, None without any."""
    if len(pairs) >= FEWEST:
        return bounded_interval(pairs)
    return (sum(map(median, zip(*pairs))) / 2 if pairs else None), None, None


def widening(point, axes, points, axis):
    """Width less that of norm `none`, all else equal."""
    bare = tuple({**point, "norm": "none"}[name] for name in axes) if "norm" in axes else None
    if bare not in points or point["norm"] == "none":
        return None, None, None
    one, other = (zones(points[key], axis) for key in (tuple(point.values()), bare))
    return difference(one, other) if len(one) >= FEWEST else (None, None, None)


def with_ends(name, values):
    return dict(zip((name, f"{name}_low", f"{name}_high"), values))


def power(exponent):
    """The std of a bracket in decades; 0 and infinity are those that lie beyond what was tried."""
    return None if exponent is None else 10.0**exponent


def in_words(row, end, cells, axis):
    """`0.24 (0.22 to 0.26)`, or `beyond 0.0001`: a bracket, and the interval that holds it."""
    least, greatest = min(row[axis] for row in cells), max(row[axis] for row in cells)

    def said(value):
        if value in (0.0, math.inf):
            return f"beyond {spelled(least if value == 0 else greatest)}"
        return f"{value:.2g}"

    middle, low, high = (row[name] for name in (end, f"{end}_low", f"{end}_high"))
    if middle in (0.0, math.inf):
        return said(middle)
    return said(middle) if low is None else f"{said(middle)} ({said(low)} to {said(high)})"
