"""Level-wise search for frequent sets: candidates from kept subsets, counts reused, decisions by standard errors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.estimates.linear.small_counts import SmallCounts
from pldp.estimates.results.facts import Facts, Note
from pldp.estimates.results.notes import search_ended_early
from pldp.mechanisms.arrays import FloatArray, IntArray, patterns_of
from pldp.tallies import Columns, joint_counts

MOST_CANDIDATES: Final = 5_000_000
"""Sets of one size that a search counts at most."""

_CHUNK: Final = 1 << 18

Counts = npt.NDArray[Any]
"""How often the items of each set show each pattern, by what reports show of levels: shown × sets × 2^items."""


class Estimated(NamedTuple):
    """Supports of sets and their standard errors; `drawn` times f(1 − f) is what drawing people adds to each variance.

    `contrasts` are c_τ, sets × levels: see `pldp.estimates.kinds.item_sets`.
    """

    support: FloatArray
    error: FloatArray
    drawn: FloatArray
    contrasts: FloatArray

    def error_at(self, least: float, facts: Facts) -> FloatArray:
        """Return the standard errors that supports have if they are not larger than `least`, but at least those found.

        Drawing people adds f(1 − f)/n, which is smaller for a large support that was found than for the true one: a
        search that judged by the error at what it found would report too many sets with supports beyond a half. That
        everybody has an item cannot be known from a sample.
        """
        if facts.target == "respondents":
            return self.error
        possible, least = np.clip(self.support, 0, 1), min(least, 1 - 1 / facts.reports)
        lost = np.maximum(least * (1 - least) - possible * (1 - possible), 0)
        return np.asarray(np.sqrt(self.error**2 + lost * self.drawn))


class SetReports(Protocol):
    """Reports of sets of items, of one collection or of several services: what a search asks of them."""

    @property
    def facts(self) -> Facts:
        """What results of these reports state beside their numbers."""

    @property
    def columns(self) -> tuple[Columns, ...]:
        """The reports by what they show."""

    @property
    def singles(self) -> tuple[IntArray, Counts]:
        """Every item as a set, and its pattern counts."""

    @property
    def largest(self) -> int:
        """Items of the largest sets that some reports tell about."""

    def estimate(self, sets: IntArray, patterns: Counts) -> Estimated:
        """Return the supports of sets of one size; those that no report tells about have none, and no known error."""

    def expected_error(self, sets: IntArray) -> FloatArray:
        """Return the standard error to expect for each set before it is counted, items taken as independent."""

    def least_error(self, items: int) -> float:
        """Return at most the least `expected_error` of any set of this many items."""

    def small_counts(self, sets: IntArray, patterns: Counts) -> SmallCounts | None:
        """Return the sets that few reports support, whose intervals are not normal."""

    def covariances(self, sets: IntArray, patterns: Counts, parts: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        """Return the supports of parts of each set (places of their items), and their covariances, parts × parts."""


class SetPart(NamedTuple):
    """Sets of one size (sorted), how many reports show at least some of their items, and what was found.

    `joint` are the numbers of reports by what they show of levels: sets × shown × 2^items.
    """

    sets: IntArray
    joint: IntArray
    found: Estimated

    @classmethod
    def of(cls, reports: SetReports, sets: IntArray, joint: IntArray | None = None) -> SetPart:
        """Return what reports say of sets; they are counted if they were not."""
        if joint is None:
            joint = np.stack([joint_counts(own, sets) for own in reports.columns], axis=1)
        return cls(sets, joint, reports.estimate(sets, _exactly(joint)))

    @classmethod
    def joined(cls, parts: Iterable[SetPart]) -> SetPart:
        """Return the sets of all parts."""
        sets, joint, found = zip(*parts, strict=True)
        return cls(
            np.concatenate(sets), np.concatenate(joint), Estimated(*map(np.concatenate, zip(*found, strict=True)))
        )

    @property
    def patterns(self) -> Counts:
        """How often each pattern of the items came."""
        return _exactly(self.joint)

    def where(self, chosen: npt.NDArray[np.bool_]) -> SetPart:
        """Return some of the sets."""
        return SetPart(self.sets[chosen], self.joint[chosen], Estimated(*(column[chosen] for column in self.found)))


def _exactly(joint: IntArray) -> Counts:
    """Turn counts of "at least these items" into counts of "exactly these", by what reports show of levels."""
    patterns = patterns_of(joint.reshape(-1, joint.shape[2])).reshape(joint.shape)
    return np.ascontiguousarray(np.swapaxes(patterns, 0, 1))


@dataclass(eq=False)
class Search:
    """Level-wise search: all sets of one size, then those of the next whose subsets were all kept."""

    reports: SetReports
    min_support: float
    report: list[float]
    follow: float
    keys: list[IntArray] = field(default_factory=list)

    def run(self) -> tuple[list[SetPart], dict[int, int], tuple[Note, ...]]:
        """Return the reported sets by size, how many were examined, and where the search stopped early."""
        kept, reported = self._judge(SetPart.of(self.reports, self.reports.singles[0]))
        found, examined = [reported], {1: self._width}
        for size in range(2, len(self.report) + 1):
            # Kept sets can be found: a set is its prefix's place among the kept ones, and its last item.
            self.keys.append(self._place(kept.sets[:, :-1]) * self._width + kept.sets[:, -1])
            parts, examined[size] = [], 0
            able = self._able(kept, size)
            hopeless, left_out = not able.all(), math.inf if able.all() else self._least[size]
            kept, self.keys[-1] = kept.where(able), self.keys[-1][able]
            upper = self._upper(kept)
            for sets, parents in self._candidates(kept):
                expected = self.reports.expected_error(sets)
                known = np.isfinite(expected)
                needed = self.min_support + self._reach(size, np.where(known, expected, 0))
                hope = known & (upper[parents].min(axis=1) >= needed)
                left_out = min(left_out, float(expected[~hope].min(initial=math.inf)))
                hopeless |= not hope.all()
                examined[size] += int(hope.sum())
                if examined[size] > MOST_CANDIDATES:
                    raise EstimateError(
                        f"min_support {self.min_support:g} leaves more than {MOST_CANDIDATES:,} sets of {size} items "
                        f"to count, with standard errors about {float(np.median(expected)):.2g}: raise min_support"
                    )
                if hope.any():
                    joint = self._joint(kept, sets[hope], parents[hope])
                    parts.append(self._judge(SetPart.of(self.reports, sets[hope], joint)))
            if not parts:
                return found, examined, (search_ended_early(size, left_out),) if hopeless else ()
            kept, reported = map(SetPart.joined, zip(*parts, strict=True))
            found.append(reported)
        return found, examined, ()

    def _able(self, kept: SetPart, size: int) -> npt.NDArray[np.bool_]:
        """Mark the kept sets that a candidate of this size could have as a part, whichever items come to it.

        No candidate's error is below `least_error`, so a set that is not so far above min_support as the least such
        error demands is in none: no candidate is lost, and most are never made.
        """
        needed = self.min_support + np.maximum(self._reach(size, np.array(self._least[size])), 0.0)
        return np.asarray(self._upper(kept) >= needed)

    def _upper(self, part: SetPart) -> FloatArray:
        """Return the largest supports that sets can well have."""
        return part.found.support + self.follow * part.found.error

    def _reach(self, size: int, error: FloatArray) -> FloatArray:
        """Return how far above min_support a set must seem, to be reported with this error or to have such a superset.

        Supersets count as well, because their standard errors can be smaller.
        """
        larger = range(size + 1, len(self.report) + 1)
        later = [(self.report[more - 1] - self.follow) * self._least[more] for more in larger]
        return np.minimum((self.report[size - 1] - self.follow) * error, min(later, default=math.inf))

    @cached_property
    def _least(self) -> dict[int, float]:
        """The least error to expect of any set of each size."""
        return {size: self.reports.least_error(size) for size in range(2, len(self.report) + 1)}

    def _judge(self, part: SetPart) -> tuple[SetPart, SetPart]:
        """Return the sets to follow and the sets to report."""
        size, found = part.sets.shape[1], part.found
        judged = found.error_at(self.min_support, self.reports.facts)
        follow = (self._upper(part) >= self.min_support) & (size < len(self.report))
        return part.where(follow), part.where(found.support - self.report[size - 1] * judged >= self.min_support)

    @property
    def _width(self) -> int:
        return self.reports.columns[0].size

    def _place(self, sets: IntArray) -> IntArray:
        """Return the place of each set among the kept ones of its size; −1 where it is not one of them."""
        place, known = np.zeros(len(sets), np.int64), np.ones(len(sets), bool)
        for keys, item in zip(self.keys, sets.T, strict=False):
            wanted = place * self._width + item
            place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            known &= keys[place] == wanted
        return np.where(known, place, -1)

    def _candidates(self, kept: SetPart) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield sets with one item more, all of whose subsets were kept, and the subsets' places by missing item."""
        count, size = kept.sets.shape[0], kept.sets.shape[1] + 1
        if not count:
            return
        prefix = self.keys[-1] // self._width
        partners = np.searchsorted(prefix, prefix, side="right") - np.arange(count) - 1
        ends = np.cumsum(partners)
        start = 0
        while start < count:
            before = int(ends[start - 1]) if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, before + _CHUNK, side="right")))
            more = partners[start:stop]
            first = np.repeat(np.arange(start, stop), more)
            second = first + 1 + np.arange(len(first)) - np.repeat(ends[start:stop] - more - before, more)
            start = stop
            sets = np.concatenate([kept.sets[first], kept.sets[second, -1:]], axis=1)
            parents = np.empty(sets.shape, np.int64)
            parents[:, -1], parents[:, -2] = first, second
            for missing in range(size - 2):
                parents[:, missing] = self._place(np.delete(sets, missing, axis=1))
            complete = (parents >= 0).all(axis=1)
            if complete.any():
                yield sets[complete], parents[complete]

    def _joint(self, kept: SetPart, sets: IntArray, parents: IntArray) -> IntArray:
        """Take the joint counts of proper subsets from the kept sets, where these are the same; count only the rest."""
        whole = (1 << sets.shape[1]) - 1
        joint = np.empty((len(sets), kept.joint.shape[1], whole + 1), np.int64)
        for shown, columns in enumerate(self.reports.columns):
            table = joint[:, shown]
            if not columns.whole:
                table[:] = joint_counts(columns, sets)
                continue
            for subset in range(whole):
                missing = (~subset & subset + 1).bit_length() - 1
                low = subset & (1 << missing) - 1
                table[:, subset] = kept.joint[parents[:, missing], shown, low | subset >> missing + 1 << missing]
            table[:, whole] = columns.joint_counts(sets)
        return joint
