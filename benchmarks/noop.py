"""What it costs to find that nothing is to be done: `python benchmarks/noop.py`, where `make run` has ended.

Each command three times, the median of its CPU seconds, and these as a multiple of `python -c 'import torch'` in the
same run (seconds on a busy machine say little; ratios say more); the most memory that it held. `--large` plans the
study `map` of config.yaml (10,000 cells) from nothing, too, and finds that nothing is to be done for it. It trains 25
of these cells: the others' artifacts are written with the curves of the nearest of those, in a folder that is removed.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / part) for part in ("src", "tests")]

BIN = Path(sys.executable).parent
ENVIRONMENT = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}  # where dvc finds snakemake
SNAKEMAKE = [BIN / "snakemake", "--snakefile", ROOT / "Snakefile", "--workflow-profile", ROOT / "profiles/default"]
COARSE = slice(10, None, 20)  # of 100 values, the 5 in the middle of every 20


def measured(*command, cwd=None, times=3):
    """(median CPU seconds, most memory in MB) of a command and the processes that it waits for."""
    seconds, memory, quiet = [], [], {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    for _ in range(times):
        process = subprocess.Popen([str(part) for part in command], cwd=cwd, env=ENVIRONMENT, **quiet)
        _, status, used = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"{' '.join(map(str, command))}: exit status {os.waitstatus_to_exitcode(status)}; try it")
        seconds.append(used.ru_utime + used.ru_stime)
        memory.append(used.ru_maxrss / 1024)
    return statistics.median(seconds), max(memory)


def large(folder):
    """config.yaml with the study `map`, 100 learning rates x 100 stds, as the only published one."""
    text = (ROOT / "config.yaml").read_text()
    (Path(folder) / "config.yaml").write_text(re.sub(r"^published: .*$", "published: [map]", text, flags=re.MULTILINE))


def fill(folder):
    """Put the curves of every cell of `map` into the store: those of the nearest of 25 cells that are trained."""
    from initscope import compute

    compute.before_torch("portable")
    compute.settle("portable")
    from helpers import Memory

    from initscope import config, records, store, tables

    os.chdir(folder)  # where .store/ is
    found = config.load("config.yaml")
    study = found.study("map")
    coarse = {axis: values[COARSE] for axis, values in study.axes.items()}
    found.studies["map"] = {**found.studies["map"], "axes": coarse}
    trained = Memory(found.study("map"), ("corpus", "sweep")).bytes("sweep")
    for artifact in (a for a in records.of_study(study) if a.stage == "sweep"):
        axes = artifact.cell.axes
        near = "/".join(f"{axis}~{coarse[axis][study.axes[axis].index(axes[axis]) // 20]!r}" for axis in axes)
        curve = [{**row, **axes} for row in tables.rows(trained[near]["curves.parquet"])]
        store.put(artifact.spec, {"curves.parquet": tables.write_rows("curves", axes, curve)})


def sized(folder):
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()) / 1e6


def of_large():
    """The rows of a study of 10,000 cells, and the sizes of what a run leaves."""
    with tempfile.TemporaryDirectory() as folder:
        large(folder)
        yield "10,000 cells, snakemake -n, all to make", *measured(*SNAKEMAKE, "-n", "--quiet", "all", cwd=folder)
        subprocess.run([sys.executable, __file__, "--fill", folder], check=True)
        finish = [*SNAKEMAKE, "--cores", "2", "--quiet", "all"]
        yield "10,000 cells, snakemake: summary, figure, view", *measured(*finish, cwd=folder, times=1)
        yield "10,000 cells, snakemake, nothing to do", *measured(*finish, cwd=folder)
        yield "10,000 cells, snakemake -n, nothing to do", *measured(*finish, "-n", cwd=folder)
        for name in (".store", "results", ".snakemake", "work"):
            print(f"{name:10} {sized(Path(folder) / name):8.1f} MB")


def rows(asked):
    yield "python -c 'import torch'", *measured(sys.executable, "-c", "import torch")
    yield "snakemake --version", *measured(BIN / "snakemake", "--version")
    if Path("results").exists():
        yield "snakemake, nothing to do", *measured(BIN / "snakemake", "--cores", "2")
        yield "dvc repro, nothing to do", *measured(BIN / "dvc", "repro")
    if asked.large:
        yield from of_large()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--fill", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.fill:
        return fill(asked.fill)
    found = list(rows(asked))
    for name, seconds, memory in found:
        print(f"{name:48} {seconds:6.2f} s {seconds / found[0][1]:6.2f} x {memory:6.0f} MB")


if __name__ == "__main__":
    main()
