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
        path = WORK / stage / f"{stack[0].cell.study}-{digest([a.digest for a in stack])[:8]}.json"
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
    """Cells that can be computed together, by stage and study, upstream first; each artifact once, though studies share it."""
    groups = {(stage, artifact.cell.study): {} for stage in STAGES for artifact in missing}
    for artifact in {a.digest: a for a in reversed(missing)}.values():
        shapes = groups[artifact.stage, artifact.cell.study].setdefault(program(artifact), [])
        shapes.insert(0, artifact)
    for (stage, _), shapes in groups.items():
        for group in shapes.values():
            size = group[0].cell.setup.compute.stack
            yield from ((stage, group[i : i + size]) for i in range(0, len(group), size))


def program(artifact):
    """What cells of one stack must share: every setting but the initial values."""
    return canonical({key: value for key, value in artifact.spec["settings"].items() if key != "init"})
