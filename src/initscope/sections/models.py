"""The section `model`: a class a kind of network."""

from typing import Literal

from pydantic import Field, model_validator

from initscope.gains import GAINS_OF_THEORY
from initscope.models.layout import NORMS
from initscope.sections.keys import Count, Float, Section, Several, refuse

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
