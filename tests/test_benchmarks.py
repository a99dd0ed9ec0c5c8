"""What benchmarks/ compares is comparable: the contenders train our cells, and what it would refuse is refused."""

import math
import time
from importlib.metadata import PackageNotFoundError

import pandas as pd
import pytest
import side_by_side
import torch
from contenders import eager
from helpers import SMALL, Memory, refused, study
from products import Kernels, Products, alone, operations
from side_by_side import OTHERS, OURS, TOLERANCE, bounds, compare

from initscope.marks import marks
from initscope.models.products import product

AXES = {"seed": [7, 8], "std": [0.02, 0.1]}


def series(*values, seed=7):
    """Validation losses of one cell."""
    index = pd.MultiIndex.from_product([[seed], [0.1], range(len(values))], names=["seed", "std", "update"])
    return pd.Series(values, index, name="validation_loss")


def test_an_ordinary_loop_has_our_losses():
    """At every recorded update of every cell, to the tolerance with which the benchmark compares them."""
    made = Memory(study(AXES), ["corpus", "init", "train"])
    for artifact in (a for a in made.plan if a.stage == "train"):
        settings, cell = artifact.cell.settings, artifact.cell.path
        found = eager.train(settings, made.weights("init", cell), eager.corpus(settings))
        rows = [row for row in made.rows("train", "curves.parquet", cell) if row["recorded"]]
        assert [row["update"] for row in found] == [row["update"] for row in rows] == sorted(marks(6))
        ours = [row["validation_loss"] for row in rows]
        assert [row["validation_loss"] for row in found] == pytest.approx(ours, rel=TOLERANCE)


def test_the_tables_of_both_sides_are_read_alike(tmp_path):
    rows = [{"update": 0, "validation_loss": 2.5}, {"update": 1, "validation_loss": math.nan}]
    eager.save(tmp_path / "8_0.1.csv", rows, 8, 0.1)
    curve = pd.DataFrame([*rows, {"update": 2, "validation_loss": None}]).assign(seed=8, std=0.1)
    curve.assign(recorded=curve["update"] < 2).to_parquet(tmp_path / "curve.parquet")
    theirs, ours = (side_by_side.losses([tmp_path / name]) for name in ("8_0.1.csv", "curve.parquet"))
    assert theirs.equals(ours) and theirs.index.tolist() == [(8, 0.1, 0), (8, 0.1, 1)]


def test_losses_are_bound_to_the_tolerance_until_rounding_decides_them():
    single, double = series(2.0, 3.0, 4.0, 5.0), series(2.0, 3.0, 4.04, 5.0)
    rounding = 10 * (1 - 4 / 4.04)
    assert bounds(single, double).tolist() == pytest.approx([TOLERANCE, TOLERANCE, rounding, rounding])
    assert bounds(single, single).tolist() == [TOLERANCE] * 4


def test_other_losses_are_refused_in_a_line():
    ours, bound = series(2.0, 3.0, 4.0), series(TOLERANCE, TOLERANCE, 0.1)
    assert compare("x", series(2.0, 3.00001, 4.3), ours, bound).max() == pytest.approx(0.075)
    assert refused(lambda: compare("x", series(2.0, 3.0001, 4.0), ours, bound)).startswith(
        "x: seed 7, std 0.1, update 1"
    )
    assert "update 2: loss 4.5, and 4.0" in refused(lambda: compare("x", series(2.0, 3.0, 4.5), ours, bound))
    assert "other cells" in refused(lambda: compare("x", series(2.0, 3.0, 4.0, seed=8), ours, bound))


def test_a_loss_that_is_not_finite_must_be_so_on_both_sides():
    bound = series(TOLERANCE)
    assert compare("x", series(math.nan), series(math.inf), bound).tolist() == [0.0]
    for found, ours in ((math.nan, 2.0), (2.0, math.nan), (math.inf, 2.0), (2.0, math.inf)):
        refused(lambda found=found, ours=ours: compare("x", series(found), series(ours), bound))


def test_a_contender_that_is_not_installed_has_a_row_that_says_how_to_get_it(monkeypatch):
    def absent(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(side_by_side, "distribution", absent)
    contenders = [OURS, *OTHERS.values()]
    seconds = {each.name: [2.0, 4.0, 3.0] for each in contenders if side_by_side.installed(each)}
    rows = list(side_by_side.table(seconds, contenders))
    assert len(rows) == 2 + len(OTHERS) + 1
    assert [row for row in rows if "pip install -e '.[bench]'" in row] == [rows[-1]] and "Hydra" in rows[-1]
    assert "| initscope | 3.0 (2.0 to 4.0) | 1.00 (1.00 to 1.00) | nothing |" in rows


@pytest.mark.parametrize("multiply", [torch.matmul, product])
def test_products_are_noted_forward_and_backward(multiply):
    """y = x W by hand, in a stack of two: x W, then the gradients x^T g and g W^T; torch's, and NumPy's."""
    x, w = torch.ones(2, 3, 5, requires_grad=True), torch.ones(2, 7, 5, requires_grad=True)
    with Products() as products:
        multiply(x, w.mT).sum().backward()
    forward, *backward = [(a, b) for (a, _), (b, _) in products.made]
    assert forward == ((2, 3, 5), (2, 5, 7))
    assert sorted(backward) == [((2, 3, 7), (2, 7, 5)), ((2, 5, 3), (2, 3, 7))]
    assert operations(products.made) == 3 * 2 * (2 * 3 * 5 * 7)
    assert products.made[0][1] == ((2, 5, 7), (35, 1, 5)), "a transposed matrix keeps its strides"
    with Products() as again:
        alone(products.made, multiply)()
    assert again.made == products.made


def test_kernels_are_timed_forward_and_backward():
    x = torch.ones(2, 300, 300, requires_grad=True)
    start = time.perf_counter()
    with Kernels() as spent:
        product(x @ x, x).tanh().sum().backward()
    assert {"bmm", "matmul", "tanh", "tanh_backward", "sum"} <= spent.seconds.keys()
    assert min(spent.seconds.values()) > 0 and spent.seconds.total() < time.perf_counter() - start


@pytest.mark.slow
@pytest.mark.parametrize("contender", [c for c in OTHERS.values() if side_by_side.installed(c)], ids=lambda c: c.name)
def test_contenders_run_and_have_our_losses(contender):
    """The commands that are timed, in a folder of their own, on small cells."""
    asked = side_by_side.config(1, 2)
    for section, keys in SMALL.items():
        asked["setup"][section].update({key: value for key, value in keys.items() if key != "updates"})
    asked["studies"]["scale"]["axes"]["std"] = [0.02, 0.1]
    (_, found), (_, ours) = (side_by_side.run(each, asked) for each in (contender, OURS))
    assert compare(contender.name, found, ours, ours * 0 + TOLERANCE).notna().all()
    assert len(found) == 2 * len(marks(2))
