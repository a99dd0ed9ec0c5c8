"""The study `scale` over Slurm against the same on this machine: `python benchmarks/cluster.py [--study scale]`.

Two nodes of one core each, the Slurm that the tests start, against `--cores 2`; a fresh clone of the last commit each,
all stages from nothing. Needs root and Debian's packages, which the tests install where they are missing.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/cluster")]

import two_nodes  # noqa: E402
from sites import SETTINGS  # noqa: E402


def seconds(folder, *options, environment):
    """Wall time of one `snakemake` in a fresh clone."""
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    environment = os.environ | SETTINGS | {"PYTHONPATH": str(folder / "src")} | environment
    start = time.perf_counter()
    subprocess.run(["snakemake", *options], cwd=folder, env=environment, check=True, capture_output=True)
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--study", default="scale")
    study = parser.parse_args().study
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        two_nodes.Slurm.install()
        (folder / "slurm").mkdir()
        slurm = two_nodes.Slurm(folder / "slurm")
        try:
            slurm.start()
            local = seconds(folder / "local", "--cores", "2", study, environment={})
            cluster = seconds(folder / "cluster", "--profile", "slurm", study, environment=slurm.environment)
            jobs = len(slurm.jobs("all"))
        finally:
            slurm.stop()
    print(f"{study}: {local:.0f} s on this machine, {cluster:.0f} s in {jobs} jobs of Slurm: {cluster / local:.2f} x")


if __name__ == "__main__":
    main()
