"""What sections are made of: keys that are typed and limited, none with a default."""

from typing import Annotated, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError


def number(value):
    """`--config` and YAML 1.1 writers hand over numbers such as 1e-3 as text: take the number it means."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


Float = Annotated[float, Field(strict=True, allow_inf_nan=False), BeforeValidator(number)]
Positive = Annotated[Float, Field(gt=0)]
Decay = Annotated[Float, Field(ge=0, lt=1)]
Count = Annotated[int, Field(strict=True, ge=1)]
Several = Annotated[int, Field(strict=True, ge=2)]
Seed = Annotated[int, Field(strict=True, ge=0)]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def refuse(key, value, mend):
    """Fail a validator with the three parts of the line that the user reads (`faults.explained`)."""
    raise PydanticCustomError("refused", "{mend}", {"key": key, "value": value, "mend": mend})


def tag(section):
    """`markov` of the class Markov: the one value of its first key."""
    return get_args(next(iter(section.model_fields.values())).annotation)[0]
