"""What the networks share: probes on the way, and linear maps."""

import torch


class Probes:
    """Keeps every named value of a forward pass in `out`; adds the tap where there is one.

    A tap is zeros: adding it changes no bit, and its gradient is the gradient at that point.
    """

    def __init__(self, taps=None):
        self.out, self.taps = {}, taps or {}

    def __call__(self, probe, layer, value):
        tap = self.taps.get((probe, layer))
        self.out[probe, layer] = value if tap is None else value + tap
        return self.out[probe, layer]


def linear(p, x, *names):
    """x W^T + b; several maps that read one input are one product."""
    weight, bias = (joined([p[f"{name}.{part}"] for name in names]) for part in ("weight", "bias"))
    return x @ weight.T + bias


def joined(tensors):
    return tensors[0] if len(tensors) == 1 else torch.cat(tensors)
