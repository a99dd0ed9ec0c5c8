"""`portable` and `native` are never mistaken for each other: not in a process, not in a job, not in a record."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from helpers import REPOSITORY, refused, study

from initscope import compute, orders, records, store, view

MODES = ("native", "portable")
PROGRAMS = {
    "portable": "from initscope import compute; compute.settle('portable'); import torch; "
    "print(torch.backends.cpu.get_cpu_capability(), torch.backends.mkldnn.enabled, torch.get_num_threads(), "
    "*compute.cores_of_openblas())",
    "native": "import os; from initscope import compute; compute.before_torch('native'); compute.settle('native'); "
    "import torch; print(os.environ.keys() & compute.PORTABLE.keys() or 'none set', torch.backends.mkldnn.enabled)",
}


def python(program, *emulator, **environment):
    run = [*emulator, sys.executable, "-c", program]
    environment = {"PYTHONPATH": str(REPOSITORY / "src"), **environment}
    return subprocess.run(run, capture_output=True, text=True, env=environment)


@pytest.mark.parametrize(("mode", "said"), [("portable", "AVX2 False 1 Haswell"), ("native", "none set True")])
def test_what_each_mode_sets_whatever_the_shell_says(mode, said):
    shell = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "AVX", "OPENBLAS_CORETYPE": "Nehalem"}
    assert python(PROGRAMS[mode], **shell).stdout.strip() == said


@pytest.mark.parametrize(
    "program",
    [
        "import torch; from initscope import compute; compute.settle('portable')",
        "from initscope import compute; import torch; compute.settle('native')",
        "from initscope import compute; compute.before_torch('native'); import torch; compute.settle('portable')",
    ],
)
def test_torch_in_the_other_mode_is_refused_in_one_line(program):
    done = python(program)
    assert done.returncode == 1
    assert "torch was imported in the other mode" in done.stderr and done.stderr.count("\n") == 1


def test_numpy_in_the_other_mode_is_refused_in_one_line():
    """As it is in a process that imported NumPy first; this CPU's own path may be the one that is asked for."""
    program = "import numpy; from initscope import compute; compute.settle('portable')"
    done = python(program, OPENBLAS_CORETYPE="Nehalem")
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert (
        "NumPy multiplies by OpenBLAS for Nehalem, not by OpenBLAS for Haswell; import initscope before NumPy"
        in done.stderr
    )


def test_a_numpy_without_openblas_is_refused(monkeypatch):
    monkeypatch.setattr(compute, "cores_of_openblas", set)
    said = refused(lambda: compute.settle("portable"))
    assert "NumPy multiplies by another library" in said and "a NumPy that has OpenBLAS" in said


def test_a_cpu_without_avx2_is_refused_before_it_computes(monkeypatch):
    monkeypatch.setattr("torch.cpu._is_avx2_supported", lambda: False)
    said = refused(lambda: compute.settle("portable"))
    assert said.startswith("compute.determinism: portable: this CPU has no AVX2") and "use native" in said


@pytest.mark.parametrize(
    ("flags", "here"), [("fpu sse4_2 avx avx2 fma", True), ("fpu sse4_2 avx", False), ("fpu avx2_lookalike", False)]
)
def test_whether_the_cpu_has_avx2_is_known_before_torch_and_numpy_are_imported(tmp_path, flags, here):
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nflags\t\t: {flags}\nprocessor\t: 1\n")
    assert compute.has_avx2(tmp_path / "cpuinfo") is here
    assert compute.has_avx2() is torch.cpu._is_avx2_supported()


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("qemu-x86_64"), reason="no qemu-x86_64 here; Debian: apt-get install qemu-user")
@pytest.mark.parametrize(("mode", "refused"), [("portable", True), ("native", False)])
def test_an_emulated_cpu_without_avx2_is_refused_what_it_cannot_do(mode, refused):
    """Nehalem, of 2008. The emulator shows the flags of the CPU that it runs on, so they are taken away here."""
    program = (
        "from initscope import compute; compute.has_avx2 = lambda: False; "
        f"compute.before_torch('{mode}'); compute.settle('{mode}')"
    )
    done = python(program, "qemu-x86_64", "-cpu", "Nehalem", **compute.PORTABLE)
    if refused:
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1].startswith("compute.determinism: portable: this CPU has no AVX2")
    else:
        assert done.returncode == 0, done.stderr


# ---- jobs and records ------------------------------------------------------------------------------------------------


def plan(mode):
    """Every stage that a study may have, of two cells."""
    usual = study({"seed": [7, 8]}, compute={"determinism": mode}, training={"updates": 6}, stages=["audit", "train"])
    swept = study({"std": [0.1, 1.0]}, compute={"determinism": mode}, stages=["sweep"])
    zone = study({"seed": [7, 8], "std": [0.1, 1.0]}, compute={"determinism": mode}, stages=["zone"])
    return [artifact for made in (usual, swept, zone) for artifact in records.of_study(made)]


def test_what_torch_computes_names_its_mode_and_shares_no_digest_with_the_other():
    """Nor does anything made from it. What torch has no part in is the same in both modes, and made once."""
    native, portable = map(plan, MODES)
    apart = set()
    for one, other in zip(native, portable, strict=True):
        by_torch = "torch" in one.spec["libraries"]
        modes = tuple(a.spec["settings"].get("compute", {}).get("determinism") for a in (one, other))
        assert modes == (MODES if by_torch else (None, None))
        if by_torch or apart & set(records.upstreams(one.spec)):
            assert one.digest != other.digest
            apart.add(one.digest)
        else:
            assert one.digest == other.digest
    stages = {a.stage for a in native if a.digest in apart}
    assert stages == {"audit", "train", "sweep", "zone", "summary", "brackets", "figures"}


def test_no_job_is_of_both_modes():
    jobs = list(orders.jobs([a for mode in MODES for a in plan(mode)]))
    of_job = lambda made: {a.cell.setup.compute.determinism for a in made}
    assert [of_job(made) for stage, made in jobs if stage == "train"] == [{"native"}, {"portable"}]
    assert all(len(of_job(made)) == 1 for _, made in jobs)


def test_a_process_of_one_mode_makes_nothing_of_the_other(tmp_path, monkeypatch):
    """The tests' own process is portable."""
    monkeypatch.chdir(tmp_path)
    training = [a for a in plan("native") if a.stage == "train"]
    (done,) = set(orders.write(training).values())
    said = refused(lambda: orders.fulfil(Path(done).with_suffix(".json")))
    assert said.startswith("compute.determinism: native: torch was imported in the other mode") and not store.held()


def test_a_native_job_says_so_in_its_records_and_stands_for_no_portable_one(tmp_path, monkeypatch):
    """Jobs as the workflow runs them, each in a process of its own, all under the main process's portable variables."""
    monkeypatch.chdir(tmp_path)
    native, portable = ([a for a in plan(mode) if a.stage in ("corpus", "init", "train")] for mode in MODES)
    for done in dict.fromkeys(orders.write(native).values()):
        order = str(Path(done).with_suffix(".json"))
        made = python(f"from initscope import orders; orders.fulfil({order!r})", **compute.PORTABLE)
        assert made.returncode == 0, made.stderr
    view.show(native)
    shown = [json.loads(place.read_text())["spec"] for place in Path("results").rglob("curves/**/_*.json")]
    assert [spec["settings"]["compute"]["determinism"] for spec in shown] == ["native", "native"]
    assert view.missing(native) == []
    assert [a.stage for a in view.missing(portable)] == ["train", "train"]
