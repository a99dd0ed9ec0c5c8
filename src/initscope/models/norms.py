"""Norms over the last dimension (a row's features) or, for batchnorm, over the rows; scale and offset are learnable."""

import torch
import torch.nn.functional as F

EPS = 1e-5


def normalized(p, name, x, norm):
    """x (rows, width) after the norm whose scale and offset are p[name + ".scale"], p[name + ".offset"]."""
    return NORMS[norm](p, name, x)


def layernorm(p, name, x):
    return F.layer_norm(x, x.shape[-1:], p[f"{name}.scale"], p[f"{name}.offset"], EPS)


def rmsnorm(p, name, x):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPS) * p[f"{name}.scale"]


def batchnorm(p, name, x):
    """By the statistics of the batch. (F.batch_norm has other bits in a stack.)"""
    c = x - x.mean(0)
    return c * torch.rsqrt((c * c).mean(0) + EPS) * p[f"{name}.scale"] + p[f"{name}.offset"]


NORMS = {
    "none": lambda p, name, x: x,
    "layernorm": layernorm,
    "rmsnorm": rmsnorm,
    "batchnorm": batchnorm,
}
