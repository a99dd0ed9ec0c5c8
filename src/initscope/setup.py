"""The setup: everything that fixes one run, section by section, every key typed and limited. No key has a default."""

import re
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    computed_field,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from initscope.gains import GAINS_OF_THEORY, GAINS_OF_TORCH
from initscope.models.layout import NORMS, tensors
from initscope.schemes import SCHEMES, useless
from initscope.texts import surveyed


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


def device(value):
    """`cpu`, or `cuda` and the name of a GPU: which one decides the bits, so that it belongs to the record."""
    if value != "cpu" and not re.fullmatch(r"cuda \S.*", str(value)):
        name = "nvidia-smi --query-gpu=name --format=csv,noheader"
        refuse(None, value, f"write cpu, or cuda and the GPU's name, as `{name}` prints it: cuda NVIDIA H200")
    return value


Device = Annotated[str, BeforeValidator(device)]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


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


class Batches(Section):
    seed: Seed = Field(description="the order in which training examples are seen")
    size: Count = Field(description="sequences or examples in a batch")


Activation = Literal[tuple(GAINS_OF_THEORY)]
Norm = Literal[tuple(NORMS)]


class Transformer(Section):
    kind: Literal["transformer"] = Field(description="decoder-only Transformer with learned positions")
    context: Count = Field(description="tokens that the network reads")
    layers: Count = Field(description="blocks of attention and MLP")
    width: Count = Field(description="entries of the residual stream")
    heads: Count = Field(description="attention heads; must divide the width")
    mlp_width: Count = Field(description="hidden units of each MLP")
    activation: Activation = Field(description="activation of the MLP")
    gated: bool = Field(strict=True, description="multiply the activation with a second product: SwiGLU with silu")
    norm: Norm = Field(description="normalization, eps 1e-5; batchnorm: over all tokens of a batch, later ones too")
    norm_position: Literal["pre", "post"] = Field(description="before each sublayer and the head, or after each sum")
    tied_head: bool = Field(strict=True, description="the head's weight is the token embedding")
    dropout: Float = Field(description="only 0: dropout would be a second source of randomness")

    @model_validator(mode="after")
    def fits(self):
        if self.width % self.heads:
            refuse("heads", self.heads, f"heads must divide the width {self.width}")
        if self.dropout:
            refuse("dropout", self.dropout, "only 0 is accepted: dropout would be a second source of randomness")
        return self


class Mlp(Section):
    kind: Literal["mlp"] = Field(description="plain deep network: linear, norm, activation, and so on; a linear head")
    layers: Several = Field(description="weight matrices, the head's included")
    width: Count = Field(description="units of a hidden layer")
    activation: Activation = Field(description="activation of every hidden layer")
    norm: Norm = Field(description="normalization before each activation, eps 1e-5; batchnorm: by batch statistics")
    residual: bool = Field(
        strict=True, description="from the second layer on, add each layer's output to the sum so far"
    )


class Init(Section):
    scheme: Literal[tuple(SCHEMES)] = Field(description="initialization scheme; the table below")
    std: Positive = Field(description="standard deviation of the weights, s of the table, for the schemes that use it")
    gain: Literal["paper", "theory", "torch"] = Field(description="gain g of the table, for the schemes that use it")
    factor: Positive = Field(description="multiplies the std of every tensor that is drawn; 1: the scheme itself")
    seed: Seed = Field(description="the model seed")

    @model_serializer(mode="wrap")
    def used(self, dump):
        """Only what reaches the weights: another std of a scheme without one is no other setup."""
        unused = {"std", "gain"} - set(SCHEMES[self.scheme].uses)
        return {key: value for key, value in dump(self).items() if key not in unused}


OPTIMIZERS = {"adam": ("betas", "eps"), "sgd": ("momentum",)}


class Training(Section):
    optimizer: Literal[tuple(OPTIMIZERS)] = Field(description="without weight decay")
    learning_rate: Positive = Field(description="step size")
    betas: tuple[Decay, Decay] = Field(description="adam: decay of the first and second moment")
    eps: Positive = Field(description="adam: added to the root of the second moment")
    momentum: Decay = Field(description="sgd: heavy-ball momentum")
    updates: Count = Field(description="optimizer updates, the same for every cell")

    @model_serializer(mode="wrap")
    def used(self, dump):
        unused = {key for keys in OPTIMIZERS.values() for key in keys} - set(OPTIMIZERS[self.optimizer])
        return {key: value for key, value in dump(self).items() if key not in unused}


