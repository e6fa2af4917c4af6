"""What channels for means are measured against: the least worst-case variance of any channel. Benchmarks use it too."""

from __future__ import annotations

import numpy as np

from pldp.mechanisms import Channel
from pldp.mechanisms.arrays import arrays

OPTIMUM = {
    0.25: 64.00097,
    0.5: 16.00280,
    1.0: 3.990629,
    2.0: 0.865418,
    3.0: 0.304015,
    4.0: 0.127041,
    6.0: 0.0270851,
    5.0: 0.0573367,
}
"""The least worst-case variance on [−1, 1] of any unbiased ε-LDP report, by ε.

Made once with `scipy.optimize.linprog`: 61 points; 401 numbers v within ± 1.3 (e^ε+1)/(e^ε−1); Q(v|x) free between m_v
and e^ε m_v; rows Σ Q = 1, Σ v Q = x, Σ v² Q ≤ s + x². It knows nothing of intervals, columns or whole weights.
"""


def worst_with_rounding(channel: Channel) -> float:
    """The largest variance of a report about any number of [−1, 1] that is rounded at random to the channel's points.

    Between two points E(z²) is linear, so that the variance is a parabola; a fine grid finds its top.
    """
    size, form = channel.size, arrays(channel)
    squares = form.pieces().expectation((form.unbiased() * size / (size - 1)) ** 2)
    numbers = np.linspace(-1, 1, 20 * (size - 1) + 1)
    return float((np.interp(numbers, np.linspace(-1, 1, size), squares) - numbers**2).max())
