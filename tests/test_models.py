"""Every network against an independent one (reference_networks.py): each probe and each gradient."""

import math
from itertools import product

import numpy as np
import pytest
import torch
from helpers import Memory, mlp, study
from reference_networks import mlp as reference_mlp
from reference_networks import part, shapes
from reference_networks import transformer as reference_transformer

from initscope.batches import order
from initscope.models import transformer
from initscope.tables import rows
from initscope.tensors import unpack

NORMS = ("none", "layernorm", "rmsnorm", "batchnorm")


def agree(cells):
    """The audit of one cell against the independent network in float64: rms of every probe and gradient to 1e-4.

    (float32 against float64; 1e-4 of the largest rms for what cancels, such as biases before a norm.)
    """
    made = Memory(cells, ["corpus", "init", "audit"])
    settings = next(a.spec for a in made.plan if a.stage == "audit")["settings"]
    model, vocabulary = settings["model"], settings["corpus"]["vocabulary"]
    p = {name: torch.from_numpy(value).double().requires_grad_() for name, value in made.weights().items()}
    assert {name: tuple(x.shape) for name, x in p.items()} == shapes(
        model, vocabulary, settings["corpus"].get("features")
    )
    inputs, targets = batch(made, settings)
    logits, out = (reference_mlp if model["kind"] == "mlp" else reference_transformer)(p, inputs, model)
    streams = {key: x for key, x in out.items() if key[0].endswith("stream") or key[0] == "embedding"}
    for x in streams.values():
        x.retain_grad()
    torch.nn.functional.cross_entropy(logits, targets).backward()
    wanted = {(*key, "forward"): x.detach() for key, x in out.items()}
    wanted |= {(*key, "backward"): x.grad for key, x in streams.items()}
    wanted |= {(*part(name), "backward"): x.grad for name, x in p.items()}
    found = {(r["probe"], r["layer"], r["direction"]): r for r in rows(made.bytes("audit")["cell"]["signals.parquet"])}
    largest = max(float(x.square().mean().sqrt()) for x in wanted.values())
    for key, x in wanted.items():
        assert found[key]["rms"] == pytest.approx(float(x.square().mean().sqrt()), rel=1e-4, abs=1e-6 * largest), key
    assert {key for key in found.keys() - wanted.keys() if key[2] == "backward"} == set()


def batch(made, settings):
    """The first batch, from the corpus file."""
    corpus = unpack(made.bytes("corpus")["cell"]["examples.safetensors"])
    first = lambda x: torch.from_numpy(x[order(settings["batches"], len(x), 1)[0]])
    if settings["model"]["kind"] == "mlp":
        return first(corpus["training_inputs"]).double(), first(corpus["training_targets"])
    tokens = first(corpus["training"])[:, : settings["model"]["context"] + 1]
    return tokens[:, :-1], tokens[:, 1:].flatten()


@pytest.mark.parametrize(("norm", "position"), [*product(NORMS, ("pre", "post"))])
def test_transformers(norm, position):
    agree(study(model={"norm": norm, "norm_position": position}, init={"std": 0.3}))


@pytest.mark.parametrize("change", [{"gated": True, "activation": "silu"}, {"tied_head": True}])
def test_gated_and_tied(change):
    agree(study(model=change, init={"std": 0.3}))


@pytest.mark.parametrize("activation", ["identity", "relu", "leaky_relu", "elu", "gelu", "silu", "tanh", "sigmoid"])
def test_activations(activation):
    agree(mlp(model={"activation": activation}, init={"std": 0.5}))


@pytest.mark.parametrize(("norm", "residual"), [*product(NORMS, (False, True))])
def test_plain_networks(norm, residual):
    agree(mlp(model={"norm": norm, "residual": residual, "layers": 5}, init={"scheme": "he_normal"}))


def test_a_tied_head_is_one_tensor():
    """E4 of the public cases: drawn once, by the embedding's rule, and counted once."""
    made = Memory(study(model={"tied_head": True}), ["corpus", "init", "audit"])
    tensors = [row["tensor"] for row in made.rows("audit", "parameters.parquet")]
    assert "head.weight" not in tensors and tensors.count("token_embedding.weight") == 1


def test_batchnorm_evaluates_in_batches_as_it_trains():
    """24 validation inputs in batches of 10: three even parts of 8, each by its own statistics."""
    cells = mlp(model={"norm": "batchnorm"}, batches={"size": 10}, init={"scheme": "he_normal"})
    made = Memory(cells, ["corpus", "init", "audit"])
    settings = next(a.spec for a in made.plan if a.stage == "audit")["settings"]
    corpus = unpack(made.bytes("corpus")["cell"]["examples.safetensors"])
    p = {name: torch.from_numpy(value).double() for name, value in made.weights().items()}
    x, y = torch.from_numpy(corpus["validation_inputs"]).double(), torch.from_numpy(corpus["validation_targets"])
    losses = [
        torch.nn.functional.cross_entropy(reference_mlp(p, x[i : i + 8], settings["model"])[0], y[i : i + 8])
        for i in (0, 8, 16)
    ]
    signals = {row["probe"]: row["mean"] for row in made.rows("audit", "signals.parquet") if row["layer"] is None}
    assert signals["loss_validation"] == pytest.approx(float(np.mean([float(x) for x in losses])), rel=1e-5)


@pytest.mark.parametrize("far", [1e30, math.inf, math.nan])
def test_a_score_that_is_not_finite_stays_hidden_from_earlier_tokens(far):
    """Token 0 sees itself alone, so that it takes its own value over, whatever its score with a later token is."""
    q, k, v = torch.ones(3, 2, 3, 4)  # two cells, three tokens, width 4
    q[:, 0], k[:, 2] = 1e20, far
    k[:, 0], v[:, 0] = 0.0, 5.0
    mixed = transformer.attention(q, k, v, context=3, heads=1, at=lambda probe, value: value)
    assert (mixed[:, 0] == 5.0).all()
