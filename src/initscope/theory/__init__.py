"""Closed-form predictions for the start of training: pure functions, each with its formula, source and range.

`integrals`, `activations`, `kernels`, `signals` and `gradients` hold the pieces; `loss`, `meanfield`, `transformer`
and `mlp` put them together. NumPy and SciPy only.
"""
