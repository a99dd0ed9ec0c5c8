"""The whole of a small study through Snakemake itself, in a folder of its own."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow.parquet as pq
import pytest
from helpers import REPOSITORY, SMALL
from ruamel.yaml import YAML

from initscope import tables

STUDIES = {"frozen": {}, "scale": {"axes": {"seed": [7, 8], "std": [0.01, 0.1, 1e20]}, "model": {"norm": "none"}}}


def clone(folder):
    """The workflow without its results, with a config of two small studies."""
    for name in ("Snakefile", "workflow", "src", "profiles"):
        source = REPOSITORY / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
    yaml = YAML()
    config = yaml.load(REPOSITORY / "config.yaml")
    for section, keys in SMALL.items():
        config["setup"][section].update(keys)
    config["studies"], config["claims"] = STUDIES, ["scale"]
    yaml.dump(config, folder / "config.yaml")
    return folder


def snakemake(folder, *args, **environment):
    run = [str(Path(sys.executable).parent / "snakemake"), *args]
    done = subprocess.run(
        run, cwd=folder, capture_output=True, text=True, env={**os.environ, **environment}, timeout=300
    )
    return done.returncode, done.stdout + done.stderr


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted((folder / "results").rglob("*")) if p.is_file()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = clone(tmp_path_factory.mktemp("workflow"))
    code, said = snakemake(folder, "--cores", "2")
    assert code == 0, said
    assert "(100%) done" in said and "6 of 6 updates" in said
    return folder


def test_every_stage_is_there(finished):
    made = contents(finished)
    cells = [f"seed~{seed}/std~{std!r}" for seed in (7, 8) for std in (0.01, 0.1, 1e20)]
    for study, paths in (("frozen", ["cell"]), ("scale", cells)):
        for path in paths:
            for place in (
                f"weights/initial/{path}.safetensors",
                f"weights/final/{path}.safetensors",
                f"parameters/{path}.parquet",
                f"signals/{path}.parquet",
                f"curves/{path}.parquet",
            ):
                assert f"results/{study}/{place}" in made
        assert {f"results/{study}/summary/{name}" for name in ("cells.parquet", "metrics.json")} <= made.keys()
        figures = [name for name in made if name.startswith(f"results/{study}/figures/")]
        assert len(figures) == 13  # six as SVG and PNG, and a record


FOLDERS = {"parameters": "parameters", "signals": "signals", "curves": "curves", "summary": "cells"}


@pytest.mark.parametrize(("folder", "table"), FOLDERS.items())
def test_every_table_has_its_schema(finished, folder, table):
    for study, axes in (("frozen", {}), ("scale", {"seed": 7, "std": 0.1})):
        files = list((finished / "results" / study / folder).rglob("*.parquet"))
        assert files
        for path in files:
            assert pq.ParquetFile(path).schema_arrow.equals(tables.schema(table, axes)), path


def test_folders_read_as_tables_with_numeric_axes(finished):
    curves = pd.read_parquet(finished / "results/scale/curves")
    assert (str(curves["seed"].dtype), str(curves["std"].dtype), len(curves)) == ("int64", "float64", 6 * 7)
    assert sorted(curves["std"].unique()) == [0.01, 0.1, 1e20]
    table = f"from read_parquet('{finished}/results/scale/curves/**/*.parquet')"
    found = duckdb.sql(f"select typeof(seed), typeof(std), count(*) {table} group by all").fetchall()
    assert found == [("BIGINT", "DOUBLE", 42)]
    (lost,) = duckdb.sql(f"select count(*) {table} where not finite").fetchall()
    assert lost[0] == int((~curves["finite"]).sum()) > 0


def test_a_cell_that_overflows_is_a_result(finished):
    cells = pd.read_parquet(finished / "results/scale/summary/cells.parquet").set_index("std")
    assert set(cells.loc[1e20, "outcome"]) == {"diverged"} and set(cells.loc[1e20, "diverged_at"]) == {0}


def test_nothing_to_do(finished):
    before = contents(finished)
    for hashseed in ("1", "2"):
        code, said = snakemake(finished, "--cores", "2", PYTHONHASHSEED=hashseed)
        assert code == 0 and "Nothing to be done" in said
    assert contents(finished) == before


@pytest.mark.slow
def test_cores_stacks_and_order_change_no_byte(finished, tmp_path):
    """One core, one cell a job, the studies one after the other, another hash seed."""
    folder = clone(tmp_path)
    text = (folder / "config.yaml").read_text()
    (folder / "config.yaml").write_text(text.replace("stack: 100", "stack: 1"))
    for target in ("scale_audit", "frozen", "all"):
        code, said = snakemake(folder, "--cores", "1", target, PYTHONHASHSEED="3")
        assert code == 0, said
    assert contents(folder) == contents(finished)


def test_one_file_is_made_with_what_it_needs_and_nothing_else(finished, tmp_path):
    folder = clone(tmp_path)
    target = "results/scale/curves/seed~7/std~0.1.parquet"
    code, said = snakemake(folder, "--cores", "1", target)
    assert code == 0, said
    made = contents(folder)
    assert made[target] == contents(finished)[target]
    curves = [name for name in made if name.endswith(".parquet")]
    assert curves == [target]
    code, said = snakemake(folder, "--cores", "1", target)
    assert code == 0 and "Nothing to be done" in said


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("std: 0.1", "sdt: 0.1", "config.yaml: setup.init.sdt is not a key; did you mean 'std'?"),
        ("heads: 2", "heads: 3", "config.yaml: setup.model.heads: 3: heads must divide the width 8"),
        ("setup:", "setup: [", "not YAML"),
    ],
)
def test_a_wrong_config_is_one_line_and_changes_nothing(finished, old, new, line):
    config, before = finished / "config.yaml", contents(finished)
    good = config.read_text()
    try:
        config.write_text(good.replace(old, new, 1))
        code, said = snakemake(finished, "--cores", "1")
    finally:
        config.write_text(good)
    assert code != 0 and "Traceback" not in said
    assert [text for text in said.splitlines() if line in text]
    assert contents(finished) == before


@pytest.mark.parametrize(
    ("target", "line"),
    [
        ("scal", "'scal' is no target; did you mean 'scale'?"),
        ("results/scale/curves/seed~9/std~0.1.parquet", "no artifact of this config"),
    ],
)
def test_a_wrong_target_is_one_line(finished, target, line):
    code, said = snakemake(finished, "--cores", "1", target)
    assert code != 0 and line in said.splitlines()[-1] and "Traceback" not in said


def test_the_summary(finished):
    run = [sys.executable, "-m", "initscope", "summary"]
    environment = {**os.environ, "PYTHONPATH": str(finished / "src")}
    said = subprocess.run(run, cwd=finished, capture_output=True, text=True, check=True, env=environment).stdout
    assert "2 diverged" in said and "ln V" in said and "results/scale/figures" in said


@pytest.mark.parametrize(
    "command",
    [
        ["snakemake", "--lint"],
        ["snakefmt", "--check", "Snakefile", "workflow", "benchmarks"],
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
    ],
    ids=" ".join,
)
def test_the_house_is_tidy(command):
    tool = str(Path(sys.executable).parent / command[0])
    done = subprocess.run([tool, *command[1:]], cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_rulegraph_is_the_picture_in_the_docs(tmp_path):
    code, said = snakemake(clone(tmp_path), "--rulegraph", "mermaid-js")
    names = dict(re.findall(r"(id\d+)\[(\w+)\]", said))
    drawn = {(names[a], names[b]) for a, b in re.findall(r"(id\d+) --> (id\d+)", said)}
    picture = (REPOSITORY / "docs/design.md").read_text().split("```mermaid")[1].split("```")[0]
    assert code == 0 and drawn == set(re.findall(r"(\w+) --> (\w+)", picture))


def test_zones_and_claims_are_made_when_they_are_asked_for(tmp_path):
    folder = clone(tmp_path)
    config = YAML().load(folder / "config.yaml")
    zone = {"stages": ["zone"], "axes": {"seed": [7, 8], "std": [0.01, 0.1, 1e3]}}
    config["studies"], config["published"], config["claims"] = {"near": zone}, ["near"], ["near"]
    YAML().dump(config, folder / "config.yaml")
    code, said = snakemake(folder, "--cores", "2", "near", "claims")
    assert code == 0, said
    made = contents(folder)
    study = {f"results/near/{name}" for name in ("tried/cell.parquet", "summary/zones.parquet", "figures/zones.svg")}
    claims = {f"results/claims/{name}" for name in ("claims.parquet", "claims.md", "figures/claims.png")}
    assert study | claims <= made.keys() and not [name for name in made if "weights" in name]
    shutil.rmtree(folder / "results")
    code, said = snakemake(folder, "--cores", "2", "near", "claims")
    assert code == 0 and "Nothing to be done" in said and "came from the store" in said
    assert contents(folder) == made
