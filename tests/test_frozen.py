"""The source's experiment at full size: what it must show, and the frozen cell's golden numbers."""

import math
import statistics

import pytest
from helpers import Memory, study

from initscope.tables import rows
from initscope.theory.loss import initial_loss

SEEDS = [7, 8, 9, 10, 11, 12, 13, 14]


@pytest.fixture(scope="module")
def made():
    """The frozen setup for the eight seeds of `scale`, audited."""
    return Memory(study({"seed": SEEDS}, small=False), ["corpus", "init", "audit"])


@pytest.fixture(scope="module")
def losses(made):
    """{seed: (training corpus, validation)} before the first update."""
    found = {}
    for cell, files in made.bytes("audit").items():
        means = {row["probe"]: row["mean"] for row in rows(files["signals.parquet"]) if row["direction"] == "forward"}
        found[int(cell.split("~")[1])] = means["loss_training_corpus"], means["loss_validation"]
    return found


def test_the_frozen_cell_begins_near_the_sources_figures(losses):
    # the source reports 2.1898 and 2.1918 of a network whose width it does not state; over 64 seeds and 6 corpora a
    # prototype of ours had 2.181 with standard deviation 0.093, so 0.30 is three standard deviations
    training, validation = losses[7]
    assert training == pytest.approx(2.1898, abs=0.30)
    assert validation == pytest.approx(training, abs=0.025)


def test_the_mean_over_seeds_is_the_predicted_loss(losses):
    training = [loss for loss, _ in losses.values()]
    error = statistics.stdev(training) / math.sqrt(len(training))
    assert abs(statistics.mean(training) - initial_loss(8, 24 * 0.1**2)) < 3 * error + 0.03


def test_every_tensor_starts_as_declared(made):
    for files in made.bytes("audit").values():
        assert all(row["check"] for row in rows(files["parameters.parquet"]))


def test_golden_numbers_of_the_frozen_cell():
    """As `snakemake frozen` first made them (portable bits, torch 2.13.0, numpy 2.4.6): a change must be meant."""
    made = Memory(study(small=False))
    (cell,) = made.rows("summary", "cells.parquet")
    golden = {
        "initial_loss_training_corpus": 2.2291542329,
        "initial_loss_validation": 2.2258584213,
        "predicted_initial_loss": 2.18284,
        "loss_floor": 1.5616704669,
        "baseline_loss": 1.9499369595,
        "final_loss_validation": 1.5757203755,
        "gradient_norm": 2.3056222,
    }
    assert {name: cell[name] for name in golden} == pytest.approx(golden, rel=1e-6)
    assert cell["outcome"] == "learned"
