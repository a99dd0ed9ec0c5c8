"""Activations whose bits do not depend on the stack."""

import torch
import torch.nn.functional as F

LANES = 16


def whole(phi):
    """phi, with the last dimension padded to whole vectors.

    torch takes a tensor's last few elements through a scalar loop whose erf, exp or tanh differs in the last bit from
    that of its vector loop: which elements of a cell are the last ones would depend on the size of its stack.
    """

    def padded(z):
        short = -z.shape[-1] % LANES
        return phi(F.pad(z, (0, short)))[..., : z.shape[-1]] if short else phi(z)

    return padded


ACTIVATIONS = {
    "identity": lambda z: z,
    "relu": F.relu,
    "leaky_relu": F.leaky_relu,  # slope 0.01
    "elu": whole(F.elu),  # alpha 1
    "gelu": whole(F.gelu),
    "silu": whole(F.silu),
    "tanh": whole(torch.tanh),
    "sigmoid": whole(torch.sigmoid),
}
