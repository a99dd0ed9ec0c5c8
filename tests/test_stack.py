"""A cell has the same bits alone, in any stack, and beside cells that overflow."""

from math import prod

import pytest
from helpers import Memory, mlp, study
from hypothesis import given, settings
from hypothesis import strategies as st

from initscope.models.activations import ACTIVATIONS
from initscope.models.norms import NORMS

STAGES = ["corpus", "init", "audit", "train"]


def same(one, other):
    for stage in ("audit", "train"):
        mine, theirs = one.bytes(stage), other.bytes(stage)
        assert mine.keys() == theirs.keys()
        for cell in mine:
            for name, data in mine[cell].items():
                assert theirs[cell][name] == data, (stage, cell, name)


@pytest.mark.parametrize("norm", ["layernorm", "rmsnorm", "none", "batchnorm"])
@pytest.mark.parametrize("activation", ["gelu", "relu", "silu"])
@pytest.mark.parametrize("small", [study, mlp])
def test_stack_size_changes_no_byte(small, norm, activation):
    cells = small({"std": [0.1, 1.0, 1e12], "seed": [7, 8]}, model={"norm": norm, "activation": activation})
    together = Memory(cells, STAGES)
    same(Memory(cells, STAGES, stack=1), together)
    same(Memory(cells, STAGES, stack=4), together)


def drawn(data, most):
    """A random small study of 1 to `most` cells, all of one stack, some of which may overflow.

    All that a setup accepts may come; batchnorm of one example is refused (tests/test_setup.py).
    """
    draw = lambda name, *values: data.draw(st.sampled_from(values), label=name)
    size = lambda name, least, greatest: data.draw(st.integers(least, greatest), label=name)
    kind, norm = draw("kind", "transformer", "mlp"), draw("norm", *NORMS)
    axes = {"std": draw("stds", [0.1], [0.02, 1e15], [5e8, 0.1, 1e20])}
    axes |= draw("axes", {}, {"learning_rate": [0.1, 0.001]}, {"optimizer": ["adam", "sgd"]})
    axes = {"seed": list(range(size("seeds", 1, most // prod(map(len, axes.values()))))), **axes}
    over = {
        "batches": {"size": size("batch", 2 if norm == "batchnorm" else 1, 9)},
        "training": {"updates": size("updates", 1, 4), "momentum": draw("momentum", 0.0, 0.9)},
        "compute": {"stack": most},
        **(transformer(draw, size) if kind == "transformer" else plain(draw, size)),
    }
    over["model"] |= {"kind": kind, "norm": norm, "activation": draw("activation", *ACTIVATIONS)}
    return study(axes, **over)


def transformer(draw, size):
    heads = size("heads", 1, 4)
    model = {
        "layers": size("layers", 1, 4),
        "width": heads * size("head width", 1, 9),
        "heads": heads,
        "mlp_width": size("mlp_width", 1, 40),
        "context": size("context", 1, 16),
        "norm_position": draw("norm_position", "pre", "post"),
        "gated": draw("gated", False, True),
        "tied_head": draw("tied_head", False, True),
    }
    return {"model": model, "corpus": {"length": 17, "vocabulary": size("vocabulary", 2, 20)}}


def plain(draw, size):
    gaussian = {"source": "gaussian", "variance": 2.0, "features": size("features", 1, 20), "vocabulary": 3}
    corpus = {**draw("corpus", {"source": "digits"}, gaussian), "training_examples": 30, "validation_examples": 17}
    model = {"layers": size("layers", 2, 5), "width": size("width", 1, 40), "residual": draw("residual", False, True)}
    return {"model": model, "corpus": {**corpus, "seed": 3}}


@settings(max_examples=8)
@given(st.data())
def test_each_cell_alone_is_the_cell_in_its_stack(data):
    cells = drawn(data, most=6)
    same(Memory(cells, STAGES, stack=1), Memory(cells, STAGES))


@pytest.mark.slow
@settings(max_examples=80)
@given(st.data())
def test_each_cell_alone_is_the_cell_in_a_stack_of_up_to_64(data):
    cells = drawn(data, most=64)
    same(Memory(cells, STAGES, stack=1), Memory(cells, STAGES))


def test_a_cell_that_overflows_is_recorded_and_its_neighbours_are_untouched():
    axes = {"std": [0.1, 1e20]}
    both = Memory(study(axes, model={"norm": "none"}))
    alone = Memory(study({"std": [0.1]}, model={"norm": "none"}), STAGES)
    assert both.bytes("train")["std~0.1"] == alone.bytes("train")["std~0.1"]
    (cell,) = [row for row in both.rows("summary", "cells.parquet", "std~0.1") if row["std"] == 1e20]
    assert (cell["outcome"], cell["diverged_at"]) == ("diverged", 0)
    assert "update 0" in cell["evidence"]


def test_cells_whose_gradients_are_not_numbers_have_the_same_bytes():
    """A NaN's sign differed from stack to stack; found by a random small setup."""
    sizes = {"layers": 2, "width": 1, "heads": 1, "mlp_width": 1, "context": 16}
    cells = study(
        {"seed": [0, 1, 2], "std": [0.02, 1e15], "optimizer": ["adam", "sgd"]},
        batches={"size": 2},
        training={"updates": 3},
        model={**sizes, "activation": "identity", "norm": "none"},
        corpus={"length": 17, "vocabulary": 2},
    )
    same(Memory(cells, STAGES, stack=1), Memory(cells, STAGES))


def test_everything_else_is_equal_across_the_ablation():
    """One corpus, one batch order, one network; weights differ by float32(std), as test_init shows of the bytes."""
    made = Memory(study({"seed": [7, 8], "std": [0.01, 0.1]}), ["corpus", "init"])
    specs = [a.spec for a in made.plan if a.stage == "train"]
    assert len({spec["upstream"]["corpus"] for spec in specs}) == 1
    varied = [{k: v for k, v in spec["settings"].items() if k != "init"} for spec in specs]
    assert all(settings == varied[0] for settings in varied)
    inits = [{k: v for k, v in spec["settings"]["init"].items() if k not in ("seed", "std")} for spec in specs]
    assert all(init == inits[0] for init in inits)
