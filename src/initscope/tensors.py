"""Named arrays as safetensors bytes. (Kept apart from Parquet, so that an Arrow update redraws no weights.)"""

import json

from safetensors.numpy import load, save


def pack(arrays, **about):
    """{name: array} -> bytes, with `about` as JSON under the metadata key `initscope`.

    One key, because safetensors writes several in an order that changes from process to process.
    """
    return save(arrays, {"initscope": json.dumps(about, sort_keys=True)})


def unpack(data):
    """bytes -> {name: array}, by name (safetensors returns them in an order that changes from process to process)."""
    return dict(sorted(load(data).items()))


def about(data):
    """The metadata of packed arrays: scheme, std, seed, digest."""
    size = int.from_bytes(data[:8], "little")
    return json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["initscope"])
