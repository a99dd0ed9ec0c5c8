"""Stage `figures`: one function a figure, deterministic bytes. The title asks the question that the figure answers."""

import io

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import seaborn as sns

from initscope.spelling import spelled
from initscope.tables import read as table

OUTCOMES = {"learned": "#1b9e77", "slow": "#7570b3", "dead": "#666666", "unstable": "#e6ab02", "diverged": "#d95f02"}
RANGE = ("pi", 100)  # a band from the smallest to the largest seed: no bootstrap, nothing random


def make(stack, read):
    for digest, spec in stack.items():
        study = Study(spec, read)
        yield digest, {f"{draw.__name__}.{kind}": data for draw in FIGURES for kind, data in saved(draw(study)).items()}


class Study:
    """The tables of a study as data frames; every row has a `std`, whether or not the study varies it."""

    def __init__(self, spec, read):
        self.axes, self.settings, up = spec["axes"], spec["settings"], spec["upstream"]
        self.parameters = self.frame(read(key, "parameters.parquet") for key in up["audit"])
        self.signals = self.frame(read(key, "signals.parquet") for key in up["audit"])
        self.curves = self.frame(read(key, "curves.parquet") for key in up["train"])
        self.cells = self.frame([read(up["summary"], "cells.parquet")])

    def frame(self, files):
        found = pa.concat_tables(table(data) for data in files).to_pandas()
        if "std" not in self.axes:
            found["std"] = self.settings["init"]["std"]
        found["std (label)"] = found["std"].map(spelled)
        others = [axis for axis in self.axes if axis not in ("seed", "std")]
        found["variant"] = [
            ", ".join(f"{axis} {spelled(row[axis])}" for axis in others) for row in found[others].to_dict("records")
        ]
        return found

    @property
    def labels(self):
        """The stds as they are spelled, in the order of their values."""
        return [spelled(value) for value in sorted(self.cells["std"].unique())]

    @property
    def style(self):
        """The column that tells points apart where the study varies more than seed and std."""
        return "variant" if self.cells["variant"].nunique() > 1 else None

    def lines(self, data, **how):
        """A line per std (colour) and variant (dashes): median over seeds, and a band that holds every seed."""
        colour = {"hue": "std (label)", "hue_order": self.labels, "palette": "viridis"}
        return sns.lineplot(data, **colour, estimator="median", errorbar=RANGE, style=self.style, **how)

    def caption(self):
        """The setup in one line; what the study varies is only named."""
        seeds = len(self.axes.get("seed", [0]))
        model, updates = self.settings["model"], self.settings["training"]["updates"]
        fixed = [f"{key} {model[key]}" for key in ("layers", "width", "norm", "activation") if key not in self.axes]
        varied = [f"varied: {', '.join(self.axes)}"] if self.axes else []
        scheme = f"scheme {self.settings['init']['scheme']}"
        return "; ".join(
            [model["kind"], *fixed, scheme, f"{updates} updates", f"{seeds} seed{'s' * (seeds > 1)}", *varied]
        )


def parameter_std(study):
    drawn = study.parameters[study.parameters["z"].notna()]
    figure, (left, right) = panels(study, "Does every tensor start with the std that its scheme declares?", 2)
    sns.scatterplot(drawn, x="declared_std", y="measured_std", hue="kind", style="kind", ax=left)
    ends = np.array([drawn["declared_std"].min(), drawn["declared_std"].max()])
    left.plot(ends, ends, color="black", lw=0.8, zorder=0, label="measured = declared")
    log_axis(left, "x")
    log_axis(left, "y")
    left.set(xlabel="declared std of the weights", ylabel="measured std of the weights")
    left.legend(fontsize=7)
    once = drawn.drop_duplicates(["tensor", "z"])
    sns.stripplot(once, x="z", y="kind", hue="kind", legend=False, jitter=False, alpha=0.6, ax=right)
    for edge in (-4, 4):
        right.axvline(edge, color="black", lw=0.8, ls="--")
    failed = int((~study.parameters["check"]).sum())
    right.set(
        xlabel="z: (measured - expected) std / its standard error",
        ylabel="",
        title=f"{failed} of {len(study.parameters)} tensors fail their check",
        xlim=np.array([-1.1, 1.1]) * max(5.5, np.abs(drawn["z"]).max()),
    )
    return figure


