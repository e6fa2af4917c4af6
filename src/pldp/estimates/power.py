"""How much a χ² test can notice: a test that does not reject is worth no more than that.

Where a difference Δ exists, a χ² statistic of so many degrees of freedom is noncentral, with the noncentrality
λ = Δ²·(what one unit squared contributes). The test rejects with the probability Pr(χ²(λ) > critical value), so the
difference that it notices with probability 80 % is Δ = √(λ₈₀ / contribution of one unit).

Reference: Cohen, "Statistical Power Analysis for the Behavioral Sciences" (1988), for why 80 %.
"""

import math
from functools import lru_cache
from typing import Final

from scipy.optimize import brentq
from scipy.special import chdtri, chndtr

from pldp.estimates.result import TEST_LEVEL

POWER: Final = 0.8
"""Probability with which a difference counts as noticed."""


def power(noncentrality: float, degrees: int, level: float = TEST_LEVEL) -> float:
    """Return the probability that a χ² test of this false-alarm rate rejects.

    >>> round(power(0.0, 3), 6), round(power(11.68, 1), 3)
    (0.01, 0.8)
    """
    return 1 - float(chndtr(float(chdtri(degrees, level)), degrees, noncentrality))


@lru_cache(maxsize=1024)  # every table and question of a survey asks for the same few
def noncentrality(degrees: int, level: float = TEST_LEVEL, wanted: float = POWER) -> float:
    """Return the noncentrality at which a χ² test of this false-alarm rate rejects with the wanted probability.

    >>> [round(noncentrality(degrees), 2) for degrees in (1, 7, 255)]
    [11.68, 19.79, 79.9]
    """
    above = 1.0
    while power(above, degrees, level) < wanted:
        above *= 2
    return float(brentq(lambda tried: power(tried, degrees, level) - wanted, 0.0, above, xtol=1e-6))


def noticed(unit: float, degrees: int, tests: int = 1) -> float:
    """Return the difference noticed with 80 %, where one unit contributes so much to the noncentrality.

    With Bonferroni's correction for several tests, it is what one of them notices on its own.

    >>> round(noticed(1 / 0.02**2, 1), 4)        # 3.42 standard errors of 2 % each
    0.0683
    """
    return math.sqrt(noncentrality(degrees, TEST_LEVEL / tests) / unit) if unit > 0 else math.inf
