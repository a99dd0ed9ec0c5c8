"""Why an artifact that results/ shows is no longer what the config asks for, in words."""

from collections import Counter

from initscope.records import digest
from initscope.store import record


def stale(missing):
    """One line per stage and reason: `train: 73 artifacts are stale: training.learning_rate 0.003 -> 0.01`."""
    found = Counter()
    for artifact in missing:
        shown = record(artifact.places["record.json"])
        if shown and digest(shown["spec"]) != artifact.digest:
            found.update((artifact.stage, reason) for reason in differences(shown["spec"], artifact.spec))
    return [f"{stage}: {count} artifacts are stale: {reason}" for (stage, reason), count in found.items()]


def differences(old, new):
    """What differs between two specs of one stage, upstream left out: that has a line of its own."""
    for part, named in (("settings", "{}"), ("libraries", "{} changed:")):
        before, after = flat(old[part]), flat(new[part])
        for key in sorted(before.keys() | after.keys()):
            if before.get(key) != after.get(key):
                yield f"{named.format(key)} {before.get(key, 'absent')} -> {after.get(key, 'absent')}"
    if old["code"] != new["code"]:
        yield "its code changed"
    if old["machine"] != new["machine"]:
        yield f"made on {old['machine']}, this is {new['machine']}"


def flat(settings, above=""):
    """{"training": {"updates": 200}} -> {"training.updates": 200}"""
    found = {}
    for key, value in settings.items():
        found |= flat(value, f"{above}{key}.") if isinstance(value, dict) else {above + key: value}
    return found
