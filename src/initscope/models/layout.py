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
    reads: int | None = None  # of a bias: the fan_in of its weight
    width: int = 0  # of the network
    layers: int = 0  # of the network
    branches: int = 0  # residual branches of the network: 2 layers in a Transformer, 0 where nothing is added up
    passed: int = 0  # those up to the end of this tensor's block

    @property
    def part(self):
        """The name within its layer: `layers.0.query.weight` -> `query.weight`."""
        return self.name.split(".", 2)[2] if self.layer is not None else self.name


def tensors(model, corpus):
    """Every parameter tensor of a model, in the order of the forward pass.

    model: the setup's model section; corpus: {"vocabulary": outputs, "features": inputs, where they are real numbers}.
    """
    return {"transformer": transformer, "mlp": mlp}[model["kind"]](model, corpus)


def transformer(model, corpus):
    d, f, vocabulary = model["width"], model["mlp_width"], corpus["vocabulary"]
    network = {"width": d, "layers": model["layers"], "branches": 2 * model["layers"]}
    found = [embedding("token_embedding", vocabulary, network)]
    found += [embedding("position_embedding", model["context"], network)]
    for layer in range(model["layers"]):
        block = {**network, "layer": layer, "passed": 2 * (layer + 1)}
        attention = [(kind, d, d) for kind in ("query", "key", "value", "attention_out")]
        mlp = [*([("mlp_gate", d, f)] if model["gated"] else []), ("mlp_in", d, f), ("mlp_out", f, d)]
        found += sublayer("attention_norm", attention, model, block)
        found += sublayer("mlp_norm", mlp, model, block)
    if model["norm_position"] == "pre":
        found += normalization("final_norm", model["norm"], network)
    weight, bias = linear("head", "head", d, vocabulary, network)
    return [*found, *([] if model["tied_head"] else [weight]), bias]


def sublayer(norm, maps, model, block):
    """The tensors of one sublayer: its norm before or after its linear maps, as in the forward pass."""
    above = f"layers.{block['layer']}"
    normed = normalization(f"{above}.{norm}", model["norm"], block)
    linears = [t for kind, *fans in maps for t in linear(f"{above}.{kind}", kind, *fans, block)]
    return [*normed, *linears] if model["norm_position"] == "pre" else [*linears, *normed]


def mlp(model, corpus):
    d, hidden = model["width"], model["layers"] - 1
    network = {"width": d, "layers": model["layers"], "branches": hidden - 1 if model["residual"] else 0}
    found = []
    for layer in range(hidden):
        block = {**network, "layer": layer, "passed": layer if model["residual"] else 0}
        kind = "input" if layer == 0 else "branch_out" if model["residual"] else "hidden"
        found += linear(f"layers.{layer}.linear", kind, d if layer else corpus["features"], d, block)
        found += normalization(f"layers.{layer}.norm", model["norm"], block)
    return [*found, *linear("head", "head", d, corpus["vocabulary"], network)]


def embedding(kind, rows, network):
    return Tensor(f"{kind}.weight", kind, None, (rows, network["width"]), rows, network["width"], **network)


def linear(name, kind, fan_in, fan_out, place):
    """Weight (fan_out, fan_in), as torch.nn.Linear stores it, and bias."""
    place = {"layer": None, **place}
    weight = Tensor(f"{name}.weight", kind, shape=(fan_out, fan_in), fan_in=fan_in, fan_out=fan_out, **place)
    return [weight, Tensor(f"{name}.bias", "bias", shape=(fan_out,), reads=fan_in, **place)]


# {norm: its learnable parts}; what a norm does stands in models/norms
NORMS = {
    "none": (),
    "layernorm": ("scale", "offset"),
    "rmsnorm": ("scale",),
    "batchnorm": ("scale", "offset"),
}


def normalization(name, norm, place):
    place = {"layer": None, **place}
    return [Tensor(f"{name}.{part}", f"norm_{part}", shape=(place["width"],), **place) for part in NORMS[norm]]
