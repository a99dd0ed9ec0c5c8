"""docs/reference.md: config keys, schemes and tables, written from the code that uses them."""

from typing import get_args, get_origin

from initscope.distributions import DISTRIBUTIONS
from initscope.ranges import DIGITS, Range
from initscope.schemes import CONSTANTS, SCHEMES, SYMBOLS
from initscope.schemes import GROUPS as KINDS
from initscope.sections.keys import tag
from initscope.setup import Setup, variants
from initscope.tables import TABLES
from initscope.targets import GROUPS

HEAD = """# Reference

Generated from the code by `make docs`; the tests check that it is up to date.
"""


def reference():
    return "\n".join([HEAD, keys(), ranges(), schemes(), tables(), targets()])


def keys():
    """The setup, one row a key; a section that comes in several kinds has a table for each."""
    lines = ["## Config keys\n", "Every key is needed; a study may override any of them.\n"]
    for name in Setup.model_fields:
        for section in variants(name):
            several = len(variants(name)) > 1
            lines += [f"### `{name}`{f', {tag(section)}' if several else ''}\n", *rows(section)]
    return "\n".join(lines)


def rows(section):
    """A table of the keys of a section."""
    yield from ("| key | value | meaning |", "|---|---|---|")
    for key, field in section.model_fields.items():
        yield f"| `{field.alias or key}` | {allowed(field)} | {field.description} |"
    yield ""


def ranges():
    """An axis as two ends and a count."""
    example = "`std: {from: 1.0e-3, to: 10.0, count: 100, spacing: log}`"
    lines = [
        "### `studies.<name>.axes.<axis>`, as two ends and a count\n",
        f"A list of values, or {example}. The ends are as written, what lies between is rounded to {DIGITS} "
        "significant digits; whole numbers are whole, so that an axis of layers or seeds takes them.\n",
    ]
    return "\n".join([*lines, *rows(Range)])


def allowed(field):
    """What a key accepts, in words: its choices, or its type and limits."""
    kind = field.annotation
    if str(get_origin(kind)) == "typing.Literal":
        return " or ".join(f"`{str(choice).lower()}`" for choice in get_args(kind))
    if get_origin(kind) is tuple:
        return f"{len(get_args(kind))} numbers, at least 0 and less than 1"
    words = {int: "whole number", float: "number", bool: "`true` or `false`", str: "text"}
    return words[kind] + limits(field.metadata)


def limits(metadata):
    words = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}
    found = [f"{words[name]} {getattr(rule, name)}" for rule in flat(metadata) for name in words if hasattr(rule, name)]
    return "".join(f", {limit}" for limit in found)


def flat(metadata):
    """Pydantic keeps the rules of an annotated type as they were written: inside a field's own metadata."""
    for rule in metadata:
        yield from flat(rule.metadata) if hasattr(rule, "metadata") else [rule]


def schemes():
    constant = ", ".join(f"`{kind}` {value:g}" for kind, value in CONSTANTS.items())
    groups = "; ".join(f"{group}: {', '.join(f'`{kind}`' for kind in kinds)}" for group, kinds in KINDS.items())
    shrunk = ", ".join(f"`{name}` {d.shrink:.4f}" for name, d in DISTRIBUTIONS.items() if d.shrink < 1)
    lines = [
        "## Schemes\n",
        *(f"- `{symbol}`: {meaning}" for symbol, meaning in SYMBOLS.items()),
        f"\nTensors: {groups}. Constant unless a scheme says otherwise: {constant}. "
        "Every std is multiplied by `init.factor`. "
        f"A cut normal's std is that before the cut; what is drawn has this much of it: {shrunk}.\n",
        "| scheme | tensors | distribution | std |",
        "|---|---|---|---|",
    ]
    for name, scheme in SCHEMES.items():
        for group, rule in scheme.rules.items():
            lines.append(f"| `{name}` | {covered(group, scheme)} | {rule.distribution} | `{rule.formula}` |")
    lines += ["\n| scheme | what it is | uses | gain of its authors |", "|---|---|---|---|"]
    for name, scheme in SCHEMES.items():
        gain = "" if scheme.gain is None else f"{scheme.gain:.4g}"
        lines.append(f"| `{name}` | {scheme.description} | {', '.join(scheme.uses)} | {gain} |")
    return "\n".join([*lines, ""])


def covered(group, scheme):
    """The tensors that a rule covers, in words."""
    if group != "*":
        return group
    return "all weights" if set(scheme.rules) == {"*"} else "other weights"


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
