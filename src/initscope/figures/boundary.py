"""What becomes of cells over two axes, and where learning ends (after Sohl-Dickstein, arXiv:2402.06184)."""

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

from initscope.figures import plane
from initscope.figures.axes import OUTCOMES, log_axis, panels
from initscope.figures.study import axis_in_words, in_words

ACROSS = 4  # panels in a row


def map(study):
    """A panel for every combination of the axes that it does not run over, seeds too."""
    y, x = plane(study.axes)
    others = [axis for axis in study.axes if axis not in (x, y)]
    words = in_words(study.cells, others)
    parts = list(study.cells.groupby(words, sort=False)) if others else [("", study.cells)]
    rows, columns = -(-len(parts) // ACROSS), min(len(parts), ACROSS)
    size = (4.6 * columns + 3.8, 4.4 * rows + 1.0)
    figure, axes = panels(study, "Where is the boundary of what learns?", columns, rows, size)
    for ax in np.ravel(axes)[len(parts) :]:
        ax.remove()
    for ax, (title, cells) in zip(np.ravel(axes), parts):
        outcomes_and_boundary(ax, cells.pivot(index=y, columns=x, values="outcome"))
        ax.set(title=title, xlabel=axis_in_words(x), ylabel=axis_in_words(y))
    key(np.ravel(axes)[columns - 1], study.cells["outcome"].value_counts())
    return figure


def outcomes_and_boundary(ax, outcomes):
    """An image of the outcomes, a cell a rectangle, and a line along every edge between learned and not learned."""
    x, y = edges(outcomes.columns), edges(outcomes.index)
    colors, codes = ListedColormap(list(OUTCOMES.values())), outcomes.replace({o: i for i, o in enumerate(OUTCOMES)})
    image = codes.to_numpy(dtype=float)
    ax.pcolormesh(x, y, image, cmap=colors, vmin=-0.5, vmax=len(OUTCOMES) - 0.5, rasterized=True)
    ax.add_collection(LineCollection(boundary(image == 0, x, y), colors="black", lw=1.3, capstyle="projecting"))
    for which, ends in (("x", x), ("y", y)):
        ax.set(**{f"{which}lim": (ends[0], ends[-1])})
        log_axis(ax, which)


def edges(values):
    """The n + 1 edges of n cells on a log axis: halfway to the neighbours, and as far beyond the first and last."""
    logs = np.log10(np.array(values, dtype=float))
    middle = (logs[1:] + logs[:-1]) / 2
    return 10 ** np.concatenate([[2 * logs[0] - middle[0]], middle, [2 * logs[-1] - middle[-1]]])


def boundary(inside, x, y):
    """The edges between cells within and without, of inside (rows, columns): segments ((x, y), (x, y))."""
    row, column = np.nonzero(inside[:, 1:] != inside[:, :-1])
    upright = [((x[j + 1], y[i]), (x[j + 1], y[i + 1])) for i, j in zip(row, column)]
    row, column = np.nonzero(inside[1:] != inside[:-1])
    return upright + [((x[j], y[i + 1]), (x[j + 1], y[i + 1])) for i, j in zip(row, column)]


def key(ax, counts):
    """Outcomes and how many cells have them, to the right of a panel."""
    handles = [
        Patch(color=color, label=f"{name}: {counts[name]:,}") for name, color in OUTCOMES.items() if name in counts
    ]
    handles.append(LineCollection([], colors="black", lw=1.3, label="boundary of\nwhat learns"))
    where = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "frameon": False}
    ax.legend(handles=handles, title="outcome: cells", fontsize=8, title_fontsize=8, **where)
