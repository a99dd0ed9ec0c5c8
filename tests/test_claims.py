"""Verdicts follow from cases; every claim is put to a study that has what it asks for; what is absent is said."""

import math
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from helpers import PUBLISHED, REPOSITORY, Memory, study

from initscope import config, records, tables
from initscope.claims import first_scale, zones
from initscope.claims.claim import FIRST, SECOND, Case, bounded, case, in_words, kind, limits, verdict
from initscope.claims.make import CLAIMS, case_row, cases_of, make
from initscope.claims.page import HEAD, page


def of(*holding):
    """Cases named a, b, ... that hold or not."""
    return [Case(name, 1.0, 1.0, 1.0, least=0.0 if yes else 2.0) for name, yes in zip("abc", holding)]


@pytest.mark.parametrize(
    ("cases", "said"),
    [
        (of(True, True), "holds"),
        (of(True, False, True), "holds within a; c"),
        (of(False, False), "does not hold here"),
        ([], "not tested"),
    ],
)
def test_a_verdict_follows_from_its_cases(cases, said):
    assert verdict(cases) == said


def test_a_case_holds_where_its_whole_interval_does():
    assert Case("", 1.0, 0.9, 1.2, 0.8, 1.2).holds
    assert not Case("", 1.0, 0.7, 1.2, 0.8, 1.2).holds and not Case("", 1.0, 0.9, 1.3, 0.8, 1.2).holds
    assert Case("", math.inf, 5.0, math.inf, least=1.0).holds and not Case("", math.inf, 5.0, math.inf, most=9.0).holds


def test_a_case_of_seeds_is_their_median_and_the_interval_that_holds_it():
    """2nd to 9th of ten; under six from the smallest to the largest; one number is exact."""
    found = case("ten", range(10))
    assert (found.value, found.low, found.high) == (4.5, 1, 8)
    few = case("few", np.array([3.0, 1.0, 2.0]))
    assert (few.value, few.low, few.high) == (2, 1, 3)
    assert case("one", 0.25) == Case("one", 0.25, 0.25, 0.25)
    assert in_words(few) == "few: 2 (1 to 3)" and in_words(case("one", 0.25)) == "one: 0.25"


def test_a_number_that_is_none_holds_nowhere():
    assert not case("lost", [1.0, math.nan], least=0.0).holds


def test_bounded_cases_reach_from_the_least_to_the_greatest():
    found = bounded("b", [(i, i + 1) for i in range(10)])
    assert (found.value, found.low, found.high) == (5.0, 1, 9)
    few = bounded("b", [(1, 2), (2, 4)])
    assert (few.value, few.low, few.high) == (2.25, 1, 4)


def test_limits_in_words():
    assert limits(Case("", 1, 1, 1, 0.5, 2)) == "at least 0.5 and at most 2"
    assert case_row(SimpleNamespace(name="c"), case("x", 1.0, most=2.0)) == {
        "claim": "c",
        "case": "x",
        **dict.fromkeys(("value", "low", "high"), 1.0),
        "most": 2.0,
        "holds": True,
    }


def test_the_claims_that_were_asked_for_are_there_each_once():
    names = [claim.name for claim in CLAIMS]
    assert len(set(names)) == len(names) >= 40
    assert {claim.source for claim in CLAIMS} >= {FIRST, SECOND}


def test_the_config_names_the_studies_of_every_claim():
    assert {name for claim in CLAIMS for name in claim.studies} <= set(PUBLISHED.claims)


def test_what_a_claim_needs_is_what_its_study_makes():
    """The axes and the values that claims look up are those of config.yaml."""
    scale, depth = (PUBLISHED.study(name).axes for name in ("scale", "depth"))
    assert {0.001, 0.1, 1.0, 3.0} <= set(scale["std"]) and {0.1, 0.1768, 3.0} <= set(depth["std"])
    assert {"none", *zones.ZONES} and all("none" in PUBLISHED.study(name).axes["norm"] for name in zones.ZONES)
    assert PUBLISHED.study("recovery").cells[0].setup.training.updates == 600


