"""What became of a cell: its outcome, from documented thresholds, with the numbers behind it."""

import math

from initscope.tables import KINDS

WEIGHTS = [kind for kind in KINDS if kind not in ("norm_scale", "norm_offset", "bias")]


def verdict(curve, source, limits):
    """What training adds to the row of a cell. source: what is known of the corpus; limits: the setup's outcome."""
    first, last = curve[0], curve[-1]
    ends = source["x_zero_loss"], source["unigram_entropy"]
    name, why = outcome(curve, *ends, limits)
    scales = {
        "weight_gradient_norm": weight_gradient(last),
        "largest_gradient_norm": largest(row["gradient_norm"] for row in curve if row["recorded"]),
        "saturated": largest([last["saturated"], last.get("peaked") or 0.0]),
    }
    return {
        "gradient_norm": first["gradient_norm"],
        "initial_loss_validation": first["validation_loss"],
        "final_loss_validation": last["validation_loss"],
        "initial_x": scaled(first["validation_loss"], *ends),
        "final_x": scaled(last["validation_loss"], *ends),
        "first_update_ratio": curve[1]["update_ratio"],
        **scales,
        "outcome": name,
        "evidence": "; ".join([why, *causes(scales, limits)]),
        "diverged_at": diverged_at(curve),
    }


def scaled(loss, zero, baseline):
    """x = (loss - zero) / (baseline - zero): 1 for a predictor that knows frequencies only.

    zero: the loss floor of the source, so that x = 0 is all that can be learned; of a text, whose floor is not known,
    the entropy given the symbol before.
    """
    return (loss - zero) / (baseline - zero)


def outcome(curve, zero, baseline, limits):
    """(outcome, evidence) of one cell.

    curve: rows of its curve table; zero, baseline: nats per target; limits: the setup's outcome section.
    """
    lost = diverged_at(curve)
    if lost is not None:
        return "diverged", f"loss or gradient not finite at update {lost}"
    updates = [row["update"] for row in curve if row["recorded"]]
    x = [scaled(row["validation_loss"], zero, baseline) for row in curve if row["recorded"]]
    first, last, half = x[0], x[-1], updates[-1] / 2
    best = min([value for update, value in zip(updates, x) if update >= limits["settled_after"]] or [last])
    late = [value for update, value in zip(updates, x) if update >= half]
    change = max(late) - min(late)
    if last >= first and last > limits["diverged_above"]:
        return "diverged", f"x ends at {last:.3g}, no lower than it began ({first:.3g})"
    if last > limits["unstable_above"]:
        return "unstable", f"x ends at {last:.3g} > {limits['unstable_above']:g}"
    if last - best > limits["unstable_rise"]:
        return "unstable", f"x ends at {last:.3g}, {last - best:.2g} above its best"
    if last > limits["dead_above"] and change < limits["dead_change"]:
        return "dead", f"x ends at {last:.3g} and moved by {change:.2g} over the last half"
    if last <= limits["learned_below"]:
        return "learned", f"x ends at {last:.3g} <= {limits['learned_below']:g}"
    return "slow", f"x ends at {last:.3g} > {limits['learned_below']:g}"


def causes(scales, limits):
    """What else stands out in a cell: gradients that vanish or explode, saturation."""
    weights, most = scales["weight_gradient_norm"], scales["largest_gradient_norm"]
    if weights < limits["vanishing_below"]:
        yield f"the weights' gradient ends at {weights:.2g} < {limits['vanishing_below']:g}"
    if not most <= limits["exploding_above"]:
        yield f"the gradient reached {most:.2g} > {limits['exploding_above']:g}"
    if scales["saturated"] > limits["saturated_above"]:
        yield f"{scales['saturated']:.0%} saturated > {limits['saturated_above']:.0%}"


def weight_gradient(row):
    """Norm of the gradient over all weights: biases get one even where nothing reaches a weight."""
    return math.hypot(*(row[f"gradient_norm_{kind}"] or 0.0 for kind in WEIGHTS if f"gradient_norm_{kind}" in row))


def largest(values):
    """The largest value; NaN where one is."""
    values = list(values)
    return math.nan if any(map(math.isnan, values)) else max(values)


def diverged_at(curve):
    """The first update with a loss or gradient that is not finite; None where there is none."""
    lost = (row["update"] for row in curve if not row["finite"] or not math.isfinite(row.get("validation_loss") or 0.0))
    return next(lost, None)
