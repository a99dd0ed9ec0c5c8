"""What figures share: panels, axes, legends, and bytes that are equal from run to run."""

import io

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns

OUTCOMES = {"learned": "#1b9e77", "slow": "#7570b3", "dead": "#666666", "unstable": "#e6ab02", "diverged": "#d95f02"}
NAMES = {
    "ln_vocabulary": ("ln V, a uniform guess", "--"),
    "baseline_loss": ("unigram entropy, what biases alone reach", "-."),
    "loss_floor": ("entropy rate of the source, the floor", ":"),
    "x_zero_loss": ("entropy given the symbol before (x = 0)", ":"),
}


def panels(study, question, count, rows=1, size=None):
    """A figure with its question, the setup under it, and `rows` rows of `count` panels; a single panel is itself.

    size: inches, of the whole figure.
    """
    sns.set_theme(style="ticks", context="notebook", font_scale=0.85)
    matplotlib.rcParams["svg.hashsalt"] = "initscope"
    usual = (5.4 * count + 3.0 * (count == 1), 4.6) if rows == 1 else (3.6 * count + 1.5, 3.1 * rows + 1)
    figure, axes = plt.subplots(rows, count, figsize=size or usual, layout="constrained", squeeze=False)
    figure.suptitle(f"{question}\n", fontsize=12, fontweight="bold")
    figure.supxlabel(study.caption(), fontsize=8, color="0.35")
    return figure, axes if rows > 1 else axes[0] if count > 1 else axes[0][0]


def references(ax, study, *columns):
    """Horizontal lines at the losses that mean something; of a text, whose floor is not known, where x = 0 instead."""
    for column in columns:
        if np.isnan(study.cells[column].iloc[0]):
            column = "x_zero_loss"
        label, dashes = NAMES[column]
        ax.axhline(study.cells[column].iloc[0], color="0.3", lw=0.9, ls=dashes, label=label, zorder=0)


def beside(ax, title):
    """The legend to the right of a plot, where it hides nothing."""
    ax.legend(title=title, fontsize=8, title_fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)


def noted(ax, count, what):
    """What is left out is said on the plot."""
    if count:
        remark(ax, f"{count} {what}")


def remark(ax, words):
    """Words on the plot that must not be missed."""
    ax.text(0.02, 0.98, words, transform=ax.transAxes, va="top", fontsize=8, color=OUTCOMES["diverged"])


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


def main_axis(ax, study):
    """The values of the study's main axis, spelled as everywhere; on a log axis where they are positive numbers."""
    if study.numeric:
        log_axis(ax, "x")
    if len(study.labels) <= 12:
        ax.set_xticks(study.ordered if study.numeric else range(len(study.labels)), study.labels)
    ax.set_xlabel(study.named)


def saved(figure):
    """{"svg": bytes, "png": bytes}, equal from run to run: no date, no version, a fixed salt for ids."""
    figure.get_layout_engine().execute(figure)
    figure.set_layout_engine("none")  # laid out once, not once a format
    files = {}
    for kind, about in (("svg", {"Date": None, "Creator": None}), ("png", {"Software": None})):
        out = io.BytesIO()
        figure.savefig(out, format=kind, dpi=130, metadata=about)
        files[kind] = out.getvalue()
    plt.close(figure)
    return files
