"""Two questions together: the share of every pair of values, with errors, and a table that fits the margins.

A report whose answers support value i of the first question (s_i = 1) and value j of the second (t_j = 1) speaks for
the pair. Both answers are perturbed independently, so

    f̂_ij = mean of (s_i − q)(t_j − q') / ((p − q)(p' − q'))

is unbiased, and its variance follows from Pr(s_i), Pr(t_j) and Pr(s_i t_j). The counts of supports, one by one and in
pairs, are all it needs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.assumptions import BY_SIZE, HONEST_DEVICES, SAME_SHARES, about_people
from pldp.estimates.groups import FloatArray
from pldp.estimates.notes import LEVELS_DISAGREE
from pldp.estimates.options import POOLS, TARGETS, Pool, Target, one_of
from pldp.estimates.result import PersonWeights
from pldp.estimates.rounds.overlap import distinct_people
from pldp.estimates.shares.frequencies import frequencies
from pldp.estimates.tables.table import Table
from pldp.mechanisms import Channel
from pldp.mechanisms.arrays import label_arrays
from pldp.tallies import PairCounts, Tally
from pldp.usage import require


def two_way(tally: Tally, first: str, second: str, *, pool: Pool = "precision", target: Target = "population") -> Table:
    """Return the share of every pair of values of two questions that were tallied as a pair.

    Parameters
    ----------
    tally
        The counted reports, tallied with `pairs=[(first, second)]`.
    first, second
        Names of the questions: rows and columns.
    pool
        How pairs of levels are weighted: `precision` (assumes that the choice of levels does not depend on the values)
        or `size`.
    target
        `population`: errors include that the respondents are a random sample. `respondents`: shares of exactly the
        people who answered both questions.

    Examples
    --------
    >>> from pldp import Survey, tally
    >>> from pldp.simulate import Population, simulate_reports
    >>> survey = Survey.load("examples/commute.toml")
    >>> people = Population.of_shares(survey, 50_000, seed=2)
    >>> counted = tally(survey, simulate_reports(survey, people, seed=2), pairs=[("late", "mode")])
    >>> table = two_way(counted, "late", "mode")
    >>> table.shares.shape, bool(np.allclose(table.consistent().sum(axis=1), table.margins[0].consistent()))
    ((2, 6), True)
    """
    require(tally, Tally, "pldp.two_way(tally, first, second)")
    one_of("pool", pool, POOLS)
    one_of("target", target, TARGETS)
    turned = (second, first) in tally.paired
    if not turned and (first, second) not in tally.paired:
        tally.survey.question(first), tally.survey.question(second)
        raise EstimateError(f"questions {first!r} and {second!r} were not tallied as a pair: name them in pairs")
    rows, columns = (frequencies(tally, name, pool=pool, target=target) for name in (first, second))
    groups = _groups(tally, (second, first) if turned else (first, second))
    if not groups:
        raise EstimateError(f"no report answers both {first!r} and {second!r}, so there is nothing to estimate")
    weights = _weights(groups, pool)
    shares = np.sum([weight * each.shares() for each, weight in zip(groups, weights, strict=True)], axis=0)
    margins = (columns.shares, rows.shares) if turned else (rows.shares, columns.shares)
    variance = np.sum(
        [weight**2 * each.variance(shares, *margins) for each, weight in zip(groups, weights, strict=True)], axis=0
    )
    people = np.array([each.counts.reports for each in groups])
    reports = int(people.sum())
    if target == "respondents":
        variance = np.maximum(variance - np.clip(shares, 0, 1) * (1 - np.clip(shares, 0, 1)) / reports, 0)
    notes = tuple(dict.fromkeys((*rows.notes, *columns.notes)))
    differ = pool == "precision" and any(note.code == LEVELS_DISAGREE for note in notes)
    return Table(
        question=f"{first} × {second}",
        margins=(rows, columns),
        shares=shares.T if turned else shares,
        standard_error=np.sqrt(variance.T if turned else variance),
        reports=reports,
        method=f"unbiased, pooled by {pool}",
        target=target,
        assumptions=(
            about_people(target),
            SAME_SHARES if pool == "precision" and len(groups) > 1 else BY_SIZE,
            HONEST_DEVICES,
        ),
        notes=notes,
        people=PersonWeights(people, (weights / people)[:, None]),
        distinct=distinct_people(tally.survey),
        by_size=two_way(tally, first, second, pool="size", target=target) if differ else None,
        manipulation=max(
            float(weight) * reports / each.counts.reports * each.manipulation
            for each, weight in zip(groups, weights, strict=True)
        ),
    )


@dataclass(frozen=True, eq=False)
class _PairGroup:
    """Reports of one pair of levels with both channels."""

    first: Channel
    second: Channel
    counts: PairCounts

    @cached_property
    def _supports(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """q and p − q of both channels, as a column and as a row."""
        one, two = label_arrays(self.first), label_arrays(self.second)
        column = (np.reshape(numbers, (-1, 1)) for numbers in (one.other_support, one.contrast))
        row = (np.reshape(numbers, (1, -1)) for numbers in (two.other_support, two.contrast))
        return (*column, *row)  # type: ignore[return-value] # two of each

    def shares(self) -> FloatArray:
        """Return the unbiased shares."""
        q, d, other_q, other_d = self._supports
        n = self.counts.reports
        both, one, two = self.counts.both / n, self.counts.first / n, self.counts.second / n
        return np.asarray((both - other_q * one[:, None] - q * two[None, :] + q * other_q) / (d * other_d))

    def variance(self, shares: FloatArray, rows: FloatArray, columns: FloatArray) -> FloatArray:
        """Return the variance of the unbiased shares if these shares and margins were true."""
        q, d, other_q, other_d = self._supports
        f, one, two = (np.clip(given, 0, 1) for given in (shares, rows[:, None], columns[None, :]))
        supports_one, supports_two = q + d * one, other_q + other_d * two
        both = q * other_q + q * other_d * two + other_q * d * one + d * other_d * f
        square = (1 - 2 * q) * (1 - 2 * other_q) * both + (q * other_q) ** 2
        square = square + (1 - 2 * q) * other_q**2 * supports_one + (1 - 2 * other_q) * q**2 * supports_two
        return np.asarray((square / (d * other_d) ** 2 - f**2) / self.counts.reports)

    @property
    def manipulation(self) -> float:
        """People of this group that one forged report can count as: both of its answers can be forged."""
        return self.first.manipulation * self.second.manipulation

    def precision(self) -> float:
        """Return 1/variance of a pair at equal shares."""
        height, width = self.counts.both.shape
        equal = self.variance(np.array([[1 / (height * width)]]), np.array([1 / height]), np.array([1 / width]))
        return float(1 / equal.mean())


def _groups(tally: Tally, pair: tuple[str, str]) -> list[_PairGroup]:
    first, second = (tally.survey.question(name) for name in pair)
    groups = []
    for ((one, level), (two, other)), counts in tally.pairs.items():
        if (one, two) == pair and counts.reports:
            channels = first.channels[first.level_index[level]], second.channels[second.level_index[other]]
            groups.append(_PairGroup(*channels, counts))
    return groups


def _weights(groups: Sequence[_PairGroup], pool: str) -> FloatArray:
    weights = [each.precision() if pool == "precision" else float(each.counts.reports) for each in groups]
    return np.asarray(weights) / sum(weights)
