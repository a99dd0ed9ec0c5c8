"""Optimizers on stacked tensors. Each entry is updated by itself, so no cell sees another.

The cells of a stack may differ in everything that the optimizer is told: the learning rate is a tensor over cells, and
cells that differ in the rest are updated group by group.
"""

import json

import torch

from initscope.block import Block


class Optimizer:
    """The weights of a stack, and what updates them.

    weights: {tensor name: (cells, ...)}; trainings: the training section of each cell's settings.
    """

    def __init__(self, weights, trainings):
        self.block, self.gradients = Block(weights).fill(weights), Block(weights)
        cells = len(self.block.values)
        trainings = trainings * cells if len(trainings) < cells else trainings  # a cell alone has a twin
        groups = {}
        for i, training in enumerate(trainings):
            rest = {key: value for key, value in training.items() if key != "learning_rate"}
            groups.setdefault(json.dumps(rest, sort_keys=True), []).append(i)
        self.groups = [(rows, stepper(self.block.values, [trainings[i] for i in rows])) for rows in groups.values()]

    @property
    def weights(self):
        """{tensor name: (cells, ...)}, which updates change in place."""
        return self.block.tensors

    def update(self, gradients):
        gradients = self.gradients.fill(gradients).values
        for rows, step in self.groups:
            step.t += 1
            rows = slice(None) if len(self.groups) == 1 else torch.tensor(rows)
            self.block.values[rows] -= step(gradients[rows])

    def keep(self, cells):
        """Go on with these cells only, given by their places in the stack."""
        weights = {name: value[cells] for name, value in self.weights.items()}
        self.block, self.gradients = Block(weights).fill(weights), Block(weights)
        groups, self.groups = self.groups, []
        for rows, step in groups:
            kept = {new: rows.index(old) for new, old in enumerate(cells) if old in rows}
            if kept:
                step.keep(list(kept.values()))
                self.groups.append((list(kept), step))


def stepper(values, trainings):
    """The steps of cells that share all but the learning rate; values: (cells, entries)."""
    rates = values.new_tensor([[training["learning_rate"]] for training in trainings])
    zeros = lambda: values.new_zeros(len(trainings), values.shape[1])
    return {"adam": Adam, "sgd": Sgd}[trainings[0]["optimizer"]](zeros, rates, trainings[0])


class Sgd:
    """Stochastic gradient descent with heavy-ball momentum, as torch.optim.SGD writes it.

    m <- momentum m + g;  w <- w - rate m
    """

    def __init__(self, zeros, rates, training):
        self.momentum, self.t = training["momentum"], 0
        self.rates, self.m = rates, zeros()

    def __call__(self, g):
        return self.rates * (self.m.mul_(self.momentum).add_(g) if self.momentum else g)

    def keep(self, cells):
        self.rates, self.m = self.rates[cells], self.m[cells]


class Adam:
    """Adam (arXiv 1412.6980, Algorithm 1).

    m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2;  w <- w - rate (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)
    """

    def __init__(self, zeros, rates, training):
        self.eps, (self.b1, self.b2), self.t = training["eps"], training["betas"], 0
        self.rates, self.m, self.v = rates, zeros(), zeros()

    def __call__(self, g):
        m = self.m.mul_(self.b1).add_(g, alpha=1 - self.b1)
        v = self.v.mul_(self.b2).addcmul_(g, g, value=1 - self.b2)
        # rsqrt().reciprocal(): the last bit of torch's float32 sqrt depends on the CPU
        root = (v / (1 - self.b2**self.t)).rsqrt_().reciprocal_().add_(self.eps)
        return self.rates * (m / (1 - self.b1**self.t)).div_(root)

    def keep(self, cells):
        self.rates, self.m, self.v = self.rates[cells], self.m[cells], self.v[cells]
