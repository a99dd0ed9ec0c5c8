"""Where audit and training run. What needs a GPU runs where torch finds one, and is reported as not run elsewhere."""

import numpy as np
import pytest
import torch
from helpers import Memory, refused, study
from test_compute import python

from initscope.tables import rows


def on(device, **over):
    """The published setup at four stds; with a GPU, on it."""
    compute = {"device": device, "determinism": "portable" if device == "cpu" else "native"}
    return study({"std": [0.01, 0.1, 1.0, 1e20]}, small=False, compute=compute, **over)


@pytest.mark.parametrize(("device", "mend"), [("cuda", "nvidia-smi"), ("gpu", "write cpu"), (0, "write cpu")])
def test_a_device_is_the_cpu_or_a_gpu_by_its_name(device, mend):
    said = refused(lambda: study(compute={"device": device, "determinism": "native"}))
    assert f"compute.device: {device!r}: " in said and mend in said


def test_a_gpu_has_no_portable_bits():
    said = refused(lambda: study(compute={"device": "cuda NVIDIA H200"}))
    assert "compute.device: 'cuda NVIDIA H200'" in said and "compute.determinism: native" in said


def test_the_gpu_is_in_the_record_of_what_it_computes_and_in_no_other():
    digests = lambda device: {a.stage: a.digest for a in Memory(on(device), stages=()).plan}
    one, other = digests("cuda NVIDIA H200"), digests("cuda NVIDIA A100")
    assert {stage for stage in one if one[stage] != other[stage]} == {"audit", "train", "summary", "figures"}


def test_another_gpu_than_the_named_is_refused_in_one_line():
    program = "from initscope import compute; compute.before_torch('native'); compute.settle('native', 'cuda no such')"
    done = python(program)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("compute.device: cuda no such: this machine has ")


# ---- with a GPU ------------------------------------------------------------------------------------------------------

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU here")


@pytest.fixture(scope="module")
def made():
    """(on the CPU, on the GPU, there again); each {stage: ...} of the same cells."""
    device = f"cuda {torch.cuda.get_device_name()}"
    torch.use_deterministic_algorithms(True)
    yield Memory(on("cpu")), Memory(on(device)), Memory(on(device))
    torch.use_deterministic_algorithms(False)


@needs_gpu
def test_a_gpu_repeats_its_bits(made):
    _, once, again = made
    assert all(once.bytes(stage) == again.bytes(stage) for stage in ("init", "audit", "train", "summary"))


@needs_gpu
def test_initial_weights_are_the_cpus_bit_for_bit(made):
    cpu, gpu, _ = made
    assert cpu.bytes("init") == gpu.bytes("init")


@needs_gpu
def test_the_audit_agrees_with_the_cpus(made):
    """rms of everything within 1e-4, of cells whose numbers are finite; of what cancels, of the largest rms."""
    cpu, gpu, _ = made
    for cell in ("std~0.01", "std~0.1", "std~1.0"):
        one, other = (rows(m.bytes("audit")[cell]["signals.parquet"]) for m in (cpu, gpu))
        largest = max(row["rms"] for row in one)
        for a, b in zip(one, other):
            assert b["rms"] == pytest.approx(a["rms"], rel=1e-4, abs=1e-6 * largest), (cell, a["probe"], a["layer"])


@needs_gpu
def test_losses_of_cells_that_learn_agree_with_the_cpus_after_training(made):
    cpu, gpu, _ = made
    cells = {row["std"]: row for row in rows(cpu.bytes("summary")[next(iter(cpu.bytes("summary")))]["cells.parquet"])}
    learned = [std for std, row in cells.items() if row["outcome"] == "learned"]
    assert learned
    for std in learned:
        one, other = (m.rows("train", "curves.parquet", f"std~{std}")[-1]["validation_loss"] for m in (cpu, gpu))
        assert np.isclose(one, other, rtol=0, atol=1e-3), std
