"""What was measured over what theory predicts: a figure for each of the studies that compare the two."""

import matplotlib.patches
import numpy as np
import seaborn as sns

from initscope.figures.axes import OUTCOMES, beside, log_axis, panels
from initscope.spelling import spelled

LARGEST, SMALLEST = np.finfo(np.float32).max, np.finfo(np.float32).smallest_subnormal


def over_seeds(rows, *keys, mean=np.mean):
    """What was measured, over seeds, and what was predicted of that, at every point of `keys`."""
    columns = {"rms": mean, "expected_rms": "first", "expected_scatter": "first"}
    return rows.groupby(list(keys), sort=False).agg(columns).reset_index()


def root_mean_square(values):
    """What is predicted of gradients: their squares vary so much from seed to seed that their mean stands apart."""
    with np.errstate(over="ignore"):
        return float(np.sqrt(np.square(values.astype(float)).mean()))


def points_and_line(ax, rows, x, color, label, marker="o"):
    """Measured points over the predicted line."""
    ax.plot(rows[x], rows["rms"], ls="", marker=marker, ms=4.5, color=color, label=label)
    ax.plot(rows[x], rows["expected_rms"], color=color, lw=1.2)


def variance(study):
    figure, (left, right) = panels(study, "Does a linear map multiply the variance by fan_in * Var(W)?", 2)
    stream = study.signals[(study.signals["probe"] == "mlp_stream") & (study.signals["direction"] == "forward")]
    rows = over_seeds(stream, "scheme", "layer")
    schemes = zip(study.axes["scheme"], sns.color_palette("tab10"), "osD^v<>PX*")
    for scheme, color, marker in schemes:
        part = rows[rows["scheme"] == scheme]
        squares = part.assign(rms=part["rms"] ** 2, expected_rms=part["expected_rms"] ** 2)
        points_and_line(left, squares, "layer", color, scheme, marker)
        ratio = squares["rms"] / squares["expected_rms"]
        right.plot(part["layer"], ratio, color=color, marker=marker, ms=4, lw=0.8, label=scheme)
    scatter = 2 * rows.groupby("layer")["expected_scatter"].max() / np.sqrt(len(study.axes["seed"]))  # of the square
    right.fill_between(scatter.index, 1 - 2 * scatter, 1 + 2 * scatter, color="0.85", zorder=0, label=SCATTER)
    right.axhline(1, color="black", lw=0.8)
    log_axis(left, "y")
    left.set(xlabel="layer", ylabel="mean square of its output")
    right.set(xlabel="layer", ylabel="measured / predicted, mean over seeds")
    beside(right, "scheme: points measured,\nlines predicted")
    return figure


SCATTER = "predicted scatter of\nsuch a mean, 2 std"


def depth(study):
    norms = study.axes["norm"]
    question = "How do the signal and its gradient fare through depth, and where do they leave float32?"
    figure, grid = panels(study, question, len(norms), rows=2)
    stream = study.signals[study.signals["probe"] == "mlp_stream"]
    forward = stream[(stream["direction"] == "forward") & (stream["layers"] == max(study.axes["layers"]))]
    backward = stream[(stream["direction"] == "backward") & (stream["layer"] == 0)]
    colors = dict(zip(study.labels, sns.color_palette("viridis", len(study.labels))))
    for (top, bottom), norm in zip(grid.T, norms):
        through_depth(top, forward[forward["norm"] == norm], "layer", colors, np.mean)
        through_depth(bottom, backward[backward["norm"] == norm], "layers", colors, root_mean_square)
        top.set(title=f"norm {norm}", xlabel=f"layer, of {max(study.axes['layers'])}")
        bottom.set(xlabel="layers of the network", xscale="log")
        bottom.set_xticks(study.axes["layers"], study.axes["layers"])
        bottom.minorticks_off()
    grid[0, 0].set_ylabel("rms of the stream")
    grid[1, 0].set_ylabel("rms of the gradient at the first layer")
    beside(grid[0, -1], "std of the weights:\npoints measured,\nlines predicted")
    return figure


def through_depth(ax, rows, x, colors, mean):
    """A line per std; the first layer at which the measured signal is no float32 number any more, or 0, is marked."""
    for label, part in over_seeds(rows, "label", x, mean=mean).groupby("label"):
        gone = part[~np.isfinite(part["rms"]) | (part["rms"] == 0)]
        kept = part[np.isfinite(part["rms"]) & (part["rms"] > 0)]
        points_and_line(ax, kept, x, colors[label], None, ".")
        ax.plot(part[x], part["expected_rms"].where(part["expected_rms"] > 0), color=colors[label], lw=1.2, label=label)
        for place in gone[x].head(1):
            edge = SMALLEST if (gone["rms"] == 0).iloc[0] else LARGEST
            ax.plot([place], [edge], marker="x", ms=7, color=colors[label])
            ax.annotate(f"{place:g}", (place, edge), textcoords="offset points", xytext=(4, 3), fontsize=7)
    log_axis(ax, "y")
    low, high = ax.get_ylim()
    if low < 1e-30 or high > 1e30:
        ax.set_ylim(1e-50, 1e44)
        for edge in (LARGEST, SMALLEST):
            ax.axhline(edge, color="0.4", lw=0.8, ls="--", zorder=0)


