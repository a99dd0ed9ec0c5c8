"""The workflow on a real Slurm of two nodes, with an accounting database."""

import sys
import sysconfig
import venv

import pytest
import sites
from main_process import Run
from two_nodes import NODES, until

pytestmark = pytest.mark.slow


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


def test_a_node_without_the_environment_says_so_in_one_line(accounted, tmp_path):
    """The nodes wait while the site's environment goes; what runs on the login node has it in memory."""
    site = sites.new(tmp_path / "site")
    python = environment(site.folder / ".venv")
    nodes = f"nodename={','.join(NODES)}"
    accounted("scontrol", "update", nodes, "state=drain", "reason=test")
    with Run(site, accounted, "scale_corpus", "--retries", "0", python=python) as run:
        until(accounted.jobs, "a job that waits", 60)
        (site.folder / ".venv/bin").rename(site.folder / ".venv/elsewhere")
        accounted("scontrol", "update", nodes, "state=resume")
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
