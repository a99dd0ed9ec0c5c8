"""What is wrong with a setup, in one line that names the key, the value and the mend."""

from difflib import get_close_matches

from initscope.sections.keys import tag
from initscope.setup import AXES, Setup, variants


def explained(error, origin, top=Setup):
    """The first fault that pydantic found, as one line. (A misspelt key before the one that it leaves out.)

    top: the class that was validated.
    """
    fault = min(error.errors(), key=lambda fault: fault["type"] != "extra_forbidden")
    place = untagged(fault["loc"])
    key = ".".join(str(part) for part in place)
    if fault["type"] == "refused":
        key = ".".join(filter(None, [key, fault["ctx"]["key"]]))
        return f"{origin(key)}: {fault['ctx']['value']!r}: {fault['ctx']['mend']}"
    if fault["type"].startswith("union_tag"):
        return f"{origin(key)}.{unknown_kind(fault['ctx'])}"
    if fault["type"] == "extra_forbidden":
        return f"{origin(key)} is not a key{nearest(place[-1], fields(fault['loc'][:-1], top))}"
    if fault["type"] == "missing":
        return f"{origin(key)} is missing; add it ({meaning(fault['loc'], top)})"
    return f"{origin(key)}: {fault['input']!r}: {fault['msg'].replace('Input should', 'it should')}"


def unknown_kind(context):
    """The key that chooses a section's kind is missing, or names none."""
    key = context["discriminator"].strip("'")
    if "tag" not in context:
        return f"{key} is missing; add it"
    return f"{key}: {context['tag']!r}: it should be {context['expected_tags'].replace(', ', ' or ')}"


def untagged(place):
    """A key's place without the name of its section's kind: ("model", "mlp", "width") -> ("model", "width")."""
    tagged = len(place) > 1 and place[0] in Setup.model_fields and several(place[0])
    return place[:1] + place[2:] if tagged else place


def several(section):
    return len(variants(section)) > 1


def origin(study, over, point, key):
    """Where in the file the user wrote the value of a setup key: an axis, the study, or the setup."""
    section, _, name = key.partition(".")
    name = name.partition(".")[0]
    if name in point and AXES[name] == section:
        return f"studies.{study}.axes.{name}"
    written = over.get(section)
    if section in over and (not name or not isinstance(written, dict) or name in written):
        return f"studies.{study}.{key}"
    return f"setup.{key}"


def fields(place, top):
    """The keys that may stand at a place of the setup: () -> its sections, ("model", "mlp") -> layers, width, ..."""
    if not place:
        return {field.alias or name: field for name, field in top.model_fields.items()}
    section = [kind for kind in variants(place[0]) if not several(place[0]) or tag(kind) == place[1]]
    return section[0].model_fields


def meaning(place, top):
    return fields(place[:-1], top)[place[-1]].description or "a section of the setup"


def nearest(name, known):
    close = get_close_matches(str(name), [str(key) for key in known], n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(str(key) for key in known)}"
