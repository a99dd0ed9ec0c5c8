"""The matrix product of the networks: torch's, or NumPy's where the bits are to be the same on every CPU.

torch's library has one code path with the same bits on every CPU, the one for the oldest of them. OpenBLAS, which is
NumPy's, has a path for every kind of CPU and takes the one that is named; on that for AVX2 a product takes less than
half the time.
"""

import numpy as np
import torch
from torch.autograd.function import once_differentiable

from initscope.arithmetic import portable


def product(a, b):
    """a (..., rows, inner) b (..., inner, columns) -> (..., rows, columns), matrix by matrix."""
    return ByNumPy.apply(a, b) if portable() and a.device.type == "cpu" else a @ b


class ByNumPy(torch.autograd.Function):
    """C = A B;  dA = dC B^T, dB = A^T dC"""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return multiplied(a, b)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        a, b = ctx.saved_tensors
        of_a, of_b = ctx.needs_input_grad
        return multiplied(gradient, b.mT) if of_a else None, multiplied(a.mT, gradient) if of_b else None


@np.errstate(over="ignore", invalid="ignore")  # cells that overflow are recorded as such; torch does not warn either
def multiplied(a, b):
    return torch.from_numpy(np.matmul(a.detach().numpy(), b.detach().numpy()))
