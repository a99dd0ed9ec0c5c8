"""Figures: which there are, and what a study must have for each. (No drawing here: the planner reads this.)"""

# {figure: the stages that measure what it shows, the kind of model that has it, the axes that it compares}
FIGURES = {
    "parameter_std": {"audit"},
    "signal_depth": {"audit"},
    "attention": {"audit", "transformer"},
    "initial_loss": {"audit"},
    "loss_curves": {"train"},
    "final_loss": {"train"},
    "zones": {"zone"},
    "cascade": {"cascade"},
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
)


def possible(has):
    """The figures of a study that has these stages, kind of model and axes."""
    return [name for name, needs in FIGURES.items() if needs <= has]


def usual(possible):
    """What is drawn where a study does not say."""
    return tuple(name for name in possible if name in USUAL)
