"""DVC and Snakemake that never disagree: the stories, with real git, DVC and Snakemake."""

import json
import os
import random
import shutil

import pytest
import sites
from sites import OTHER_RATE, RATE, RETRAINED

pytestmark = pytest.mark.slow


def scatter_times(site):
    for path in (site.folder / "results").rglob("*"):
        moment = random.Random(str(path)).randrange(10**9)
        os.utime(path, (moment, moment))


def test_1_a_clone_has_nothing_to_do_and_an_edit_reruns_what_it_reaches(finished, tmp_path):
    clone = sites.Site(tmp_path)
    clone("git", "clone", "--quiet", finished.folder, tmp_path / "clone")
    clone = sites.Site(tmp_path / "clone")
    clone("dvc", "pull", "--quiet")
    scatter_times(clone)
    clone.snakemake()
    assert "Nothing to be done" in clone.said and not clone.jobs
    clone.repro()
    assert not clone.jobs and clone.lock == finished.lock
    clone.edit("config.yaml", RATE, OTHER_RATE)
    clone.snakemake("-n")
    assert "train: 4 artifacts are stale: training.learning_rate 0.003 -> 0.01" in clone.said
    clone.repro()
    assert clone.jobs == RETRAINED and clone.lock != finished.lock
    assert clone.results.keys() == finished.results.keys()


def test_2_there_and_back_costs_nothing(site):
    before, results = site.lock, site.results
    site.edit("config.yaml", RATE, OTHER_RATE)
    site.repro()
    assert site.jobs == RETRAINED
    site("git", "commit", "--all", "--quiet", "--message", "another rate")
    site.edit("config.yaml", OTHER_RATE, RATE)
    site.repro()
    assert not site.jobs and site.lock == before and site.results == results
    site("git", "checkout", "--quiet", "--force", "HEAD")
    site("dvc", "checkout", "--quiet")
    site.snakemake()
    assert not site.jobs
    site("git", "checkout", "--quiet", "HEAD~1")
    site("dvc", "checkout", "--quiet")
    site.repro()
    assert not site.jobs and site.lock == before and site.results == results


def test_3_what_is_deleted_or_damaged_comes_back(site):
    lock, results = site.lock, site.results
    curves, weights = site.folder / "results/scale/curves/seed~7", site.folder / "results/scale/weights/final/seed~8"
    (curves / "std~0.1.parquet").unlink()
    damaged = weights / "std~0.1.safetensors"
    damaged.write_bytes(damaged.read_bytes()[::-1])
    record = curves / "_std~1.0.json"
    record.write_bytes(record.read_bytes()[:-9])
    site.repro()
    assert not site.jobs and site.lock == lock and site.results == results  # the store has sound copies
    shutil.rmtree(site.folder / ".store")
    (curves / "std~0.1.parquet").unlink()
    damaged.write_bytes(damaged.read_bytes()[::-1])
    record.write_bytes(record.read_bytes()[:-9])
    site.repro()
    assert site.jobs == {"train": 1} and site.lock == lock and site.results == results


def test_4_and_5_a_std_comes_goes_and_comes(site):
    lock, results = site.lock, site.results
    site.axis("std", [0.1, 0.5, 1.0])
    site.snakemake()
    assert site.jobs == {"init": 1, "audit": 1, "train": 1, "summary": 1, "figures": 1}
    (order,) = (site.folder / "work/train").glob("*.json")
    assert [spec["axes"] for spec in json.loads(order.read_text())["specs"]] == [
        {"seed": 7, "std": 0.5},
        {"seed": 8, "std": 0.5},
    ]
    site.repro()
    assert not site.jobs
    with_it = site.results
    assert {name for name in with_it if name not in results} and with_it.keys() >= results.keys()
    site.axis("std", [0.1, 1.0])
    site.snakemake()
    assert not site.jobs and "files left for it" in site.said and site.results == results
    site.repro()
    assert not site.jobs and site.lock == lock and site.results == results
    site.axis("std", [0.1, 0.5, 1.0])
    site.repro()
    assert not site.jobs and site.results == with_it


def test_6_every_way_gives_the_same_lock(finished, tmp_path):
    other = sites.new(tmp_path / "other")
    other.snakemake()
    other.repro()
    assert not other.jobs and other.lock == finished.lock
    other.repro("--force")
    assert not other.jobs and other.lock == finished.lock
    other.repro()
    assert "Stage 'train@scale' didn't change, skipping" in other.said and other.lock == finished.lock


def test_7_a_comment_costs_nothing_and_an_edit_what_imports_it(site):
    results = site.results
    for path in ("src/initscope/training.py", "src/initscope/streams.py", "config.yaml", "workflow/rules/train.smk"):
        with open(site.folder / path, "a") as file:
            file.write("\n# a comment\n")
    site.repro()
    assert not site.jobs and site.results == results
    with open(site.folder / "src/initscope/audit.py", "a") as file:
        file.write("\nEDITED = True\n")
    site.repro()
    assert site.jobs == {"audit": 1, "summary": 1, "figures": 1}


def test_a_changed_library_makes_stale_what_it_decides_and_is_named(site):
    """Another pyarrow: what writes Parquet, and what reads it on; not the weights."""
    record = site.folder / "src/initscope/records.py"
    text = record.read_text()
    changed = text.replace(
        "versions = {name: version(name)", 'versions = {name: "99.0" if name == "pyarrow" else version(name)'
    )
    assert changed != text
    record.write_text(changed)
    site.snakemake()
    assert site.jobs == {"audit": 1, "train": 1, "summary": 1, "figures": 1}
    assert "train: 4 artifacts are stale: pyarrow changed: " in site.said and "-> 99.0" in site.said
