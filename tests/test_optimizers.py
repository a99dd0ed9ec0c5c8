import pytest
import torch
from helpers import Memory, mlp

from initscope.optimizers import Optimizer

ADAM = {"optimizer": "adam", "betas": [0.9, 0.99], "eps": 1e-8, "updates": 9}
SGD = {"optimizer": "sgd", "momentum": 0.9, "updates": 9}


@pytest.mark.parametrize("training", [ADAM, SGD, {**SGD, "momentum": 0.0}])
def test_a_stack_of_rates_does_what_torch_does_for_each(training):
    """torch.optim on each cell by itself, nine updates on random gradients; to float32 rounding."""
    rates, generator = [0.1, 0.003, 1.0], torch.Generator().manual_seed(0)
    start = torch.randn(3, 4, 5, generator=generator)
    gradients = torch.randn(9, 3, 4, 5, generator=generator)
    ours = Optimizer({"w": start}, [{**training, "learning_rate": rate} for rate in rates])
    for g in gradients:
        ours.update({"w": g})
    for i, rate in enumerate(rates):
        w = start[i].clone().requires_grad_()
        adam = lambda: torch.optim.Adam([w], lr=rate, betas=training["betas"], eps=training["eps"])  # noqa: B023
        sgd = lambda: torch.optim.SGD([w], lr=rate, momentum=training["momentum"])  # noqa: B023
        theirs = adam() if training["optimizer"] == "adam" else sgd()
        for g in gradients:
            w.grad = g[i]
            theirs.step()
        assert torch.allclose(ours.weights["w"][i], w.detach(), rtol=1e-5, atol=1e-6)


def test_optimizers_and_rates_in_one_stack_are_each_as_alone():
    axes = {"optimizer": ["adam", "sgd"], "learning_rate": [0.01, 0.1]}
    together = Memory(mlp(axes), ["corpus", "init", "train"]).bytes("train")
    alone = Memory(mlp(axes), ["corpus", "init", "train"], stack=1).bytes("train")
    assert together == alone
    assert len({files["weights.safetensors"] for files in together.values()}) == 4
