"""The stories that kill, crowd and relink: what must hold of a site whatever happens to a run."""

import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import time

import pytest
import sites
from sites import OTHER_RATE, RATE, RETRAINED

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("how", ["snakemake", "dvc"])
@pytest.mark.parametrize("group", [False, True])
def test_8_a_kill_costs_no_finished_artifact(finished, tmp_path, how, group):
    """SIGINT and SIGKILL, of the main process and of its whole group, at random moments from init to train."""
    site, moments = sites.new(tmp_path / "site"), random.Random(f"{how}{group}")
    command = {"snakemake": ["snakemake", "--cores", "2"], "dvc": ["dvc", "repro"]}[how]
    for kill in (signal.SIGINT, signal.SIGKILL, signal.SIGINT, signal.SIGKILL):
        shutil.rmtree(site.folder / ".store", ignore_errors=True)
        shutil.rmtree(site.folder / "results", ignore_errors=True)
        run = site.start(*command)
        time.sleep(moments.uniform(3, 14))
        (os.killpg if group else os.kill)(run.pid, kill)
        run.wait(timeout=120)
        time.sleep(3)  # a job whose parent was killed may still be at work; it can only complete the store
        held = times(site)
        while site.snakemake(ok=False):
            assert "Another run is at work" in site.said  # dvc's own child, not yet gone
            time.sleep(1)
        assert held.items() <= times(site).items()  # nothing finished was computed again
        assert site.results == finished.results


def times(site):
    return {path.name: path.stat().st_mtime_ns for path in site.held}


@pytest.mark.parametrize("cores", ["1", "2", "8"])
def test_the_bytes_are_the_same_for_any_number_of_cores_in_any_order_and_after_a_kill(finished, tmp_path, cores):
    """A job a cell, the cells asked for in a random order, the run killed at work; against one job of all cells."""
    site = sites.new(tmp_path / "site")
    site.edit("config.yaml", "stack: 100", "stack: 1")
    places = [place for place in finished.results if re.search(r"/(weights/final|signals)/seed~\d/std", place)]
    random.Random(cores).shuffle(places)
    run = site.start("snakemake", "--cores", cores, "--", *places[:4])
    while not list((site.folder / ".store").glob("*/*.parquet")):
        time.sleep(0.1)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    for part in (places[4:], places[:4], []):
        site.snakemake("--cores", cores, "--", *part)
    assert site.results == finished.results


def test_8_a_job_that_fails_after_some_cells_keeps_them(finished, tmp_path):
    site = sites.new(tmp_path / "site")
    training = site.folder / "src/initscope/training.py"
    good = training.read_text()
    training.write_text(
        good.replace(
            "        about = ",
            "        if [digest] == list(stack)[2:3]:\n            raise RuntimeError('injected')\n        about = ",
        )
    )
    assert site.snakemake(ok=False) != 0 and "injected" in site.said
    lost = list((site.folder / ".store").glob("tmp-*"))
    assert not lost
    curves = list((site.folder / "results/scale/curves").rglob("*.parquet"))
    assert len(curves) == 2  # two cells were finished, and are shown
    training.write_text(good)
    site.snakemake()
    assert site.results == finished.results


FAILS_ONCE = """        if [digest] == list(stack)[2:3] and not os.path.exists("failed"):
            open("failed", "w").close()
            raise RuntimeError("injected")
"""


def test_8_a_retry_goes_on_where_the_job_failed(finished, tmp_path):
    site = sites.new(tmp_path / "site")
    site.edit("src/initscope/training.py", "        about = ", f"{FAILS_ONCE}        about = ")
    site.edit("src/initscope/training.py", "import logging\n", "import logging\nimport os\n")
    site.snakemake("--retries", "1")
    assert "injected" in site.said and site.jobs["train"] == 1
    assert site.results.keys() == finished.results.keys()


# An ordinary user cannot write what is read-only; root can, unless it gives up that capability.
ORDINARY = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", "--"] if os.getuid() == 0 else []


@pytest.mark.parametrize("cache", ["copy", "hardlink", "symlink"])
@pytest.mark.parametrize("user", [[], ORDINARY], ids=["as started", "ordinary"])
def test_9_cache_types(site, finished, cache, user):
    """Read-only links from DVC's cache stop no one, and neither cache nor store is ever written through."""
    site("dvc", "config", "cache.type", cache)
    site("dvc", "checkout", "--relink", "--quiet")
    site.edit("config.yaml", RATE, OTHER_RATE)
    site(*user, "dvc", "repro")
    assert site.jobs == RETRAINED
    site.edit("config.yaml", OTHER_RATE, RATE)
    site(*user, "dvc", "repro")
    assert not site.jobs and site.results == finished.results and site.lock == finished.lock
    objects = [path for path in (site.folder / ".dvc/cache/files/md5").glob("*/*") if path.is_file()]
    assert objects and all(sound(path) for path in objects)
    site.snakemake("--config", "verify=1")
    assert not site.jobs


def sound(path):
    """DVC names an object by its MD5; a folder's list by that and `.dir`."""
    return hashlib.md5(path.read_bytes()).hexdigest() == path.parent.name + path.name.removesuffix(".dir")


