"""The workflow on a real Slurm of two nodes, without an accounting database, when something goes wrong."""

import signal
from collections import Counter

import pytest
from main_process import Run
from sites import OTHER_RATE, RATE
from two_nodes import NODES, until

pytestmark = pytest.mark.slow


def held(site):
    """{artifact: when it entered the store}"""
    return {path.name: path.stat().st_mtime_ns for path in (site.folder / ".store").glob("*") if len(path.name) == 32}


def remade(finished, folder, change):
    """(site, results): a finished site with a changed config, and what its training gives on this machine."""
    local, site = finished.copy(folder / "local"), finished.copy(folder / "site")
    change(local)
    change(site)
    local.snakemake("scale_train")
    return site, local.results


def test_a_cancelled_job_and_a_lost_node_are_made_good_and_a_gpu_that_is_none_does_no_harm(slurm, finished, tmp_path):
    site, results = remade(finished, tmp_path, lambda site: site.edit("config.yaml", RATE, OTHER_RATE))
    site.edit("config.yaml", "stack: 100", "stack: 2")
    site.edit("slurm/config.yaml", "gpu: 0", "gpu: 1")
    before = slurm.jobs("all")
    with Run(site, slurm, "scale_train") as run:
        first, second = until(lambda: two(slurm.jobs("running")), "two running jobs", 120)
        assert {first["node"], second["node"]} == set(NODES)
        assert slurm("sinfo", "--noheader", "--Node", "--Format=GresUsed").split() == ["gpu:1", "gpu:1"]
        slurm("scancel", first["id"])
        slurm("scontrol", "update", f"nodename={second['node']}", "state=down", "reason=test")
        slurm("scontrol", "update", f"nodename={second['node']}", "state=resume")
        run.ends()
    jobs = [job for job in slurm.jobs("all") if job["id"] not in {job["id"] for job in before}]
    assert Counter(job["state"] for job in jobs) == {"CANCELLED": 1, "NODE_FAIL": 1, "COMPLETED": 2}
    asked = [(job["memory"], job["time"]) for job in jobs]
    assert asked == [("4000M", "2:00:00")] * 2 + [("8000M", "4:00:00")] * 2  # more at the second attempt
    assert site.results == results


def two(jobs):
    return jobs if len(jobs) == 2 else None


def test_a_main_process_that_is_interrupted_or_killed_costs_nothing_finished(slurm, finished, tmp_path):
    """A third std is drawn, and trained in the third run: the first is interrupted, the second killed."""
    site, results = remade(finished, tmp_path, lambda site: site.axis("std", [0.1, 1.0, 0.3]))
    before = {job["id"] for job in slurm.jobs("all")}
    with Run(site, slurm, "scale_train") as run:
        until(lambda: training(slurm), "a training", 180)
        run.process.send_signal(signal.SIGINT)
        run.ends(well=False)
    until(lambda: not slurm.jobs(), "the end of its jobs", 30)
    finished_then = held(site)
    with Run(site, slurm, "scale_train"):
        orphan = until(lambda: training(slurm), "a training", 60)
    with Run(site, slurm, "scale_train") as run:
        assert training(slurm) == orphan
        run.ends()
    jobs = [job for job in slurm.jobs("all") if job["id"] not in before]
    assert [job["rule"] for job in jobs] == ["init", "train", "train", "train"]
    assert jobs[1]["state"] == "CANCELLED" and jobs[3]["state"] == "COMPLETED"
    assert finished_then.items() <= held(site).items()
    assert site.results == results


def training(slurm):
    """The ids of the trainings that run."""
    return [job["id"] for job in slurm.jobs("running") if job["rule"] == "train"]
