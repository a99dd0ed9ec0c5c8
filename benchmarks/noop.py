"""What it costs to find that nothing is to be done: `python benchmarks/noop.py`, where `make run` has ended.

Each command three times, the median in seconds, and as a multiple of `snakemake --version` in the same run (times on a
busy machine say little; ratios say more). `--large` plans a study of 10,000 cells (30,000 artifacts) too, from nothing.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BIN = Path(sys.executable).parent
ROOT = Path(__file__).parents[1]
RATES = [round(0.0001 * 1.05**i, 9) for i in range(100)]
STDS = [round(0.001 * 1.1**i, 9) for i in range(100)]


def seconds(*command, cwd=None):
    times = []
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run([str(part) for part in command], cwd=cwd, check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def large(folder):
    """A config whose one published study has 100 learning rates x 100 stds."""
    text = (ROOT / "config.yaml").read_text().split("\nstudies:")[0]
    text += f"\nstudies:\n  map: {{axes: {{learning_rate: {RATES}, std: {STDS}}}}}\npublished: [map]\nclaims: [map]\n"
    (Path(folder) / "config.yaml").write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--large", action="store_true")
    asked = parser.parse_args()
    snakemake = BIN / "snakemake"
    rows = [
        ("snakemake --version", seconds(snakemake, "--version")),
        ("python -c 'import torch'", seconds(sys.executable, "-c", "import torch")),
        ("snakemake, nothing to do", seconds(snakemake, "--cores", "2")),
        ("dvc repro, nothing to do", seconds(BIN / "dvc", "repro")),
    ]
    if asked.large:
        with tempfile.TemporaryDirectory() as folder:
            large(folder)
            dry = [snakemake, "--snakefile", ROOT / "Snakefile", "--workflow-profile", ROOT / "profiles/default", "-n"]
            rows.append(("snakemake -n, 10,000 cells to make", seconds(*dry, "--quiet", "all", cwd=folder)))
    for name, time_taken in rows:
        print(f"{name:36} {time_taken:6.2f} s {time_taken / rows[0][1]:6.2f} x")


if __name__ == "__main__":
    main()
