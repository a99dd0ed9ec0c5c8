"""Which tensors a model has: name, kind, layer, shape, fans. No torch, so that drawing weights needs none."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tensor:
    """fan_in, fan_out: entries that a unit of the output reads, and that a unit of the input reaches.

    An embedding (vocabulary x width) is a lookup of one row: as a matrix acting on a one-hot token it has fan_in
    vocabulary and fan_out width. torch.nn.init counts the other way round (fan_in = shape[1]).
    """

    name: str
    kind: str
    layer: int | None
    shape: tuple
    fan_in: int | None = None
    fan_out: int | None = None

    @property
    def part(self):
        """The name within its layer: `layers.0.query.weight` -> `query.weight`."""
        return self.name.split(".", 2)[2] if self.layer is not None else self.name


def tensors(model, vocabulary):
    """Every parameter tensor of a model, in the order of the forward pass. model: the setup's model section."""
    d, norm = model["width"], model["norm"]
    found = [embedding("token_embedding", vocabulary, d), embedding("position_embedding", model["context"], d)]
    for layer in range(model["layers"]):
        found += normalization(f"layers.{layer}.attention_norm", norm, layer, d)
        for kind in ("query", "key", "value", "attention_out"):
            found += linear(f"layers.{layer}.{kind}", kind, layer, d, d)
        found += normalization(f"layers.{layer}.mlp_norm", norm, layer, d)
        found += linear(f"layers.{layer}.mlp_in", "mlp_in", layer, d, model["mlp_width"])
        found += linear(f"layers.{layer}.mlp_out", "mlp_out", layer, model["mlp_width"], d)
    return [*found, *normalization("final_norm", norm, None, d), *linear("head", "head", None, d, vocabulary)]


def embedding(kind, rows, width):
    return Tensor(f"{kind}.weight", kind, None, (rows, width), rows, width)


def linear(name, kind, layer, fan_in, fan_out):
    """Weight (fan_out, fan_in), as torch.nn.Linear stores it, and bias."""
    weight = Tensor(f"{name}.weight", kind, layer, (fan_out, fan_in), fan_in, fan_out)
    return [weight, Tensor(f"{name}.bias", "bias", layer, (fan_out,))]


def normalization(name, norm, layer, width):
    scale = Tensor(f"{name}.scale", "norm_scale", layer, (width,))
    offset = Tensor(f"{name}.offset", "norm_offset", layer, (width,))
    return {"none": [], "rmsnorm": [scale], "layernorm": [scale, offset]}[norm]
