"""What may be asked for: everything published, a study, a stage of a study, or any file of results/."""

from initscope.config import USUAL
from initscope.faults import nearest
from initscope.records import STAGES, upstreams
from initscope.view import RESULTS

# `snakemake scale_train` makes these stages of the study `scale`; what they need comes along.
GROUPS = {
    "corpus": ("corpus",),
    "init": ("init",),
    "audit": ("audit",),
    "train": ("train",),
    "sweep": ("sweep",),
    "zone": ("zone", "brackets"),
    "cascade": ("cascade",),
    "figures": ("summary", "brackets", "cascade", "figures"),
}


def names(config):
    """{target: {study: stages}}: `all`, `report`, `claims`, every study, and every stage of every study."""
    published = {"all": tuple(STAGES), "report": GROUPS["figures"]}
    found = {target: dict.fromkeys(config.published, stages) for target, stages in published.items()}
    found["claims"] = {"claims": ("verdicts",)}
    for study, over in config.studies.items():
        does = (over or {}).get("stages", USUAL)
        groups = {f"{study}_{group}": stages for group, stages in GROUPS.items() if any(has(does, s) for s in stages)}
        for target, stages in {study: tuple(STAGES), **groups}.items():
            if target in found or target in STAGES:
                raise SystemExit(f"{config.source}: studies: {target!r} would name two things; rename a study")
            found[target] = {study: stages}
    return found


def has(does, stage):
    """Has a study that does this, as the file says, a stage?"""
    return isinstance(does, list | tuple) and any(measure in does for measure in STAGES[stage].of)


def studies(targets, config):
    """The studies that targets are about. SystemExit with one line for a target that names nothing."""
    known, found = names(config), []
    for target in targets:
        if target in known:
            found += known[target]
        elif target.startswith(f"{RESULTS}/") and (study := target.split("/")[1]) in {*config.studies, "claims"}:
            found.append(study)
        elif target.startswith(f"{RESULTS}/"):
            raise SystemExit(f"{target}: there is no study {study!r}{nearest(study, config.studies)}")
        else:
            raise SystemExit(f"{target!r} is no target{nearest(target, known)}")
    return list(dict.fromkeys(found))


def chosen(targets, plan, config):
    """The artifacts that targets ask for. SystemExit with one line for a file that the config does not lead to."""
    known, shown = names(config), places(plan)
    for target in targets:
        if target in known:
            yield from (a for a in plan if a.stage in known[target].get(a.cell.study, ()))
        elif target in shown:
            yield shown[target]
        else:
            raise SystemExit(f"{target} is no artifact of this config{nearest(target, shown)}")


def places(plan):
    """{path under results/: its artifact}"""
    return {place: artifact for artifact in plan for place in artifact.places.values()}


def needed(asked, plan):
    """Digests of the asked artifacts and of everything that they are made from."""
    known, todo, found = {a.digest: a for a in plan}, [a.digest for a in asked], set()
    while todo:
        key = todo.pop()
        if key not in found:
            found.add(key)
            todo += upstreams(known[key].spec)
    return found
