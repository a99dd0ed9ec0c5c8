import math

import numpy as np
import pytest
import torch
from eager import loaded
from helpers import Memory, mlp, study

from initscope import stack, training
from initscope.batches import order
from initscope.marks import marks
from initscope.spelling import spelled
from initscope.tensors import unpack


@pytest.fixture(scope="module")
def made():
    return Memory(study(training={"updates": 12}), ["corpus", "init", "audit", "train"])


def test_subnormal_numbers_are_0_in_training_and_only_there(monkeypatch):
    """The least normal number of float32 is 2^-126, 1.2e-38."""
    half, seen = (lambda: float(torch.tensor([2.0**-126]) / 2)), []
    monkeypatch.setattr(training, "signals", lambda *_: seen.append(half()))
    Memory(study(), ["corpus", "init", "train"])
    assert set(seen) == {0.0} and half() == 2.0**-127


def test_it_agrees_with_an_ordinary_eager_loop(made):
    """torch.nn modules and torch.optim.Adam, the same batches: losses within 1e-5."""
    spec = next(a.spec for a in made.plan if a.stage == "train")
    corpus = unpack(made.bytes("corpus")["cell"]["examples.safetensors"])["training"]
    batches = torch.from_numpy(corpus[order(spec["settings"]["batches"], len(corpus), 13)])
    network = loaded(spec["settings"]["model"], 8, made.weights("init"))
    adam = torch.optim.Adam(network.parameters(), lr=0.003, betas=(0.9, 0.999), eps=1e-8)
    losses = []
    for batch in batches:
        loss = torch.nn.functional.cross_entropy(network(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        losses.append(loss.item())
        adam.zero_grad()
        loss.backward()
        if len(losses) <= 12:
            adam.step()
    ours = [row["training_loss"] for row in made.rows("train", "curves.parquet")]
    assert ours == pytest.approx(losses, abs=1e-5)
    # a key bias has no gradient (softmax does not see it): Adam blows its rounding noise up, in both
    for name, value in ((n, v) for n, v in network.state_dict().items() if not n.endswith("key.bias")):
        ours = name.replace("norm.weight", "norm.scale").replace("norm.bias", "norm.offset")
        assert np.allclose(made.weights("train")[ours], value.numpy(), atol=1e-4), name


def test_marks():
    assert sorted(marks(200)) == [0, 1, 2, 5, 10, 20, 50, 100, 200]
    assert sorted(marks(137)) == [0, 1, 2, 5, 10, 20, 50, 100, 137]
    assert marks(1) == {0, 1}


def test_rows_before_the_first_and_after_the_last_update(made):
    rows = made.rows("train", "curves.parquet")
    assert [row["update"] for row in rows] == list(range(13))
    assert [row["update"] for row in rows if row["recorded"]] == sorted(marks(12))
    assert [row["update"] for row in rows if row["training_corpus_loss"] is not None] == [0, 12]
    for row in rows:
        assert (row["validation_loss"] is not None) == row["recorded"] == (row["gradient_norm"] is not None)
        assert (row["update_ratio"] is not None) == (row["recorded"] and row["update"] > 0)


def test_saturation_is_the_audits_over_all_layers(made):
    first, *_, last = made.rows("train", "curves.parquet")
    audit = made.rows("audit", "signals.parquet")
    for column, probe in (("saturated", "mlp_saturated"), ("peaked", "attention_peaked")):
        shares = [row["mean"] for row in audit if row["probe"] == probe]
        assert first[column] == pytest.approx(sum(shares) / 2, rel=1e-12), "two layers of equal size"
        assert 0 <= last[column] <= 1
    assert made.rows("train", "curves.parquet")[3]["saturated"] is None, "update 3 is not recorded"


def test_a_network_without_attention_has_no_peaked_rows():
    rows = Memory(mlp(training={"updates": 1}, stages=["train"]), ["corpus", "init", "train"]).rows(
        "train", "curves.parquet"
    )
    assert all(row["peaked"] is None and 0 < row["saturated"] < 1 for row in rows), "ReLU lets a part through"


def test_row_zero_is_before_any_update(made):
    """B3 of the public cases: a 'step 0' that is evaluated after the first update is no starting point."""
    first = made.rows("train", "curves.parquet")[0]
    audit = {
        row["probe"]: row["mean"] for row in made.rows("audit", "signals.parquet") if row["direction"] == "forward"
    }
    assert first["validation_loss"] == audit["loss_validation"]
    assert first["training_corpus_loss"] == audit["loss_training_corpus"]
    assert first["training_loss"] == pytest.approx(audit["loss_batch"], rel=1e-6)


def test_gradient_norms_by_kind_add_up(made):
    first = made.rows("train", "curves.parquet")[0]
    kinds = [value for name, value in first.items() if name.startswith("gradient_norm_") and value is not None]
    assert math.sqrt(sum(value**2 for value in kinds)) == pytest.approx(first["gradient_norm"], rel=1e-12)


def test_the_final_weights_are_those_of_the_last_row(made):
    assert not np.array_equal(made.weights("train")["head.weight"], made.weights("init")["head.weight"])


def test_a_cell_whose_loss_is_no_number_leaves_the_stack(monkeypatch):
    """SGD at a rate of 1e10 blows the weights up within a few updates, 0.01 does not: two of four cells are left."""
    sizes, gradients = [], stack.gradients
    monkeypatch.setattr(stack, "gradients", lambda *args: sizes.append(len(args[0]["head.bias"])) or gradients(*args))
    cells = mlp({"learning_rate": [0.01, 1e10, 0.02, 2e10]}, training={"updates": 12}, stages=["train"])
    made = Memory(cells, ["corpus", "init", "train"])
    assert sizes[0] == 4 and sizes[-1] == 2 and len(sizes) == 13
    for rate in (1e10, 2e10):
        rows = made.rows("train", "curves.parquet", f"learning_rate~{spelled(rate)}")
        assert [row["update"] for row in rows] == list(range(13))
        lost = next(i for i, row in enumerate(rows) if math.isnan(row["training_loss"]))
        assert 0 < lost < 10 and all(math.isnan(row["training_loss"]) and not row["finite"] for row in rows[lost:])
        for name, value in rows[-1].items():
            unmeasured = rows[0][name] is None and name != "update_ratio"
            assert unmeasured or name in ("update", "recorded", "finite", "learning_rate") or math.isnan(value), name
    assert made.rows("train", "curves.parquet", "learning_rate~0.02")[-1]["finite"]


def test_the_final_weights_of_a_lost_cell_are_those_of_its_last_loss():
    """So they are those of a training that ends there."""
    cells = lambda updates: mlp({"learning_rate": [0.01, 1e10]}, training={"updates": updates}, stages=["train"])
    made = Memory(cells(12), ["corpus", "init", "train"])
    cell = f"learning_rate~{spelled(1e10)}"
    rows = made.rows("train", "curves.parquet", cell)
    lost = next(row["update"] for row in rows if math.isnan(row["training_loss"]))
    there = Memory(cells(lost), ["corpus", "init", "train"])
    ends = [unpack(m.bytes("train")[cell]["weights.safetensors"]) for m in (made, there)]
    assert all(np.array_equal(ends[0][name], ends[1][name], equal_nan=True) for name in ends[1])
