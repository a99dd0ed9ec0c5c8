"""Optimizers on stacked tensors. Each entry is updated by itself, so no cell sees another.

The cells of a stack may differ in everything that the optimizer is told: the learning rate is a tensor over cells, and
cells that differ in the rest are updated group by group.
"""

import json

import torch


class Optimizer:
    """Updates the weights of a stack, in place.

    weights: {tensor name: (cells, ...)}; trainings: the training section of each cell's settings.
    """

    def __init__(self, weights, trainings):
        cells = len(next(iter(weights.values())))
        trainings = trainings * cells if len(trainings) < cells else trainings  # a cell alone has a twin
        groups = {}
        for i, training in enumerate(trainings):
            rest = {key: value for key, value in training.items() if key != "learning_rate"}
            groups.setdefault(json.dumps(rest, sort_keys=True), []).append(i)
        self.groups = [(rows, stepper(weights, [trainings[i] for i in rows])) for rows in groups.values()]

    def update(self, weights, gradients):
        for rows, step in self.groups:
            step.t += 1
            rows = slice(None) if len(self.groups) == 1 else torch.tensor(rows)
            for name, gradient in gradients.items():
                weights[name][rows] -= step(name, gradient[rows])

    def keep(self, cells):
        """Go on with these cells only, given by their places in the stack."""
        groups, self.groups = self.groups, []
        for rows, step in groups:
            kept = {new: rows.index(old) for new, old in enumerate(cells) if old in rows}
            for part in step.parts:
                part.update({name: value[list(kept.values())] for name, value in part.items()})
            if kept:
                self.groups.append((list(kept), step))


def stepper(weights, trainings):
    """The steps of cells that share all but the learning rate; `parts` is what it holds of each, {tensor name: ...}."""
    zeros = lambda: {name: value.new_zeros(len(trainings), *value.shape[1:]) for name, value in weights.items()}
    rates = next(iter(weights.values())).new_tensor([training["learning_rate"] for training in trainings])
    rates = {name: rates.view(-1, *[1] * (value.dim() - 1)) for name, value in weights.items()}
    return {"adam": Adam, "sgd": Sgd}[trainings[0]["optimizer"]](zeros, rates, trainings[0])


class Sgd:
    """Stochastic gradient descent with heavy-ball momentum, as torch.optim.SGD writes it.

    m <- momentum m + g;  w <- w - rate m
    """

    def __init__(self, zeros, rates, training):
        self.momentum, self.t = training["momentum"], 0
        self.parts = self.rates, self.m = rates, zeros()

    def __call__(self, name, g):
        return self.rates[name] * (self.m[name].mul_(self.momentum).add_(g) if self.momentum else g)


class Adam:
    """Adam (arXiv 1412.6980, Algorithm 1).

    m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2;  w <- w - rate (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)
    """

    def __init__(self, zeros, rates, training):
        self.eps, (self.b1, self.b2), self.t = training["eps"], training["betas"], 0
        self.parts = self.rates, self.m, self.v = rates, zeros(), zeros()

    def __call__(self, name, g):
        m = self.m[name].mul_(self.b1).add_(g, alpha=1 - self.b1)
        v = self.v[name].mul_(self.b2).addcmul_(g, g, value=1 - self.b2)
        # rsqrt().reciprocal(): the last bit of torch's float32 sqrt depends on the CPU
        root = (v / (1 - self.b2**self.t)).rsqrt_().reciprocal_().add_(self.eps)
        return self.rates[name] * (m / (1 - self.b1**self.t)).div_(root)
