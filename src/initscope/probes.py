"""What is computed of a tensor, and the quantities that are derived from the tensors of a forward pass."""

import numpy as np
import torch
from torch.func import vjp

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


def norm(*arrays):
    """Euclidean norm over all entries, in float64."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.sqrt(sum(np.square(array.astype(np.float64).ravel()).sum() for array in arrays)))


def quantities(out, model):
    """Yield (probe, layer, values) for the forward pass of one cell. out: as `transformer.forward` returns it."""
    for (probe, layer), value in out.items():
        if probe == "scores":
            yield probe, layer, visible(value)
        elif probe == "attention" and value.shape[-1] > 1:  # a context of one token has nothing to attend to
            yield "attention_entropy", layer, relative_entropy(value)
            yield "attention_peaked", layer, value[..., 1:, :].amax(-1) > PEAKED
        elif probe != "attention":
            yield probe, layer, value
        if probe in ("attention_update", "mlp_update"):
            yield f"{probe}_ratio", layer, row_norms(value) / row_norms(out[before(probe, layer, model)])
        if probe == "mlp_preactivation":
            flat = slope(ACTIVATIONS[model["activation"]], value).abs() < FLAT
            yield "mlp_saturated", layer, flat
            yield "mlp_dead", layer, flat.all(0)


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
    return vjp(phi, x)[1](torch.ones_like(x))[0]
