"""Stage `verdicts`: every claim of both texts, put to the studies that test it."""

import math

from initscope.claims import blocks, first_scale, norms, preservation, zones
from initscope.claims.claim import claims, held, in_words, verdict
from initscope.claims.draw import at_a_glance
from initscope.claims.page import page
from initscope.claims.studies import Study
from initscope.figures.axes import saved
from initscope.tables import write_rows

CLAIMS = [claim for part in (first_scale, preservation, norms, blocks, zones) for claim in claims(part)]


def make(stack, read):
    for digest, spec in stack.items():
        studies = {name: Study(name, about, spec["upstream"], read) for name, about in spec["studies"].items()}
        found = [(claim, *cases_of(claim, studies)) for claim in CLAIMS]
        files = {
            "claims.parquet": write_rows("claims", {}, [row(*each) for each in found]),
            "cases.parquet": write_rows("cases", {}, [case_row(claim, c) for claim, cases, _ in found for c in cases]),
            "claims.md": page(found).encode(),
            **{f"claims.{kind}": data for kind, data in saved(at_a_glance(found)).items()},
        }
        yield digest, files


def cases_of(claim, studies):
    """(cases, why there are none)."""
    absent = [name for name in claim.studies if name not in studies]
    if absent:
        return [], f"`claims` of the config does not name {', '.join(absent)}"
    try:
        cases = [case for case in claim.cases(*(studies[name] for name in claim.studies)) if case]
    except (KeyError, IndexError, ValueError) as error:  # a study of the user's own axes
        return [], f"its studies lack a value that it looks up ({type(error).__name__}: {error})"
    return cases, "" if cases else "no cell of these studies is a case of it"


def row(claim, cases, why):
    return {
        "claim": claim.name,
        "says": claim.says,
        "source": f"{claim.source}: {claim.section}",
        "studies": ", ".join(claim.studies),
        "query": claim.query,
        "cases": len(cases),
        "holding": len(held(cases)),
        "verdict": verdict(cases),
        "found": "; ".join(map(in_words, cases)) or why,
    }


def case_row(claim, case):
    numbers = {name: getattr(case, name) for name in ("value", "low", "high")}
    limits = {name: getattr(case, name) for name in ("least", "most") if math.isfinite(getattr(case, name))}
    return {"claim": claim.name, "case": case.name, **numbers, **limits, "holds": bool(case.holds)}
