"""initscope: what an initialization sets before the first update, and which starting scales live or die."""

from initscope.compute import before_torch

before_torch("portable")
