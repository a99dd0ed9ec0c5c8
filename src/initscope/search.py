"""Stage `zone`: cells at every std of a grid, then rounds of bisection at both brackets of every seed's zone.

The stds of the later rounds are results: no config can know them, so one job runs all rounds of one point.
"""

import json
import logging

from initscope import stack as stacked
from initscope.init import weights
from initscope.tables import write_rows
from initscope.training import train
from initscope.verdicts import verdict
from initscope.zones import refinements

LOG = logging.getLogger(__name__)


def make(stack, read):
    for digest, spec in stack.items():
        axis = spec["settings"]["zone"]["axis"]
        examples = stacked.examples({digest: spec}, read)
        source = json.loads(read(spec["upstream"]["corpus"], "source.json"))
        found = [
            {**spec["axes"], "seed": seed, axis: value, "round": number, **row}
            for number, seed, value, row in rounds(spec, examples, source)
        ]
        types = {**spec["axes"], **{axis: values[0] for axis, values in spec["along"].items()}}
        yield digest, {"tried.parquet": write_rows("tried", types, found)}


def rounds(spec, examples, source):
    """Yield (round, seed, value of the axis, verdict) of every cell, round after round until no bracket is too wide."""
    settings, along = spec["settings"], spec["along"]
    axis, apart = settings["zone"]["axis"], settings["zone"]["apart"]
    tried, number = {seed: [] for seed in along["seed"]}, 0
    todo = dict.fromkeys(tried, along[axis])
    while todo:
        points = [(seed, value) for seed, values in todo.items() for value in values]
        LOG.info("round %d: %d cells", number, len(points))
        cells = [at(settings, seed=seed, **{axis: value}) for seed, value in points]
        for (seed, value), row in zip(points, verdicts(cells, examples, source)):
            tried[seed].append((value, row["outcome"], row["final_x"]))
            yield number, seed, value, row
        todo, number = refinements(tried, apart), number + 1


def at(settings, **values):
    """The settings with other values of keys of `init` and `training`."""
    init, training = (
        {key: values.get(key, value) for key, value in settings[name].items()} for name in ("init", "training")
    )
    return {**settings, "init": init, "training": training}


def verdicts(cells, examples, source):
    """The verdicts of cells that are trained as one stack."""
    _, curves = train(stacked.stacked([weights(cell) for cell in cells], cells[0]), examples, cells, whole=False)
    return [verdict(curve, source, cells[0]["outcome"]) for curve in curves]
