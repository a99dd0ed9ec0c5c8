"""What is computed of a tensor, and the quantities that are derived from the tensors of a forward pass."""

import numpy as np
import torch

from initscope.models.activations import ACTIVATIONS
from initscope.tables import QUANTILES

PEAKED = 0.99  # an attention row is peaked where its largest probability exceeds this
FLAT = 0.02  # a unit is saturated where |phi'| is below this; for tanh that is |h| > 0.99


def moments(values):
    """Mean, std, rms, extremes and the count of non-finite values, all accumulated in float64.

    (A float32 rms overflows once the values pass 1e19, though the values themselves go on to 1e38.)
    """
    x = values.astype(np.float64).ravel()
    with np.errstate(invalid="ignore", over="ignore"):
        lost = int((~np.isfinite(x)).sum())
        return {
            "mean": float(x.mean()),
            "measured_std": float(x.std()),
            "rms": float(np.sqrt((x * x).mean())),
            "min": float(x.min()),
            "max": float(x.max()),
            "n_nonfinite": lost,
            "finite": lost == 0,
        }


def quantiles(values):
    x = values.astype(np.float64).ravel()
    with np.errstate(invalid="ignore"):
        return dict(zip(QUANTILES, np.quantile(x, list(QUANTILES.values())).tolist()))


def sums_of_squares(stack):
    """Of every cell's tensor, in float64: (cells,). Row by row, so that a cell's sum does not depend on its stack."""
    with np.errstate(over="ignore", invalid="ignore"):
        rows = np.ascontiguousarray(stack.cpu().numpy(), dtype=np.float64).reshape(len(stack), -1)
        return np.square(rows).sum(1)


def norms_of(squares):
    """Euclidean norms over several tensors, from the sums of their squares."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.sqrt(sum(squares))


def quantities(out, model):
    """Yield (probe, layer, values) for the forward pass of one cell. out: as `transformer.forward` returns it."""
    for (probe, layer), value in out.items():
        if probe == "scores":
            yield probe, layer, visible(value)
        elif probe == "attention" and value.shape[-1] > 1:  # a context of one token has nothing to attend to
            yield "attention_entropy", layer, relative_entropy(value)
            yield "attention_peaked", layer, peaked(value)
        elif probe != "attention":
            yield probe, layer, value
        if probe in ("attention_update", "mlp_update"):
            yield f"{probe}_ratio", layer, row_norms(value) / row_norms(out[before(probe, layer, model)])
        if probe == "mlp_preactivation":
            flat = saturated(value, model)
            yield "mlp_saturated", layer, flat
            yield "mlp_dead", layer, flat.all(0)


def saturation(out, model):
    """{"saturated", "peaked"}: every cell's share of flat hidden units and of peaked attention rows, over all layers.

    out: of a whole stack, cells first. A ReLU that lets half of its inputs through has a share of 0.5. There is no
    "peaked" without attention.
    """
    shares = {
        "saturated": [saturated(x, model) for (probe, _), x in out.items() if probe == "mlp_preactivation"],
        "peaked": [peaked(x) for (probe, _), x in out.items() if probe == "attention" and x.shape[-1] > 1],
    }
    layers = {name: [x.flatten(1).double().mean(1) for x in parts] for name, parts in shares.items() if parts}
    return {name: (sum(parts) / len(parts)).tolist() for name, parts in layers.items()}


def saturated(preactivation, model):
    """Where |phi'| is below FLAT: a boolean for every hidden unit and row."""
    return slope(ACTIVATIONS[model["activation"]], preactivation).abs() < FLAT


def peaked(attention):
    """Which rows of at least two visible tokens put more than PEAKED on one: (..., context - 1) booleans."""
    return attention[..., 1:, :].amax(-1) > PEAKED


def before(update, layer, model):
    """The probe of the stream that an update is added to; an MLP's `mlp_stream` has the layer's own update in it."""
    return update.replace("update", "stream"), layer - (model["kind"] == "mlp")


def visible(scores):
    """The scores that a query may see: its own position and those before; all others are masked."""
    seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    return scores[..., seen]


def relative_entropy(attention):
    """H / ln t of every attention row over t >= 2 positions: 1 where attention is uniform, 0 where it takes one."""
    p = attention[..., 1:, :].double()
    possible = torch.arange(2, p.shape[-1] + 1, dtype=torch.float64).log()
    return (0.0 - (p * p.clamp_min(torch.finfo(p.dtype).tiny).log()).sum(-1)) / possible


def row_norms(x):
    """Norm of every token's vector (not torch's sqrt, whose last bit depends on the CPU)."""
    return torch.from_numpy(np.sqrt(np.square(x.double().numpy()).sum(-1)))


def slope(phi, x):
    """phi'(x), elementwise."""
    x = x.detach().requires_grad_()
    (found,) = torch.autograd.grad(phi(x).sum(), x)
    return found
