"""Stage `audit`: every scale that the initial weights set, before any update.

The parameter table compares each tensor with what its scheme declares; the signal table measures one batch forward
and backward, and the losses on the batch, the training corpus and the validation sequences.
"""

import numpy as np
import torch

from initscope import stack as stacked
from initscope import theory
from initscope.batches import order
from initscope.models.layout import tensors
from initscope.probes import moments, quantiles, quantities
from initscope.schemes import chosen, declared
from initscope.tables import write

TOLERANCE = 4.0  # standard errors; a sound tensor fails once in 16,000


def make(stack, read):
    weights = stacked.weights(stack, read)
    signals = measured(stack, weights, stacked.examples(stack, read))
    for i, (digest, spec) in enumerate(stack.items()):
        parameters = parameter_rows(spec["settings"], {name: value[i].numpy() for name, value in weights.items()})
        yield (
            digest,
            {
                "parameters.parquet": write("parameters", spec["axes"], parameters),
                "signals.parquet": write("signals", spec["axes"], signals(i)),
            },
        )


def parameter_rows(settings, weights):
    """One row per parameter tensor of one cell."""
    for tensor in tensors(settings["model"], settings["corpus"]):
        start, values = declared(tensor, chosen(settings)), weights[tensor.name]
        yield {
            "tensor": tensor.name,
            "kind": tensor.kind,
            "layer": tensor.layer,
            "shape": "x".join(str(size) for size in tensor.shape),
            "numel": values.size,
            "fan_in": tensor.fan_in,
            "fan_out": tensor.fan_out,
            "scheme": settings["init"]["scheme"],
            "distribution": start.distribution,
            "declared_std": start.std,
            "expected_std": start.expected_std,
            **moments(values),
            **checked(start, values),
        }


def checked(start, values):
    """Does a tensor start as declared? Its std by a z-score, a constant by equality."""
    if start.constant is not None:
        return {"check": bool((values == np.float32(start.constant)).all())}
    x = values.astype(np.float64)
    c = x - x.mean()
    z = (x.std() - start.expected_std) / start.standard_error(x.size)
    return {
        "kurtosis": float((c**4).mean() / (c**2).mean() ** 2) if x.size > 1 else None,
        "largest": float(np.abs(x).max() / start.expected_std),
        "z": float(z),
        "check": bool(abs(z) <= TOLERANCE),
    }


def measured(stack, weights, examples):
    """Run the whole stack; returns i -> the signal rows of cell i."""
    settings = next(iter(stack.values()))["settings"]
    model, size = settings["model"], settings["batches"]["size"]
    first = order(settings["batches"], len(examples["training"][0]), 1)[0]
    batch = tuple(part[first] for part in examples["training"])
    _, out, gradients, stream_gradients = stacked.gradients(weights, batch, model, stacked.taps(weights, batch, model))
    losses = {
        "loss_batch": stacked.losses(weights, batch, model, size),
        "loss_training_corpus": stacked.losses(weights, examples["training"], model, size),
        "loss_validation": stacked.losses(weights, examples["validation"], model, size),
    }
    named = {t.name: (t.part, t.layer) for t in tensors(model, settings["corpus"])}
    expectations = [expected(spec["settings"]) for spec in stack.values()]

    def rows(i):
        forward = [
            *quantities({key: value[i] for key, value in out.items()}, model),
            *((probe, None, torch.from_numpy(values[i])) for probe, values in losses.items()),
        ]
        yield from (row(probe, layer, "forward", x, expectations[i].get((probe, layer))) for probe, layer, x in forward)
        yield from (row(*key, "backward", x[i]) for key, x in stream_gradients.items())
        yield from (row(*key, "backward", gradients[name][i]) for name, key in named.items())

    return rows


def row(probe, layer, direction, values, expected=None):
    values = values.numpy()
    found = {
        "probe": probe,
        "layer": layer,
        "direction": direction,
        "n": values.size,
        **moments(values),
        **quantiles(values),
    }
    for column, value in (expected or {}).items():
        found |= {f"expected_{column}": value, "relative_error": found[column] / value - 1 if value else None}
    return found


def expected(settings):
    """{(probe, layer): {"rms" or "mean": value}} of one cell, from the declared stds; for independent normal weights.

    Known so far: everything up to the first attention scores, and, with a final norm, the logits and the loss. The
    final stream's mean square is taken as the embedding's; what the blocks add counts only where a norm's eps does not.
    """
    model, vocabulary = settings["model"], settings["corpus"]["vocabulary"]
    if model["kind"] == "mlp" or model["norm_position"] == "post" or model["tied_head"] or model["norm"] == "batchnorm":
        return {}
    std = {t.kind: declared(t, chosen(settings)).expected_std for t in tensors(model, settings["corpus"]) if t.fan_in}
    d, norm = model["width"], model["norm"]
    stream = std["token_embedding"] ** 2 + std["position_embedding"] ** 2
    h = theory.normalized_mean_square(stream, d, norm)
    qkv = {kind: theory.linear_mean_square(d, std[kind], h) for kind in ("query", "key", "value")}
    squares = {
        ("embedding", None): stream,
        ("attention_stream", 0): stream,
        ("attention_input", 0): h,
        **{(kind, 0): square for kind, square in qkv.items()},
        ("scores", 0): qkv["query"] * qkv["key"],
    }
    means = {}
    if norm != "none":
        logits = theory.linear_mean_square(d, std["head"], h)
        squares[("logits", None)] = logits
        loss = theory.initial_loss(vocabulary, logits)
        means = {(f"loss_{where}", None): loss for where in ("batch", "training_corpus", "validation")}
    return {
        **{key: {"rms": theory.prediction(np.sqrt(square))} for key, square in squares.items()},
        **{key: {"mean": theory.prediction(mean)} for key, mean in means.items()},
    }
