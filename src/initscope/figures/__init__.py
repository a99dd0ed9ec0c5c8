"""Figures: which there are, and what a study must have for each. (No drawing here: the planner reads this.)"""

# {figure: what it shows is measured by these stages, of these kinds of model}
FIGURES = {
    "parameter_std": {"audit"},
    "signal_depth": {"audit"},
    "attention": {"audit", "transformer"},
    "initial_loss": {"audit"},
    "loss_curves": {"train"},
    "final_loss": {"train"},
    "variance": {"audit", "mlp"},
    "depth": {"audit", "mlp"},
    "interaction": {"train"},
    "residual": {"audit", "transformer"},
}
USUAL = ("parameter_std", "signal_depth", "attention", "initial_loss", "loss_curves", "final_loss")


def possible(has):
    """The figures of a study that has these stages and this kind of model."""
    return [name for name, needs in FIGURES.items() if needs <= has]


def usual(possible):
    """What is drawn where a study does not say."""
    return tuple(name for name in possible if name in USUAL)
