"""The matrix products that a computation makes, how long they take alone, and how long every kernel takes in it."""

import math
import time
from collections import Counter
from unittest.mock import patch

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from initscope.models import products

OPERATIONS = {torch.ops.aten.mm, torch.ops.aten.bmm, np.matmul}


class Watch(TorchDispatchMode):
    """While it is active, `seen` is given every operation, its arguments and what computes it: torch's, and NumPy's."""

    def __enter__(self):
        multiply = products.multiplied
        noted = lambda *args: self.seen(np.matmul, args, lambda: multiply(*args))
        self.of_numpy = patch.object(products, "multiplied", noted)
        self.of_numpy.start()
        return super().__enter__()

    def __exit__(self, *fault):
        self.of_numpy.stop()
        return super().__exit__(*fault)

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        return self.seen(operation.overloadpacket, args, lambda: operation(*args, **(kwargs or {})))


class Products(Watch):
    """While it is active, `made` takes both operands' (shape, strides) of every product, forward and backward."""

    def __init__(self):
        super().__init__()
        self.made = []

    def seen(self, operation, args, made):
        if operation in OPERATIONS:
            self.made.append(tuple((tuple(x.shape), x.stride()) for x in args))
        return made()


class Kernels(Watch):
    """While it is active, `seconds` takes the time of every operation by name. What watching costs is not in it."""

    def __init__(self):
        super().__init__()
        self.seconds = Counter()

    def seen(self, operation, args, made):
        start = time.perf_counter()
        found = made()
        self.seconds[operation.__name__] += time.perf_counter() - start
        return found


def like(layout):
    """A float32 tensor of this shape and these strides, with values between -1 and 1."""
    shape, strides = layout
    size = 1 + sum((n - 1) * stride for n, stride in zip(shape, strides))
    return torch.linspace(-1, 1, size).as_strided(shape, strides)


def batched(x):
    """As torch.bmm takes it, in three dimensions."""
    return x.reshape(-1, *x.shape[-2:])


def alone(made, multiply, shaped=batched):
    """A function that makes the same products in the same order, and nothing else."""
    operands = {layouts: tuple(shaped(like(layout)) for layout in layouts) for layouts in set(made)}
    sequence = [operands[layouts] for layouts in made]

    def by_themselves():
        for a, b in sequence:
            multiply(a, b)

    return by_themselves


def operations(made):
    """Additions and multiplications of these products."""
    return sum(2 * math.prod(a) * b[-1] for (a, _), (b, _) in made)
