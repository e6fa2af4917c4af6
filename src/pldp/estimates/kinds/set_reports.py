"""What estimates of sets of items have in common, whether reports come from one collection or from several services."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from pldp.estimates.linear.patterns import item_patterns
from pldp.estimates.linear.small_counts import SmallCounts
from pldp.estimates.results.facts import Homogeneity
from pldp.estimates.results.options import Pool, Target
from pldp.mechanisms.arrays import FloatArray, IntArray, SetPatterns
from pldp.tallies import Columns

Counts = Sequence[npt.NDArray[Any]]
"""How often the items of each set show each pattern (sets × 2^items), by what reports show."""

SURE: Final = 1e-12
"""Part of a variance below which it is nothing but rounding."""

_SINGULAR: Final = 1e10
"""Condition number from which on noise is taken to have no inverse, and no least error is promised."""


class Estimated(NamedTuple):
    """Supports of sets and their standard errors; `drawn` times f(1 − f) is what drawing people adds to each variance.

    `contrasts` are c_τ, sets × levels: see the module.
    """

    support: FloatArray
    error: FloatArray
    drawn: FloatArray
    contrasts: FloatArray

    def error_at(self, least: float, reports: int, target: Target) -> FloatArray:
        """Return the standard errors that supports have if they are not larger than `least`, but at least those found.

        Drawing people adds f(1 − f)/n, which is smaller for a large support that was found than for the true one: a
        search that judged by the error at what it found would report too many sets with supports beyond a half. That
        everybody has an item cannot be known from a sample.
        """
        if target == "respondents":
            return self.error
        possible, least = np.clip(self.support, 0, 1), min(least, 1 - 1 / reports)
        lost = np.maximum(least * (1 - least) - possible * (1 - possible), 0)
        return np.asarray(np.sqrt(self.error**2 + lost * self.drawn))


class SetReports(Protocol):
    """Reports of sets of items, of one collection or of several services."""

    @property
    def pool(self) -> Pool:
        """How levels are pooled."""

    @property
    def target(self) -> Target:
        """Whom errors are about."""

    @property
    def columns(self) -> tuple[Columns, ...]:
        """The reports by what they show."""

    @property
    def reports(self) -> int:
        """Number of people."""

    @property
    def size(self) -> int:
        """Number of items."""

    @property
    def largest(self) -> int:
        """Items of the largest sets that reports tell about."""

    @property
    def told_by_all(self) -> int:
        """Items of the largest sets that reports of every level tell about."""

    @property
    def untold(self) -> tuple[int, ...]:
        """Items that no report of some level or label tells about."""

    @property
    def about_levels(self) -> tuple[str, ...]:
        """What is assumed about the choice of levels."""

    @property
    def homogeneity(self) -> Homogeneity | None:
        """The test of what is assumed."""

    @property
    def manipulation(self) -> float:
        """People that one forged report can count as in the support of an item."""

    def estimate(self, sets: IntArray, patterns: Counts) -> Estimated:
        """Return the supports of sets of one size."""

    def expected_error(self, sets: IntArray) -> FloatArray:
        """Return the standard error to expect for each set before it is counted."""

    def least_error(self, items: int) -> float:
        """Return at most the least `expected_error` of any set of this many items."""

    def small_counts(self, sets: IntArray, patterns: Counts) -> SmallCounts | None:
        """Return the sets that few reports support."""

    def covariances(self, sets: IntArray, patterns: Counts, parts: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        """Return the supports of parts of each set, and their covariances."""


def any_told(patterns: Counts) -> npt.NDArray[np.bool_]:
    """Return whether any report tells about each set."""
    return np.asarray(np.sum([own.sum(axis=1) for own in patterns], axis=0) > 0)


def of_part(patterns: Counts, part: Sequence[int]) -> Counts:
    """Return the counts of patterns of a part of each set (places of its items)."""
    inside = pattern_inside(np.arange(patterns[0].shape[1]), part)
    every = range(1 << len(part))
    return [np.stack([own[:, inside == pattern].sum(axis=1) for pattern in every], axis=1) for own in patterns]


def pattern_inside(patterns: IntArray, part: Sequence[int]) -> IntArray:
    """Return the pattern of a part that each pattern of the whole set has."""
    return np.asarray(sum((patterns >> place & 1) << number for number, place in enumerate(part)))


def on_whole(psi: FloatArray, inside: IntArray) -> FloatArray:
    """Return ψ of a part by the pattern of the whole set; the last pattern of both is that reports do not tell."""
    silent = psi[:, :, 1 << int(inside.max()).bit_length() :]
    return np.concatenate([psi[:, :, inside], silent], axis=2)


def least_variance(forms: Sequence[SetPatterns], reports: Sequence[float], items: int, has: int) -> float:
    """Return the least variance of "all items" that noise leaves if everybody has the first few; 0 if not known."""
    sets, parts = np.arange(items)[None, :], np.eye(1 << items)
    patterns, precision = item_patterns(forms, sets, np.full((1, 1 << items), 0.5**items)), np.zeros((1, 1))
    for form, count, weights in zip(forms, reports, patterns.weights[:, 1:, 0, : 1 << items], strict=True):
        counted, law = weights * form.telling(items), form.shown(sets, parts[[(1 << has) - 1]])[0]
        mean = counted @ law
        noise = (counted * law) @ counted.T - np.outer(mean, mean)
        if noise[-1, -1] < SURE or np.linalg.cond(noise) > _SINGULAR:
            return 0.0
        precision = precision + count * np.linalg.inv(noise)
    return float(np.linalg.inv(precision)[-1, -1])


def distinct(codes: npt.NDArray[np.intp]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return where each distinct row stands first, and which of them every row is."""
    base = int(codes.max()) + 1
    whole = codes @ base ** np.arange(codes.shape[1]) if base ** codes.shape[1] < 1 << 62 else codes
    _, first, back = np.unique(whole, axis=0, return_index=True, return_inverse=True)
    return first, back.reshape(-1)
