"""Words for what differs: between two specs, and between recorded and computed bytes."""

import json

import numpy as np
import pytest

from initscope import tables, tensors
from initscope.reproduce import difference
from initscope.why import differences, flat

SPEC = {"settings": {"training": {"updates": 200}}, "libraries": {"numpy": "2.4.6"}, "code": "a", "machine": "x86_64"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"settings": {"training": {"updates": 400}}}, ["training.updates 200 -> 400"]),
        ({"settings": {"training": {}}}, ["training.updates 200 -> absent"]),
        ({"libraries": {"numpy": "2.5.0"}}, ["numpy changed: 2.4.6 -> 2.5.0"]),
        ({"code": "b"}, ["its code changed"]),
        ({"machine": "aarch64"}, ["made on x86_64, this is aarch64"]),
        ({}, []),
    ],
)
def test_what_differs_between_two_specs(change, said):
    assert list(differences(SPEC, {**SPEC, **change})) == said


def test_flat():
    assert flat({"a": {"b": {"c": 1}}, "d": 2}) == {"a.b.c": 1, "d": 2}


def pack(**arrays):
    return tensors.pack({name: np.array(values, dtype=np.float32) for name, values in arrays.items()})


def curve(*losses):
    rows = [{"update": i, "recorded": True, "training_loss": loss, "finite": True} for i, loss in enumerate(losses)]
    return tables.write("curves", {"std": 0.1}, rows)


def test_equal_bytes_have_no_difference():
    assert difference(pack(a=[1.0]), pack(a=[1.0]), "weights.safetensors") is None


def test_a_difference_is_named_by_tensor_with_its_size():
    found = difference(pack(a=[1.0, 2.0], b=[3.0]), pack(a=[1.0, 2.5], b=[3.0]), "weights.safetensors")
    assert found == "a by 0.5"


def test_a_difference_is_named_by_column_with_its_size():
    assert difference(curve(2.0, 1.0), curve(2.0, 1.25), "curves.parquet") == "training_loss by 0.25"
    assert difference(curve(2.0, np.nan), curve(2.0, np.nan), "curves.parquet") is None


def test_differences_of_other_files():
    before, after = (json.dumps({"x": x, "outcome": "slow"}).encode() for x in (1.0, 3.0))
    assert difference(before, after, "metrics.json") == "x by 2"
    assert difference(b"<svg>a</svg>", b"<svg>b</svg>", "figure.svg") == "1 bytes differ"
