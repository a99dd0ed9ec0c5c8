"""Schemes, layout and the initial weights."""

import math
import subprocess
import sys

import numpy as np
import pytest
from helpers import PUBLISHED, Memory, study

from initscope import tensors
from initscope.models import layout
from initscope.schemes import drawn

MODEL = PUBLISHED.setup["model"]
LAYOUT = layout.tensors(MODEL, {"vocabulary": 8})


def test_the_layout_counts_the_published_network():
    # by hand: embeddings; two blocks of four square maps, an MLP and two norms; the final norm; the head
    block = 4 * (24 * 24 + 24) + (24 * 96 + 96) + (96 * 24 + 24) + 4 * 24
    assert sum(math.prod(t.shape) for t in LAYOUT) == 8 * 24 + 16 * 24 + 2 * block + 48 + 8 * 24 + 8
    assert len({t.name for t in LAYOUT}) == len(LAYOUT)


def test_fans_are_those_of_the_logical_tensor():
    fans = {t.name: (t.fan_in, t.fan_out) for t in LAYOUT}
    assert fans["layers.0.mlp_in.weight"] == (24, 96)
    assert fans["layers.1.mlp_out.weight"] == (96, 24)
    assert fans["token_embedding.weight"] == (8, 24)  # a lookup: one-hot of the vocabulary in, width out
    assert fans["head.bias"] == (None, None)


@pytest.mark.parametrize("norm, per_norm", [("layernorm", 2), ("rmsnorm", 1), ("none", 0)])
def test_norms_bring_their_tensors(norm, per_norm):
    found = layout.tensors({**MODEL, "norm": norm}, {"vocabulary": 8})
    assert sum(t.kind.startswith("norm") for t in found) == 5 * per_norm


def test_constants_are_what_the_source_fixes():
    kinds = {t.kind: drawn(t, {"scheme": "normal", "std": 0.1, "seed": 7}) for t in LAYOUT if not t.fan_in}
    assert (kinds["bias"] == 0).all() and (kinds["norm_scale"] == 1).all() and (kinds["norm_offset"] == 0).all()


def test_a_tensors_draw_depends_on_nothing_else():
    """Not on depth, norm or the other tensors: the same names have the same draws in a deeper, unnormed network."""
    init = {"scheme": "normal", "std": 0.1, "seed": 7}
    other = {t.name: t for t in layout.tensors({**MODEL, "layers": 5, "norm": "none"}, {"vocabulary": 8})}
    for tensor in (t for t in LAYOUT if t.fan_in):
        assert np.array_equal(drawn(tensor, init), drawn(other[tensor.name], init))


def test_two_stds_of_a_seed_are_one_unit_draw():
    """What `scale` claims: weights of two cells differ by float32(std) alone."""
    made = Memory(study({"seed": [7, 8], "std": [0.001, 0.1, 3.0]}, small=False), ["corpus", "init"])
    unit = {t.name: drawn(t, {"scheme": "normal", "std": 1.0, "seed": 8}) for t in LAYOUT}
    for std in (0.001, 0.1, 3.0):
        weights = made.weights("init", f"seed~8/std~{std!r}")
        for tensor in (t for t in LAYOUT if t.fan_in):
            assert np.array_equal(weights[tensor.name], np.float32(std) * unit[tensor.name])
    assert not np.array_equal(made.weights("init", "seed~7/std~0.1")["head.weight"], weights["head.weight"])


def test_corpus_and_batch_seeds_leave_the_weights_alone():
    first = Memory(study(), ["corpus", "init"]).weights()
    other = Memory(study(corpus={"seed": 99}, batches={"seed": 98}), ["corpus", "init"]).weights()
    assert all(np.array_equal(first[name], other[name]) for name in first)


def test_the_file_says_how_it_was_drawn():
    made = Memory(study(), ["corpus", "init"])
    (key,) = [a.digest for a in made.plan if a.stage == "init"]
    assert tensors.about(made.files[key]["weights.safetensors"]) == {
        "scheme": "normal",
        "std": 0.1,
        "factor": 1.0,
        "seed": 7,
        "digest": key,
    }


def test_packed_bytes_are_the_same_in_every_process():
    # safetensors writes several metadata keys in an order that changes from process to process
    program = (
        "import hashlib, numpy as np; from initscope.tensors import pack;"
        "print(hashlib.sha256(pack({c: np.zeros(3) for c in 'abcdef'}, std=0.1, seed=7, scheme='x')).hexdigest())"
    )
    run = [sys.executable, "-c", program]
    hashes = {
        subprocess.run(
            run, capture_output=True, text=True, check=True, env={"PYTHONPATH": "src", "PYTHONHASHSEED": str(seed)}
        ).stdout
        for seed in range(4)
    }
    assert len(hashes) == 1


@pytest.mark.parametrize("module", ["init", "corpora.markov", "corpora.text", "run", "orders", "targets"])
def test_nothing_here_imports_torch(module):
    program = f"import sys, initscope.{module}; print([m for m in ('torch', 'pandas', 'pyarrow') if m in sys.modules])"
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"PYTHONPATH": "src"}
    )
    assert found.stdout.strip() == "[]"
