"""The figures that every study can have. The title asks the question that the figure answers."""

import numpy as np
import seaborn as sns

from initscope.figures.axes import OUTCOMES, beside, log_axis, main_axis, noted, panels, references
from initscope.figures.study import RANGE


def parameter_std(study):
    drawn = study.parameters[study.parameters["z"].notna()]
    figure, (left, right) = panels(study, "Does every tensor start with the std that its scheme declares?", 2)
    sns.scatterplot(drawn, x="expected_std", y="measured_std", hue="kind", style="kind", ax=left)
    ends = np.array([drawn["expected_std"].min(), drawn["expected_std"].max()])
    left.plot(ends, ends, color="black", lw=0.8, zorder=0, label="measured = expected")
    log_axis(left, "x")
    log_axis(left, "y")
    left.set(xlabel="expected std of the weights: declared, after truncation", ylabel="measured std of the weights")
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
    beside(axes[1], study.named)
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
            x="at",
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
        *theory.groupby("at")["expected_rms"].first().reset_index().to_numpy().T,
        color="black",
        ls="--",
        label="predicted, block 0",
        zorder=0,
    )
    log_axis(left, "y")
    main_axis(left, study)
    main_axis(right, study)
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
        x="at",
        y="initial_loss_training_corpus",
        style=study.style,
        color="#1f78b4",
        alpha=0.7,
        ax=ax,
        **({} if study.style else {"label": "training corpus, each cell"}),
    )
    lost = int((~np.isfinite(study.cells["initial_loss_training_corpus"])).sum())
    predicted = study.cells.groupby("at")["predicted_initial_loss"].first().reset_index()
    ax.plot(predicted["at"], predicted["predicted_initial_loss"], color="black", ls="--", marker="_", label="predicted")
    references(ax, study, "ln_vocabulary", "loss_floor")
    main_axis(ax, study)
    log_axis(ax, "y")
    ax.set(ylabel="loss before the first update (nats)")
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
    ax.set(xlabel="updates made (0, then a log axis)", ylabel="validation loss (nats)")
    ax.set_xticks(sorted(rows["update"].unique()), [str(update) for update in sorted(rows["update"].unique())])
    ax.minorticks_off()
    ax.set_xlim(left=-0.15)
    beside(ax, study.named)
    noted(ax, int((~finite).sum()), "recorded values are not finite and not drawn")
    return figure


def final_loss(study):
    figure, ax = panels(study, "Where does each cell end, and what became of it?", 1)
    finite = np.isfinite(study.cells["final_loss_validation"])
    present = [name for name in OUTCOMES if name in set(study.cells["outcome"])]
    sns.scatterplot(
        study.cells[finite],
        x="at",
        y="final_loss_validation",
        hue="outcome",
        style=study.style,
        hue_order=present,
        palette=OUTCOMES,
        alpha=0.8,
        ax=ax,
    )
    references(ax, study, "ln_vocabulary", "baseline_loss", "loss_floor")
    main_axis(ax, study)
    log_axis(ax, "y")
    ax.set(ylabel=f"validation loss after {study.settings['training']['updates']} updates (nats)")
    edge = {"transform": ax.get_xaxis_transform(), "color": OUTCOMES["diverged"], "clip_on": False}
    for at, count in study.cells[~finite].groupby("at").size().items():
        ax.plot([at], [1.0], marker="^", **edge)
        ax.text(at, 1.02, f"{count} not finite", ha="center", fontsize=8, **edge)
    beside(ax, "outcome")
    return figure
