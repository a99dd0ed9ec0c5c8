"""The loss before the first update. All losses in nats per token."""

import math

import numpy as np

from initscope.theory.integrals import interpolated, lognormal_mean, mean_log_partition, mean_log_partition_tied


def initial_loss(vocabulary, logit_variance):
    """Expected cross-entropy of independent N(0, logit_variance) logits.

    -E ln softmax = E ln Z - E z_target = E ln Z, since the target's own logit has mean 0 in an untied head.
    Derivation: ours. Range: exact at every variance (`mean_log_partition`).
    """
    return mean_log_partition(vocabulary, logit_variance)


def initial_loss_tied(vocabulary, logit_variance, own_mean, own_variance, repeated=0.0):
    """The same for a tied head, where the input token's own logit is N(own_mean, own_variance).

    repeated: the share of positions whose target is the input token itself; their target logit has mean own_mean:
    E ln Z - repeated * own_mean. Range: exact for independent normal logits.
    """
    log_partition = mean_log_partition_tied(vocabulary, logit_variance, own_mean, own_variance)
    return log_partition - repeated * own_mean


def second_order_loss(vocabulary, logit_variance):
    """ln V + (1 - 1/V) variance / 2, the expansion of `initial_loss`; None beyond its range, variance <= 2 ln V.

    Source: Taylor series of ln Z to second order. Beyond 2 ln V the largest logit decides, and the loss grows like
    sqrt(2 variance ln V), not like variance / 2.
    """
    if logit_variance > 2 * math.log(vocabulary):
        return None
    return math.log(vocabulary) + (1 - 1 / vocabulary) * logit_variance / 2


def first_loss(vocabulary, width, head_std, tied_stream_std=None):
    """Initial loss of a network whose head reads a final norm with scale 1: logit variance width * head_std^2.

    tied_stream_std: given where the head is tied to the token embedding; the rms of the final stream before its norm.
    The input token's embedding e is part of that stream x, so its own logit e . x / rms(x) has the mean and variance
    of `own_logit`. No position is taken to repeat its input. Derivation: ours. Range: every std; width large against 1.
    """
    variance = width * head_std**2
    if tied_stream_std is None:
        return initial_loss(vocabulary, variance)
    return initial_loss_tied(vocabulary, variance, *own_logit(width, head_std, 1 / tied_stream_std, 1.0))


def own_logit(width, embedding_std, share, square, normed=True):
    """(mean, variance) of e . h for an embedding e that is part of h = share * (e + the rest); `square` = E h^2.

    Mean width s^2 share. Variance, with w = (share s)^2 / square, the part of e in h: width s^2 square (1 - w) of
    e . rest, and 2 mean^2 / width of |e|^2. A norm's divisor has both in it, and leaves of them
    width s^2 square (1 - w)^3 + mean^2 / width (2 (1 - w / 2)^2 + (1 - w)^2 / 2).
    Derivation: ours, to first order in the relative variances. Range: width large against 1.
    """
    mean, product = width * embedding_std**2 * share, width * embedding_std**2 * square
    w = min(1.0, (share * embedding_std) ** 2 / max(square, 1e-300))
    if not normed:
        return float(mean), float(product * (1 - w) + 2 * mean**2 / width)
    return float(mean), float(product * (1 - w) ** 3 + mean**2 / width * (2 * (1 - w / 2) ** 2 + (1 - w) ** 2 / 2))


def batch_loss(vocabulary, logit_variances, varied=0.0):
    """Mean of `initial_loss` over tokens with the given logit variances, (N,).

    varied: the variance from seed to seed of ln(logit variance), see `lognormal_mean`.
    """
    each = lambda variances: np.array([mean_log_partition(vocabulary, float(v)) for v in variances])
    mean = lambda factor: interpolated(each, np.asarray(logit_variances) * factor, nodes=8).mean()
    return float(lognormal_mean(mean, varied))
