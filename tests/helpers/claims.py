"""Statistical claims with stated error rates.

A sound implementation fails each claim with probability FALSE_ALARM; there are a few hundred such claims in the
suite, so a failure means a wrong implementation. All seeds are fixed, so a green suite stays green.
"""

from __future__ import annotations

import os
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
from scipy import stats

FALSE_ALARM = 1e-6
Z = NormalDist().inv_cdf(1 - FALSE_ALARM / 2)


def runs(short: int, long: int) -> int:
    """Return how many repetitions to make: the short number, or the long one in `make test-long`."""
    return long if os.environ.get("PLDP_LONG") else short


def follows(counts: npt.ArrayLike, probabilities: npt.ArrayLike) -> bool:
    """Tell whether counts fit the probabilities (χ² goodness of fit, false alarm 1e-6; all expected counts ≥ 5).

    Outputs so rare that none of them should ever be seen (by the same false alarm) must not have been.
    """
    observed, expected = np.asarray(counts, float), np.asarray(probabilities, float) * np.sum(counts)
    seen = expected >= FALSE_ALARM / len(expected)
    if observed[~seen].any():
        return False
    observed, expected = observed[seen], expected[seen]
    assert expected.min() >= 5, "the test needs more samples"
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return bool(stats.chi2.sf(statistic, len(observed) - 1) >= FALSE_ALARM)


def rate_is(hits: npt.ArrayLike, rate: float) -> bool:
    """Tell whether independent events can have this probability (exact binomial test, false alarm 1e-6)."""
    found = np.asarray(hits, bool)
    return bool(stats.binomtest(int(found.sum()), found.size, rate).pvalue >= FALSE_ALARM)


def rate_is_at_most(hits: npt.ArrayLike, rate: float) -> bool:
    """Tell whether independent events can have at most this probability (exact binomial test, false alarm 1e-6)."""
    found = np.asarray(hits, bool)
    return bool(stats.binom.sf(found.sum() - 1, found.size, rate) >= FALSE_ALARM)


def mean_is(samples: npt.ArrayLike, value: float) -> bool:
    """Tell whether the mean of independent samples can be the value (normal test, false alarm 1e-6 with many).

    With few samples, whose spread is not well known, it errs more often: 1e-5 with 50, 1e-3 with 10.
    """
    numbers = np.asarray(samples, float)
    return bool(abs(numbers.mean() - value) <= Z * numbers.std(ddof=1) / np.sqrt(len(numbers)))


def mean_of_few_is(samples: npt.ArrayLike, value: float) -> bool:
    """Tell the same of a few samples that are about normal (Student's test, false alarm 1e-6 however few)."""
    numbers = np.asarray(samples, float)
    reach = stats.t.isf(FALSE_ALARM / 2, len(numbers) - 1)
    return bool(abs(numbers.mean() - value) <= reach * numbers.std(ddof=1) / np.sqrt(len(numbers)))


def mean_is_at_most(samples: npt.ArrayLike, value: float) -> bool:
    """Tell whether the mean of independent samples can be at most the value (one-sided, false alarm 1e-6)."""
    numbers = np.asarray(samples, float)
    return bool(numbers.mean() - value <= Z * numbers.std(ddof=1) / np.sqrt(len(numbers)))
