"""Stage `audit`: every scale that the initial weights set, before any update.

The parameter table compares each tensor with what its scheme declares; the signal table measures one batch forward
and backward, and the losses on the batch, the training corpus and the validation sequences.
"""

import numpy as np
import torch

from initscope import stack as stacked
from initscope.batches import order
from initscope.models.layout import tensors
from initscope.probes import moments, quantiles, quantities
from initscope.schemes import chosen, declared
from initscope.tables import write
from initscope.theory import mlp, transformer
from initscope.theory.rounding import prediction

TOLERANCE = 4.0  # standard errors; a sound tensor fails once in 16,000


def make(stack, read):
    weights = stacked.weights(stack, read)
    signals = measured(stack, weights, stacked.examples(stack, read))
    for i, (digest, spec) in enumerate(stack.items()):
        parameters = parameter_rows(spec["settings"], {name: value[i].cpu().numpy() for name, value in weights.items()})
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
    """Does a tensor start as declared? A constant by equality; else its std by a z-score, its bound, its angles."""
    if start.constant is not None:
        return {"check": bool((values == np.float32(start.constant)).all())}
    x = values.astype(np.float64)
    c = x - x.mean()
    z = (x.std() - start.expected_std) / start.standard_error(x.size)
    return {
        "kurtosis": float((c**4).mean() / (c**2).mean() ** 2) if x.size > 1 else None,
        "largest": float(np.abs(x).max() / start.expected_std),
        "z": float(z),
        "check": bool(abs(z) <= TOLERANCE and within(start.bound, x) and shaped(start, x)),
    }


def within(bound, x):
    """Is nothing larger than what the distribution can give (up to float32's rounding)?"""
    return bound is None or np.abs(x).max() <= bound * (1 + 1e-6)


def shaped(start, x):
    """Are the rows or columns of an orthogonal tensor orthonormal, up to the scale and float32's rounding?"""
    if start.distribution != "orthogonal":
        return True
    few = x if x.shape[0] <= x.shape[1] else x.T
    gram = few @ few.T / (start.std**2 * few.shape[1])
    return np.abs(gram - np.eye(len(gram))).max() < 1e-5


def measured(stack, weights, examples):
    """Run the whole stack; returns i -> the signal rows of cell i."""
    settings = next(iter(stack.values()))["settings"]
    model, size = settings["model"], settings["batches"]["size"]
    first = order(settings["batches"], len(examples["training"][0]), 1)[0]
    batch = tuple(part[first] for part in examples["training"])
    found = stacked.gradients(weights, batch, model, stacked.taps(weights, batch, model))[1:]
    out, gradients, stream_gradients = ({key: value.cpu() for key, value in part.items()} for part in found)
    losses = {
        "loss_batch": stacked.losses(weights, batch, model, size),
        "loss_training_corpus": stacked.losses(weights, examples["training"], model, size),
        "loss_validation": stacked.losses(weights, examples["validation"], model, size),
    }
    named = {t.name: (t.part, t.layer) for t in tensors(model, settings["corpus"])}
    predicted = expectations(stack, batch)

    def rows(i):
        forward = [
            *quantities({key: value[i] for key, value in out.items()}, model),
            *((probe, None, torch.from_numpy(values[i])) for probe, values in losses.items()),
        ]
        yield from (row(probe, layer, "forward", x, predicted[i]) for probe, layer, x in forward)
        yield from (row(*key, "backward", x[i], predicted[i]) for key, x in stream_gradients.items())
        yield from (row(*key, "backward", gradients[name][i], predicted[i]) for name, key in named.items())

    return rows


def row(probe, layer, direction, values, expected):
    values = values.numpy()
    found = {
        "probe": probe,
        "layer": layer,
        "direction": direction,
        "n": values.size,
        **moments(values),
        **quantiles(values),
    }
    predicted = {column: prediction(value) for column, value in expected.get((probe, layer, direction), {}).items()}
    found |= {f"expected_{column}": value for column, value in predicted.items()}
    for column in predicted.keys() & {"rms", "mean"}:
        found["relative_error"] = found[column] / predicted[column] - 1 if predicted[column] else None
    return found


PREDICT = {"transformer": transformer.predict, "mlp": mlp.predict}


def expectations(stack, batch):
    """What theory predicts of every cell: a list of {(probe, layer, direction): {"rms" or "mean", "scatter"}}.

    From the declared stds and the batch; the draw itself does not enter, so cells that differ in seed alone share it.
    """
    inputs, targets = (part.cpu().numpy() for part in batch)
    known, found = {}, []
    for spec in stack.values():
        settings = spec["settings"]
        named = tensors(settings["model"], settings["corpus"])
        stds = {t.name: declared(t, chosen(settings)).expected_std for t in named}
        key = tuple(stds.values())
        if key not in known:
            known[key] = PREDICT[settings["model"]["kind"]](
                settings["model"], stds, inputs, targets, settings["corpus"]["vocabulary"]
            )
        found.append(known[key])
    return found