class Outcome(Section):
    diverged_above: Float = Field(description="diverged: not finite, or x ends above this and no lower than it began")
    unstable_above: Float = Field(description="unstable: x ends above this")
    unstable_rise: Positive = Field(description="unstable: x ends this much above its best recorded value")
    settled_after: Seed = Field(description="the best value counts from this update on")
    dead_above: Float = Field(description="dead: x ends above this and hardly moved")
    dead_change: Positive = Field(description="dead: x moved less than this over the last half of training")
    learned_below: Float = Field(description="learned: x ends at or below this; else slow")
    vanishing_below: Positive = Field(description="evidence: the weights' gradient norm ends below this")
    exploding_above: Positive = Field(description="evidence: the gradient norm was above this at a recorded update")
    saturated_above: Positive = Field(
        description="evidence: share of flat hidden units, or of attention rows on one token, at the end"
    )


class Zone(Section):
    axis: Literal["std", "factor", "learning_rate"] = Field(description="the axis that a zone is an interval of")
    apart: Annotated[Float, Field(gt=1)] = Field(
        description="stage `zone` bisects until the two values that bracket an end differ by this factor at most"
    )


class Compute(Section):
    determinism: Literal["portable", "native"] = Field(description="portable: the same bits on every x86-64 CPU")
    device: Device = Field(description="where audit and training run: `cpu`, or `cuda` and the name of the GPU")
    stack: Count = Field(description="cells that one job computes together, at most; changes no bit of any result")

    @model_validator(mode="after")
    def bits(self):
        if self.device != "cpu" and self.determinism == "portable":
            mend = "only a CPU gives the same bits elsewhere; on a GPU say compute.determinism: native"
            refuse("device", self.device, mend)
        return self


class Setup(Section):
    corpus: Annotated[Sequences | Examples, Field(discriminator="source")]
    batches: Batches
    model: Annotated[Transformer | Mlp, Field(discriminator="kind")]
    init: Init
    training: Training
    outcome: Outcome
    zone: Zone
    compute: Compute

    @model_validator(mode="after")
    def fits(self):
        reads_tokens = isinstance(self.corpus, Sequences)
        if reads_tokens != isinstance(self.model, Transformer):
            sources = " or ".join(tag(kind) for kind in get_args(Examples if reads_tokens else Sequences))
            refuse("model.kind", self.model.kind, f"it cannot read {self.corpus.source}; use corpus.source {sources}")
        if reads_tokens and self.model.context + 1 > self.corpus.length:
            refuse(
                "model.context",
                self.model.context,
                f"a sequence has {self.corpus.length} tokens; use a context of at most {self.corpus.length - 1} "
                "or a longer corpus.length",
            )
        count = self.corpus.training_sequences if reads_tokens else self.corpus.training_examples
        if self.batches.size > count:
            refuse("batches.size", self.batches.size, f"there are {count} training examples; use a smaller batch")
        if self.model.norm == "batchnorm" and self.batches.size < 2:
            refuse(
                "batches.size", self.batches.size, "batchnorm needs a batch of at least 2; use more, or another norm"
            )
        return self

    @model_validator(mode="after")
    def draws(self):
        if reason := useless(self.init.scheme, kinds(self.model, self.corpus)):
            refuse("init.scheme", self.init.scheme, reason)
        asks_torch = self.init.gain == "torch" and "gain" in SCHEMES[self.init.scheme].uses
        if asks_torch and self.model.activation not in GAINS_OF_TORCH:
            known = ", ".join(GAINS_OF_TORCH)
            refuse("init.gain", "torch", f"torch has none for {self.model.activation}, only for {known}; use theory")
        return self


@cache
def kinds(model, corpus):
    """The kinds of tensor that a model has: the same for all cells of most studies."""
    return {t.kind for t in tensors(model.model_dump(), corpus.model_dump())}


def refuse(key, value, mend):
    raise PydanticCustomError("refused", "{mend}", {"key": key, "value": value, "mend": mend})


def tag(section):
    """`markov` of the class Markov: the one value of its first key."""
    return get_args(next(iter(section.model_fields.values())).annotation)[0]


def variants(name):
    """The classes of a section: several where its kind, or its source, decides which keys it has."""
    annotation = Setup.model_fields[name].annotation
    return get_args(annotation) or (annotation,)


# An axis is named by the setup key it varies; these sections differ from cell to cell, the others are the study's.
AXES = {
    key: name for name in ("model", "init", "training") for section in variants(name) for key in section.model_fields
}
