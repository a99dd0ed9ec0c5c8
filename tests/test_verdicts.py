"""Every outcome, from a curve that a person would call so. floor 1, baseline 2: x = loss - 1."""

import math

import pytest
from helpers import PUBLISHED

from initscope.verdicts import diverged_at, outcome, scaled, verdict, weight_gradient

LIMITS = PUBLISHED.setup["outcome"]
MARKS = (0, 1, 2, 5, 10, 20, 50, 100, 200)


def curve(*losses, lost=None):
    """Losses at MARKS; from update `lost` on nothing is finite."""
    rows = []
    for update in range(MARKS[-1] + 1):
        recorded, finite = update in MARKS, lost is None or update < lost
        loss = losses[MARKS.index(update)] if recorded else None
        rows.append(
            {
                "update": update,
                "recorded": recorded,
                "finite": finite,
                "validation_loss": loss if finite or loss is None else math.nan,
            }
        )
    return rows


@pytest.mark.parametrize(
    ("losses", "verdict", "evidence"),
    [
        ((2.1, 2.0, 2.0, 1.9, 1.8, 1.6, 1.4, 1.2, 1.1), "learned", "0.1 <= 0.3"),
        ((2.1, 2.0, 2.0, 2.0, 2.0, 1.9, 1.9, 1.8, 1.7), "slow", "0.7 > 0.3"),
        ((2.08, 2.08, 2.08, 2.05, 2.0, 2.0, 2.0, 2.0, 2.0), "dead", "moved by 0 over the last half"),
        ((9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.5, 2.4), "unstable", "1.4 > 1.05"),
        ((2.1, 2.0, 2.0, 1.9, 1.8, 1.1, 1.1, 1.4, 1.6), "unstable", "0.5 above its best"),
        ((4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 5.0, 5.0, 6.0), "diverged", "no lower than it began"),
    ],
)
def test_outcomes(losses, verdict, evidence):
    found, said = outcome(curve(*losses), 1.0, 2.0, LIMITS)
    assert found == verdict
    assert evidence in said


def test_a_curve_that_is_no_longer_finite_diverged_at_that_update():
    lost = curve(*[2.0] * 9, lost=37)
    assert diverged_at(lost) == 37
    assert outcome(lost, 1.0, 2.0, LIMITS) == ("diverged", "loss or gradient not finite at update 37")


def test_a_validation_loss_that_alone_is_not_finite_counts():
    rows = curve(*[2.0] * 8, math.inf)
    assert outcome(rows, 1.0, 2.0, LIMITS)[0] == "diverged" and diverged_at(rows) == 200


def test_an_early_rise_is_forgiven():
    spike = curve(2.1, 1.2, 3.0, 2.5, 2.0, 1.5, 1.3, 1.2, 1.1)
    assert outcome(spike, 1.0, 2.0, LIMITS)[0] == "learned"


def test_x_is_measured_from_the_floor_to_the_baseline():
    assert [scaled(loss, 1.5, 2.0) for loss in (1.5, 1.75, 2.0, 2.5)] == [0.0, 0.5, 1.0, 2.0]


# -- what stands behind an outcome

LEARNED = curve(2.1, 2.0, 2.0, 1.9, 1.8, 1.6, 1.4, 1.2, 1.1)
SCALES = {
    "gradient_norm": 1.0,
    "gradient_norm_head": 0.6,
    "gradient_norm_query": 0.8,
    "gradient_norm_bias": 5.0,
    "update_ratio": 0.01,
    "saturated": 0.2,
    "peaked": 0.1,
}


def judged(at=200, **scales):
    """The verdict on a curve that learned, with other scales at one update."""
    rows = [{**row, **SCALES, **(scales if row["update"] == at else {})} for row in LEARNED]
    return verdict(rows, {"x_zero_loss": 1.0, "unigram_entropy": 2.0}, LIMITS)


def test_a_verdict_repeats_the_curve():
    found = judged(0, gradient_norm=3.0)
    assert (found["gradient_norm"], found["largest_gradient_norm"]) == (3.0, 3.0)
    assert (found["initial_loss_validation"], found["final_loss_validation"]) == (2.1, 1.1)
    assert (found["initial_x"], found["final_x"]) == pytest.approx((1.1, 0.1))
    assert judged(1, update_ratio=0.5)["first_update_ratio"] == 0.5
    assert found["weight_gradient_norm"] == pytest.approx(1.0), "0.6 and 0.8, without the biases"
    assert found["saturated"] == 0.2, "the larger of 0.2 and 0.1"
    assert (found["outcome"], found["diverged_at"]) == ("learned", None)
    assert found["evidence"] == "x ends at 0.1 <= 0.3", "nothing else stands out"


@pytest.mark.parametrize(
    ("at", "scales", "cause"),
    [
        (
            200,
            {"gradient_norm_head": 3e-5, "gradient_norm_query": 4e-5},
            "the weights' gradient ends at 5e-05 < 0.0001",
        ),
        (200, {"gradient_norm": 250.0}, "the gradient reached 2.5e+02 > 100"),
        (5, {"gradient_norm": 250.0}, "the gradient reached 2.5e+02 > 100"),
        (0, {"gradient_norm": math.nan}, "the gradient reached nan > 100"),
        (50, {"gradient_norm": math.inf}, "the gradient reached inf > 100"),
        (200, {"saturated": 0.95}, "95% saturated > 90%"),
        (200, {"peaked": 0.95}, "95% saturated > 90%"),
    ],
)
def test_causes_are_named_and_decide_no_outcome(at, scales, cause):
    found = judged(at, **scales)
    assert found["evidence"] == f"x ends at 0.1 <= 0.3; {cause}"
    assert found["outcome"] == "learned"


@pytest.mark.parametrize(
    ("at", "scales"),
    [
        (100, {"gradient_norm_head": 0.0, "gradient_norm_query": 0.0}),  # only how it ends
        (3, {"gradient_norm": 250.0}),  # not a recorded update
        (100, {"saturated": 1.0}),  # only how it ends
        (200, {"gradient_norm_head": 6e-5, "gradient_norm_query": 8e-5}),  # 1e-4, the limit itself
        (200, {"gradient_norm": 100.0, "saturated": 0.9}),  # the limits themselves
    ],
)
def test_what_is_no_cause(at, scales):
    assert judged(at, **scales)["evidence"] == "x ends at 0.1 <= 0.3"


def test_several_causes_stand_together():
    found = judged(gradient_norm_head=0.0, gradient_norm_query=0.0, gradient_norm=250.0, saturated=1.0)
    assert [part.split()[-3] for part in found["evidence"].split("; ")[1:]] == ["0", "2.5e+02", "saturated"]


def test_a_curve_without_attention_as_it_comes_from_its_table():
    """In Parquet a column that an MLP has no value for is null."""
    found = judged(peaked=None, gradient_norm_query=None, gradient_norm_hidden=0.8)
    assert (found["saturated"], found["weight_gradient_norm"]) == (0.2, pytest.approx(1.0))


def test_the_weights_gradient_leaves_out_biases_and_norms():
    row = {"gradient_norm": 200.0, "gradient_norm_input": 3.0, "gradient_norm_head": 4.0, "gradient_norm_query": None}
    others = dict.fromkeys(["gradient_norm_bias", "gradient_norm_norm_scale", "gradient_norm_norm_offset"], 100.0)
    assert weight_gradient({**row, **others}) == 5.0
    assert math.isnan(weight_gradient({**row, "gradient_norm_hidden": math.nan}))
