"""`portable` and `native` are never mistaken for each other: each in a process of its own."""

import subprocess
import sys

import pytest

PROGRAMS = {
    "portable": "from initscope import compute; compute.settle('portable'); import torch; "
    "print(torch.backends.cpu.get_cpu_capability(), torch.backends.mkldnn.enabled, torch.get_num_threads())",
    "native": "import os; from initscope import compute; compute.before_torch('native'); compute.settle('native'); "
    "import torch; print('ATEN_CPU_CAPABILITY' in os.environ, 'MKL_CBWR' in os.environ, torch.backends.mkldnn.enabled)",
}


def python(program):
    run = [sys.executable, "-c", program]
    return subprocess.run(run, capture_output=True, text=True, env={"PYTHONPATH": "src"})


@pytest.mark.parametrize(("mode", "said"), [("portable", "AVX2 False 1"), ("native", "False False True")])
def test_what_each_mode_sets(mode, said):
    assert python(PROGRAMS[mode]).stdout.strip() == said


@pytest.mark.parametrize(
    "program",
    [
        "import torch; from initscope import compute; compute.settle('portable')",
        "from initscope import compute; import torch; compute.settle('native')",
    ],
)
def test_torch_in_the_other_mode_is_refused_in_one_line(program):
    done = python(program)
    assert done.returncode == 1
    assert "torch was imported in the other mode" in done.stderr and done.stderr.count("\n") == 1
