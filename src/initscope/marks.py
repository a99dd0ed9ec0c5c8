"""The updates at which everything is measured."""


def marks(updates):
    """0, 1, 2, 5, 10, 20, 50, ... and the last."""
    steps = {digit * 10**power for power in range(len(str(updates))) for digit in (1, 2, 5)}
    return {0, updates, *(step for step in steps if step <= updates)}
