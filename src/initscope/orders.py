"""A work order: one job's stacks of missing artifacts, in a file that every process reads the same."""

import json
import platform
from importlib import import_module
from pathlib import Path

from initscope import compute, store, why
from initscope.records import STAGES, canonical, code, digest, module, upstreams

WORK = Path("work")
FEW = 8  # cells that a job should have: its start (torch is imported) takes as long as some three trainings of `scale`


def write(missing, run="", cores=1):
    """An order per job. Returns {digest of a missing artifact: the file that says its order is done}.

    `run` gives the orders of every run names of their own: jobs that outlive their main process share no file with a
    later run's, and those that have not begun find their order gone. `cores` jobs run at once.
    """
    done = {}
    for stage, stack in jobs(missing, cores):
        studies = "-".join(dict.fromkeys(artifact.cell.study for artifact in stack))
        path = WORK / stage / f"{studies}-{digest([run, *(a.digest for a in stack)])[:8]}.json"
        after = sorted({done[key] for artifact in stack for key in upstreams(artifact.spec) if key in done})
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(canonical({"after": after, "specs": [artifact.spec for artifact in stack]}))
        done |= {artifact.digest: str(path.with_suffix(".done")) for artifact in stack}
    return done


def read(path):
    """{"after": the .done files to wait for, "specs": the stack}"""
    try:
        return json.loads(Path(path).read_text())
    except FileNotFoundError:
        raise SystemExit(f"{path} is gone: a later run has written its own orders") from None


def fulfil(path):
    """Complete an order's stacks into the store. Where the store holds them already, nothing heavy is imported."""
    have = store.held()
    missing = {key: spec for spec in read(path)["specs"] if (key := digest(spec)) not in have}
    if not missing:
        return
    as_planned(next(iter(missing.values())))
    asked = next(iter(missing.values()))["settings"].get("compute")
    if asked:
        compute.before_torch(asked["determinism"])
        compute.settle(**asked)
    for stack in stacks(missing):
        store.complete(stack, import_module(f"initscope.{module(next(iter(stack.values())))}").make)


def as_planned(spec):
    """SystemExit where code, libraries or machine are not the plan's: the record would tell of what was not done."""
    for reason in why.differences(spec, {**spec, **code(module(spec))}):
        mend = "let every node see the main process's .venv and src/, and run again after an edit"
        raise SystemExit(f"{spec['stage']} on {platform.node()}: not what was planned, {reason}; {mend}")


def stacks(specs):
    """The specs of an order, {digest: spec}, as the stacks that are computed together."""
    groups = {}
    for key, spec in specs.items():
        groups.setdefault(program(spec), {})[key] = spec
    return list(groups.values())


def program(spec):
    """What cells of one stack must share: the corpus and every setting but initial values and the optimizer's."""
    shared = {key: value for key, value in spec["settings"].items() if key not in ("init", "training")}
    updates = spec["settings"].get("training", {}).get("updates")
    return canonical([shared, updates, spec["upstream"].get("corpus")])


def jobs(missing, cores=1):
    """(stage, artifacts of one job), upstream first; each artifact once, though studies share it.

    Cells go in even shares, whatever study they belong to; what is made per study goes by itself.
    """
    groups = {}
    for artifact in {a.digest: a for a in missing}.values():
        groups.setdefault((artifact.stage, canonical(artifact.cell.settings["compute"])), []).append(artifact)
    for stage in STAGES:
        for group in (group for (name, _), group in groups.items() if name == stage):
            count = shares(group, cores)
            for i in range(count):
                yield stage, group[i * len(group) // count : (i + 1) * len(group) // count]


def shares(group, cores):
    """How many jobs make a group's artifacts: one a core if each has FEW, and more if one had over `compute.stack`."""
    most = group[0].cell.setup.compute.stack if STAGES[group[0].stage].per == "cell" else 1
    return max(-(-len(group) // most), min(cores, len(group) // FEW))
