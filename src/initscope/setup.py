"""The setup: everything that fixes one run, section by section, every key typed and limited. No key has a default."""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
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


class Corpus(Section):
    source: Literal["markov"] = Field(description="order-1 Markov chain, drawn from its seed")
    vocabulary: Several = Field(description="tokens in the vocabulary")
    seed: Seed = Field(description="draws the chain and both sets of sequences, each from a stream of its own")
    length: Several = Field(description="tokens in a sequence; at least model.context + 1")
    training_sequences: Count = Field(description="sequences to train on")
    validation_sequences: Count = Field(description="sequences held out")


class Batches(Section):
    seed: Seed = Field(description="the order in which training sequences are seen")
    size: Count = Field(description="sequences in a batch")


class Model(Section):
    kind: Literal["transformer"] = Field(description="decoder-only Transformer with learned positions")
    context: Count = Field(description="tokens that the network reads")
    layers: Count = Field(description="blocks of attention and MLP")
    width: Count = Field(description="entries of the residual stream")
    heads: Count = Field(description="attention heads; must divide the width")
    mlp_width: Count = Field(description="hidden units of each MLP")
    activation: Literal["gelu", "relu", "tanh"] = Field(description="activation of the MLP")
    norm: Literal["layernorm", "rmsnorm", "none"] = Field(description="normalization, eps 1e-5")
    norm_position: Literal["pre"] = Field(description="before each sublayer, and once before the head")
    tied_head: Literal[False] = Field(description="the head is a tensor of its own")
    dropout: Float = Field(description="only 0: dropout would be a second source of randomness")

    @model_validator(mode="after")
    def fits(self):
        if self.width % self.heads:
            refuse("heads", self.heads, f"heads must divide the width {self.width}")
        if self.dropout:
            refuse("dropout", self.dropout, "only 0 is accepted: dropout would be a second source of randomness")
        return self


class Init(Section):
    scheme: Literal["normal"] = Field(description="initialization scheme")
    std: Positive = Field(description="standard deviation the weights are drawn with")
    seed: Seed = Field(description="the model seed")


class Training(Section):
    optimizer: Literal["adam"] = Field(description="Adam without weight decay")
    learning_rate: Positive = Field(description="step size")
    betas: tuple[Decay, Decay] = Field(description="decay of the first and second moment")
    eps: Positive = Field(description="added to the root of the second moment")
    updates: Count = Field(description="optimizer updates, the same for every cell")


class Outcome(Section):
    diverged_above: Float = Field(description="diverged: not finite, or x ends above this and no lower than it began")
    unstable_above: Float = Field(description="unstable: x ends above this")
    unstable_rise: Positive = Field(description="unstable: x ends this much above its best recorded value")
    settled_after: Seed = Field(description="the best value counts from this update on")
    dead_above: Float = Field(description="dead: x ends above this and hardly moved")
    dead_change: Positive = Field(description="dead: x moved less than this over the last half of training")
    learned_below: Float = Field(description="learned: x ends at or below this; else slow")


class Compute(Section):
    determinism: Literal["portable", "native"] = Field(description="portable: the same bits on every x86-64 CPU")
    device: Literal["cpu"] = Field(description="where audit and training run")
    stack: Count = Field(description="cells that one job computes together, at most; changes no bit of any result")


class Setup(Section):
    corpus: Corpus
    batches: Batches
    model: Model
    init: Init
    training: Training
    outcome: Outcome
    compute: Compute

    @model_validator(mode="after")
    def fits(self):
        if self.model.context + 1 > self.corpus.length:
            refuse(
                "model.context",
                self.model.context,
                f"a sequence has {self.corpus.length} tokens; use a context of at most {self.corpus.length - 1} "
                "or a longer corpus.length",
            )
        if self.batches.size > self.corpus.training_sequences:
            refuse(
                "batches.size",
                self.batches.size,
                f"there are {self.corpus.training_sequences} training sequences; use a smaller batch",
            )
        return self


def refuse(key, value, mend):
    raise PydanticCustomError("refused", "{mend}", {"key": key, "value": value, "mend": mend})


# An axis is named by the setup key it varies; these sections differ from cell to cell, the others are the study's.
AXES = {
    key: name
    for name, section in (("model", Model), ("init", Init), ("training", Training))
    for key in section.model_fields
}
