"""The section `corpus`: a class a source."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, computed_field, model_validator

from initscope.sections.keys import Count, Float, Positive, Section, Seed, Several, refuse
from initscope.texts import surveyed


class Markov(Section):
    source: Literal["markov"] = Field(description="order-1 Markov chain, drawn from its seed")
    vocabulary: Several = Field(description="tokens in the vocabulary")
    seed: Seed = Field(description="draws the chain and both sets of sequences, each from a stream of its own")
    length: Several = Field(description="tokens in a sequence; at least model.context + 1")
    training_sequences: Count = Field(description="sequences to train on")
    validation_sequences: Count = Field(description="sequences held out")


class Text(Section):
    source: Literal["text"] = Field(description="a text of your own; its vocabulary are the symbols of its first part")
    path: str = Field(description="UTF-8 file, as seen from the folder of the run")
    unit: Literal["character", "byte"] = Field(description="what a token is")
    held_out: Annotated[Float, Field(gt=0, lt=1)] = Field(description="share of the text, from its end, to validate on")
    seed: Seed = Field(description="draws where the sequences begin")
    length: Several = Field(description="tokens in a sequence; at least model.context + 1")
    training_sequences: Count = Field(description="sequences to train on")
    validation_sequences: Count = Field(description="sequences held out")

    @model_validator(mode="after")
    def readable(self):
        if ".." in Path(self.path).parts:
            refuse("path", self.path, "a path may not lead out of the folder of the run; name it from there, or from /")
        _ = self.survey
        return self

    @property
    def survey(self):
        try:
            return surveyed(self.path, self.unit, self.held_out, self.length)
        except ValueError as error:
            refuse("path", self.path, str(error))

    @computed_field
    def vocabulary(self) -> int:
        return self.survey["vocabulary"]

    @computed_field
    def sha256(self) -> str:
        return self.survey["sha256"]


class Digits(Section):
    source: Literal["digits"] = Field(description="the 1,797 handwritten digits of scikit-learn, 8 x 8 pixels")
    seed: Seed = Field(description="draws the split")
    training_examples: Count = Field(description="images to train on")
    validation_examples: Count = Field(description="images held out")

    @model_validator(mode="after")
    def fits(self):
        if (asked := self.training_examples + self.validation_examples) > 1797:
            refuse("training_examples", self.training_examples, f"there are 1797 images, not {asked}; use fewer")
        return self

    @computed_field
    def vocabulary(self) -> int:
        return 10

    @computed_field
    def features(self) -> int:
        return 64


class Gaussian(Section):
    source: Literal["gaussian"] = Field(description="independent normal inputs; the class is the largest linear form")
    vocabulary: Several = Field(description="classes")
    features: Count = Field(description="entries of an input")
    variance: Positive = Field(description="variance of every entry")
    seed: Seed = Field(description="draws the inputs and the linear forms")
    training_examples: Count = Field(description="inputs to train on")
    validation_examples: Count = Field(description="inputs held out")


Sequences = Markov | Text  # of tokens, for a Transformer
Examples = Digits | Gaussian  # of features and a class, for an MLP
