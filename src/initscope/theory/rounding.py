"""How a prediction is written to a table."""


def prediction(value):
    """Seven significant digits: NumPy's and SciPy's functions differ in their last bits from CPU to CPU.

    No prediction is better than that, and tables must not differ.
    """
    return float(f"{value:.7g}")
