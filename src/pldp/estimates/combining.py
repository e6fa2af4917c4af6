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
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeVar, overload

import numpy as np

from pldp.errors import CallError, EstimateError
from pldp.estimates.results import notes
from pldp.estimates.results.facts import Facts, Note
from pldp.estimates.results.intervals import Interval, Label
from pldp.estimates.results.options import known_shares
from pldp.estimates.results.result import Result, Results
from pldp.mechanisms.arrays import FloatArray
from pldp.records import describe

Some = TypeVar("Some", bound=Result)

SHARED: Final = (
    "question",
    "kind",
    "scale",
    "target",
    "method",
    "differ",
    "confidence",
)  # what results must have in common


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

    @property
    def possible(self) -> tuple[float, float]:
        """Those of one group."""
        return self.parts[0].possible

    @property
    def exclusive(self) -> bool:
        """Whether people have one label each, as in every group."""
        return self.parts[0].exclusive

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
    shares, scaled = known_shares(known, names, "known", "the groups", "group")

    def combine_groups(results: Sequence[Result]) -> Combined:
        return _combine(results, names, shares, scaled, same_people=same_people)

    needs = "pldp.combine(groups, known) needs a Result, or Results, of pldp.estimate for every group"
    return by_question([*groups.values()], combine_groups, needs, "groups")


def _combine(
    results: Sequence[Result], names: tuple[str, ...], shares: FloatArray, scaled: Sequence[Note], *, same_people: bool
) -> Combined:
    first = results[0]
    if first.target != "population":
        raise EstimateError('combined groups are about the population: estimate them with target="population"')
    if not first.has_normal_error.any():
        raise EstimateError(f"{first.question!r} has no number that can be added up over groups")
    errors = np.array([_numbers(each, each.standard_error) for each in results])
    about = {
        **dict.fromkeys(scaled, True),
        notes.QUANTILES_LEFT_OUT: not first.has_normal_error.all(),
        notes.SMOOTH_ERRORS: any(each.assumes_smoothness for each in results),
    }
    facts = joint_facts(results, names, first, about)
    assumptions = [text for text in facts.assumptions if text != notes.SAMPLE]
    distinct = () if same_people else (notes.DISTINCT_GROUPS,)
    forged = [
        each.manipulation * share * facts.reports / each.reports for each, share in zip(results, shares, strict=True)
    ]
    facts = replace(
        facts,
        method=f"{first.method}, groups weighted by their known shares",
        manipulation=max(forged) if all(map(math.isfinite, forged)) else math.nan,
        assumptions=(notes.SAMPLE_OF_GROUPS, *assumptions, *distinct, notes.KNOWN_EXACTLY),
    )
    return Combined.of(
        facts,
        parts=tuple(results),
        names=names,
        shares=shares,
        standard_error=shares @ errors if same_people else np.sqrt(shares**2 @ errors**2),
        differ=first.differ,
        bias=_bias(results, shares),
        alike=alike_of(results, partial(_combine, names=names, shares=shares, scaled=scaled, same_people=same_people)),
    )


def alike_of(results: Sequence[Result], made: Callable[[Sequence[Result]], Some]) -> Some | None:
    """Make the same of the results if people of all levels are alike; `None` where none of them says what they are."""
    if all(each.alike is None for each in results):
        return None
    return made([each.alike or each for each in results])


def _numbers(result: Result, numbers: FloatArray) -> FloatArray:
    """Return the numbers that can be added up."""
    return np.ravel(numbers)[result.has_normal_error]


def _bias(results: Sequence[Result], shares: FloatArray) -> Interval | None:
    """Return what the sums over groups may lack, given what the numbers of each group may."""
    if all(each.bias is None for each in results):
        return None
    each_bias = [each.bias or Interval(*np.zeros((2, *each.estimates.shape))) for each in results]
    low, high = (
        shares @ np.array([_numbers(each, end) for each, end in zip(results, ends, strict=True)])
        for ends in zip(*each_bias, strict=True)
    )
    return Interval(low, high)


def joint_facts(results: Sequence[Result], names: Sequence[str], like: Result, about: Mapping[Note, bool]) -> Facts:
    """Return what results of one question state together; each warning says where it comes from."""
    warnings = [
        replace(note, text=f"in {name}: {note.text}")
        for name, each in zip(names, results, strict=True)
        for note in each.notes
        if note.severity == "warning"
    ]
    return Facts(
        question=like.question,
        text=like.text,
        unit=like.unit,
        reports=sum(each.reports for each in results),
        method=like.method,
        target=like.target,
        confidence=like.confidence,
        manipulation=max(each.manipulation for each in results),
        assumptions=tuple(dict.fromkeys(text for each in results for text in each.assumptions)),
        notes=(*warnings, *(note for note, holds in about.items() if holds)),
    )


def _check_alike(results: Sequence[Result], what: str) -> None:
    """Refuse rounds, or groups, that are not of one question, asked and estimated in one way."""
    first = results[0]
    for each in results:
        if each.compares:
            raise EstimateError("a change has no rounds to subtract: subtract results that pldp.estimate made")
        for name in SHARED:
            one, other = getattr(first, name), getattr(each, name)
            if one != other:
                part = "labels or bounds" if name == "scale" else name
                shown = f"{describe(one)} and {describe(other)}"
                raise EstimateError(f"{what} of {first.question!r} must have the same {part}, not {shown}")


def by_question(
    given: Sequence[Result | Results], compare: Callable[[list[Result]], Some], needs: str, what: str = "rounds"
) -> Some | Results:
    """Compare results of one question, or of whole rounds, where what cannot be compared is named with the reason."""

    def compare_alike(results: list[Result]) -> Some:
        _check_alike(results, what)
        return compare(results)

    whole = [each for each in given if isinstance(each, Results)]
    if len(whole) == len(given):
        return _compare_all(whole, compare_alike, what)
    results = [each for each in given if isinstance(each, Result)]
    if len(results) < len(given):
        raise CallError(needs)
    return compare_alike(results)


def _compare_all(rounds: Sequence[Results], compare: Callable[[list[Result]], Result], what: str) -> Results:
    content = [{**each.results, **{table.question: table for table in each.tables}} for each in rounds]
    found: dict[str, Result] = {}
    missing: dict[str, str] = {}
    for name in dict.fromkeys(name for each in (*content, *(each.missing for each in rounds)) for name in each):
        try:
            found[name] = compare([own[name] for own in content])
        except KeyError:
            reasons = [each.missing.get(name) for each, own in zip(rounds, content, strict=True) if name not in own]
            missing[name] = reasons[0] or f"one of the {what} has no {name!r}"
        except EstimateError as error:
            missing[name] = str(error)
    if not found:
        raise EstimateError(next(iter(missing.values()), "there is no question to compare"))
    tables = {table.question for each in rounds for table in each.tables}
    rejections: Counter[str] = sum((Counter(each.rejections) for each in rounds), Counter())
    return replace(
        rounds[-1],
        reports=sum(each.reports for each in rounds),
        rejections=rejections,
        results={name: each for name, each in found.items() if name not in tables},
        tables=tuple(each for name, each in found.items() if name in tables),
        missing=missing,
    )
