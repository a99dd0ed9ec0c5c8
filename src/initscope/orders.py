"""A work order: one job's stack of missing artifacts, in a file that every process reads the same."""

import json
from importlib import import_module
from pathlib import Path

from initscope import compute, store
from initscope.records import STAGES, canonical, digest, upstreams

WORK = Path("work")


def write(missing):
    """An order per stack. Returns {digest of a missing artifact: the file that says its order is done}."""
    done = {}
    for stage, stack in stacks(missing):
        studies = "-".join(dict.fromkeys(artifact.cell.study for artifact in stack))
        path = WORK / stage / f"{studies}-{digest([a.digest for a in stack])[:8]}.json"
        after = sorted({done[key] for artifact in stack for key in upstreams(artifact.spec) if key in done})
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(canonical({"after": after, "specs": [artifact.spec for artifact in stack]}))
        done |= {artifact.digest: str(path.with_suffix(".done")) for artifact in stack}
    return done


def read(path):
    """{"after": the .done files to wait for, "specs": the stack}"""
    return json.loads(Path(path).read_text())


def fulfil(path):
    """Complete an order's stack into the store. Where the store holds it already, nothing heavy is imported."""
    have = store.held()
    stack = {key: spec for spec in read(path)["specs"] if (key := digest(spec)) not in have}
    if not stack:
        return
    spec = next(iter(stack.values()))
    determinism = spec["settings"].get("compute", {}).get("determinism")
    if determinism:
        compute.before_torch(determinism)
        compute.settle(determinism)
    store.complete(stack, import_module(f"initscope.{STAGES[spec['stage']].module}").make)


def stacks(missing):
    """(stage, cells that can be computed together), upstream first; each artifact once, though studies share it.

    Even shares of at most `compute.stack` cells, whatever study they belong to; what is made per study goes by itself.
    """
    groups = {}
    for artifact in {a.digest: a for a in missing}.values():
        groups.setdefault((artifact.stage, program(artifact)), []).append(artifact)
    for stage in STAGES:
        for group in (group for (name, _), group in groups.items() if name == stage):
            count = -(-len(group) // (group[0].cell.setup.compute.stack if STAGES[stage].per == "cell" else 1))
            for i in range(count):
                yield stage, group[i * len(group) // count : (i + 1) * len(group) // count]


def program(artifact):
    """What cells of one stack must share: the corpus and every setting but the initial values."""
    shared = {key: value for key, value in artifact.spec["settings"].items() if key != "init"}
    return canonical([shared, artifact.spec["upstream"].get("corpus")])
