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
        whole = len(groups) == 1
        self.groups = [
            (slice(None) if whole else torch.tensor(rows), stepper(weights, [trainings[i] for i in rows]))
            for rows in groups.values()
        ]

    def update(self, weights, gradients):
        for _, step in self.groups:
            step.t += 1
        for name, gradient in gradients.items():
            for rows, step in self.groups:
                weights[name][rows] -= step(name, gradient[rows])


def stepper(weights, trainings):
    """The steps of cells that share all but the learning rate."""
    shapes = {name: (len(trainings), *value.shape[1:]) for name, value in weights.items()}
    rates = torch.tensor([training["learning_rate"] for training in trainings])
    rates = {name: rates.view(-1, *[1] * (len(shape) - 1)) for name, shape in shapes.items()}
    return {"adam": Adam, "sgd": Sgd}[trainings[0]["optimizer"]](shapes, rates, trainings[0])


class Sgd:
    """Stochastic gradient descent with heavy-ball momentum, as torch.optim.SGD writes it.

    m <- momentum m + g;  w <- w - rate m
    """

    def __init__(self, shapes, rates, training):
        self.rates, self.momentum, self.t = rates, training["momentum"], 0
        self.m = {name: torch.zeros(shape) for name, shape in shapes.items()}

    def __call__(self, name, g):
        return self.rates[name] * (self.m[name].mul_(self.momentum).add_(g) if self.momentum else g)


class Adam:
    """Adam (arXiv 1412.6980, Algorithm 1).

    m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2;  w <- w - rate (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)
    """

    def __init__(self, shapes, rates, training):
        self.rates, self.eps, (self.b1, self.b2), self.t = rates, training["eps"], training["betas"], 0
        self.m = {name: torch.zeros(shape) for name, shape in shapes.items()}
        self.v = {name: torch.zeros(shape) for name, shape in shapes.items()}

    def __call__(self, name, g):
        m = self.m[name].mul_(self.b1).add_(g, alpha=1 - self.b1)
        v = self.v[name].mul_(self.b2).addcmul_(g, g, value=1 - self.b2)
        # rsqrt().reciprocal(): the last bit of torch's float32 sqrt depends on the CPU
        root = (v / (1 - self.b2**self.t)).rsqrt_().reciprocal_().add_(self.eps)
        return self.rates[name] * (m / (1 - self.b1**self.t)).div_(root)