# ---- claims about seeds: they draw themselves ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def frozen():
    settings = study().cells[0].settings
    weights = next(iter(Memory(study(), ("init",)).bytes("init").values()))["weights.safetensors"]
    return SimpleNamespace(settings=settings, initial_weights=weights)


@pytest.mark.parametrize(
    "claim", [first_scale.weights_alone, first_scale.data_and_order, first_scale.seed_after, first_scale.recorded_start]
)
def test_claims_about_seeds_hold_by_construction(claim, frozen):
    cases = list(claim.cases(frozen))
    assert len(cases) > 0 and verdict(cases) == "holds", [in_words(c) for c in cases]


# ---- claims about tables, on hand-made ones --------------------------------------------------------------------------


def test_the_first_loss_is_near_ln_v_where_it_is():
    losses = {0.1: [2.1] * 8, 3.0: [20.0] * 8}  # ln 8 = 2.0794
    rows = [
        {"std": std, "initial_loss_training_corpus": loss, "ln_vocabulary": math.log(8)}
        for std, values in losses.items()
        for loss in values
    ]
    cases = list(first_scale.uniform_loss.cases(SimpleNamespace(cells=pd.DataFrame(rows))))
    assert verdict(cases) == "holds within std 0.1"


def zone_study(name, none, normed):
    """A study with one norm; (lower, upper) pairs of the brackets of ten seeds, `inside` first."""
    rows = [
        {"norm": norm, "seed": seed, "anchor": 0.1, **ends}
        for norm, ends in (("none", none), ("layernorm", normed))
        for seed in range(10)
    ]
    zones_ = pd.DataFrame([{"norm": norm, **ends} for norm, ends in (("none", none), ("layernorm", normed))])
    zones_["lower"], zones_["wider"], zones_["wider_low"], zones_["wider_high"] = zones_["lower_outside"], 1.0, 0.9, 1.1
    axes = {"norm": ["none", "layernorm"], "std": [1e-4, 30.0]}
    return SimpleNamespace(name=f"zone_{name}", axes=axes, brackets=pd.DataFrame(rows), zones=zones_)


def ends(lower, upper):
    return dict(zip(("lower_outside", "lower_inside", "upper_outside", "upper_inside"), (*lower, *upper)))


def test_a_norm_widens_by_its_width_or_where_both_reach_beyond_by_its_upper_bracket():
    known = zone_study("a", ends((0.01, 0.011), (0.3, 0.28)), ends((0.001, 0.0011), (3, 2.8)))
    beyond = zone_study("b", ends((0.0, 1e-4), (0.3, 0.28)), ends((0.0, 1e-4), (3, 2.8)))
    width, upper = zones.norm_widens.cases(known, beyond)
    assert (width.name, width.value, width.low) == ("a layernorm, width", 1.0, 0.9)
    # 3 / 0.28 at most, 2.8 / 0.3 at least, 1 decade between the geometric means
    assert upper.name == "b layernorm, upper bracket" and upper.value == pytest.approx(1.0)
    assert (upper.low, upper.high) == pytest.approx((math.log10(2.8 / 0.3), math.log10(3 / 0.28)))


def test_shares_have_the_interval_of_wilson():
    """5 of 10: 0.237 to 0.763 (Brown, Cai and DasGupta 2001, table of the Wilson interval)."""
    found = zones.share("s", pd.Series([True] * 5 + [False] * 5), 0.5)
    assert (found.value, found.low, found.high) == pytest.approx((0.5, 0.2366, 0.7634), abs=1e-4)


def test_rank_correlation_is_of_either_sign():
    x = np.arange(103.0)
    assert zones.correlation("c", x, -x, 0.5).holds
    noise = np.random.Generator(np.random.Philox(1)).normal(size=(2, 103))
    found = zones.correlation("c", *noise, 0.5)
    assert not found.holds and found.low < found.value < found.high


