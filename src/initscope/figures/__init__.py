"""Figures: which there are, and what a study must have for each. (No drawing here: the planner reads this.)"""

# {figure: the stages that measure what it shows, the kind of model that has it, the axes that it compares}
# (plane: two axes of numbers, see `plane`)
FIGURES = {
    "parameter_std": {"audit"},
    "signal_depth": {"audit"},
    "attention": {"audit", "transformer"},
    "initial_loss": {"audit"},
    "loss_curves": {"train"},
    "final_loss": {"train"},
    "zones": {"zone"},
    "cascade": {"cascade"},
    "map": {"sweep", "plane"},
    "variance": {"audit", "mlp", "scheme", "seed"},
    "depth": {"audit", "mlp", "norm", "layers", "std"},
    "interaction": {"train", "activation", "norm", "scheme", "factor"},
    "residual": {"audit", "transformer", "scheme", "layers"},
}
USUAL = (
    "parameter_std",
    "signal_depth",
    "attention",
    "initial_loss",
    "loss_curves",
    "final_loss",
    "zones",
    "cascade",
    "map",
)


def possible(stages, kind, axes):
    """The figures of a study with these stages, kind of model and {axis: values}."""
    has = {*stages, kind, *axes, *(["plane"] if plane(axes) else [])}
    return [name for name, needs in FIGURES.items() if needs <= has]


def plane(axes):
    """The first two axes of several positive numbers, the seed aside: those that a map is drawn over; None without."""
    found = [axis for axis, values in axes.items() if axis != "seed" and len(values) > 1 and all(map(positive, values))]
    return tuple(found[:2]) if len(found) > 1 else None


def positive(value):
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def usual(possible):
    """What is drawn where a study does not say."""
    return tuple(name for name in possible if name in USUAL)
