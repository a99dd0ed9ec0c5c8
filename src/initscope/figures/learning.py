"""Where cells learn, and whether those that start elsewhere catch up."""

from itertools import chain, zip_longest

import numpy as np
from matplotlib.lines import Line2D

from initscope.figures.axes import OUTCOMES, log_axis, panels, remark
from initscope.tables import PERSISTS

BAR, ROWS = 0.22, (0.37, 0.92)  # of a band: where its median zone lies, and the rows of its seeds
BESIDE = 10**0.45  # how far the plot goes beyond what was tried
HOLE = {"marker": "o", "mfc": "none", "mec": "black", "ms": 8, "ls": ""}


def zones(study):
    axis, points = study.along.replace("_", " "), list(study.zones["point"])
    tried, found = at_rows(study.tried, points), at_rows(study.brackets, points)
    figure, ax = panels(study, f"Between which {axis}s do cells learn?", 1, size=(11, 1.15 * len(points) + 2))
    edges = study.tried[study.along].min() / BESIDE, study.tried[study.along].max() * BESIDE
    every_cell(ax, tried, found, study.along, edges)
    for place, (_, zone) in enumerate(study.zones.iterrows()):
        ax.axhline(place, color="0.85", lw=0.8)
        ax.text(1.015, place + 0.5, "\n".join(sizes(zone)), transform=ax.get_yaxis_transform(), va="center", fontsize=8)
        if zone["learned"]:
            median_zone(ax, zone, place + BAR, edges)
    for untried in ((edges[0], edges[0] * BESIDE), (edges[1] / BESIDE, edges[1])):
        ax.axvspan(*untried, color="0.93", lw=0, zorder=0, label="not tried")
    ax.set(xlim=edges, ylim=(len(points), 0))
    log_axis(ax, "x")
    ax.set_xlabel(f"{'std of the weights' if axis == 'std' else axis}{fixed_rate(study)}")
    ax.set_yticks(np.arange(len(points)) + 0.5, points)
    ax.tick_params(axis="y", length=0, pad=16)
    above(ax)
    return figure


