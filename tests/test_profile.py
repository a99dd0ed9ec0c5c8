"""`snakemake --profile slurm`: what its files say, as Snakemake merges them. (tests/cluster runs it.)"""

import os
import re
from collections import Counter

import noop
import pytest
import sites
from helpers import REPOSITORY
from ruamel.yaml import YAML

from initscope import config, orders, records

CLUSTER = REPOSITORY / "slurm/config.yaml"
CONFIG = REPOSITORY / "config.yaml"


def keys(path):
    return set(YAML(typ="safe").load(path))


def test_the_default_profile_holds_nothing_that_a_cluster_sets():
    """It wins over --profile: what stood there could not be set for a cluster."""
    default = keys(REPOSITORY / "profiles/default/config.yaml")
    assert default == {"ignore-incomplete", "drop-metadata", "nolock"} and not default & keys(CLUSTER)


def test_every_key_of_the_profile_has_a_comment():
    above = ""
    for line in CLUSTER.read_text().splitlines():
        if re.match(r"[a-z]", line):
            assert "#" in line or above.startswith("#"), line
        above = line


def submitted(asked):
    """{stage: jobs}"""
    return Counter(stage for stage, _ in orders.jobs(records.plan(asked, asked.published)))


def test_the_number_of_jobs_is_what_the_docs_say(tmp_path):
    noop.large(tmp_path)
    page, readme = (" ".join((REPOSITORY / name).read_text().split()) for name in ("docs/cluster.md", "README.md"))
    two, large = (submitted(config.load(path)).total() for path in (CONFIG, tmp_path / "config.yaml"))
    assert f"| 73 | {two} | | 10,000 | {large} |" in page
    assert f"these two studies in {two} jobs, and a study of 10,000 cells in {large}:" in readme


def test_the_profile_makes_stacks_as_large_as_the_config_allows(tmp_path):
    """Not a job for every core, as on one machine: a Slurm job costs some seconds whatever it does."""
    site = sites.new(tmp_path / "site")
    site.axis("seed", list(range(8)))
    for asked, jobs in (["--profile", "slurm"], "1"), (["--cores", "2"], "2"):
        site("snakemake", *asked, "--dry-run")
        counts = dict(re.findall(r"^(\w+) +(\d+)$", site.said, re.MULTILINE))
        assert counts["init"] == counts["audit"] == counts["train"] == jobs


@pytest.mark.slow
def test_jobs_read_their_order_only_and_parse_the_workflow_sooner_than_torch_is_imported(tmp_path):
    """A job runs Snakemake again: what that costs beyond Snakemake's own start. The config is none of its business."""
    site = sites.new(tmp_path / "site")
    site("snakemake", "--cores", "1", "--dry-run", "scale_corpus")
    (order,) = (site.folder / "work/corpus").glob("*.json")
    (site.folder / "config.yaml").write_text("not: [read")
    job = ["--mode", "remote", "--force", "--allowed-rules", "corpus", "--target-jobs", f"corpus:stack={order.stem}"]
    parsed = cpu(site, "snakemake", "--cores", "1", "--dry-run", *job) - cpu(site, "snakemake", "--version")
    assert parsed < cpu(site, "python", "-c", "import torch")


def cpu(site, *command):
    """CPU seconds of a command, the least of three."""
    used = []
    for _ in range(3):
        before = os.times().children_user
        site(*command)
        used.append(os.times().children_user - before)
    return min(used)
