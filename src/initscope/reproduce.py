"""Compute named results again from nothing, aside, and compare every byte with what the records say."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from initscope import config, records, store, tables, targets, tensors

ROOT = Path(__file__).parents[2]


def reproduce(asked, cores="all"):
    """Yield (place, difference or None) for every artifact that the targets name, from a run in an empty folder.

    SystemExit with one line where a target names nothing or a result is not there to compare with.
    """
    found = config.load("config.yaml")
    plan = records.plan(found, targets.studies(asked, found))
    chosen = list(targets.chosen(asked, plan, found))
    for artifact in chosen:
        if not recorded(artifact):
            mend = f"run `snakemake --cores all --config verify=1 -- {' '.join(asked)}` first"
            raise SystemExit(f"{next(iter(artifact.places.values()))}: absent, stale or damaged; {mend}")
    with tempfile.TemporaryDirectory(prefix="initscope-") as aside:
        for path in {path for a in plan if (path := texts_path(a)) and not os.path.isabs(path)}:
            store.copy(path, Path(aside) / path)
        again(asked, cores, aside)
        for artifact in chosen:
            for name, place in artifact.places.items():
                yield place, difference(Path(place).read_bytes(), (Path(aside) / place).read_bytes(), name)


def texts_path(artifact):
    """The text that an artifact's corpus is made from, if it is."""
    return getattr(artifact.cell.setup.corpus, "path", None)


def recorded(artifact):
    """Does results/ hold the artifact as the config asks for it, every byte as its record says?"""
    whole = store.intact(artifact.places, verify=True)
    return whole and records.digest(store.record(artifact.places["record.json"])["spec"]) == artifact.digest


def again(asked, cores, folder):
    """Run the workflow in an empty folder, with this folder's config."""
    (Path(folder) / "config.yaml").write_bytes(Path("config.yaml").read_bytes())
    snakemake = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--directory", folder]
    done = subprocess.run([*snakemake, "--cores", str(cores), "--quiet", "all", "--", *asked], env=os.environ)
    if done.returncode:
        raise SystemExit("the computation failed; see above")


def difference(recorded, computed, name):
    """None where the bytes are equal; else where they differ and by how much."""
    if recorded == computed:
        return None
    kind = name.rpartition(".")[2]
    read = {"safetensors": tensors.unpack, "parquet": columns, "json": json.loads}.get(kind)
    if read is None:
        return f"{sum(a != b for a, b in zip(recorded, computed))} bytes differ"
    before, after = read(recorded), read(computed)
    named = [
        f"{key} by {distance(before.get(key), after.get(key))}"
        for key in sorted(before.keys() | after.keys())
        if not same(before.get(key), after.get(key))
    ]
    return "; ".join(named) or "equal values in other bytes"


def columns(data):
    """{column: values} of a table, numbers as arrays."""
    table = tables.read(data)
    return {name: np.array(table[name].to_pylist()) for name in table.column_names}


def same(before, after):
    if before is None or after is None:
        return before is after
    before, after = np.asarray(before), np.asarray(after)
    return before.shape == after.shape and bool(np.all((before == after) | ((before != before) & (after != after))))


def distance(before, after):
    """The largest absolute difference of numbers; `another value` for what is none."""
    try:
        return f"{np.nanmax(np.abs(np.asarray(after, dtype=float) - np.asarray(before, dtype=float))):.3g}"
    except (TypeError, ValueError):
        return "another value"
