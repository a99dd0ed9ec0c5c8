"""The same cells to the same losses, side by side: this project, in both modes, and three ordinary ways. One table.

python benchmarks/side_by_side.py                           the study `scale`, 72 cells
python benchmarks/side_by_side.py --seeds 80                720 cells
python benchmarks/side_by_side.py --seeds 1 --updates 20 --repeat 1         does it run here?
python benchmarks/side_by_side.py --beside native           only what portable bits cost

First everyone's losses are compared. Then all run by turns on the same two cores, each in an empty folder that holds
config.yaml alone. A ratio is taken within a repetition; median (least to greatest) of the repetitions. Linux only.

Nothing of initscope is imported here: that would set the environment of portable bits, and every contender inherits it.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd
from counts import count
from ruamel.yaml import YAML

ROOT, CONTENDERS = Path(__file__).parents[1], Path(__file__).parent / "contenders"
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{CONTENDERS}"}
YAML_FILE = YAML()  # keeps the config's numbers as they are written, so that every reader of YAML takes them for such
CORES = 2
TOLERANCE = 1e-5  # relative, of every validation loss that float32 decides
DECIDED = 1e-6  # which are those: of every cell all before the first that double precision moves by more than this
CHECKED = 8  # seeds, those of the published study: their losses are compared, before and in every repetition


@dataclass(frozen=True)
class Contender:
    name: str
    command: Callable  # of the axes
    losses: str  # its tables, a file a cell
    leaves_out: str
    needs: str | None = None  # what is not installed with initscope


def python(*arguments):
    return [sys.executable, *map(str, arguments)]


def snakemake(folder, *options):
    return python("-m", "snakemake", "--snakefile", folder / "Snakefile", "--cores", CORES, "--quiet", "all", *options)


def multirun(axes):
    config = ["--config-dir", ".", "--config-name", "config", "--multirun"]
    launcher = ["hydra/launcher=joblib", f"hydra.launcher.n_jobs={CORES}"]
    sweep = [f"setup.init.{axis}={','.join(map(str, values))}" for axis, values in axes.items()]
    return python(CONTENDERS / "hydra_joblib/train.py", *config, *launcher, *sweep)


def initscope(*options):
    return snakemake(ROOT, "--workflow-profile", ROOT / "profiles/default", *options)


OURS = Contender("initscope", lambda axes: initscope(), "results/scale/curves/**/*.parquet", "nothing")
NATIVE = Contender(
    "initscope, determinism: native",
    lambda axes: initscope("--config", "setup={compute: {determinism: native}}"),
    OURS.losses,
    "portable bits",
)
EAGER = Contender(
    "eager script",
    lambda axes: python(CONTENDERS / "eager.py"),
    "losses/*.csv",
    "audit, training-corpus loss, weights, records, summary, figures, portable bits, the second core",
)
OTHERS = {
    "native": NATIVE,
    "eager": EAGER,
    "snakemake": Contender(
        "Snakemake, a job per cell and stage",
        lambda axes: snakemake(CONTENDERS / "snakemake_jobs"),
        "results/losses/*.csv",
        "audit, training-corpus loss, final weights, records, figures, portable bits",
    ),
    "hydra": Contender(
        "Hydra --multirun, joblib launcher",
        multirun,
        "multirun/*/*/*/losses.csv",
        "audit, training-corpus loss, weights, records, summary, figures, portable bits",
        needs="hydra-joblib-launcher",
    ),
}
IN_DOUBLE = "import torch; torch.set_default_dtype(torch.float64); import eager; eager.main()"
DOUBLE = Contender("eager script in double precision", lambda axes: python("-c", IN_DOUBLE), EAGER.losses, "")


def config(seeds, updates):
    """config.yaml with the study `scale` alone; updates: None for its own."""
    found = YAML_FILE.load(ROOT / "config.yaml")
    found["studies"] = {"scale": found["studies"]["scale"]}
    found["published"] = found["claims"] = ["scale"]
    axes = found["studies"]["scale"]["axes"]
    axes["seed"] = [axes["seed"][0] + i for i in range(seeds)]
    if updates:
        found["setup"]["training"]["updates"] = updates
    return found


def run(contender, config):
    """Seconds of one run from nothing, and its losses. SystemExit where it fails, after what it said."""
    with tempfile.TemporaryDirectory(prefix="initscope-") as folder:
        YAML_FILE.dump(config, Path(folder) / "config.yaml")
        command = contender.command(config["studies"]["scale"]["axes"])
        start = time.perf_counter()
        done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True)
        seconds = time.perf_counter() - start
        if done.returncode:
            sys.stderr.write(done.stdout + done.stderr)
            raise SystemExit(f"{contender.name}: exit status {done.returncode}; what it said stands above")
        print(f"{contender.name}: {seconds:.1f} s", file=sys.stderr)
        return seconds, losses(sorted(Path(folder).glob(contender.losses)))


def losses(files):
    """Validation losses at the recorded updates, by (seed, std, update)."""
    rows = pd.concat([(pd.read_parquet if file.suffix == ".parquet" else pd.read_csv)(file) for file in files])
    rows = rows[rows["recorded"]] if "recorded" in rows else rows
    return rows.set_index(["seed", "std", "update"])["validation_loss"].sort_index()


def apart(found, reference):
    """Relative differences, row by row; 0 where neither loss is finite, infinite where one is not."""
    neither = ~np.isfinite(found) & ~np.isfinite(reference)
    return (found / reference - 1).abs().fillna(np.inf).mask(neither, 0.0)


def bounds(single, double):
    """How far the losses of a contender may be from ours, row by row; from those of one script in both precisions.

    TOLERANCE for what float32 decides. A cell of large std multiplies the rounding of every update: what follows the
    first loss that double precision moves may differ by ten times the most that it moves any.
    """
    rounding = apart(single, double)
    decided = rounding.groupby(["seed", "std"]).cummax() <= DECIDED
    return pd.Series(TOLERANCE, rounding.index).where(decided, 10 * rounding.max())


def compare(name, found, ours, bound):
    """Differences from our losses, where there is a bound. SystemExit where they are not all of one study's cells."""
    if not found.index.equals(ours.index):
        raise SystemExit(f"{name}: it has other cells or updates than {OURS.name}")
    difference = apart(found, ours).reindex(bound.index)
    worst = (difference / bound).idxmax()
    if difference[worst] > bound[worst]:
        place = ", ".join(f"{axis} {value}" for axis, value in zip(found.index.names, worst))
        raise SystemExit(f"{name}: {place}: loss {found[worst]}, and {ours[worst]} of {OURS.name}")
    return difference


