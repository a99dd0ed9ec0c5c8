"""What the Transformer's probes and gradients measure on a batch, before the first update."""

import numpy as np

from initscope.theory import gradients as back
from initscope.theory.activations import ACTIVATIONS, saturated_share
from initscope.theory.integrals import lognormal_mean
from initscope.theory.kernels import Attention, norm_of
from initscope.theory.loss import batch_loss, initial_loss_tied, own_logit
from initscope.theory.signals import Signal, covered, rms_row

TOKENS = 512  # kernels of more tokens than this are taken over the first sequences only
FLAT = 0.1  # score variance up to which attention counts as flat, backward
WILD = 1.0  # scatter, and log variance of the scale, above which a mean over seeds is a matter of single seeds
LOOSE = 1.0  # score variance up to which attention does not yet follow the tokens' norms
PEAKED = 0.65  # relative entropy below which, after layer 0, none is predicted
RARE = 0.01  # share of saturated units below which none is predicted: the scatter of the scale decides there
LOSSES = ("loss_batch", "loss_training_corpus", "loss_validation")


def predict(model, stds, tokens, targets, vocabulary):
    """{(probe, layer, direction): {"rms" or "mean": value, "scatter": relative std from seed to seed}}.

    model: the setup's model section; stds: {tensor name: std of its entries}, 0 where absent (zero biases), norm
    scales 1 and offsets 0; tokens, targets: int (batch, context). Forward rows: the mean over seeds of the batch's
    rms or mean; backward rows: the root mean square over seeds.
    Range: forward, every scale. Backward: untied heads, every layer's score variance below FLAT, at most TOKENS tokens;
    otherwise those keys are absent. Absent too: attention_peaked and mlp_dead (no formula); attention_entropy below
    PEAKED after layer 0 (tokens that attended to the same place tie: a mixture, 10 to 100 % more entropy than that of
    equal correlations); ratios where no norm fixes a token's own norm, which attention then follows (batchnorm; none
    with scores above LOOSE: up to 15 % off); scales of batchnorm after a sublayer, but the last (the next batchnorm
    divides them out again: gradients far below those of independent factors); a gate's products under batchnorm
    (`heavy`: up to 20 % off); whatever scatters more than WILD (gates without a norm); and all keys for an
    activation or a norm without a formula.
    """
    if not covered(model):
        return {}
    sequences = max(1, TOKENS // tokens.shape[1])
    kept, aims = np.asarray(tokens)[:sequences], np.asarray(targets).reshape(np.shape(tokens))[:sequences]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        network = Network(model, stds, kept, aims.ravel(), vocabulary)
        network.forward()
        whole, flat = sequences >= len(tokens), all(layer["scores"] < FLAT for layer in network.layers)
        if whole and flat and not model["tied_head"]:
            network.backward()
    return {key: row for key, row in network.rows.items() if known(row) and not network.heavy(*key)}


def known(row):
    return all(np.isfinite(list(row.values()))) and row.get("scatter", 0.0) <= WILD


class Network:
    """The forward pass of models/transformer.py on token kernels, line by line; then the backward pass."""

    def __init__(self, model, stds, tokens, targets, vocabulary):
        self.model, self.stds, self.tokens, self.targets, self.vocabulary = model, stds, tokens, targets, vocabulary
        self.rows, self.layers = {}, []
        place = np.broadcast_to(np.arange(tokens.shape[1]), tokens.shape).ravel()
        self.same_token = np.equal.outer(tokens.ravel(), tokens.ravel()).astype(float)
        self.same_place = np.equal.outer(place, place).astype(float)

    def std(self, name):
        return self.stds.get(name, 0.0)

    def at(self, probe, layer, signal):
        self.rows[probe, layer, "forward"] = signal.row()
        return signal

    def linear(self, signal, name, units):
        return signal.through(
            signal_width(self.model, name), self.std(f"{name}.weight"), self.std(f"{name}.bias"), units
        )

    def normalized(self, signal):
        """(signal after the norm, the norm or None)."""
        name = self.model["norm"]
        if name == "none":
            return signal, None
        norm = norm_of(signal.kernel, signal.own, self.model["width"], name)
        return signal.normed(norm, name), norm

    # ---- forward

    def forward(self):
        d, post = self.model["width"], self.model["norm_position"] == "post"
        start = self.std("token_embedding.weight") ** 2 * self.same_token
        start = start + self.std("position_embedding.weight") ** 2 * self.same_place
        x = self.at("embedding", None, Signal(start, np.zeros_like(start), d))
        own = np.ones(len(start))  # how much of the token's embedding is in x
        for n in range(self.model["layers"]):
            layer = {}
            self.layers.append(layer)
            for part, sublayer in (("attention", self.attention), ("mlp", self.mlp)):
                x = self.at(f"{part}_stream", n, x)
                h, layer[part, "norm"] = (x.branch(), None) if post else self.normalized(x.branch())
                layer[part, "input"] = self.at(f"{part}_input", n, h).kernel
                update = self.at(f"{part}_update", n, sublayer(n, h, layer))
                if self.has_ratio(part, layer):
                    self.rows[f"{part}_update_ratio", n, "forward"] = update.ratio(x)
                x = x.plus(update)
                if post:
                    x, layer[part, "norm"] = self.normalized(self.at(f"{part}_sum", n, x))
                    own = own if layer[part, "norm"] is None else own * layer[part, "norm"].passed
        x = self.at("final_stream", None, x)
        h, self.final_norm = (x, None) if post else self.normalized(x)
        own = own if self.final_norm is None else own * self.final_norm.passed
        self.final = self.at("final_input", None, h)
        self.tied_logits(own) if self.model["tied_head"] else self.logits()

    def heavy(self, probe, layer, direction):
        """Rows to which a gate under batchnorm gives heavy tails: its factors are both large where a token is rare.

        They are the gate's products, and the unnormed sums of these.
        """
        products = probe in ("mlp_postactivation", "mlp_update", "mlp_sum", "final_stream")
        summed = probe.endswith("_stream") and layer != 0
        gated = self.model["gated"] and self.model["norm"] == "batchnorm" and direction == "forward"
        return gated and (products or summed)

    def has_ratio(self, part, layer):
        """Whether |update| / |stream| is predicted; see `predict`."""
        loose = part == "mlp" or layer["scores"] < LOOSE
        return self.model["norm"] in ("layernorm", "rmsnorm") or (self.model["norm"] == "none" and loose)

    def attention(self, n, h, layer):
        d, heads, name = self.model["width"], self.model["heads"], f"layers.{n}"
        q, k, v = (self.at(kind, n, self.linear(h, f"{name}.{kind}", d)) for kind in ("query", "key", "value"))
        attention = Attention(q.kernel, k.kernel, self.tokens.shape[1], d // heads)
        self.rows["scores", n, "forward"] = rms_row(attention.score_mean_square, score_variance(q, k, d, heads))
        if self.tokens.shape[1] > 1 and ((entropy := attention.entropy()) > PEAKED or n == 0):
            self.rows["attention_entropy", n, "forward"] = {"mean": entropy}
        mix = v.mixed(attention)
        layer |= {"scores": attention.score_mean_square, "attention": attention, "query": q.kernel, "mix": mix.kernel}
        return self.linear(mix, f"{name}.attention_out", d)

    def mlp(self, n, h, layer):
        units, name, phi = self.model["mlp_width"], f"layers.{n}", self.model["activation"]
        gate = self.linear(h, f"{name}.mlp_gate" if self.model["gated"] else f"{name}.mlp_in", units)
        gate = self.at("mlp_preactivation", n, gate)
        self.saturated(n, gate)
        a = gate.activated(phi, units)
        layer |= {"gate": gate.kernel, "phi": a.kernel}
        if self.model["gated"]:
            value = self.at("mlp_value", n, self.linear(h, f"{name}.mlp_in", units))
            a = a.times(value, units)
            layer["value"] = value.kernel
        layer["hidden"] = self.at("mlp_postactivation", n, a).kernel
        return self.linear(a, f"{name}.mlp_out", self.model["width"])

    def saturated(self, n, signal):
        """Share of flat units; absent where it is rare."""
        square, phi, varied = signal.squares, self.model["activation"], np.log1p(np.diag(signal.inherited).mean())
        share = lognormal_mean(lambda factor: saturated_share(phi, square * factor).mean(), varied)
        if share > RARE and varied <= WILD:
            self.rows["mlp_saturated", n, "forward"] = {"mean": float(share)}

    def logits(self):
        logits = self.at("logits", None, self.linear(self.final, "head", self.vocabulary))
        self.varied = float(np.log1p(np.diag(logits.inherited).mean()))
        if self.varied <= WILD:
            loss = batch_loss(self.vocabulary, logits.squares, self.varied)
            self.rows |= {(probe, None, "forward"): {"mean": loss} for probe in LOSSES}
        self.logit_kernel = logits.kernel

    def tied_logits(self, own):
        """The input token's own logit has a mean; the share of targets that repeat the input is the batch's."""
        std, d, v = self.std("token_embedding.weight"), self.model["width"], self.vocabulary
        variance = self.final.squares.mean() * d * std**2
        mean, own_variance = own_logit(
            d, std, float(own.mean()), float(self.final.squares.mean()), self.model["norm"] != "none"
        )
        bias = self.std("head.bias") ** 2
        square = ((v - 1) * variance + own_variance + mean**2) / v + bias
        repeated = float((self.targets == self.tokens.ravel()).mean())
        loss = initial_loss_tied(v, variance + bias, mean, own_variance + bias, repeated)
        self.rows["logits", None, "forward"] = {"rms": float(np.sqrt(square))}
        self.rows |= {(probe, None, "forward"): {"mean": loss} for probe in LOSSES}

    # ---- backward

    def gradient(self, part, layer, square):
        self.rows[part, layer, "backward"] = {"rms": float(np.sqrt(square))}

    def parameters(self, name, layer, gradients, forward):
        """Rows of a linear map's weight and bias; forward: the kernel of its input."""
        self.gradient(f"{name}.weight", layer, back.weight_square(gradients, forward))
        self.gradient(f"{name}.bias", layer, back.bias_square(gradients))

    def stream(self, probe, layer, gradients):
        self.gradient(probe, layer, np.diag(gradients).mean())
        return gradients

    def before_norm(self, name, layer, norm, gradients, along=0.0):
        """Gradient kernel before a norm, and the rows of its scale and offset; along: see `back.radial`."""
        if norm is None:
            return gradients
        if along or self.model["norm"] != "batchnorm" or self.model["norm_position"] == "pre":
            self.gradient(f"{name}.scale", layer, back.weight_square(gradients, norm.kernel) + along)
        if self.model["norm"] != "rmsnorm":
            self.gradient(f"{name}.offset", layer, back.bias_square(gradients))
        return norm.back(gradients)

    def backward(self):
        post, head = self.model["norm_position"] == "post", self.std("head.weight")
        logits = back.Logits(self.logit_kernel, self.targets, self.vocabulary, self.varied)
        self.parameters("head", None, logits.kernel / self.vocabulary, self.final.kernel)
        g, radial = head**2 * logits.kernel, back.radial(logits, head)
        along = back.along(radial, self.final.kernel)  # a norm lets nothing along its output pass, but for its scale
        whole = g + np.outer(radial, radial) * self.final.kernel
        if self.model["norm"] == "none":
            g = whole
        elif not post:
            whole = g = self.before_norm("final_norm", None, self.final_norm, g, along)
        self.stream("final_stream", None, whole)
        for n, layer in reversed(list(enumerate(self.layers))):
            for part, sublayer in (("mlp", self.mlp_back), ("attention", self.attention_back)):
                norm, name = layer[part, "norm"], f"{part}_norm"
                if post:
                    g, along = self.before_norm(name, n, norm, g, along), 0.0
                inner = sublayer(n, g, layer)
                g = g + (inner if post else self.before_norm(name, n, norm, inner))
                g = self.stream(f"{part}_stream", n, g)
        self.stream("embedding", None, g)
        self.gradient("token_embedding.weight", None, (g * self.same_token).sum() / self.vocabulary)
        self.gradient("position_embedding.weight", None, (g * self.same_place).sum() / self.tokens.shape[1])

    def mlp_back(self, n, g, layer):
        name, d, units = f"layers.{n}", self.model["width"], self.model["mlp_width"]
        h = layer["mlp", "input"]
        self.parameters("mlp_out", n, g, layer["hidden"])
        a = back.through(g, d, self.std(f"{name}.mlp_out.weight"))
        gate = a * back.slope_kernel(ACTIVATIONS[self.model["activation"]], layer["gate"])
        if not self.model["gated"]:
            self.parameters("mlp_in", n, gate, h)
            return back.through(gate, units, self.std(f"{name}.mlp_in.weight"))
        gate, value = gate * layer["value"], a * layer["phi"]
        self.parameters("mlp_gate", n, gate, h)
        self.parameters("mlp_in", n, value, h)
        inner = back.through(gate, units, self.std(f"{name}.mlp_gate.weight"))
        return inner + back.through(value, units, self.std(f"{name}.mlp_in.weight"))

    def attention_back(self, n, g, layer):
        name, d, h = f"layers.{n}", self.model["width"], layer["attention", "input"]
        gain = {kind: d * self.std(f"{name}.{kind}.weight") ** 2 for kind in ("query", "key", "value", "attention_out")}
        self.parameters("attention_out", n, g, layer["mix"])
        flat = back.FlatAttention(gain["attention_out"] * g, layer["attention"].flat, h, gain["value"], gain["key"], d)
        self.parameters("value", n, flat.value, h)
        self.parameters("query", n, flat.query, h)
        self.gradient("key.weight", n, back.weight_square(flat.base, layer["query"]))
        self.gradient("key.bias", n, 0.0)  # it shifts all scores of a query alike
        key = flat.key(layer["query"])
        return gain["value"] * flat.value + gain["query"] * flat.query + gain["key"] * key


def signal_width(model, name):
    """fan_in of a linear map of the Transformer."""
    return model["mlp_width"] if name.endswith("mlp_out") else model["width"]


def score_variance(q, k, width, heads):
    """Relative variance from seed to seed of the batch mean of score^2.

    With nu = tr(K)^2 / |K|_F^2 effective tokens of the queries and of the keys (1 / nu: the mean `overlap`), and
    head_width h: 2 / width (1 / nu_q + 1 / nu_k + (h + 1) / (nu_q nu_k)), plus what both inherit.
    Derivation: ours, from the Wishart matrices Q^T Q and K^T K of a head; the causal mask is not seen.
    """
    shares = [s.squares / max(s.squares.sum(), 1e-300) for s in (q, k)]
    first, second = (share @ s.overlap @ share for share, s in zip(shares, (q, k)))
    own = 2 / width * (first + second + (width // heads + 1) * first * second)
    return own + 4 * float(np.mean(q.inherited))
