"""B1, B2 and B6 of the public cases: what is predicted beside what is reported."""

import pytest
from helpers import REPOSITORY

from initscope.first_losses import compared, first_losses, read

ROWS = {row.name: compared(row) for row in read(REPOSITORY / "data" / "first_losses.yaml")}


def test_the_positive_controls_pass():
    assert all(row["verdict"] == "pass" for row in ROWS.values())
    # B2: ln V + 1/6, and 11.7618 + 0.9740 / 2 with the cut at 3 std
    assert float(ROWS["GPT-124M, default Linear head"]["predicted"]) == pytest.approx(10.9916, abs=2e-4)
    assert float(ROWS["Llama3-8B"]["predicted"]) == pytest.approx(12.2488, abs=1e-3)


def test_the_formula_is_invalid_where_it_ends():
    # B1: 768 is far past 2 ln V = 20.75; B6: 167 past 6.6
    assert {name for name, row in ROWS.items() if row["ln V + (1 - 1/V) v/2"] == "invalid"} == {
        "untied T5 with a head of std 1",
        "makemore, unit output layer",
    }


def test_a_loss_that_is_not_as_predicted(tmp_path):
    # B3: the line printed as step 0 is evaluated after the first update: 9.781, below ln V = 10.825
    path = tmp_path / "step.yaml"
    path.write_text("- {name: step 0, vocabulary: 50257, width: 768, head_std: 0.0208333, reported: [9.781]}\n")
    assert "not as predicted" in first_losses(path)


@pytest.mark.parametrize(
    "content", ["3", "- {name: x}", "- {name: x, vocabulary: 1, width: 2, head_std: 1, reported: []}"]
)
def test_a_wrong_file_is_one_line(tmp_path, content):
    path = tmp_path / "wrong.yaml"
    path.write_text(content)
    with pytest.raises(SystemExit, match=r"wrong\.yaml: .+") as stop:
        first_losses(path)
    assert "\n" not in str(stop.value)
