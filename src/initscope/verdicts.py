"""What became of a cell: its outcome, from documented thresholds, with the numbers behind it."""

import math


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


def diverged_at(curve):
    """The first update with a loss or gradient that is not finite; None where there is none."""
    lost = (row["update"] for row in curve if not row["finite"] or not math.isfinite(row["validation_loss"] or 0.0))
    return next(lost, None)
