"""What the MLP's probes and gradients measure on a batch, before the first update."""

import numpy as np

from initscope.theory import gradients as back
from initscope.theory.activations import ACTIVATIONS, saturated_share
from initscope.theory.integrals import lognormal_mean
from initscope.theory.kernels import norm_of
from initscope.theory.loss import batch_loss
from initscope.theory.signals import Signal, covered

INPUTS = 512  # kernels of more inputs than this are taken over the first ones only
RARE = 0.01  # share of saturated units below which none is predicted
RARE_BATCH = 0.05  # the same under batchnorm, where a unit of a small batch has lighter tails than a normal
VARIED = 0.2  # variance from seed to seed of the logits' log variance, above which no parameter gradient is predicted
LOSSES = ("loss_batch", "loss_training_corpus", "loss_validation")


def predict(model, stds, inputs, targets, vocabulary):
    """{(probe, layer, direction): {"rms" or "mean": value, "scatter": relative std from seed to seed}}.

    model: the setup's model section; stds: {tensor name: std of its entries}, 0 where absent (zero biases), norm
    scales 1 and offsets 0; inputs: float (batch, features); targets: int (batch,); vocabulary: the number of classes.
    Forward rows: the mean over seeds of the batch's rms or mean; backward rows: the root mean square over seeds.
    Range: every scale whose fourth powers float64 can hold (rms to 1e75); backward, at most INPUTS inputs, and to
    leading order in layers / width; parameter gradients up to VARIED (beyond, they covary with the scale of the logits,
    which no norm resets: measured 15 to 100 % more). Otherwise the keys are absent, as are mlp_dead (no formula) and
    rare saturation; and all keys for an activation or a norm without a formula.
    """
    if not covered(model):
        return {}
    kept, aims = np.asarray(inputs, dtype=float)[:INPUTS], np.asarray(targets).ravel()[:INPUTS]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        network = Network(model, stds, kept, aims, vocabulary)
        network.forward()
        if len(kept) == len(inputs):
            network.backward()
    return {key: row for key, row in network.rows.items() if all(np.isfinite(list(row.values())))}


class Network:
    """The forward pass of models/mlp.py on the kernels of its inputs, line by line; then the backward pass."""

    def __init__(self, model, stds, inputs, targets, vocabulary):
        self.model, self.stds, self.inputs, self.targets, self.vocabulary = model, stds, inputs, targets, vocabulary
        self.rows, self.layers = {}, []

    def std(self, name):
        return self.stds.get(name, 0.0)

    def at(self, probe, layer, signal):
        self.rows[probe, layer, "forward"] = signal.row()
        return signal

    def linear(self, signal, name, fan_in, units, given=False):
        return signal.through(fan_in, self.std(f"{name}.weight"), self.std(f"{name}.bias"), units, given)

    # ---- forward

    def forward(self):
        width, phi, norm = self.model["width"], self.model["activation"], self.model["norm"]
        fan_in = self.inputs.shape[1]
        kernel = self.inputs @ self.inputs.T / fan_in
        a, z = self.at("input", None, Signal(kernel, np.zeros_like(kernel))), None
        for n in range(self.model["layers"] - 1):
            layer = {"input": a.kernel}
            update = self.linear(a, f"layers.{n}.linear", fan_in, width, given=n == 0)
            if self.model["residual"] and n > 0:
                self.at("mlp_update", n, update)
                self.rows["mlp_update_ratio", n, "forward"] = update.ratio(z)
                z = z.plus(update)
            else:
                z = update
            self.at("mlp_stream", n, z)
            layer["norm"] = None if norm == "none" else norm_of(z.kernel, z.own, width, norm)
            h = z.branch() if norm == "none" else z.branch().normed(layer["norm"], norm)
            layer["preactivation"] = self.at("mlp_preactivation", n, h).kernel
            self.saturated(n, h)
            a = self.at("mlp_postactivation", n, h.activated(phi, width))
            self.layers.append(layer)
            fan_in = width
        self.final = self.at("final_stream", None, a)
        logits = self.at("logits", None, self.linear(a, "head", fan_in, self.vocabulary))
        self.varied = float(np.log1p(np.diag(logits.inherited).mean()))
        loss = batch_loss(self.vocabulary, logits.squares, self.varied)
        self.rows |= {(probe, None, "forward"): {"mean": loss} for probe in LOSSES}
        self.logit_kernel = logits.kernel

    def saturated(self, n, signal):
        """Share of flat units; absent where it is rare."""
        square, phi = signal.squares, self.model["activation"]
        share = lognormal_mean(
            lambda factor: saturated_share(phi, square * factor).mean(), np.log1p(np.diag(signal.inherited).mean())
        )
        if share > (RARE_BATCH if self.model["norm"] == "batchnorm" else RARE):
            self.rows["mlp_saturated", n, "forward"] = {"mean": float(share)}

    # ---- backward

    def stream(self, probe, layer, gradients):
        self.rows[probe, layer, "backward"] = {"rms": float(np.sqrt(np.diag(gradients).mean()))}

    def gradient(self, part, layer, square):
        if self.varied <= VARIED:
            self.rows[part, layer, "backward"] = {"rms": float(np.sqrt(square))}

    def parameters(self, name, layer, gradients, forward):
        """Rows of a linear map's weight and bias; forward: the kernel of its input."""
        self.gradient(f"{name}.weight", layer, back.weight_square(gradients, forward))
        self.gradient(f"{name}.bias", layer, back.bias_square(gradients))

    def backward(self):
        width, head, phi = self.model["width"], self.std("head.weight"), ACTIVATIONS[self.model["activation"]]
        logits = back.Logits(self.logit_kernel, self.targets, self.vocabulary, self.varied)
        self.parameters("head", None, logits.kernel / self.vocabulary, self.final.kernel)
        g, radial = head**2 * logits.kernel, back.radial(logits, head)
        self.stream("final_stream", None, g + np.outer(radial, radial) * self.final.kernel)
        skipped = np.zeros_like(g)  # the gradient that reaches a stream from the next one
        for n, layer in reversed(list(enumerate(self.layers))):
            h, scale = back.before_activation(g, radial, phi, layer["preactivation"])
            radial = 0.0 * radial
            if layer["norm"] is not None:
                self.gradient("norm.scale", n, scale)
                if self.model["norm"] != "rmsnorm":
                    self.gradient("norm.offset", n, back.bias_square(h))
                h = layer["norm"].back(h)
            z = h + skipped
            self.stream("mlp_stream", n, z)
            self.parameters("linear", n, z, layer["input"])
            skipped = z if self.model["residual"] else skipped
            g = back.through(z, width, self.std(f"layers.{n}.linear.weight"))
