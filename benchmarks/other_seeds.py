"""Do ten other seeds give the same zones? Compares every bracket of the zone studies with that from other seeds.

python benchmarks/other_seeds.py [studies]      (after `snakemake --cores all claims`; takes about as long again)

Runs the studies in an empty folder with seeds that follow those of config.yaml, and says for each bracket both
intervals and whether they overlap.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]
YAML_FILE = YAML(typ="safe")


def main(asked):
    config = YAML_FILE.load(ROOT / "config.yaml")
    studies = asked or [name for name, study in config["studies"].items() if "zone" in (study or {}).get("stages", ())]
    for name in studies:
        seeds = config["studies"][name]["axes"]["seed"]
        config["studies"][name] = {**config["studies"][name], "axes": {**config["studies"][name]["axes"]}}
        config["studies"][name]["axes"]["seed"] = [seed + len(seeds) for seed in seeds]
    with tempfile.TemporaryDirectory(prefix="initscope-") as folder:
        YAML_FILE.dump(config, Path(folder) / "config.yaml")
        run(studies, folder)
        found = [row for name in studies for row in compared(name, Path(folder))]
    print(pd.DataFrame(found).to_string(index=False))
    apart = sum(not row["overlap"] for row in found)
    print(f"{len(found) - apart} of {len(found)} brackets overlap")
    sys.exit(bool(apart))


def run(studies, folder):
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--directory", folder]
    targets = [f"{name}_zone" for name in studies]
    subprocess.run([*command, "--cores", "all", "--quiet", "all", "--", *targets], check=True, env=os.environ)


def compared(name, folder):
    """One row per point and bracket: the interval of our seeds, that of the others, and whether they overlap."""
    ours, others = (pd.read_parquet(place / "results" / name / "summary" / "zones.parquet") for place in (ROOT, folder))
    axes = list(ours.columns[: ours.columns.get_loc("along")])
    for (_, one), (_, other) in zip(ours.iterrows(), others.iterrows()):
        for end in ("lower", "upper"):
            a, b = ([row[f"{end}_low"], row[f"{end}_high"]] for row in (one, other))
            overlap = a[0] <= b[1] and b[0] <= a[1]
            point = ", ".join(str(one[axis]) for axis in axes)
            yield {"study": name, "point": point, "bracket": end, "ours": a, "others": b, "overlap": overlap}


if __name__ == "__main__":
    main(sys.argv[1:])