def checked(contenders, config):
    """The bounds, after every contender's losses were compared."""
    found = {each.name: run(each, config)[1] for each in dict.fromkeys([*contenders, EAGER, DOUBLE])}
    bound = bounds(found[EAGER.name], found.pop(DOUBLE.name))
    decided = bound == TOLERANCE
    for name, losses in found.items():
        difference = compare(name, losses, found[OURS.name], bound)
        most = f"{difference[decided].max():.1e} in {decided.sum()} losses"
        rest = f", {difference[~decided].max():.1e} in {(~decided).sum()} that float32 does not decide"
        print(f"{name}: within {most}{rest if (~decided).any() else ''}")
    return bound


def timed(contenders, config, repeat, bound):
    """{name: seconds of every repetition}"""
    seconds = {contender.name: [] for contender in contenders}
    for _ in range(repeat):
        ran = {contender.name: run(contender, config) for contender in contenders}
        for name, (taken, losses) in ran.items():
            compare(name, losses, ran[OURS.name][1], bound)
            seconds[name].append(taken)
    return seconds


def table(seconds, contenders):
    """Markdown; seconds: of those contenders that are installed."""
    yield "| contender | seconds | times initscope | leaves out |"
    yield "|---|---|---|---|"
    for contender in contenders:
        if contender.name in seconds:
            taken = seconds[contender.name]
            ratios = [theirs / ours for theirs, ours in zip(taken, seconds[OURS.name])]
            cells = f"{spread(taken, 1)} | {spread(ratios, 2)}"
        else:
            cells = "not installed: `pip install -e '.[bench]'` |"
        yield f"| {contender.name} | {cells} | {contender.leaves_out} |"


def spread(values, digits):
    return f"{median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def installed(contender):
    try:
        return not contender.needs or bool(distribution(contender.needs))
    except PackageNotFoundError:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=count, default=CHECKED, help="of nine cells each")
    parser.add_argument("--updates", type=count, help="of a cell; those of config.yaml unless given")
    parser.add_argument("--repeat", type=count, default=3, help="times that all run")
    parser.add_argument("--beside", nargs="+", choices=OTHERS, default=[*OTHERS], help="whom to time; all unless given")
    asked = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))[:CORES]
    if len(cores) < CORES:
        raise SystemExit(f"there is 1 core for this process; give it {CORES}")
    os.sched_setaffinity(0, cores)  # every process started from here inherits it
    contenders = [OURS, *(OTHERS[name] for name in asked.beside)]
    here = [contender for contender in contenders if installed(contender)]
    bound = checked(here, config(min(asked.seeds, CHECKED), asked.updates))
    whole = config(asked.seeds, asked.updates)
    seconds = timed(here, whole, asked.repeat, bound)
    cells = np.prod([len(values) for values in whole["studies"]["scale"]["axes"].values()])
    print(f"\n{cells} cells of {whole['setup']['training']['updates']} updates, {CORES} cores, {asked.repeat} times\n")
    print("\n".join(table(seconds, contenders)))


if __name__ == "__main__":
    main()
