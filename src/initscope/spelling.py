"""The one spelling of an axis value, in paths, tables, figures and messages."""


def spelled(value):
    """Floats as repr writes them (0.1, 1.0, 1e-05), so that reading the text back gives the same value."""
    return repr(float(value)) if isinstance(value, float) else str(value)
