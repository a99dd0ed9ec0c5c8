"""All claims at a glance: a row each, a mark for every case, and the verdict."""

import textwrap

import matplotlib.pyplot as plt
import seaborn as sns

from initscope.claims.claim import FIRST, OWN, SECOND, held, kind

COLORS = {
    "holds": "#1b9e77",
    "holds within limits": "#7570b3",
    "does not hold here": "#d95f02",
    "not tested": "#999999",
}
WIDTH = 105  # letters of a claim in one line


def at_a_glance(found):
    """found: (claim, cases, why there are none) of every claim."""
    sns.set_theme(style="white", context="notebook", font_scale=0.85)
    plt.rcParams["svg.hashsalt"] = "initscope"
    figure, ax = plt.subplots(figsize=(16.5, 0.33 * (len(found) + 5)), layout="constrained")
    most = max([len(cases) for _, cases, _ in found] + [1])
    y = 0.0
    for source in (FIRST, SECOND, OWN):
        part = [each for each in found if each[0].source == source]
        if part:
            ax.text(-0.5, y, source, fontsize=9.5, fontweight="bold", va="center")
            for i, (claim, cases, _) in enumerate(part):
                line(ax, y + i + 1, claim, cases, most)
            y += len(part) + 1.5
    ax.set(xlim=(-0.6, most + 6), ylim=(y - 0.5, -0.8))
    ax.axis("off")
    figure.suptitle("Which claims of the two texts hold here?", fontsize=13, fontweight="bold")
    figure.supxlabel("a mark a case: filled where it holds; numbers, intervals and limits in claims.md", fontsize=8.5)
    return figure


def line(ax, y, claim, cases, most):
    """One claim: its words on the left, its cases, its verdict on the right."""
    verdict = kind(cases)
    ax.text(-0.8, y, textwrap.shorten(claim.says, WIDTH, placeholder=" ..."), ha="right", va="center", fontsize=8.5)
    for i, case in enumerate(cases):
        face = COLORS[verdict] if case.holds else "none"
        ax.plot([i], [y], marker="o", ms=6.5, mfc=face, mec=COLORS[verdict], mew=1.2)
    said = f"{verdict}: {len(held(cases))} of {len(cases)}" if verdict == "holds within limits" else verdict
    ax.text(most + 0.3, y, said, va="center", fontsize=8.5, color=COLORS[verdict], fontweight="bold")
