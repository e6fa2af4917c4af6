"""Smooth curves through a few known points: what takes long to compute is computed there and nowhere else."""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence

Curve = Callable[[float], float]


def log_cubic(places: Sequence[float], numbers: Sequence[float]) -> Curve:
    """Return the curve through positive numbers at rising places: Hermite's cubic in their logarithms.

    Its slope at an inner place is that between both neighbours; outside the places it goes on in a straight line of
    logarithms.

    >>> curve = log_cubic([1, 2, 3], [math.e, math.e**2, math.e**3])
    >>> [round(math.log(curve(place)), 6) for place in (0.5, 1, 1.5, 3, 4)]
    [0.5, 1.0, 1.5, 3.0, 4.0]
    """
    logs = [math.log(number) for number in numbers]
    last = len(logs) - 1
    within = [(logs[place + 1] - logs[place]) / (places[place + 1] - places[place]) for place in range(last)]
    inner = ((logs[at + 1] - logs[at - 1]) / (places[at + 1] - places[at - 1]) for at in range(1, last))
    slopes = [within[0], *inner, within[-1]]

    def curve(at: float) -> float:
        place = min(max(bisect_left(places, at) - 1, 0), last - 1)
        low, width = places[place], places[place + 1] - places[place]
        part = min(1.0, max(0.0, (at - low) / width))
        # The straight line between both places, and what the slopes at its ends add to it.
        one, two = slopes[place] - within[place], slopes[place + 1] - within[place]
        bent = part * (1 - part) * ((1 - part) * one - part * two)
        beyond = min(0.0, at - places[0]) * slopes[0] + max(0.0, at - places[-1]) * slopes[-1]
        return math.exp(logs[place] + width * (part * within[place] + bent) + beyond)

    return curve
