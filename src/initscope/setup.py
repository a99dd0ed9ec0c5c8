"""The setup: everything that fixes one run, section by section, every key typed and limited. No key has a default."""

import re
from functools import cache
from typing import Annotated, Literal, get_args

from pydantic import BeforeValidator, Field, model_serializer, model_validator

from initscope.gains import GAINS_OF_TORCH
from initscope.models.layout import tensors
from initscope.schemes import SCHEMES, useless
from initscope.sections.corpora import Examples, Sequences
from initscope.sections.keys import Count, Decay, Float, Positive, Section, Seed, refuse, tag
from initscope.sections.models import Mlp, Transformer


class Batches(Section):
    seed: Seed = Field(description="the order in which training examples are seen")
    size: Count = Field(description="sequences or examples in a batch")


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


def device(value):
    """`cpu`, or `cuda` and the name of a GPU: which one decides the bits, so that it belongs to the record."""
    if value != "cpu" and not re.fullmatch(r"cuda \S.*", str(value)):
        name = "nvidia-smi --query-gpu=name --format=csv,noheader"
        refuse(None, value, f"write cpu, or cuda and the GPU's name, as `{name}` prints it: cuda NVIDIA H200")
    return value


Device = Annotated[str, BeforeValidator(device)]


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


def variants(name):
    """The classes of a section: several where its kind, or its source, decides which keys it has."""
    annotation = Setup.model_fields[name].annotation
    return get_args(annotation) or (annotation,)


# An axis is named by the setup key it varies; these sections differ from cell to cell, the others are the study's.
AXES = {
    key: name for name in ("model", "init", "training") for section in variants(name) for key in section.model_fields
}