def residual(study):
    figure, (left, right) = panels(study, "How much does the residual stream grow with depth?", 2)
    stream = study.signals[study.signals["direction"] == "forward"]
    ends = stream[stream["probe"].isin(["embedding", "final_stream"])]
    ends = over_seeds(ends, "scheme", "layers", "probe").drop(columns="expected_scatter")
    ends = ends.set_index(["scheme", "layers", "probe"]).unstack("probe")
    growth = (ends.xs("final_stream", axis=1, level=1) / ends.xs("embedding", axis=1, level=1)).reset_index()
    deepest = stream[(stream["layers"] == max(study.axes["layers"])) & (stream["probe"] == "attention_stream")]
    within = over_seeds(deepest, "scheme", "layer")
    colors = sns.color_palette("tab10")
    for scheme, color, marker in zip(study.axes["scheme"], colors, "osD^vPX*"):
        points_and_line(left, growth[growth["scheme"] == scheme], "layers", color, scheme, marker)
        points_and_line(right, within[within["scheme"] == scheme], "layer", color, scheme, marker)
    depths = np.array(study.axes["layers"])
    left.plot(
        depths,
        growth["rms"].max() * np.sqrt(depths / depths.max()),
        color="0.5",
        ls=":",
        label="in proportion to sqrt(layers)",
    )
    for ax, which in ((left, "xy"), (right, "y")):
        for axis in which:
            log_axis(ax, axis)
    left.set_xticks(depths, depths)
    left.set(xlabel="layers", ylabel="rms of the final stream / of the embedding")
    right.set(xlabel=f"layer, of {depths.max()}", ylabel="rms of the stream before the layer")
    beside(right, "scheme: points measured,\nlines predicted")
    beside_left, labels = left.get_legend_handles_labels()
    left.legend(beside_left[-1:], labels[-1:], fontsize=8, frameon=False)
    return figure


# What the source's interaction table recommends: (activation, is there a norm) -> {(scheme, factor)}.
RECOMMENDED = {
    ("relu", False): {("he_normal", 1.0)},
    ("relu", True): {("he_normal", 1.0), ("he_normal", 0.5), ("normal", 1.0)},  # "He or smaller sigma"
    ("tanh", False): {("xavier_normal", 1.0)},
    ("tanh", True): {("xavier_normal", 1.0), ("xavier_normal", 0.5)},  # "Xavier, or slightly smaller"
}
RECOMMENDED |= {("gelu", norm): RECOMMENDED["relu", norm] for norm in (False, True)}
RECOMMENDED |= {("sigmoid", norm): RECOMMENDED["tanh", norm] for norm in (False, True)}
FRAME = {"fill": False, "lw": 1.6, "edgecolor": "black"}
NAMED = {"he_normal": "He", "xavier_normal": "Xavier"}


def interaction(study):
    axes = study.axes
    columns = [(scheme, factor) for scheme in axes["scheme"] for factor in axes["factor"]]
    lines = [(activation, norm) for activation in axes["activation"] for norm in axes["norm"]]
    figure, ax = panels(
        study, "Which start suits which activation and norm?", 1, size=(1.25 * len(columns) + 3, 0.44 * len(lines) + 2)
    )
    keys = ["activation", "norm", "scheme", "factor"]
    outcomes = study.cells.groupby(keys)["outcome"].agg(lambda found: found.mode().iloc[0])
    early, late = (
        at_update(study, update).groupby(keys)["x"].median() for update in (50, study.settings["training"]["updates"])
    )
    for i, (activation, norm) in enumerate(lines):
        for j, column in enumerate(columns):
            key = (activation, norm, *column)
            ax.add_patch(matplotlib.patches.Rectangle((j, i), 1, 1, color=OUTCOMES[outcomes[key]], alpha=0.45, lw=0))
            marked = column in RECOMMENDED.get((activation, norm != "none"), ())
            ax.text(
                j + 0.5,
                i + 0.5,
                f"{in_short(early[key])}  {in_short(late[key])}",
                ha="center",
                va="center",
                fontsize=8,
                fontweight="bold" if marked else "normal",
            )
            if marked:
                ax.add_patch(matplotlib.patches.Rectangle((j + 0.04, i + 0.06), 0.92, 0.88, **FRAME))
    ax.set(xlim=(0, len(columns)), ylim=(len(lines), 0))
    ax.set_xticks(np.arange(len(columns)) + 0.5, [named(study, *column) for column in columns])
    ax.set_yticks(np.arange(len(lines)) + 0.5, [f"{activation}, {norm}" for activation, norm in lines])
    ax.tick_params(length=0, labelsize=8.5)
    ax.xaxis.tick_top()
    present = [name for name in OUTCOMES if name in set(outcomes)]
    handles = [matplotlib.patches.Patch(color=OUTCOMES[name], alpha=0.45, label=name) for name in present]
    handles.append(matplotlib.patches.Patch(**FRAME, label="the source's\nrecommendation"))
    ax.legend(
        handles=handles,
        title="outcome;\nx at 50 and at the last\nupdate, median over seeds",
        fontsize=8,
        title_fontsize=8,
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        frameon=False,
    )
    return figure


def named(study, scheme, factor):
    name = NAMED.get(scheme) or f"std {spelled(study.settings['init']['std'])}"
    return name if factor == 1.0 else f"{name}\ntimes {factor:g}"


def in_short(x):
    """x in three characters or so; what is not a number, or is far out, by name."""
    if not np.isfinite(x):
        return "∞"
    return f"{x:.2f}" if x < 9.995 else f"{x:.0e}".replace("e+0", "e")


def at_update(study, update):
    """x of every cell at one recorded update."""
    ends = study.cells[["x_zero_loss", "baseline_loss"]].iloc[0]
    rows = study.curves[study.curves["update"] == update].copy()
    rows["x"] = (rows["validation_loss"] - ends["x_zero_loss"]) / (ends["baseline_loss"] - ends["x_zero_loss"])
    return rows