def above(ax, first=OUTCOMES):
    """The legend over a plot in two rows; first: the labels of the upper one."""
    marks = {label: mark for mark, label in zip(*ax.get_legend_handles_labels())}
    upper, lower = ([label for label in marks if (label in first) is there] for there in (True, False))
    labels = list(chain(*zip_longest(upper, lower, fillvalue="")))
    handles = [marks.get(label, Line2D([], [], ls="")) for label in labels]
    where = {"loc": "lower left", "bbox_to_anchor": (-0.01, 1.0), "borderaxespad": 0.2}
    ax.legend(handles, labels, ncols=max(1, len(labels) // 2), fontsize=8, frameon=False, **where)


def fixed_rate(study):
    """Behind a norm a std acts through learning rate / std: a zone belongs to its rate."""
    rate = study.settings["training"]["learning_rate"]
    return "" if "learning_rate" in study.axes else f", at a learning rate of {rate:g}"


def at_rows(rows, points):
    """The rows with `y`, where their seed's row lies: a band a point, and in it a row a seed."""
    seeds = sorted(rows["seed"].unique())
    least, greatest = ROWS
    step = (greatest - least) / len(seeds)
    y = rows["point"].map(points.index) + least + step * (rows["seed"].map(seeds.index) + 0.5)
    return rows.assign(y=y, half=min(0.45 * step, 0.05))


def every_cell(ax, tried, found, axis, edges):
    """A mark per cell, over a line along the zone of its seed; what did not learn within is a hole and circled."""
    lower = found["lower_inside"].where(found["lower_outside"] != 0, edges[0])
    upper = found["upper_inside"].where(np.isfinite(found["upper_outside"]), edges[1])
    line = {"color": OUTCOMES["learned"], "alpha": 0.35, "lw": 1, "label": "zone of a seed"}
    ax.hlines(found["y"], lower, upper, **line, zorder=1)
    for outcome in [name for name in OUTCOMES if name in set(tried["outcome"])]:
        rows = tried[tried["outcome"] == outcome]
        y, half = rows["y"], rows["half"]
        ax.vlines(rows[axis], y - half, y + half, color=OUTCOMES[outcome], lw=2, label=outcome, zorder=2)
    both = tried.merge(found[["y", "lower_inside", "upper_inside"]], on="y")
    inside = (both["lower_inside"] < both[axis]) & (both[axis] < both["upper_inside"])
    holes = both[inside & (both["outcome"] != "learned")]
    if len(holes):
        ax.plot(holes[axis], holes["y"], **HOLE, zorder=3, label="hole")


def median_zone(ax, zone, y, edges):
    """A bar from bracket to bracket, with their intervals; what lies beyond what was tried leaves the plot."""
    ends = zone[["lower", "upper"]].astype(float)
    few = {"alpha": 0.4, "label": "median zone, few seeds"} if np.isnan(zone["lower_low"]) else {"label": "median zone"}
    bar = {"color": OUTCOMES["learned"], "lw": 7, "solid_capstyle": "butt", **few}
    ax.plot(np.clip(ends, *edges), [y, y], **bar, zorder=2)
    for end, edge, outward in (("lower", edges[0], -1), ("upper", edges[1], 1)):
        value, low, high = with_interval(zone, end)
        if not np.isnan(low):
            interval(ax, low, high, y, edges)
        if value in (0.0, np.inf):
            leaving(ax, edge, y, outward, "beyond", size=9, up=6)
            continue
        write(ax, f"{value:.2g}", value, y, 3 * outward, up=6)
        if low == 0.0 or high == np.inf:
            leaving(ax, edge, y, outward, "or beyond", size=6, up=-12)


def leaving(ax, edge, y, outward, words, size, up):
    """An arrow that leaves the plot, and words within."""
    ax.plot([edge], [y], marker="<" if outward < 0 else ">", ms=size, color="black", clip_on=False, zorder=4)
    write(ax, words, edge, y, -3 * outward, up)


def write(ax, words, x, y, right, up):
    """Words beside a point: to its right, or to its left where `right` is negative (in points)."""
    side = "left" if right > 0 else "right"
    ax.annotate(words, (x, y), (right, up), textcoords="offset points", ha=side, fontsize=8)


def interval(ax, low, high, y, edges):
    """A whisker with a cap at each end that lies within what was tried."""
    ax.plot(np.clip([low, high], *edges), [y, y], color="black", lw=1, zorder=3, label="95 % interval")
    caps = [end for end in (low, high) if edges[0] < end < edges[1]]
    ax.plot(caps, [y] * len(caps), color="black", marker="|", ms=10, ls="", zorder=3)


def with_interval(row, name):
    """(median, low, high); NaN where the table has none."""
    return tuple(float(row[key]) for key in (name, f"{name}_low", f"{name}_high"))


def sizes(zone):
    """What stands beside a band: how many seeds learn, how wide their zone is, and what the marks cannot say."""
    yield f"{zone['learned']} of {zone['seeds']} seeds learn"
    if zone["learned"]:
        whose = "" if zone["learned"] == zone["seeds"] else "of all seeds "
        yield f"width {whose}{known(*with_interval(zone, 'decades'), '.2f')}"
    if not np.isnan(with_interval(zone, "wider")).all():
        yield f"against norm none: {known(*with_interval(zone, 'wider'), '+.2f')}"
    for count, what in ((zone["holes"], "inside that did not learn"), (zone["apart"], "learned outside")):
        if count:
            yield f"{count} cell{'s' * (count > 1)} {what}"


def known(value, low, high, spelled):
    """A number of decades with its interval; only the end that is known where what was tried bounds no more."""
    least, greatest = (f"{end:{spelled}}" if np.isfinite(end) else "beyond" for end in (low, high))
    if np.isfinite(value):
        within = "" if np.isnan(low) else f" ({least} to {greatest})"
        return f"{value:{spelled}}{within} decades"
    if np.isfinite(low):
        return f"at least {least} decades"
    return f"at most {greatest} decades" if np.isfinite(high) else "not known: beyond what was tried"


SIDES = {"below": "v", "inside": "o", "above": "^"}
FAR = (1e-3, 10.0)  # x is drawn within these at most,
RATIOS = (-0.2, 2.0)  # and ratios of gaps within these
LINES = {0.0: ("caught up", ":"), PERSISTS: (f"persists above {PERSISTS:g}", "--"), 1.0: ("unchanged", "-")}
MARK = {"ls": "", "ms": 6, "mec": "white", "mew": 0.5, "alpha": 0.8}


def cascade(study):
    places = {name: i for i, name in enumerate([*dict.fromkeys(study.cascade["point"]), *SIDES, *OUTCOMES])}
    groups = study.persistence.sort_values(["point", "side", "outcome"], key=lambda names: names.map(places))
    size = (13.5, max(5.2, 0.3 * len(groups) + 2.6))
    figure, (left, right) = panels(study, "Do starts outside the zone catch up?", 2, size=size)
    later = study.settings["training"]["updates"]
    then_and_later(left, study.cascade)
    remark(left, "\n".join(not_shown(study)))
    left.set(xlabel=f"x after {later // 3} updates\n(0: the floor, 1: what biases alone reach)")
    left.set(ylabel=f"x after {later} updates")
    remaining_gaps(right, groups)
    right.set_xlabel(
        f"gap after {later} updates / gap after {later // 3}\n(gap: x less the seed's median x in the zone)"
    )
    above(left)
    above(right, [said for said, _ in LINES.values()])
    return figure


def then_and_later(ax, cells):
    """x of every cell at two updates; what is not finite or far out lies on the edge."""
    found = cells[["x", "x_later"]].to_numpy()
    least = found[found > FAR[0]].min(initial=1.0)
    edges = 10 ** np.floor(np.log10(least / 1.3)), FAR[1]
    for (outcome, side), part in cells.groupby(["outcome", "side"]):
        x, y = (part[name].fillna(np.inf).clip(*edges) for name in ("x", "x_later"))
        ax.plot(x, y, color=OUTCOMES[outcome], marker=SIDES[side], **MARK, clip_on=False, zorder=4)
    for outcome in [name for name in OUTCOMES if name in set(cells["outcome"])]:
        ax.plot([], [], color=OUTCOMES[outcome], marker="s", **MARK, label=outcome)
    for side in [name for name in SIDES if name in set(cells["side"])]:
        ax.plot([], [], color="0.5", marker=SIDES[side], **MARK, label=f"{side} the zone")
    ax.plot(edges, edges, color="0.4", lw=0.9, zorder=0, label="no change")
    ax.set(xlim=edges, ylim=edges)
    for which in "xy":
        log_axis(ax, which)


def not_shown(study):
    """How many cells of each outcome have an x that the axes do not reach; how many seeds have no zone, so no gap."""
    cells = study.cascade
    out = ~(cells["x"].between(*FAR) & cells["x_later"].between(*FAR))
    counts = [f"{count} {outcome}" for outcome, count in cells[out].groupby("outcome").size().items()]
    if counts:
        yield f"not finite or far out, on the edge:\n{', '.join(counts)}"
    seeds = np.prod([len(values) for axis, values in study.axes.items() if axis != study.along])
    if lost := int(seeds) - len(cells.drop_duplicates(["point", "seed"])):
        yield f"left out, since their seed learns nowhere: the cells of {lost} seed{'s' * (lost > 1)}"


def remaining_gaps(ax, groups):
    """The ratio of gaps of every group, a row each."""
    for place, (_, group) in enumerate(groups.iterrows()):
        remaining_gap(ax, group, place)
    for at, (said, dashes) in LINES.items():
        ax.axvline(at, color="0.4", lw=0.9, ls=dashes, zorder=0, label=said)
    ax.set(xlim=RATIOS, ylim=(max(len(groups), 1) - 0.4, -0.6))
    ax.set_yticks(range(len(groups)), [group_in_words(group) for _, group in groups.iterrows()], fontsize=8)
    remark(ax, "" if len(groups) else "no cell starts outside the zone of its seed")


def remaining_gap(ax, group, place):
    """The ratio of one group with its interval; hollow where there are too few seeds for one."""
    ratio, low, high = with_interval(group, "ratio")
    few, beyond = np.isnan(low), not RATIOS[0] <= ratio <= RATIOS[1]
    at = RATIOS[1] if np.isnan(ratio) else np.clip(ratio, *RATIOS)
    if not few:
        interval(ax, low, high, place, RATIOS)
    marker = (">" if at > 0 else "<") if beyond else SIDES[group["side"]]
    look = {"mfc": "none", "label": "few seeds: no interval"} if few else {"mec": "white", "mew": 0.5}
    ax.plot(at, place, ls="", marker=marker, ms=8, color=OUTCOMES[group["outcome"]], zorder=4, clip_on=False, **look)
    if beyond:
        words = f"{ratio:.2g}" if np.isfinite(ratio) else "not finite"
        write(ax, words, at, place, -8 if at > 0 else 8, up=4)


def group_in_words(group):
    seeds = f"{group['seeds']} seed{'s' * (group['seeds'] > 1)}"
    return ", ".join([*([group["point"]] if group["point"] else []), group["side"], group["outcome"], seeds])
