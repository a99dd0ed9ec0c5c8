"""Stage `sweep`: training that keeps the curves of a cell and no weights, for grids of thousands of cells.

The initial weights are drawn in the job. They and the updates are those of the stages `init` and `train`, bit for bit;
the loss on the whole training corpus is left out, since it takes as long as many updates.
"""

from initscope import stack as stacked
from initscope.init import weights
from initscope.tables import write
from initscope.training import train


def make(stack, read):
    cells = [spec["settings"] for spec in stack.values()]
    drawn = stacked.stacked([weights(cell) for cell in cells], cells[0])
    _, curves = train(drawn, stacked.examples(stack, read), cells, whole=False)
    for (digest, spec), curve in zip(stack.items(), curves):
        yield digest, {"curves.parquet": write("curves", spec["axes"], curve)}