def test_10_a_second_run_says_so_in_one_line(site):
    site.edit("config.yaml", RATE, OTHER_RATE)
    run = site.start("snakemake", "--cores", "1")
    try:
        while not (site.folder / "work/train").exists():
            time.sleep(0.2)
        assert site.snakemake(ok=False) == 1
        assert site.said.splitlines()[-1] == "Another run is at work in this directory; wait for it to end."
        assert run.poll() is None and site.snakemake("-n") == 0
    finally:
        run.wait(timeout=120)
    assert run.returncode == 0
    site.snakemake()
    assert not site.jobs


def test_experiments(site):
    """`dvc exp run -S` with a small float, the queue, `exp show`, `exp apply`, `metrics diff` and `plots diff`."""
    site("dvc", "exp", "run", "--set-param", "config.yaml:setup.training.learning_rate=1e-06", "--name", "tiny")
    assert site.jobs == RETRAINED
    site("dvc", "metrics", "diff", "--json", "HEAD")
    assert "final_loss_validation" in site.said
    site("dvc", "plots", "diff", "HEAD", "--json")
    assert '"revisions": ["workspace", "HEAD"]' in site.said
    for rate in (0.01, 0.02):
        site(
            "dvc",
            "exp",
            "run",
            "--queue",
            "--set-param",
            f"config.yaml:setup.training.learning_rate={rate}",
            "--name",
            f"rate{int(rate * 100)}",
        )
    site("dvc", "exp", "run", "--run-all", "--jobs", "1")
    site("dvc", "exp", "show", "--csv")
    assert {"tiny", "rate1", "rate2"} <= set(site.said.replace("\n", ",").split(","))
    site("git", "checkout", "--quiet", "--force", ".")
    site("dvc", "exp", "apply", "rate1")
    assert "learning_rate: 0.01" in (site.folder / "config.yaml").read_text()
    site.snakemake()
    assert not site.jobs


def test_the_hooks_that_dvc_installs(site):
    site("dvc", "install")
    site.edit("config.yaml", RATE, OTHER_RATE)
    site.repro()
    site("git", "commit", "--all", "--quiet", "--message", "another rate")
    site("git", "checkout", "--quiet", "HEAD~1")  # the hook checks the results out
    site.snakemake()
    assert "Nothing to be done" in site.said


def test_reproduce_finds_the_same_bytes_and_names_what_differs(site):
    run = [
        "python",
        "-m",
        "initscope",
        "reproduce",
        "--cores",
        "2",
        "results/scale/weights/final/seed~7/std~0.1.safetensors",
    ]
    path = {"PYTHONPATH": str(site.folder / "src")}
    site(*run, **path)
    assert "3 of 3 files are the same, byte for byte" in site.said
    place = "results/scale/curves/seed~7/std~0.1.parquet"
    (site.folder / place).write_bytes(b"PAR1")
    assert site(*run, ok=False, **path) == 1
    assert f"{place}: absent, stale or damaged" in site.said


def test_the_store_says_its_size_and_is_emptied(site):
    results, path = site.results, {"PYTHONPATH": str(site.folder / "src")}
    site("python", "-m", "initscope", "store", **path)
    assert "15 artifacts" in site.said and "MB" in site.said
    site("python", "-m", "initscope", "store", "--empty", **path)
    assert site.results == results
    site.snakemake()
    assert not site.jobs and site.results == results


def one_line(site, *said):
    """The last run stopped with one line that says all this, and no traceback of ours."""
    assert "Traceback" not in site.said
    assert [line for line in site.said.splitlines() if all(part in line for part in said)], site.said


def test_a_results_path_that_is_a_file(site, finished):
    site("mv", "results", "elsewhere")
    (site.folder / "results").write_text("a file of mine")
    assert site.snakemake(ok=False) == 1
    one_line(site, "results", "mend that and run again")
    assert (site.folder / "results").read_text() == "a file of mine"
    (site.folder / "results").unlink()
    site.snakemake()
    assert not site.jobs and site.results == finished.results


def test_results_that_may_not_be_written(site, finished):
    (site.folder / "results/scale/curves/seed~7/std~0.1.parquet").unlink()
    site("chmod", "-R", "a-w", "results")
    assert site(*ORDINARY, "snakemake", "--cores", "1", ok=False) == 1
    one_line(site, "results/scale", "Permission denied")
    site("chmod", "-R", "u+w", "results")
    site.snakemake()
    assert not site.jobs and site.results == finished.results


def test_a_full_disk(finished, tmp_path):
    site = sites.new(tmp_path / "site")
    disk = site.folder / ".store"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48k", "tmpfs", disk], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.strip()}")
    try:
        assert site.snakemake(ok=False) == 1
        one_line(site, "No space left on device", "mend that and run again")
        kept = shutil.copytree(disk, tmp_path / "kept")
    finally:
        subprocess.run(["umount", disk], check=True)
    shutil.copytree(kept, disk, dirs_exist_ok=True)  # what was finished before the disk was full
    site.snakemake()
    assert site.results == finished.results


def test_the_report(site):
    site.snakemake("--report", "report.html", "report")
    page = (site.folder / "report.html").read_text()
    assert len(page) > 100_000 and "final_loss" in page
