"""The mean field of deep MLPs, and what a finite width adds to it."""

import numpy as np

from initscope.theory.activations import second_moment, slope_second_moment

FLOAT32_MAX = 3.4028e38


def next_square(activation, square, weight_std, bias_std=0.0):
    """q' = sw^2 E phi(sqrt(q) z)^2 + sb^2; weight_std: std of the weights times sqrt(fan_in).

    Source: Poole et al. 2016, eq. 3. Range: infinite width; the first order in 1/width is `finite_width_log`'s.
    """
    return weight_std**2 * second_moment(activation, square) + bias_std**2


def fixed_point(activation, weight_std, bias_std=0.0, start=1.0, steps=2000):
    """q* = next_square(q*), by iteration from `start`; 0 or inf where the squares vanish or grow without end.

    (At a critical point the approach is slow; the value after `steps` layers is returned.)
    """
    q = start
    for _ in range(steps):
        q, last = float(next_square(activation, q, weight_std, bias_std)), q
        if q < 1e-30 or q > 1e30:
            return 0.0 if q < 1 else float("inf")
        if abs(q - last) < 1e-12 * q:
            break
    return q


def chi_1(activation, weight_std, square):
    """sw^2 E phi'(sqrt(q) z)^2: what a layer multiplies the square of a gradient, or of a small difference, by.

    Source: Poole et al. 2016, eq. 6; Schoenholz et al. 2017, eq. 5. 1 is the line between order and chaos.
    """
    return float(weight_std**2 * slope_second_moment(activation, square))


def critical_weight_std(activation, square):
    """The sw with chi_1 = 1 at q = `square`; the bias std of the pair then is sqrt(q - sw^2 E phi^2)."""
    return float(1 / np.sqrt(slope_second_moment(activation, square)))


def finite_width_log(layers, width):
    """(mean, std) of ln(rms after `layers` more layers / rms before) of a He + ReLU net on ONE input.

    A layer multiplies the mean square by 2 / width sum relu(g)^2: mean 1, relative variance 5 / width, so that
    ln rms moves by -5 / (4 width) and varies by 5 / (4 width): (-5 k / (4 width), sqrt(5 k / width) / 2).
    Source: Hanin & Rolnick 2018 (the order layers / width); the constants: derivation, ours. Range: layers / width < 1.
    """
    return -5 * layers / (4 * width), float(np.sqrt(5 * layers / width) / 2)


def overflow_layer(width, sigma, batch, activation="relu", square=1.0):
    """The first layer (from 1) whose largest pre-activation exceeds float32, for inputs of mean square `square`.

    The largest of batch * width normals is about rms sqrt(2 ln(batch width)). The rms follows the mean field, and for
    ReLU the drift of `finite_width_log` too. None where it never does. Range: weights N(0, sigma^2), no bias, no norm.
    """
    largest, log_square = np.sqrt(2 * np.log(batch * width)), np.log(square * width * sigma**2)
    drift = -5 / (2 * width) if activation == "relu" else 0.0
    for layer in range(1, 10_000):
        if log_square / 2 + np.log(largest) > np.log(FLOAT32_MAX):
            return layer
        last, log_square = log_square, log_growth(activation, log_square, width * sigma**2) + drift
        if log_square < -600 or abs(log_square - last) < 1e-12:
            return None
    return None


def log_growth(activation, log_square, gain):
    """ln of the next mean square, gain E phi^2."""
    return float(np.log(gain * second_moment(activation, np.exp(log_square))))
