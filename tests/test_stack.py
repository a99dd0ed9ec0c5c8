"""A cell has the same bits alone, in any stack, and beside cells that overflow."""

import pytest
from helpers import Memory, mlp, study
from hypothesis import given, settings
from hypothesis import strategies as st

STAGES = ["corpus", "init", "audit", "train"]


def same(one, other):
    for stage in ("audit", "train"):
        mine, theirs = one.bytes(stage), other.bytes(stage)
        for cell in mine.keys() & theirs.keys():
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


ACTIVATIONS = ("identity", "relu", "leaky_relu", "elu", "gelu", "silu", "tanh", "sigmoid")
NORMS = ("none", "layernorm", "rmsnorm", "batchnorm")


def drawn(data):
    """A random small study, and a stack size below its number of cells."""
    draw = lambda name, *values: data.draw(st.sampled_from(values), label=name)
    kind = draw("kind", "transformer", "mlp")
    shared = {
        "kind": kind,
        "layers": draw("layers", 2, 3, 4),
        "activation": draw("activation", *ACTIVATIONS),
        "norm": draw("norm", *NORMS),
    }
    axes = {"seed": list(range(draw("seeds", 1, 3, 9))), "std": draw("stds", [0.1], [0.02, 1e15])}
    axes |= draw("axes", {}, {"learning_rate": [0.1, 0.001]}, {"optimizer": ["adam", "sgd"]})
    over = {
        "batches": {"size": draw("batch", 2, 3, 8)},
        "training": {"updates": 3, "momentum": draw("momentum", 0.0, 0.9)},
    }
    over |= transformer(draw, shared) if kind == "transformer" else plain(draw, shared)
    return study(axes, **over), draw("stack", 1, 2, 5)


def transformer(draw, shared):
    heads = draw("heads", 1, 2, 3)
    model = {
        "width": heads * draw("head width", 1, 3, 4, 5),
        "heads": heads,
        "mlp_width": draw("mlp_width", 1, 7, 13, 16),
        "context": draw("context", 1, 5, 16),
        "norm_position": draw("norm_position", "pre", "post"),
        "gated": draw("gated", False, True),
        "tied_head": draw("tied_head", False, True),
    }
    return {"model": {**shared, **model}, "corpus": {"length": 17, "vocabulary": draw("vocabulary", 2, 5, 8)}}


def plain(draw, shared):
    gaussian = {"source": "gaussian", "variance": 2.0, "features": draw("features", 1, 5, 16), "vocabulary": 3}
    corpus = {**draw("corpus", {"source": "digits"}, gaussian), "training_examples": 30, "validation_examples": 17}
    model = {"width": draw("width", 1, 7, 16, 33), "residual": draw("residual", False, True)}
    return {"model": {**shared, **model}, "corpus": {**corpus, "seed": 3}}


@settings(max_examples=8)
@given(st.data())
def test_some_small_setups(data):
    cells, stack = drawn(data)
    same(Memory(cells, STAGES, stack=stack), Memory(cells, STAGES))


@pytest.mark.slow
@settings(max_examples=50)
@given(st.data())
def test_many_small_setups(data):
    cells, stack = drawn(data)
    same(Memory(cells, STAGES, stack=stack), Memory(cells, STAGES))


def test_a_cell_that_overflows_is_recorded_and_its_neighbours_are_untouched():
    axes = {"std": [0.1, 1e20]}
    both = Memory(study(axes, model={"norm": "none"}))
    alone = Memory(study({"std": [0.1]}, model={"norm": "none"}), STAGES)
    assert both.bytes("train")["std~0.1"] == alone.bytes("train")["std~0.1"]
    (cell,) = [row for row in both.rows("summary", "cells.parquet", "std~0.1") if row["std"] == 1e20]
    assert (cell["outcome"], cell["diverged_at"]) == ("diverged", 0)
    assert "update 0" in cell["evidence"]


def test_cells_whose_gradients_are_not_numbers_have_the_same_bytes():
    """A NaN's sign differed from stack to stack; found by test_many_small_setups."""
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
