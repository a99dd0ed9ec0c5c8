"""The matrix products that a computation makes, how long they take alone, and how long every kernel takes in it."""

import math
import time
from collections import Counter

import torch
from torch.utils._python_dispatch import TorchDispatchMode

# {operation: where its two matrices stand among its arguments}
OPERATIONS = {torch.ops.aten.mm: 0, torch.ops.aten.bmm: 0, torch.ops.aten.addmm: 1, torch.ops.aten.baddbmm: 1}


class Products(TorchDispatchMode):
    """While it is active, `made` takes both operands' (shape, strides) of every product, forward and backward.

    Shapes have three dimensions, as torch.bmm's; of a product of two single matrices the first is 1.
    """

    def __init__(self):
        super().__init__()
        self.made = []

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        first = OPERATIONS.get(operation.overloadpacket)
        if first is not None:
            self.made.append(tuple(layout(x) for x in args[first : first + 2]))
        return operation(*args, **(kwargs or {}))


class Kernels(TorchDispatchMode):
    """While it is active, `seconds` takes the time of every operation by name. What watching costs is not in it."""

    def __init__(self):
        super().__init__()
        self.seconds = Counter()

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        start = time.perf_counter()
        found = operation(*args, **(kwargs or {}))
        self.seconds[operation.overloadpacket.__name__] += time.perf_counter() - start
        return found


def layout(x):
    x = x if x.dim() == 3 else x.unsqueeze(0)
    return tuple(x.shape), x.stride()


def like(layout):
    """A float32 tensor of this shape and these strides, with values between -1 and 1."""
    shape, strides = layout
    size = 1 + sum((n - 1) * stride for n, stride in zip(shape, strides))
    return torch.linspace(-1, 1, size).as_strided(shape, strides)


def alone(made):
    """A function that makes the same products in the same order, with torch.bmm and nothing else."""
    operands = {layouts: tuple(map(like, layouts)) for layouts in set(made)}
    sequence = [operands[layouts] for layouts in made]

    def products():
        for a, b in sequence:
            torch.bmm(a, b)

    return products


def operations(made):
    """Additions and multiplications of these products."""
    return sum(2 * math.prod(a) * b[2] for (a, _), (b, _) in made)
