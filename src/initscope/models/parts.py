"""What the networks share: probes on the way, and linear maps."""

import torch

from initscope.models.products import product


class Probes:
    """Keeps every named value of a forward pass in `out`, unless told not to; adds the tap where there is one.

    A tap is zeros: adding it changes no bit, and its gradient is the gradient at that point.
    """

    def __init__(self, taps=None, keep=True):
        self.out, self.taps, self.keep = {}, taps or {}, keep

    def __call__(self, probe, layer, value):
        tap = self.taps.get((probe, layer))
        value = value if tap is None else value + tap
        if self.keep:
            self.out[probe, layer] = value
        return value


def linear(p, x, *names):
    """x W^T + b; several maps that read one input are one product."""
    weight = joined([p[f"{name}.weight"] for name in names], -2)
    bias = joined([p[f"{name}.bias"] for name in names], -1)
    return affine(x, weight, bias)


def affine(x, weight, bias):
    """x (cells, rows, fan_in) W^T + b (cells, rows, fan_out), of every cell by its own W (fan_out, fan_in) and b."""
    return product(x, weight.mT).add_(of_rows(bias))


def joined(tensors, dim):
    return tensors[0] if len(tensors) == 1 else torch.cat(tensors, dim)


def of_rows(vector):
    """A cell's vector (cells, width), to go with every one of its rows (cells, rows, width)."""
    return vector.unsqueeze(-2)
