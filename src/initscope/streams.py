"""Named random streams: every random number of the project comes from one."""

import hashlib
import json

import numpy as np


def stream(purpose, seed, name=""):
    """A `numpy.random.Generator` keyed by exactly (purpose, seed, name).

    What one stream draws does not depend on which other streams exist or on the order they are used in: adding a
    layer, another norm or another corpus seed moves no other tensor's draw.
    """
    identity = json.dumps([purpose, seed, name]).encode()
    key = np.frombuffer(hashlib.sha256(identity).digest()[:16], dtype="<u8")
    return np.random.Generator(np.random.Philox(key=key))
