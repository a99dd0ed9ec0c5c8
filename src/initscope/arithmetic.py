"""How this process computes: in which mode, and what it makes of numbers next to 0."""

import os
from contextlib import contextmanager

import torch


def portable():
    """Is it in the portable mode? (`compute` brings it there.)"""
    return torch.backends.cpu.get_cpu_capability() == "AVX2" and os.environ.get("MKL_CBWR") == "COMPATIBLE"


@contextmanager
def without_subnormals():
    """On the CPU, in this thread: what is nearer to 0 than 1.2e-38 is 0.

    A CPU takes a hundred times as long for a number in that range. At large stds a hundredth of the attention weights
    and of the activations' slopes lie there, and training would take a quarter longer for them.
    """
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
