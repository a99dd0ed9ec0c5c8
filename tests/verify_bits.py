"""Are the bits the same on every CPU? Six cells from initial to final weights, on this CPU and on emulated ones.

python tests/verify_bits.py [--short] [CPU ...]      `make verify-bits`; takes QEMU's user mode

One process, one row and one hash a CPU. Where a row differs from the first, it names the files that do; the exit status
is then 1. QEMU emulates no AVX-512: that is shown by the native row, on a machine that has it.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
QEMU = "qemu-x86_64"
# What QEMU 7.2 has of Intel and AMD with AVX2 (its server CPUs of Intel are nothing more without AVX-512), and `max`,
# all that it can emulate.
EMULATED = ("Haswell", "Broadwell", "Skylake-Client", "EPYC", "EPYC-Rome", "EPYC-Milan", "max")
# At 3.0 subnormal numbers are many, which training takes for 0. No std of `scale` diverges (3.0 is unstable). At 5e8 a
# variance overflows, so that every norm's output is 0 and the loss begins at ln 8; it ends at five million. (At 1e12 it
# is no number from the beginning, and nothing is trained.)
STUDIES = {"frozen": {}, "scale": {"seed": [7], "std": [0.001, 0.1, 1.0, 3.0, 5e8]}}
# Emulated, an activation takes a thousand times as long, and the corpora are what most of them are computed for.
SHORT = {"training": {"updates": 5}, "corpus": {"training_sequences": 32, "validation_sequences": 32}}


def here(short):
    """What torch says of this CPU, and {file: SHA-256} of the initial weights, curves and final weights made on it."""
    from helpers import Memory, study

    from initscope import compute

    compute.settle("portable")
    found = {}
    for name, axes in STUDIES.items():
        made = Memory(study(axes, small=False, **(SHORT if short else {})), ["corpus", "init", "train"])
        for artifact in (a for a in made.plan if a.stage in ("init", "train")):
            for file, data in made.files[artifact.digest].items():
                place = artifact.places[file].replace("results/test", name)
                found[place] = hashlib.sha256(data).hexdigest()
    return {"cpu": said(), "files": found}


def said():
    """The CPU's name and the widest vectors that it has, as torch finds them."""
    import torch

    can = torch.cpu.get_capabilities()
    vectors = next(name for name in ("avx512_f", "avx2") if can[name])
    return f"{can['cpu_name']}, {vectors}"


def row(cpu, short):
    """`here` in a process of its own on a CPU, and the seconds that it took. SystemExit where the process fails."""
    emulator = [] if cpu == "native" else [QEMU, "-cpu", cpu]
    start = time.monotonic()
    done = subprocess.run(
        [*emulator, sys.executable, __file__, "--here", *(["--short"] if short else [])],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{cpu}: exit status {done.returncode}: {done.stderr.strip().rpartition(chr(10))[-1]}")
    return {**json.loads(done.stdout), "seconds": time.monotonic() - start}


def compared(cpus, short):
    """Print a row a CPU, as many at a time as there are cores. The number of rows that differ from the first."""
    first, different = None, 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for cpu, found in zip(cpus, pool.map(lambda cpu: row(cpu, short), cpus)):
            files = found["files"]
            first = first or files
            differing = [place for place in files if files[place] != first[place]]
            whole = hashlib.sha256(json.dumps(files).encode()).hexdigest()[:16]
            print(f"{cpu:15} {whole} {found['seconds']:6.0f} s  {found['cpu']}", *differing, sep="\n  ", flush=True)
            different += bool(differing)
    print(f"{len(cpus) - different} of {len(cpus)} rows are the same, bit for bit, in {len(first)} files")
    return different


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cpus", nargs="*", default=EMULATED, metavar="CPU", help=f"of `{QEMU} -cpu help`")
    parser.add_argument("--short", action="store_true", help="5 updates on small corpora")
    parser.add_argument("--here", action="store_true", help="only this CPU, as JSON")
    asked = parser.parse_args()
    if asked.here:
        return print(json.dumps(here(asked.short)))
    if not shutil.which(QEMU):
        raise SystemExit(f"{QEMU} is missing: install QEMU's user mode (Debian, Ubuntu: apt-get install qemu-user)")
    sys.exit(bool(compared(("native", *asked.cpus), asked.short)))


if __name__ == "__main__":
    main()