def signal_depth(study):
    figure, axes = panels(study, "How do the signal and its gradient change through depth before the first update?", 2)
    stream = study.signals[study.signals["probe"].isin(["attention_stream", "mlp_stream", "final_stream"])].copy()
    layers = stream["layers"] if "layers" in study.axes else study.settings["model"]["layers"]
    stream["depth"] = (2 * stream["layer"].fillna(layers) + (stream["probe"] == "mlp_stream")).astype(int)
    for ax, direction, what in zip(
        axes, ("forward", "backward"), ("residual stream", "loss gradient at the residual stream")
    ):
        study.lines(
            stream[(stream["direction"] == direction) & stream["finite"]],
            x="depth",
            y="rms",
            ax=ax,
            legend="auto" if ax is axes[1] else False,
            marker="o",
        )
        log_axis(ax, "y")
        ax.set(xlabel="depth: sublayers passed", ylabel=f"rms of the {what}")
        if stream["depth"].max() <= 8 and "layers" not in study.axes:
            ax.set_xticks(range(stream["depth"].max() + 1), sublayers(stream["depth"].max() // 2))
            ax.set_xlabel("where in the network: before this sublayer")
    beside(axes[1], "std of the weights")
    noted(axes[0], int((~stream["finite"]).sum()), "values are not finite and not drawn")
    return figure


def sublayers(layers):
    return [*(f"{part} {layer}" for layer in range(layers) for part in ("attention", "MLP")), "final norm"]


def attention(study):
    figure, (left, right) = panels(
        study, "Do attention scores start in a range where attention can still be shaped?", 2
    )
    for probe, column, ax, what in (
        ("scores", "measured_std", left, "measured"),
        ("attention_entropy", "mean", right, "entropy"),
        ("attention_peaked", "mean", right, "share of rows with p > 0.99"),
    ):
        rows = study.signals[(study.signals["probe"] == probe) & study.signals["finite"]].copy()
        rows["block"] = rows["layer"].map(lambda layer, what=what: f"{what}, block {layer:.0f}")
        sns.lineplot(
            rows,
            x="std",
            y=column,
            hue="block",
            style=study.style,
            marker="o",
            estimator="median",
            errorbar=RANGE,
            ax=ax,
            palette="flare" if probe == "attention_peaked" else "crest",
        )
    scores = study.signals[study.signals["probe"] == "scores"]
    noted(left, int((~scores["finite"]).sum()), "values are not finite and not drawn")
    theory = scores[scores["expected_rms"].notna()]
    left.plot(
        *theory.groupby("std")["expected_rms"].first().reset_index().to_numpy().T,
        color="black",
        ls="--",
        label="predicted, block 0",
        zorder=0,
    )
    log_axis(left, "y")
    std_axis(left, study)
    std_axis(right, study)
    left.set(ylabel="std of the scores before softmax")
    right.axhline(1, color="black", lw=0.8, ls="--", label="entropy of uniform attention")
    right.set(ylim=(-0.05, 1.1), ylabel="entropy / maximum; share of peaked rows")
    for ax in (left, right):
        ax.legend(fontsize=7)
    return figure


def initial_loss(study):
    figure, ax = panels(study, "Is the initial loss that of a uniform guess?", 1)
    sns.scatterplot(
        study.cells,
        x="std",
        y="initial_loss_training_corpus",
        style=study.style,
        color="#1f78b4",
        alpha=0.7,
        ax=ax,
        **({} if study.style else {"label": "training corpus, each cell"}),
    )
    lost = int((~np.isfinite(study.cells["initial_loss_training_corpus"])).sum())
    predicted = study.cells.groupby("std")["predicted_initial_loss"].first().reset_index()
    ax.plot(
        predicted["std"], predicted["predicted_initial_loss"], color="black", ls="--", marker="_", label="predicted"
    )
    references(ax, study, "ln_vocabulary", "loss_floor")
    std_axis(ax, study)
    log_axis(ax, "y")
    ax.set(ylabel="loss before the first update (nats per token)")
    noted(ax, lost, "cells are not finite and not drawn")
    ax.legend(fontsize=8, loc="upper left", bbox_to_anchor=(0.0, 0.93) if lost else None)
    return figure


def loss_curves(study):
    figure, ax = panels(study, "Which starting scales learn in the updates they are given?", 1)
    rows = study.curves[study.curves["recorded"]]
    finite = np.isfinite(rows["validation_loss"])
    study.lines(rows[finite], x="update", y="validation_loss", ax=ax)
    references(ax, study, "ln_vocabulary", "baseline_loss", "loss_floor")
    ax.set_xscale("symlog", linthresh=1)
    log_axis(ax, "y")
    ax.set(xlabel="updates made (0, then a log axis)", ylabel="validation loss (nats per token)")
    ax.set_xticks(sorted(rows["update"].unique()), [str(update) for update in sorted(rows["update"].unique())])
    ax.minorticks_off()
    ax.set_xlim(left=-0.15)
    beside(ax, "std of the weights")
    noted(ax, int((~finite).sum()), "recorded values are not finite and not drawn")
    return figure


def final_loss(study):
    figure, ax = panels(study, "Where does each cell end, and what became of it?", 1)
    finite = np.isfinite(study.cells["final_loss_validation"])
    present = [name for name in OUTCOMES if name in set(study.cells["outcome"])]
    sns.scatterplot(
        study.cells[finite],
        x="std",
        y="final_loss_validation",
        hue="outcome",
        style=study.style,
        hue_order=present,
        palette=OUTCOMES,
        alpha=0.8,
        ax=ax,
    )
    references(ax, study, "ln_vocabulary", "baseline_loss", "loss_floor")
    std_axis(ax, study)
    log_axis(ax, "y")
    ax.set(ylabel=f"validation loss after {study.settings['training']['updates']} updates (nats per token)")
    edge = {"transform": ax.get_xaxis_transform(), "color": OUTCOMES["diverged"], "clip_on": False}
    for std, count in study.cells[~finite].groupby("std").size().items():
        ax.plot([std], [1.0], marker="^", **edge)
        ax.text(std, 1.02, f"{count} not finite", ha="center", fontsize=8, **edge)
    beside(ax, "outcome")
    return figure


FIGURES = (parameter_std, signal_depth, attention, initial_loss, loss_curves, final_loss)

NAMES = {
    "ln_vocabulary": ("ln V, a uniform guess", "--"),
    "baseline_loss": ("unigram entropy, what biases alone reach", "-."),
    "loss_floor": ("entropy rate of the source, the floor", ":"),
}


def panels(study, question, count):
    sns.set_theme(style="ticks", context="notebook", font_scale=0.85)
    matplotlib.rcParams["svg.hashsalt"] = "initscope"
    figure, axes = plt.subplots(
        1, count, figsize=(5.4 * count + 3.0 * (count == 1), 4.6), layout="constrained", squeeze=False
    )
    figure.suptitle(f"{question}\n", fontsize=12, fontweight="bold")
    figure.supxlabel(study.caption(), fontsize=8, color="0.35")
    return figure, axes[0] if count > 1 else axes[0][0]


def references(ax, study, *columns):
    """Horizontal lines at the losses that mean something."""
    for column in columns:
        label, dashes = NAMES[column]
        ax.axhline(study.cells[column].iloc[0], color="0.3", lw=0.9, ls=dashes, label=label, zorder=0)


def beside(ax, title):
    """The legend to the right of a plot, where it hides nothing."""
    ax.legend(title=title, fontsize=8, title_fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)


def noted(ax, count, what):
    """What is left out is said on the plot."""
    if count:
        ax.text(0.02, 0.98, f"{count} {what}", transform=ax.transAxes, va="top", fontsize=8, color=OUTCOMES["diverged"])


def log_axis(ax, which):
    """A log axis whose labels are plain numbers (0.01, not a power of ten), more of them where it spans little."""
    getattr(ax, f"set_{which}scale")("log")
    low, high = getattr(ax, f"get_{which}lim")()
    axis = getattr(ax, f"{which}axis")
    axis.set_major_locator(
        matplotlib.ticker.LogLocator(subs=(1.0,) if high / low > 100 else (1.0, 1.5, 2.0, 3.0, 5.0, 7.0))
    )
    axis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
    axis.set_minor_locator(matplotlib.ticker.NullLocator())


def std_axis(ax, study):
    """The stds of the study on a log axis, spelled as everywhere."""
    log_axis(ax, "x")
    if len(study.labels) <= 12:
        ax.set_xticks([float(label) for label in study.labels], study.labels)
    ax.set_xlabel("std of the weights")


def saved(figure):
    """{"svg": bytes, "png": bytes}, equal from run to run: no date, no version, a fixed salt for ids."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # laid out once, not once a format
    files = {}
    for kind, about in (("svg", {"Date": None, "Creator": None}), ("png", {"Software": None})):
        out = io.BytesIO()
        figure.savefig(out, format=kind, dpi=130, metadata=about)
        files[kind] = out.getvalue()
    plt.close(figure)
    return files