# ---- the stage -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made():
    """The stage on a config that names one small study, `frozen`."""
    small = study()
    files = Memory(small, ("corpus", "init", "audit", "train", "summary")).files
    named = config.Config(
        "t", config.merged(PUBLISHED.setup, small.cells[0].settings), {"frozen": {}}, ["frozen"], ["frozen"]
    )
    (artifact,) = (a for a in records.plan(named, ["claims"]) if a.stage == "verdicts")
    ((_, found),) = make({artifact.digest: artifact.spec}, lambda key, name: files[key][name])
    return found


def test_every_claim_has_a_row_and_what_cannot_be_tested_says_why(made):
    rows = tables.rows(made["claims.parquet"])
    assert [row["claim"] for row in rows] == [claim.name for claim in CLAIMS]
    for row, claim in zip(rows, CLAIMS):
        if set(claim.studies) <= {"frozen"}:
            assert row["verdict"] == "holds" and row["cases"] == row["holding"] > 0
        else:
            absent = [name for name in claim.studies if name != "frozen"]
            assert row["verdict"] == "not tested" and row["cases"] == 0
            assert row["found"] == f"`claims` of the config does not name {', '.join(absent)}"


def test_cases_belong_to_their_claims(made):
    cases = pd.DataFrame(tables.rows(made["cases.parquet"]))
    rows = pd.DataFrame(tables.rows(made["claims.parquet"])).set_index("claim")
    counted = rows[rows["cases"] > 0]
    assert cases.groupby("claim").size().to_dict() == counted["cases"].to_dict()
    assert cases.groupby("claim")["holds"].sum().to_dict() == counted["holding"].to_dict()


def test_the_page_and_the_figure_show_every_claim(made):
    said = made["claims.md"].decode()
    for claim in CLAIMS:
        assert f'<a id="{claim.name}"></a>{claim.says}' in said and f"(#{claim.name})" in said
    assert made["claims.svg"].startswith(b"<?xml") and made["claims.png"].startswith(b"\x89PNG")


def test_a_claim_without_a_case_is_not_tested():
    empty = SimpleNamespace(name="c", studies=("frozen",), cases=lambda frozen: iter(()))
    assert cases_of(empty, {"frozen": None}) == ([], "no cell of these studies is a case of it")
    assert case("no seed", []) is None


def test_a_study_without_a_value_that_a_claim_looks_up_is_not_tested():
    asking = SimpleNamespace(name="c", studies=("frozen",), cases=lambda study: iter([study[0.001]]))
    assert cases_of(asking, {"frozen": {}}) == ([], "its studies lack a value that it looks up (KeyError: 0.001)")


def test_the_page_counts_its_verdicts():
    found = [(claim, of(True), "") for claim in CLAIMS[:3]] + [(CLAIMS[3], of(True, False), "")]
    assert "Of 4 claims 3 hold, 1 hold within limits, 0 do not hold here, 0 are not tested." in page(found)


# ---- docs/claims.md --------------------------------------------------------------------------------------------------

PAGE = (REPOSITORY / "docs" / "claims.md").read_text()


def test_the_published_page_is_of_these_claims():
    """CI makes most of it anew; what takes longer is at least no other claim, query or verdict than its cases say."""
    head, *sections = PAGE.strip().split("\n\n## ")
    assert head.startswith(HEAD.strip()) and len(sections) == len(CLAIMS)
    for claim, section in zip(CLAIMS, sections):
        assert section.startswith(f'<a id="{claim.name}"></a>{claim.says}\n')
        assert f"Measured: {claim.query}.\n" in section
        rows = re.findall(r"^\| (.+?) \| .+ \| .+ \| (holds|does not) \|$", section, re.M)
        cases = [Case(name, 0.0, 0.0, 0.0, least=0.0 if said == "holds" else 1.0) for name, said in rows]
        assert cases and f"\n**{verdict(cases)}**\n" in section
        held = sum(case.holds for case in cases)
        assert f"| [{claim.says}](#{claim.name}) | " in head and f"| {held} of {len(cases)} | {kind(cases)} |" in head


def test_the_published_page_holds_no_untested_claim():
    assert "**not tested**" not in PAGE and " 0 are not tested." in PAGE
