"""docs/reference.md: config keys, schemes and tables, written from the code that uses them."""

from typing import get_args, get_origin

from initscope.schemes import CONSTANTS, SCHEMES
from initscope.setup import Setup
from initscope.tables import TABLES
from initscope.targets import GROUPS

HEAD = """# Reference

Generated from the code by `make docs`; the tests check that it is up to date.
"""


def reference():
    return "\n".join([HEAD, keys(), schemes(), tables(), targets()])


def keys():
    """The setup, one row a key."""
    lines = ["## Config keys\n", "Every key is needed; a study may override any of them.\n"]
    for name, section in Setup.model_fields.items():
        lines += [f"### `{name}`\n", "| key | value | meaning |", "|---|---|---|"]
        for key, field in section.annotation.model_fields.items():
            lines.append(f"| `{key}` | {allowed(field)} | {field.description} |")
        lines.append("")
    return "\n".join(lines)


def allowed(field):
    """What a key accepts, in words: its choices, or its type and limits."""
    kind = field.annotation
    if str(get_origin(kind)) == "typing.Literal":
        return " or ".join(f"`{str(choice).lower()}`" for choice in get_args(kind))
    if get_origin(kind) is tuple:
        return f"{len(get_args(kind))} numbers, at least 0 and less than 1"
    return {int: "whole number", float: "number"}[kind] + limits(field.metadata)


def limits(metadata):
    words = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}
    found = [f"{words[name]} {getattr(rule, name)}" for rule in flat(metadata) for name in words if hasattr(rule, name)]
    return "".join(f", {limit}" for limit in found)


def flat(metadata):
    """Pydantic keeps the rules of an annotated type as they were written: inside a field's own metadata."""
    for rule in metadata:
        yield from flat(rule.metadata) if hasattr(rule, "metadata") else [rule]


def schemes():
    lines = [
        "## Schemes\n",
        "`s` is `init.std`. Biases and norms: "
        + ", ".join(f"`{kind}` {value:g}" for kind, value in CONSTANTS.items())
        + ", in every scheme.\n",
        "| scheme | tensors | distribution | std |",
        "|---|---|---|---|",
    ]
    for name, rules in SCHEMES.items():
        for kind, rule in rules.items():
            tensors = "all weights" if kind == "*" else f"`{kind}`"
            lines.append(f"| `{name}` | {tensors} | {rule.distribution} | {rule.formula} |")
    return "\n".join([*lines, ""])


def tables():
    lines = [
        "## Tables\n",
        "Every table begins with the study's axes, a column each (`seed`, `std`, ...). NaN and infinity "
        "are values; null means: does not apply.\n",
    ]
    for name, columns in TABLES.items():
        lines += [f"### `{name}`\n", "| column | type | unit | meaning |", "|---|---|---|---|"]
        lines += [f"| `{c.name}` | {c.type} | {c.unit} | {c.meaning.replace('|', chr(92) + '|')} |" for c in columns]
        lines.append("")
    return "\n".join(lines)


def targets():
    lines = [
        "## Targets\n",
        "Besides every file under `results/`, for a study named `scale`:\n",
        "| target | makes |",
        "|---|---|",
        "| `scale` | every stage |",
    ]
    lines += [f"| `scale_{group}` | {', '.join(stages)}, and what they need |" for group, stages in GROUPS.items()]
    return "\n".join([*lines, ""])
