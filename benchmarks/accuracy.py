"""How far is theory from what is measured? The figures that docs/theory.md quotes.

python benchmarks/accuracy.py                  the frozen setup at two widths, over seeds (a few minutes)
python benchmarks/accuracy.py --deep           50 layers of width 256, 64 seeds, one input per seed
"""

import argparse
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / part) for part in ("src", "tests")]

from initscope import compute

compute.before_torch("portable")

import numpy as np
import pandas as pd
from helpers import Memory, study

from initscope.distributions import DISTRIBUTIONS
from initscope.streams import stream
from initscope.tables import read
from initscope.theory import meanfield

NARROW, WIDE = {"width": 24, "heads": 3, "mlp_width": 96}, {"width": 256, "heads": 4, "mlp_width": 1024}
OF_SHARES = ("attention_entropy", "attention_peaked", "mlp_saturated", "mlp_dead")


def compared(std, width, seeds):
    """Every row of the frozen setup's signal table over seeds: measured, expected, relative error, group.

    Forward: the mean over seeds of the rms (or mean); backward: the root mean square over seeds.
    """
    corpus = {"training_sequences": 16, "validation_sequences": 16}
    cells = study({"seed": list(range(100, 100 + seeds))}, small=False, model=width, init={"std": std}, corpus=corpus)
    made = Memory(cells, ["corpus", "init", "audit"])
    tables = pd.concat(read(files["signals.parquet"]).to_pandas() for files in made.bytes("audit").values())
    tables["layer"] = tables["layer"].fillna(-1)
    found = tables.groupby(["probe", "layer", "direction"]).apply(over_seeds, include_groups=False).reset_index()
    streams = found["probe"].str.endswith("stream") | (found["probe"] == "embedding")
    found["group"] = np.where(found["direction"] == "forward", "forward", np.where(streams, "stream", "parameter"))
    return found


def over_seeds(rows):
    expected = rows[["expected_rms", "expected_mean"]].bfill(axis=1).iloc[0, 0]
    of_mean = rows["expected_mean"].notna().iloc[0]
    if rows.name[2] == "backward":
        measured = np.sqrt((rows["rms"] ** 2).mean())
    else:
        measured = rows["mean" if of_mean else "rms"].mean()
    error = measured / expected - 1 if expected else np.nan
    spread = rows["rms"].std(ddof=0) / max(rows["rms"].mean(), 1e-300)
    return pd.Series(
        {
            "measured": measured,
            "expected": expected,
            "error": error,
            "scatter": spread,
            "expected_scatter": rows["expected_scatter"].iloc[0],
        }
    )


def accuracy(std, width, seeds):
    """One line: median and worst relative error by group, the scatter's, and the share of rms rows predicted."""
    found = compared(std, width, seeds)
    line = {"width": width["width"], "std": std, "seeds": seeds}
    for group, rows in found.groupby("group"):
        errors = rows["error"].abs().dropna()
        line |= {f"{group} median": errors.median(), f"{group} worst": errors.max()}
    in_rms = found[
        (found["group"] == "forward") & ~found["probe"].isin(OF_SHARES) & ~found["probe"].str.contains("loss|ratio")
    ]
    scatters = (in_rms["expected_scatter"] / in_rms["scatter"]).replace(np.inf, np.nan)
    return {**line, "scatter ratio": scatters.median(), "covered": in_rms["expected"].notna().mean()}


# ---- deep networks on one input --------------------------------------------------------------------------------------

DEPTH, WIDTH = 50, 256


def deep(phi, std, seeds, inputs=1, first_seed=0):
    """ln rms of the pre-activations z_1 .. z_DEPTH, (seeds, DEPTH), and the first layer with one that is not finite.

    Weights N(0, std^2) from the streams of the layers' names, in float32; `inputs` normal inputs for each seed.
    """
    logs, lost = np.full((seeds, DEPTH), np.nan), []
    for i in range(seeds):
        seed = first_seed + i
        x = stream("input", seed).standard_normal((inputs, WIDTH), dtype=np.float32)
        first = None
        with np.errstate(over="ignore", invalid="ignore"):
            for layer in range(DEPTH):
                unit = DISTRIBUTIONS["normal"].draw(
                    stream("weights", seed, f"layers.{layer}.linear.weight"), (WIDTH, WIDTH)
                )
                z = x @ (np.float32(std) * unit).T
                if first is None and not np.isfinite(z).all():
                    first = layer + 1
                logs[i, layer] = 0.5 * np.log(np.square(z.astype(np.float64)).mean())
                x = phi(z)
        lost.append(first)
    return logs, lost


def relu(z):
    return np.maximum(z, 0)


def deep_figures(seeds=64):
    """Measured and predicted, of He + ReLU, Xavier + ReLU, Xavier + tanh, and sigma 1 + ReLU, at 50 layers of 256."""
    k = DEPTH - 1
    he = deep(relu, np.sqrt(2 / WIDTH), seeds)[0]
    grown = he[:, -1] - he[:, 0]
    mean, spread = meanfield.finite_width_log(k, WIDTH)
    xavier = deep(relu, np.sqrt(1 / WIDTH), seeds, inputs=32)[0]
    tanh = deep(np.tanh, np.sqrt(1 / WIDTH), seeds)[0]
    q = [1.0]
    for _ in range(k):
        q.append(float(meanfield.next_square("tanh", q[-1], 1.0)))
    lost = deep(relu, 1.0, 24, inputs=32)[1]
    return {
        "He + ReLU: mean of ln(rms 50 / rms 1)": (grown.mean(), mean, grown.std(ddof=1) / np.sqrt(seeds)),
        "He + ReLU: std of ln(rms 50 / rms 1)": (grown.std(ddof=1), spread, grown.std(ddof=1) / np.sqrt(2 * seeds)),
        "Xavier + ReLU: factor a layer": (
            np.exp((xavier[:, -1] - xavier[:, 0]).mean() / k),
            2**-0.5 * np.exp(-5 / (4 * WIDTH)),
            None,
        ),
        "Xavier + tanh: mean rms at layer 50": (np.exp(tanh[:, -1]).mean(), np.sqrt(q[-1]), None),
        "sigma 1 + ReLU: first layer not finite, earliest": (min(lost), meanfield.overflow_layer(WIDTH, 1.0, 32), None),
        "sigma 1 + ReLU: first layer not finite, latest": (max(lost), meanfield.overflow_layer(WIDTH, 1.0, 32), None),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--deep", action="store_true")
    if parser.parse_args().deep:
        for name, (measured, predicted, error) in deep_figures().items():
            print(
                f"{name}: measured {measured:.4g}, predicted {predicted:.4g}"
                + (f", standard error {error:.2g}" if error else "")
            )
        return
    lines = [accuracy(std, NARROW, 64) for std in (0.001, 0.02, 0.1, 0.3, 1.0)]
    lines += [accuracy(std, NARROW, 256) for std in (0.02, 0.1)]  # gradients scatter by 10 to 50 % from seed to seed
    lines += [accuracy(std, NARROW, 8) for std in (0.02, 0.1, 0.3)]
    lines += [accuracy(std, WIDE, 8) for std in (0.02, 0.1, 0.3)]
    print(pd.DataFrame(lines).to_string(index=False, float_format=lambda value: f"{value:.3f}"))


if __name__ == "__main__":
    main()
