# Snakemake hears of missing work only. What is there is valid by its digest, whatever its time.

import fcntl
import os
import shutil
import sys
from pathlib import Path

SOURCE = os.path.join(workflow.basedir, "src")
sys.path.insert(0, SOURCE)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [SOURCE, os.environ.get("PYTHONPATH")]))

from initscope import config as configuration
from initscope import orders, records, targets, view

NAMES, PLAN, DONE, LOCK = {}, [], {}, None


def lock():
    """The kernel drops it when this process dies, however it dies."""
    Path(".store").mkdir(exist_ok=True)
    file = open(".store/lock", "a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return file
    except BlockingIOError:
        return None


def plan(asked):
    """What is asked for, what is published and what results/ shows already: the studies that the view must keep right."""
    present = [
        name for name in CONFIG.studies if os.path.isdir(f"{view.RESULTS}/{name}")
    ]
    return records.plan(
        CONFIG,
        dict.fromkeys(
            [*CONFIG.published, *present, *targets.studies(asked, CONFIG)]
        ),
    )


if workflow.is_main_process:  # a job's own process on a cluster only reads its order
    over = dict(workflow.config_settings.config)
    verify = over.pop("verify", False)
    CONFIG = configuration.load(
        *(workflow.overwrite_configfiles or ["config.yaml"]), over=over
    )
    NAMES = targets.names(CONFIG)
    asked = list(getattr(workflow.dag_settings, "targets", ())) or ["all"]
    PLAN = plan(asked)
    needed = targets.needed(targets.chosen(asked, PLAN, CONFIG), PLAN)
    LOCK = lock()
    if LOCK:
        shutil.rmtree(orders.WORK, ignore_errors=True)
        if verify:
            view.verify(PLAN)
    DONE = orders.write([a for a in view.missing(PLAN) if a.digest in needed])


def show():
    came, left = view.show(PLAN)
    if came or left:
        print(
            f"results/: {came} artifacts came from the store, {left} files left for it",
            file=sys.stderr,
        )


def begin(seen=[]):
    """In an input function Snakemake knows whether this is a dry run; when the file is parsed it does not."""
    if (
        workflow.is_main_process
        and workflow.executor_plugin
        and not workflow.dryrun
        and not seen
    ):
        if not LOCK:
            raise SystemExit(
                "Another run is at work in this directory; wait for it to end."
            )
        seen.append(show())


def wanted(target):
    """The orders that a target waits for; config.yaml, so that there is always an input, which makes no-op runs empty."""

    def done(wildcards):
        begin()
        chosen = targets.chosen([target], PLAN, CONFIG)
        return [
            "config.yaml",
            *dict.fromkeys(DONE[a.digest] for a in chosen if a.digest in DONE),
        ]

    return done


def order(stage):
    """The work order of a job, and the orders that must be done before it."""

    def files(wildcards):
        path = f"{orders.WORK}/{stage}/{wildcards.stack}.json"
        return {"order": path, "after": orders.read(path)["after"]}

    return unpack(files)


if workflow.is_main_process:

    onsuccess:
        show()

    onerror:
        show()
