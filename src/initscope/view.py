"""results/ is a view of the store: everything that the config asks for and the store holds, and nothing else."""

import os
import shutil

from initscope import records
from initscope.records import STAGES, digest
from initscope.store import ROOT, copy, held, intact, new_folder, record

RESULTS = "results"


def missing(plan):
    """What is not held yet; an artifact found under results/ only (a clone, a checkout) enters the store."""
    have = held()
    for artifact in plan:
        if artifact.digest not in have and adopt(artifact.places["record.json"]) == artifact.digest:
            have.add(artifact.digest)
    return [artifact for artifact in plan if artifact.digest not in have]


def show(plan, made=()):
    """Bring results/ up to the plan; what leaves it stays in the store. Returns how many artifacts came, files left.

    made: digests that jobs say are in the store; a network file system's listing of it may be older than they are.
    """
    have = held() | set(made)
    wanted = [artifact for artifact in plan if artifact.digest in have]
    new = [artifact for artifact in wanted if not shown(artifact)]
    keep = {place for artifact in wanted for place in artifact.places.values()}
    keep -= {place for artifact in new for place in artifact.places.values()}
    left = [path for path in files(RESULTS) if path not in keep]
    for path in left:
        adopt(path)
    for path in left:
        set_aside(path)
    for artifact in new:
        for name, place in artifact.places.items():
            copy(ROOT / artifact.digest / name, place)
    prune(RESULTS)
    gone = set(left) - {place for artifact in new for place in artifact.places.values()}
    return len(new), len(gone)


def verify(plan):
    """Read every byte: what is damaged leaves the store; of results/, its record, so that it is shown anew."""
    have = held()
    for artifact in plan:
        inside = {name: ROOT / artifact.digest / name for name in artifact.places}
        if artifact.digest in have and not intact(inside, verify=True):
            shutil.rmtree(ROOT / artifact.digest)
        if os.path.exists(artifact.places["record.json"]) and not intact(artifact.places, verify=True):
            os.remove(artifact.places["record.json"])


def shown(artifact):
    """Is it in results/ as in the store: the same sizes, and the same record?"""
    kept, record = f"{ROOT}/{artifact.digest}", artifact.places["record.json"]  # (text: as Path objects twice as slow)
    try:
        return all(
            os.stat(f"{kept}/{name}").st_size == os.stat(place).st_size for name, place in artifact.places.items()
        ) and contents(f"{kept}/record.json") == contents(record)
    except OSError:
        return False


def contents(path):
    with open(path, "rb") as file:
        return file.read()


def adopt(path):
    """Where the record of a whole artifact lies under results/, take it into the store. Returns its digest."""
    found = record(path) if path.endswith(".json") else None
    where = found and found["spec"]["stage"] in STAGES and places_of(path, found["spec"])
    if not where or where["record.json"] != path or not intact(where, verify=True):
        return None
    key = digest(found["spec"])
    if not (ROOT / key).exists():
        with new_folder(key) as new:
            for name, place in where.items():
                copy(place, new / name)
                (new / name).chmod(0o444)
    return key


def places_of(path, spec):
    """The places of the artifact whose record lies at results/<study>/.../_<name>.json."""
    folder, _, name = path.rpartition("/")
    study = path.split("/")[1]
    above = f"{RESULTS}/{study}/" + next(iter(records.files(spec).values())).split("{cell}")[0]
    return records.places(spec, study, f"{folder}/{name[1:-5]}".removeprefix(above))


def files(top):
    return [f"{folder}/{name}" for folder, _, names in os.walk(top) for name in names if name != ".gitignore"]


def prune(top):
    """Remove the folders that hold nothing."""
    for folder, *_ in os.walk(top, topdown=False):
        if not os.listdir(folder):
            os.rmdir(folder)


def set_aside(path):
    """Nothing that lies in results/ is deleted: it moves into the store."""
    target = ROOT / "aside" / path
    target.parent.mkdir(parents=True, exist_ok=True)
    os.replace(path, target)
