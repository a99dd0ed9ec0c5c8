"""Every outcome, from a curve that a person would call so. floor 1, baseline 2: x = loss - 1."""

import math

import pytest
from helpers import PUBLISHED

from initscope.verdicts import diverged_at, outcome, scaled

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
