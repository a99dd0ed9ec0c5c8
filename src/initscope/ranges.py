"""An axis as two ends and a count: `{from: 1.0e-3, to: 10.0, count: 100, spacing: log}`."""

from decimal import Decimal
from typing import Literal

from pydantic import Field, model_validator

from initscope.sections.keys import Float, Section, Several, refuse

DIGITS = 6  # significant ones of the values between the ends: they stand in paths, and a std is a float32


class Range(Section):
    """`count` values, both ends among them: in equal steps (linear) or by equal factors (log)."""

    low: Float = Field(alias="from", description="first value, the smallest")
    to: Float = Field(description="last value, the greatest")
    count: Several = Field(description="values, both ends among them")
    spacing: Literal["linear", "log"] = Field(description="equal steps, or equal factors, from each value to the next")

    @model_validator(mode="after")
    def fits(self):
        if self.spacing == "log" and self.low <= 0:
            refuse("from", self.low, "equal factors need an end above 0; raise it, or use spacing: linear")
        if self.low >= self.to:
            refuse("from", self.low, f"it must be below `to`, which is {self.to!r}")
        if len(set(self.values)) < self.count:
            refuse("count", self.count, f"two values are the same in {DIGITS} digits; use fewer, or ends further apart")
        return self

    @property
    def values(self):
        """As a list in a file would have them: whole numbers as int, so that an axis of layers or seeds takes them.

        Decimals, because the last bits of exp and log depend on the CPU; the ends as they were written, what lies
        between in DIGITS significant digits.
        """
        low, high = (Decimal(repr(end)) for end in (self.low, self.to))
        parts = [Decimal(i) / (self.count - 1) for i in range(1, self.count - 1)]
        between = [low * (high / low) ** part if self.spacing == "log" else low + (high - low) * part for part in parts]
        found = [self.low, *(float(f"{value:.{DIGITS}g}") for value in between), self.to]
        return [int(value) if value.is_integer() else value for value in found]
