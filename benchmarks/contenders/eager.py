"""The ordinary way: torch.nn modules, torch.optim.Adam, one cell after another in one process. No audit.

python eager.py          every cell of the study `scale` of ./config.yaml; losses/<seed>_<std>.csv

Written for speed as far as ordinary code goes: fused Adam, torch's own attention, one thread (the matrices are small),
the whole validation set at once. Drawing the weights, the corpus and the order of its batches is what defines a cell,
and is imported; the rest is all here. (torch comes first: once initscope is imported, torch would start with portable
bits, which are slower.)
"""

import csv
from itertools import product
from pathlib import Path

import torch
import torch.nn.functional as F
from ruamel.yaml import YAML
from torch import nn

from initscope.batches import order
from initscope.corpora import markov
from initscope.init import weights
from initscope.marks import marks


class Block(nn.Module):
    """Attention, then an MLP, each after a LayerNorm and added to the stream; x: (batch, context, width)."""

    def __init__(self, width, heads, mlp_width):
        super().__init__()
        self.heads = heads
        self.attention_norm, self.mlp_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value, self.attention_out = (nn.Linear(width, width) for _ in range(4))
        self.mlp_in, self.mlp_out = nn.Linear(width, mlp_width), nn.Linear(mlp_width, width)
        self.activation = nn.GELU()

    def forward(self, x):
        h = self.attention_norm(x)
        q, k, v = (m(h).unflatten(2, (self.heads, -1)).transpose(1, 2) for m in (self.query, self.key, self.value))
        x = x + self.attention_out(self.attention(q, k, v).transpose(1, 2).flatten(2))
        return x + self.mlp_out(self.activation(self.mlp_in(self.mlp_norm(x))))

    def attention(self, q, k, v):
        """(batch, heads, context, width of a head) in and out."""
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class Transformer(nn.Module):
    """Decoder-only, learned positions; logits (batch, context, vocabulary) of the next token."""

    def __init__(self, model, vocabulary, block=Block):
        super().__init__()
        d = model["width"]
        self.token_embedding, self.position_embedding = nn.Embedding(vocabulary, d), nn.Embedding(model["context"], d)
        self.layers = nn.Sequential(*(block(d, model["heads"], model["mlp_width"]) for _ in range(model["layers"])))
        self.final_norm, self.head = nn.LayerNorm(d), nn.Linear(d, vocabulary)

    def forward(self, tokens):
        x = self.token_embedding(tokens) + self.position_embedding.weight[: tokens.shape[1]]
        return self.head(self.final_norm(self.layers(x)))


def loaded(network, weights):
    """The module with weights {name: array}: a norm's scale and offset are torch's weight and bias."""
    names = {name: name.replace(".scale", ".weight").replace(".offset", ".bias") for name in weights}
    network.load_state_dict({names[name]: torch.from_numpy(value) for name, value in weights.items()})
    return network


def loss(network, tokens):
    """Mean cross-entropy of every next token; tokens: int64 (count, context + 1)."""
    return F.cross_entropy(network(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())


def train(setup, weights, tokens):
    """Validation loss (nats per token) at the recorded updates of one cell: [{"update", "validation_loss"}].

    setup: the cell's sections; weights: {name: array}; tokens: {"training", "validation"}, int64 (count, context + 1).
    """
    torch.set_num_threads(1)
    network = loaded(Transformer(setup["model"], setup["corpus"]["vocabulary"]), weights)
    training, validation = (torch.from_numpy(tokens[part]) for part in ("training", "validation"))
    rate, betas, eps, updates = (setup["training"][key] for key in ("learning_rate", "betas", "eps", "updates"))
    optimizer = torch.optim.Adam(network.parameters(), rate, betas, eps, fused=True)
    batches, recorded, rows = order(setup["batches"], len(training), updates), marks(updates), []
    for update in range(updates + 1):
        if update in recorded:
            with torch.no_grad():
                rows.append({"update": update, "validation_loss": loss(network, validation).item()})
        if update < updates:
            optimizer.zero_grad()
            loss(network, training[batches[update]]).backward()
            optimizer.step()
    return rows


def save(path, rows, seed, std):
    """One CSV file a cell."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, ["seed", "std", *rows[0]])
        table.writeheader()
        table.writerows({"seed": seed, "std": std, **row} for row in rows)


def corpus(setup):
    """{"training", "validation"}: int64 (count, context + 1)."""
    return markov.examples(setup["corpus"])[0]


def run(setup, tokens, path):
    """One cell from its initial weights to its file."""
    save(path, train(setup, weights(setup), tokens), setup["init"]["seed"], setup["init"]["std"])


def main():
    config = YAML(typ="safe").load(Path("config.yaml"))
    setup, axes = config["setup"], config["studies"]["scale"]["axes"]
    tokens = corpus(setup)
    for seed, std in product(axes["seed"], axes["std"]):
        cell = {**setup, "init": {**setup["init"], "seed": seed, "std": std}}
        run(cell, tokens, Path(f"losses/{seed}_{std}.csv"))


if __name__ == "__main__":
    main()
