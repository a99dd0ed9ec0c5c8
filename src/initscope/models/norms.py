"""Norms over the last dimension (a row's features) or, for batchnorm, over the rows; scale and offset are learnable."""

import torch
import torch.nn.functional as F

from initscope.models.parts import of_rows

EPS = 1e-5


def normalized(p, name, x, norm):
    """x (cells, rows, width) after the norm whose scale and offset are p[name + ".scale"], p[name + ".offset"]."""
    return NORMS[norm](p, name, x)


def layernorm(p, name, x):
    return scaled(p, name, F.layer_norm(x, x.shape[-1:], eps=EPS))


def rmsnorm(p, name, x):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPS) * of_rows(p[f"{name}.scale"])


def batchnorm(p, name, x):
    """By the statistics of the batch. (F.batch_norm has other bits in a stack.)"""
    c = x - x.mean(-2, keepdim=True)
    return scaled(p, name, c * torch.rsqrt((c * c).mean(-2, keepdim=True) + EPS))


def scaled(p, name, x):
    return torch.addcmul(of_rows(p[f"{name}.offset"]), x, of_rows(p[f"{name}.scale"]))


NORMS = {
    "none": lambda p, name, x: x,
    "layernorm": layernorm,
    "rmsnorm": rmsnorm,
    "batchnorm": batchnorm,
}
