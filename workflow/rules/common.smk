# Snakemake hears of missing work only. What is there is valid by its digest, whatever its time.

import os
import sys
from functools import cache

SOURCE = os.path.join(workflow.basedir, "src")
sys.path.insert(0, SOURCE)
os.environ.update(
    PYTHONPATH=os.pathsep.join(filter(None, [SOURCE, os.getenv("PYTHONPATH")]))
)

from initscope import config as configuration
from initscope import orders, targets
from initscope.run import Run

OPTIONS = dict(workflow.config_settings.config)  # what --config says
VERIFY = OPTIONS.pop("verify", False)
NAMES, PUBLISHED = {}, []
if workflow.is_main_process:  # a job's own process on a cluster only reads its order
    CONFIG = configuration.load(
        *(workflow.overwrite_configfiles or ["config.yaml"]), over=OPTIONS
    )
    NAMES, PUBLISHED = targets.names(CONFIG), CONFIG.published


@cache
def run():
    """Called by input functions: when the file is parsed, Snakemake knows neither the targets nor if the run is dry."""
    asked = sorted(workflow.dag_settings.targets) or ["all"]
    dry = not workflow.executor_plugin or workflow.dryrun
    cores = workflow.resource_settings.cores or 1  # none where a cluster runs the jobs
    return Run(CONFIG, asked, dry, VERIFY, cores)


def wanted(target):
    """The orders that a target waits for. config.yaml, so that there is always an input, which lets no-op runs end."""
    return lambda wildcards: ["config.yaml", *run().orders(target)]


def order(stage):
    """The work order of a job, and the orders that must be done before it."""

    def files(wildcards):
        path = f"{orders.WORK}/{stage}/{wildcards.stack}.json"
        return {"order": path, "after": orders.read(path)["after"]}

    return unpack(files)


def fulfilled(wildcards):
    """The order that makes one file of results/, if it is still to be made."""
    artifact = run().places[f"results/{wildcards.place}"]
    return [run().done[artifact.digest]] if artifact.digest in run().done else []


if workflow.is_main_process:

    onsuccess:
        run().show()

    onerror:
        run().show()
