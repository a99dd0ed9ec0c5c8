"""The workflow on a real Slurm of two nodes: what must hold of a site whose jobs run elsewhere."""

import os
import signal
import subprocess
import sys
import sysconfig
import venv
from collections import Counter

import pytest
import sites
from sites import OTHER_RATE, RATE
from two_nodes import NODES, until

pytestmark = pytest.mark.slow


class Run:
    """`snakemake --profile slurm` as a process, to be disturbed; it never outlives its `with`."""

    def __init__(self, site, slurm, *targets, python=sys.executable):
        self.said = site.folder / "said"
        command = [python, "-m", "snakemake", "--profile", "slurm", *targets]
        environment = os.environ | sites.SETTINGS | slurm.environment
        with self.said.open("w") as said:
            self.process = subprocess.Popen(command, cwd=site.folder, stdout=said, stderr=said, env=environment)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def ends(self, well=True):
        assert (self.process.wait(timeout=240) == 0) == well, self.said.read_text()


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


def test_a_study_has_the_bytes_and_the_lock_of_a_local_run(accounted, finished, tmp_path):
    """Measured by Snakemake, two jobs side by side, on an account; drawn by DVC, which finds the rest made."""
    site = sites.new(tmp_path / "site")
    site.edit("slurm/config.yaml", "# slurm_account: mine", "slurm_account: lab")
    site("snakemake", "--profile", "slurm", "scale_audit", "scale_train", **accounted.environment)
    site.repro(SNAKEMAKE_PROFILE="slurm", **accounted.environment)
    assert site.results == finished.results and site.lock == finished.lock
    jobs = accounted.jobs("all")
    assert {job["state"] for job in jobs} == {"COMPLETED"} and {job["node"] for job in jobs} == set(NODES)
    assert sorted(job["rule"] for job in jobs) == sorted(sites.STAGES)
    assert accounted.accounted() == [("lab", "COMPLETED")] * len(jobs)


def test_a_node_without_the_environment_says_so_in_one_line(slurm, tmp_path):
    """The nodes wait while the site's environment goes; what runs on the login node has it in memory."""
    site = sites.new(tmp_path / "site")
    python = environment(site.folder / ".venv")
    nodes = f"nodename={','.join(NODES)}"
    slurm("scontrol", "update", nodes, "state=drain", "reason=test")
    with Run(site, slurm, "scale_corpus", "--retries", "0", python=python) as run:
        until(slurm.jobs, "a job that waits", 60)
        (site.folder / ".venv/bin").rename(site.folder / ".venv/elsewhere")
        slurm("scontrol", "update", nodes, "state=resume")
        run.ends(well=False)
    (log,) = (site.folder / "logs/slurm").glob("rule_corpus/*/*.log")
    shell, mend = log.read_text().splitlines()
    assert shell.endswith(f"{python}: not found")
    assert mend.startswith("n1 does not see this Python: keep it on a file system that all nodes share")
    assert str(log) in run.said.read_text() and not site.held


def environment(folder):
    """A virtual environment with the packages of the one that the tests run in; its Python."""
    venv.create(folder, symlinks=True)
    site_packages = folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    site_packages.rmdir()
    site_packages.symlink_to(sysconfig.get_path("purelib"))
    return folder / "bin/python"


def test_a_cancelled_job_and_a_lost_node_are_made_good_and_a_gpu_that_is_none_does_no_harm(slurm, finished, tmp_path):
    site, results = remade(finished, tmp_path, lambda site: site.edit("config.yaml", RATE, OTHER_RATE))
    site.edit("slurm/stack.yaml", "stack: 200", "stack: 2")
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
