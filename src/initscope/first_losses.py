"""First losses that people report, beside what theory predicts from vocabulary, width, the head's std and tying.

python -m initscope first-losses data/first_losses.yaml
"""

import math
from pathlib import Path
from typing import Annotated

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from ruamel.yaml import YAML, YAMLError

from initscope.distributions import DISTRIBUTIONS
from initscope.theory.loss import first_loss, second_order_loss

TOLERANCE = 0.05  # nats, or this share of what is reported: first losses scatter from seed to seed
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Row(BaseModel):
    """A network whose head reads a final norm with scale 1, and the losses reported of it, in nats."""

    model_config = ConfigDict(extra="forbid")
    name: str
    vocabulary: int = Field(ge=2)
    width: int = Field(ge=1)
    head_std: Positive
    cut: int | None = Field(default=None, description="the head's normal is cut at this many std: 2 or 3")
    tied_stream_std: Positive | None = Field(default=None, description="of a tied head: rms of the final stream")
    reported: list[Positive]


def first_losses(path):
    """A table, as text. SystemExit with one line for a file that is no list of rows."""
    return pd.DataFrame(map(compared, read(path))).to_string(index=False)


def read(path):
    try:
        return [Row.model_validate(row) for row in YAML(typ="safe", pure=True).load(Path(path))]
    except (OSError, YAMLError, TypeError) as error:
        raise SystemExit(f"{path}: {' '.join(str(error).split())}; give a YAML list of networks") from None
    except ValidationError as error:
        fault = error.errors()[0]
        raise SystemExit(f"{path}: {'.'.join(map(str, fault['loc']))}: {fault['input']!r}: {fault['msg']}") from None


def compared(row):
    """Predicted, to second order, reported, and whether every reported loss is as predicted."""
    std = row.head_std * (DISTRIBUTIONS[f"truncated_{row.cut}"].shrink if row.cut else 1)
    exact = first_loss(row.vocabulary, row.width, std, row.tied_stream_std)
    series = second_order_loss(row.vocabulary, row.width * std**2)
    close = [math.isclose(exact, value, abs_tol=TOLERANCE, rel_tol=TOLERANCE) for value in row.reported]
    return {
        "network": row.name,
        "ln V": f"{math.log(row.vocabulary):.4f}",
        "logit variance": f"{row.width * std**2:.4g}",
        "predicted": f"{exact:.4f}",
        "ln V + (1 - 1/V) v/2": "invalid" if series is None else f"{series:.4f}",
        "reported": ", ".join(f"{value:g}" for value in row.reported),
        "verdict": "pass" if all(close) else "not as predicted",
    }
