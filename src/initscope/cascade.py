"""Stage `cascade`: do cells that start outside their seed's zone stay behind those that start inside it?

Zone, side and outcome are those at n updates, a third of the training; the gap is x less the median x inside.
"""

import json
import math
from statistics import median

from initscope.brackets import by_point, over_seeds, with_ends, zones
from initscope.tables import PERSISTS, rows, write_rows
from initscope.verdicts import outcome, scaled

EARLY = 10  # updates


def make(stack, read):
    for digest, spec in stack.items():
        source, axis = json.loads(read(spec["upstream"]["corpus"], "source.json")), spec["settings"]["zone"]["axis"]
        curves = [rows(read(key, "curves.parquet")) for key in spec["upstream"]["train"]]
        types = {name: values[0] for name, values in spec["axes"].items()}
        axes = [name for name in types if name not in ("seed", axis)]
        cells = [
            {name: curve[0][name] for name in types} | trained(curve, source, spec["settings"]["outcome"])
            for curve in curves
        ]
        found = [row for part in by_point(cells, axes).values() for row in with_gaps(part, axis)]
        files = {
            "cascade.parquet": write_rows("cascade", types, found),
            "persistence.parquet": write_rows("persistence", {name: types[name] for name in axes}, groups(found, axes)),
        }
        yield digest, files


def trained(curve, source, limits):
    """x and outcome at n updates, x at 3 n, and the scales of the first updates."""
    ends = source["x_zero_loss"], source["unigram_entropy"]
    n = curve[-1]["update"] // 3
    early = [row for row in curve if row["recorded"] and row["update"] <= EARLY]
    return {
        "outcome": outcome(curve[: n + 1], *ends, limits)[0],
        "x": scaled(curve[n]["validation_loss"], *ends),
        "x_later": scaled(curve[-1]["validation_loss"], *ends),
        "early_gradient_norm": middle(row["gradient_norm"] for row in early),
        "early_update_ratio": middle(row["update_ratio"] for row in early[1:]),
    }


def with_gaps(cells, axis):
    """The cells of one point with their side and gaps; those of a seed that learns nowhere have neither."""
    found = zones([{**cell, "final_x": cell["x"]} for cell in cells], axis)
    for cell in cells:
        zone = found[cell["seed"]]
        if zone.anchor is None:
            continue
        same = [other for other in cells if other["seed"] == cell["seed"] and side(other[axis], zone) == "inside"]
        now, later = (gap(cell[x], [other[x] for other in same]) for x in ("x", "x_later"))
        where = side(cell[axis], zone)
        ratio = None if where == "inside" else math.inf if math.isinf(later) else later / now
        yield {**cell, "side": where, "gap": now, "gap_later": later, "ratio": ratio}


def gap(x, inside):
    """x less the median inside: infinite where the loss is not finite, NaN where half of those inside are."""
    reached = median(value if math.isfinite(value) else math.inf for value in inside)
    return math.nan if math.isinf(reached) else x - reached if math.isfinite(x) else math.inf


def middle(values):
    """The median; NaN where one of them is. (Sorting knows no place for it.)"""
    values = list(values)
    return math.nan if any(map(math.isnan, values)) else median(values)


def side(value, zone):
    return "below" if value < zone.lower[1] else "above" if value > zone.upper[1] else "inside"


def groups(cells, axes):
    """The rows of table `persistence`: one per point, side and outcome."""
    outside = [cell for cell in cells if cell["side"] != "inside"]
    for key, group in by_point(outside, [*axes, "side", "outcome"]).items():
        seeds = by_point(group, ["seed"]).values()
        measured = {
            name: over([middle(cell[name] for cell in seed) for seed in seeds])
            for name in ("ratio", "early_gradient_norm", "early_update_ratio", "x_later")
        }
        low = measured["ratio"][1]
        yield {
            **dict(zip([*axes, "side", "outcome"], key)),
            "seeds": len(seeds),
            **{k: v for name, ends in measured.items() for k, v in with_ends(name, ends).items()},
            "persists": None if low is None else low > PERSISTS,
        }


def over(values):
    """`over_seeds` of exact values; what is not a number has no interval."""
    known = [value for value in values if not math.isnan(value)]
    return over_seeds([(value, value) for value in known]) if len(known) == len(values) else (math.nan, None, None)
