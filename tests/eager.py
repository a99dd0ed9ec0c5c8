"""The published Transformer written again, the ordinary way: torch.nn modules, hooks, one cell, no vmap, no taps."""

import math

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads, mlp_width, activation):
        super().__init__()
        self.heads = heads
        self.attention_norm, self.mlp_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value, self.attention_out = (nn.Linear(width, width) for _ in range(4))
        self.mlp_in, self.mlp_out = nn.Linear(width, mlp_width), nn.Linear(mlp_width, width)
        self.activation, self.dropped = activation, nn.Identity()

    def forward(self, x):
        batch, context, width = x.shape
        h = self.attention_norm(x)
        q, k, v = (
            m(h).view(batch, context, self.heads, -1).transpose(1, 2) for m in (self.query, self.key, self.value)
        )
        scores = q @ k.transpose(2, 3) / math.sqrt(width // self.heads)
        causal = torch.full((context, context), -math.inf).triu(1)
        self.scores, self.probabilities = scores, (scores + causal).softmax(-1)
        x = x + self.attention_out((self.probabilities @ v).transpose(1, 2).reshape(batch, context, width))
        self.middle = x
        return x + self.mlp_out(self.activation(self.mlp_in(self.mlp_norm(x))))


class Transformer(nn.Module):
    def __init__(self, model, vocabulary):
        super().__init__()
        d = model["width"]
        self.token_embedding, self.position_embedding = nn.Embedding(vocabulary, d), nn.Embedding(model["context"], d)
        block = lambda: Block(d, model["heads"], model["mlp_width"], nn.GELU())
        self.layers = nn.ModuleList(block() for _ in range(model["layers"]))
        self.final_norm, self.head = nn.LayerNorm(d), nn.Linear(d, vocabulary)

    def forward(self, tokens):
        x = self.token_embedding(tokens) + self.position_embedding.weight[: tokens.shape[1]]
        for layer in self.layers:
            x = layer(x)
        return self.head(self.final_norm(x))


def loaded(model, vocabulary, weights):
    """The module with our weights: a norm's scale and offset are torch's weight and bias."""
    found = Transformer(model, vocabulary)
    names = {name: name.replace(".scale", ".weight").replace(".offset", ".bias") for name in weights}
    found.load_state_dict({names[name]: torch.from_numpy(value) for name, value in weights.items()})
    return found
