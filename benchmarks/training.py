"""How long does training take, as a multiple of its own matrix products? `python benchmarks/training.py`

One stack of the study `scale`, as its first training job computes it: all updates, all that is measured on the way, on
one thread. Then every matrix product that it made - forward, backward and in evaluations - alone, on the same shapes,
in the same order: by torch.bmm, and in portable mode also by NumPy, with whose products it trains. By turns; a ratio
is taken within a repetition, median (least to greatest).

`--kernels` says instead which operations a training spends its time in. A process for each mode of
`compute.determinism`: torch and NumPy read the mode when they are imported.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from counts import count

from initscope import compute, config, orders, records
from initscope.corpora import markov
from initscope.init import weights

ROOT = Path(__file__).parents[1]
MOST = 12  # operations that are named


def stack():
    """The settings of every cell of the first training job of `scale` on two cores."""
    plan = records.of_study(config.load(ROOT / "config.yaml").study("scale"))
    return next([a.cell.settings for a in job] for stage, job in orders.jobs(plan, cores=2) if stage == "train")


def training_in(mode):
    """A function that trains the stack once, in this process from now on."""
    compute.before_torch(mode)
    import torch

    compute.settle(mode)
    from initscope import training

    cells = stack()
    first = [weights(cell) for cell in cells]
    tokens = {part: torch.from_numpy(found) for part, found in markov.examples(cells[0]["corpus"])[0].items()}
    examples = {part: (found[:, :-1], found[:, 1:]) for part, found in tokens.items()}

    def train():
        stacked = {name: torch.stack([torch.from_numpy(cell[name]) for cell in first]) for name in first[0]}
        training.train(stacked, examples, cells)

    return train, len(cells)


def measured(mode, repeat):
    """The lines of the table of one mode: beside torch's products, and beside NumPy's where it trains with those."""
    train, cells = training_in(mode)
    import torch
    from products import Products, alone, operations

    from initscope.arithmetic import portable
    from initscope.models.products import multiplied

    with Products() as products:
        train()
    made = products.made
    beside = {"torch.bmm": alone(made, torch.bmm)}
    beside |= {"numpy.matmul": alone(made, multiplied, shaped=lambda x: x)} if portable() else {}
    taken = [(seconds(train), *map(seconds, beside.values())) for _ in range(repeat)]
    trained, *alones = zip(*taken)
    for name, parts in zip(beside, alones):
        ratios = [one / other for one, other in zip(trained, parts)]
        yield (
            f"| {mode} | {cells} | {median(trained):.2f} s | {len(made)} | {name} | {median(parts):.2f} s "
            f"| {operations(made) / median(parts) / 1e9:.1f} GFLOP/s "
            f"| {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |"
        )


def kernels(mode):
    """Lines of a table: the operations that take most, as shares of the time of all."""
    train, _ = training_in(mode)
    from products import Kernels

    with Kernels() as spent:
        train()
    whole = spent.seconds.total()
    return [f"| {mode} | {name} | {100 * part / whole:.1f} % |" for name, part in spent.seconds.most_common(MOST)]


def seconds(action):
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=count, default=5, help="times that both run")
    parser.add_argument("--kernels", action="store_true", help="where a training's time goes")
    parser.add_argument("--mode", choices=["portable", "native"], help="only this one, in this process")
    asked = parser.parse_args()
    if asked.mode:
        print("\n".join(kernels(asked.mode) if asked.kernels else measured(asked.mode, asked.repeat)))
        return
    head = "| mode | cells | training | products | by | alone | rate | training / alone |\n" + 8 * "|---" + "|"
    print("| mode | operation | share |\n|---|---|---|" if asked.kernels else head, flush=True)
    for mode in ("portable", "native"):
        subprocess.run([sys.executable, __file__, *sys.argv[1:], "--mode", mode], check=True)


if __name__ == "__main__":
    main()
