"""Stage `figures`: those that the study names, as SVG and PNG."""

from initscope.figures import boundary, comparison, learning, standard
from initscope.figures.axes import saved
from initscope.figures.study import Study


def make(stack, read):
    for digest, spec in stack.items():
        study = Study(spec, read)
        files = {}
        for name in spec["figures"]:
            files |= {f"{name}.{kind}": data for kind, data in saved(drawing(name)(study)).items()}
        yield digest, files


def drawing(name):
    """The function that draws a figure, by its name."""
    return next(getattr(module, name) for module in (standard, comparison, learning, boundary) if hasattr(module, name))
