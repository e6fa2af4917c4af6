"""Groups of different people put together: a population of which the share of every group is known.

People were invited in groups (regions, sites, age groups), each group has a tally of its own, and the share known(g) of
each in the population is public. Then

    F = Σ_g known(g)·F_g,    Var F = Σ_g known(g)²·Var F_g

is the number of the whole population, however many of each group answered: groups hold different people, so their
errors are independent. Quantiles of a number are not sums over groups and are left out.

The mean over rounds that the *same* people answer is such a sum, too, but its errors are not independent: people, and
the labels of hidden levels, are the same in every round. Whatever they have in common, the standard error is at most
Σ known(g)·SE_g, and this is what `same_people` takes.

Reference: Holt, Smith, "Post Stratification" (1979).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, overload

import numpy as np

from pldp.errors import CallError, EstimateError
from pldp.estimates.margins import known_shares
from pldp.estimates.results import notes
from pldp.estimates.results.consistency import norm_sub
from pldp.estimates.results.intervals import Label
from pldp.estimates.results.result import Result, Results
from pldp.estimates.rounds import by_question, check_alike
from pldp.mechanisms.arrays import FloatArray


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Combined(Result):
    """Numbers of a population made of groups, each with its known share.

    `parts` are the results of the groups, `names` what they are called, `shares` their parts of the population.
    """

    parts: tuple[Result, ...]
    names: tuple[str, ...]
    shares: FloatArray

    @property
    def kind(self) -> str:  # type: ignore[override] # that of the groups
        """Kind of the groups' results."""
        return self.parts[0].kind

    @property
    def labels(self) -> Sequence[Label]:
        """Those of the groups that can be added up."""
        first = self.parts[0]
        return [label for label, kept in zip(first.labels, first.has_normal_error, strict=True) if kept]

    @property
    def estimates(self) -> FloatArray:
        """The sums over groups."""
        return np.asarray(self.shares @ np.array([_numbers(each, each.estimates) for each in self.parts]))

    def records(self, confidence: float | None = None) -> list[dict[str, Any]]:
        """Return the rows; beside shares that sum to 1 the nearest ones that could be true."""
        rows = super().records(confidence)
        if "consistent" not in self.parts[0].records(confidence)[0]:
            return rows
        return [
            {**row, "consistent": share} for row, share in zip(rows, norm_sub(self.estimates).tolist(), strict=True)
        ]

    def _extras(self, confidence: float) -> dict[str, Any]:
        del confidence
        groups = zip(self.names, self.shares.tolist(), self.parts, strict=True)
        combined = [{"name": name, "share": share, "reports": each.reports} for name, share, each in groups]
        of_table = getattr(self.parts[0], "margins", None)
        questions = {} if of_table is None else {"questions": [margin.question for margin in of_table]}
        return {"combined": combined, **questions}


@overload
def combine(groups: Mapping[str, Result], known: Mapping[str, float], *, same_people: bool = False) -> Combined: ...


@overload
def combine(groups: Mapping[str, Results], known: Mapping[str, float], *, same_people: bool = False) -> Results: ...


def combine(
    groups: Mapping[str, Result] | Mapping[str, Results], known: Mapping[str, float], *, same_people: bool = False
) -> Combined | Results:
    """Return the result of a population made of groups of different people, each with its known share.

    Parameters
    ----------
    groups
        The result of one question in every group, or all results of every group, by the name of the group.
    known
        The share of every group in the population, by name; they sum to 1 (or to 100).
    same_people
        Whether people may be in several groups, as in rounds that the same people answer: errors are then added up as
        if they were common, for what rounds have in common is not known.

    Examples
    --------
    >>> from pldp import Survey, estimate, tally
    >>> from pldp.simulate import Population, simulate_reports
    >>> survey = Survey.load("examples/commute.toml")
    >>> def ask(late, people):
    ...     answers = Population.of_counts(survey, {"late": {"yes": late, "no": people - late}}, seed=late)
    ...     return estimate(tally(survey, simulate_reports(survey, answers, seed=late)), "late")
    >>> found = combine({"town": ask(4000, 8000), "country": ask(600, 3000)}, {"town": 0.25, "country": 0.75})
    >>> found.rows()[0].low < 0.25 * 0.5 + 0.75 * 0.2 < found.rows()[0].high
    True
    """
    names = tuple(groups) if isinstance(groups, Mapping) else ()
    if len(names) < 2:
        raise CallError("pldp.combine(groups, known) needs the results of two or more groups by name")
    shares = known_shares(known, names, "known", "group")
    whole = [each for each in groups.values() if isinstance(each, Results)]
    if len(whole) == len(names):
        again = partial(combine, known=known, same_people=same_people)
        return by_question(whole, lambda own: again(dict(zip(names, own, strict=True))), "groups")
    results = [each for each in groups.values() if isinstance(each, Result)]
    if len(results) < len(names):
        raise CallError("pldp.combine(groups, known) needs a Result, or Results, of pldp.estimate for every group")
    check_alike(results, "groups")
    if results[0].target != "population":
        raise EstimateError('combined groups are about the population: estimate them with target="population"')
    return _combine(results, names, shares, same_people=same_people)


def _combine(results: Sequence[Result], names: tuple[str, ...], known: FloatArray, *, same_people: bool) -> Combined:
    first, total = results[0], float(known.sum())
    shares = known / total
    if not first.has_normal_error.any():
        raise EstimateError(f"{first.question!r} has no number that can be added up over groups")
    errors = np.array([_numbers(each, each.standard_error) for each in results])
    beside = [each if each.assumption_free is None else each.assumption_free for each in results]
    assumes = any(each.assumption_free is not None for each in results)
    whole = 1.0 if total < 10 else 100.0
    about = {
        notes.known_scaled("the groups", total / whole): abs(total / whole - 1) > 1e-9,
        notes.QUANTILES_LEFT_OUT: not first.has_normal_error.all(),
        notes.SMOOTH_ERRORS: any(each.assumes_smoothness for each in results),
    }
    assumptions = dict.fromkeys(text for each in results for text in each.assumptions if text != notes.SAMPLE)
    distinct = () if same_people else (notes.DISTINCT_GROUPS,)
    reports = sum(each.reports for each in results)
    forged = [each.manipulation * share * reports / each.reports for each, share in zip(results, shares, strict=True)]
    return Combined(
        parts=tuple(results),
        names=names,
        shares=shares,
        standard_error=shares @ errors if same_people else np.sqrt(shares**2 @ errors**2),
        question=first.question,
        text=first.text,
        unit=first.unit,
        reports=reports,
        method=f"{first.method}, groups weighted by their known shares",
        target=first.target,
        confidence=first.confidence,
        manipulation=max(forged) if all(map(math.isfinite, forged)) else math.nan,
        assumption_free=_combine(beside, names, known, same_people=same_people) if assumes else None,
        assumptions=(notes.SAMPLE_OF_GROUPS, *assumptions, *distinct, notes.KNOWN_EXACTLY),
        notes=(
            *notes.warnings_of(names, [each.notes for each in results]),
            *(note for note, holds in about.items() if holds),
        ),
    )


def _numbers(result: Result, numbers: FloatArray) -> FloatArray:
    """Return the numbers that can be added up."""
    return np.ravel(numbers)[result.has_normal_error]
