"""Who answered: shares corrected to a margin that is known from elsewhere, such as a census.

People of some groups answer more readily than others, and their answers weigh too much. Where the two-way table of the
question and of the group is tallied, and the share known(m) of every group m in the population is public,

    f(a) = Σ_m known(m)·π̂(a, m)/π̂(m)        (post-stratification)

weighs every group as the population does. π̂(a, m) is unbiased among those who answered, and so is π̂(m), from the same
reports. To first order the error of f is the mean over reports of

    ψ_a = Σ_m c_m·W_m·(Z_a − r_am),    c_m = known(m)/π(m),    r_am = π(a, m)/π(m),

Z_a and W_m being what one report says of value a and of group m: E[Z_a W_m] = π(a, m). Given the true values (x, y),
both answers are perturbed independently, so E[ψ ψᵀ] follows from the second moments of one question at a time: no
covariance of the cells of the table is ever built.

A ratio of two noisy numbers has an error only where the lower one is far from 0. Groups whose share among those who
answered is less than `FAR_FROM_ZERO` of its standard errors are merged with others, and the result says so.

Reference: Holt, Smith, "Post Stratification" (1979).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn, cast

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates import notes
from pldp.estimates.consistency import norm_sub
from pldp.estimates.decoder import Decoder
from pldp.estimates.options import Known, Pool, Target, check_pooling, one_of
from pldp.estimates.result import Note
from pldp.estimates.shares.frequencies import frequencies
from pldp.estimates.shares.pooling import add_reports
from pldp.estimates.shares.shares import Evidence, Shares, standard_errors
from pldp.estimates.tables import PairGroup, pair_groups, precision_weights
from pldp.mechanisms.arrays import FloatArray
from pldp.survey import Choice, Survey
from pldp.tallies import Pair, Tally
from pldp.words import unknown

FAR_FROM_ZERO: Final = 6.0
"""Standard errors that a group's share must be away from 0, to be divided by."""

ROUNDING: Final = 0.01
"""How far the sum of known shares may be from 1: published ones are rounded."""


@dataclass(frozen=True, eq=False)
class Margin:
    """A question whose shares in the population are known; `scaled` is their sum before they were made to sum to 1."""

    question: str
    labels: tuple[str, ...]
    shares: FloatArray
    scaled: float

    @classmethod
    def of(cls, survey: Survey, known: Known) -> Margin:
        """Read `{question: {label: share}}`; shares are above 0 and sum to 1, or to 100 if they are percentages."""
        if not isinstance(known, Mapping) or len(known) != 1:
            raise EstimateError(
                'known must name one question with the share of each of its labels, {"late": {"yes": 0.2, "no": 0.8}}'
            )
        ((name, given),) = known.items()
        asked = cast("Choice", survey.question(name))  # or another kind whose answer is one label
        if asked.domain != "labels":
            raise EstimateError(f"known: question {name!r} must be a choice of one label, not of kind {asked.kind}")
        shares = known_shares(given, asked.values, f"known: question {name!r}", "label")
        total = float(shares.sum())
        return cls(name, asked.values, shares / total, total)

    @property
    def notes(self) -> tuple[Note, ...]:
        """Say that the shares were scaled, where they were."""
        whole = 1.0 if self.scaled < 10 else 100.0
        return (
            ()
            if abs(self.scaled / whole - 1) < 1e-9
            else (notes.known_scaled(repr(self.question), self.scaled / whole),)
        )


def known_shares(given: Mapping[str, float], names: Sequence[str], what: str, noun: str) -> FloatArray:
    """Return one share per name, not scaled; refuse what cannot be known shares of these groups."""
    if not isinstance(given, Mapping):
        raise EstimateError(f'{what}: known shares must be given by {noun}, as {{"{names[0]}": 0.2, …}}')
    for name in given:
        if name not in names:
            raise EstimateError(f"{what}: {unknown(noun, name, names, 'it')}")
    missing = [name for name in names if name not in given]
    if missing:
        raise EstimateError(f"{what}: every {noun} needs its known share; {missing[0]!r} has none")
    for name in names:
        share = given[name]
        number = isinstance(share, int | float) and not isinstance(share, bool) and math.isfinite(share)
        if not number or share <= 0:
            raise EstimateError(f"{what}: the known share of {name!r} must be a number above 0, not {share!r}")
    shares = np.array([given[name] for name in names], np.float64)
    if min(abs(shares.sum() / whole - 1) for whole in (1, 100)) > ROUNDING:
        raise EstimateError(f"{what}: known shares must sum to 1, or to 100 as percentages, not to {shares.sum():g}")
    return shares


def check_known(survey: Survey, known: Known) -> None:
    """Refuse what cannot be the known shares of a question of this survey."""
    Margin.of(survey, known)


def uncorrected_notes(tally: Tally, known: Known) -> dict[str, Note]:
    """Return, for every question that known shares cannot correct, the note that says so; refuse if there is no other.

    A question can be corrected if it was tallied as a pair with the known one.
    """
    name = Margin.of(tally.survey, known).question
    paired = {other for pair in _pairs_of_labels(tally) if name in pair for other in pair if other != name}
    if not paired:
        raise EstimateError(f"known: no question was tallied as a pair with {name!r}; tally the reports with pairs")
    others = (each.name for each in tally.survey.questions if each.name not in paired)
    return {other: notes.not_corrected(other, name) for other in others}


def _pairs_of_labels(tally: Tally) -> list[Pair]:
    """Return the tallied pairs of choices of one label."""
    domains = {each.name: each.domain for each in tally.survey.questions}
    return [pair for pair in tally.paired if len(pair) == 2 and all(domains[name] == "labels" for name in pair)]


def correct_shares(
    tally: Tally,
    question: str,
    known: Known,
    *,
    method: str | None = None,
    pool: Pool = "precision",
    target: Target = "population",
) -> Shares:
    """Return the shares of a question in a population whose shares of another question are known.

    Parameters
    ----------
    tally
        The counted reports, tallied with the pair of both questions.
    question, known
        Name of the question; and the other one with the known share of each of its labels, which sum to 1 (or to 100).
    method, pool, target
        See `Options`. Only unbiased shares of the population can be corrected.

    Examples
    --------
    >>> from pldp import Survey, tally
    >>> from pldp.simulate import Population, simulate_reports
    >>> survey = Survey.load("examples/commute.toml")
    >>> people = Population.of_shares(survey, 50_000, seed=2)
    >>> counted = tally(survey, simulate_reports(survey, people, seed=2), pairs=[("late", "mode")])
    >>> corrected = correct_shares(counted, "mode", {"late": {"yes": 0.3, "no": 0.7}})
    >>> corrected.method, round(float(corrected.shares.sum()), 9)
    ("unbiased, pooled by precision, corrected to the known shares of 'late'", 1.0)
    """
    margin = Margin.of(tally.survey, known)
    _refuse_options(tally.survey, question, margin, method, pool, target)
    groups = _groups(tally, question, margin.question)
    own = frequencies(tally, question, pool=pool)
    other = frequencies(tally, margin.question, pool=pool)
    rough = [add_reports(each.shares, each.reports) for each in (own, other)]
    table = _Table.of(groups, [bool(tally.survey.question(each.question).stages) for each in (own, other)], rough, pool)
    merged = _merge(table, margin)
    correction = _Correction.of(table, margin, merged)
    together = pool == "precision" and len(groups) > 1
    levels = (notes.SAME_TABLE, notes.ROUGH_WEIGHTS) if together else (notes.BY_SIZE,)
    covariance = correction.covariance()
    alone = correct_shares(tally, question, known, pool="size") if together else None
    return Shares(
        question=question,
        text=own.text,
        values=own.values,
        shares=correction.shares,
        standard_error=standard_errors(covariance),
        reports=table.reports,
        method=f"unbiased, pooled by {pool}, corrected to the known shares of {margin.question!r}",
        target=target,
        homogeneity=own.homogeneity,
        assumption_free=alone,
        assumptions=(notes.like_those_who_did_not(margin.question), *levels, notes.HONEST_DEVICES, notes.KNOWN_EXACTLY),
        notes=(
            *dict.fromkeys((*own.notes, *other.notes)),
            *margin.notes,
            *_merged_notes(margin, merged),
            notes.who_answered(margin.question, margin.labels, table.margin, margin.shares),
        ),
        manipulation=correction.manipulation(),
        evidence=_Corrected(covariance),
    )


def _refuse_options(survey: Survey, question: str, margin: Margin, method: str | None, pool: str, target: str) -> None:
    """Refuse what contradicts a correction."""
    asked = survey.question(question)
    if asked.domain != "labels":
        raise EstimateError(f"known corrects shares of choices of one label; question {question!r} is of {asked.kind}")
    if question == margin.question:
        raise EstimateError(f"the shares of {question!r} are known: name the question that they are to correct")
    if survey.level_channel is not None:
        raise EstimateError("known needs levels that show: two-way tables of hidden levels cannot be estimated")
    check_pooling(pool, target)
    if target != "population":
        raise EstimateError('known corrects to the population: target must be "population", not "respondents"')
    one_of("method, where shares are corrected to known ones,", method or "unbiased", ("unbiased",))


def _groups(tally: Tally, question: str, margin: str) -> list[PairGroup]:
    """Return the reports of both questions, the one to be corrected first."""
    if (question, margin) in tally.paired:
        groups = pair_groups(tally, question, margin)
    elif (margin, question) in tally.paired:
        groups = [each.turned() for each in pair_groups(tally, margin, question)]
    else:
        raise EstimateError(
            f"known: questions {question!r} and {margin!r} were not tallied as a pair; tally the reports with "
            f"pairs=[({question!r}, {margin!r})]"
        )
    if not groups:
        raise EstimateError(f"no report answers both {question!r} and {margin!r}, so there is nothing to correct")
    return groups


@dataclass(frozen=True, eq=False)
class _PairLevel:
    """The reports of one pair of levels with what makes unbiased shares of them: both sum to 1 where they can."""

    group: PairGroup
    first: Decoder
    second: Decoder

    def table(self) -> tuple[FloatArray, FloatArray]:
        """Return π̂(a, m) and π̂(m): E[Z_a W_m] and E[W_m] over the reports."""
        second = self.group.forms[1]
        one, two = (own / self.group.reports for own in self.group.margins)
        plain, rows, columns = self.group.shares(), self.first.shares(one), second.shares(two)
        if self.first.parts is not None:
            plain = plain + np.outer(self.first.parts, columns - plain.sum(axis=0))
        if self.second.parts is not None:
            plain = plain + np.outer(rows - plain.sum(axis=1), self.second.parts)
        return plain, self.second.shares(two)

    def margin_covariance(self, shares: FloatArray) -> FloatArray:
        """Return the covariance of π̂(m) if these shares were true."""
        return self.second.covariance(shares) / self.group.reports

    def influence(self, table: FloatArray, factors: FloatArray, ratios: FloatArray) -> FloatArray:
        """Return the covariance of the mean of ψ over the reports if this table were true."""
        size, columns = len(factors), table.sum(axis=0)
        # E[W Wᵀ | y] c for every group y: noise given y is what is random where everybody has y.
        given = np.array(
            [self.second.covariance(point) @ factors + point * (point @ factors) for point in np.eye(size)]
        )
        spread = table @ (given @ factors)
        total = float(spread.sum())
        likely = spread / total
        scaled = ratios * factors
        mixed = scaled @ given.T @ table.T
        square = total * (self.first.covariance(likely) + np.outer(likely, likely))
        square += scaled @ (self.second.covariance(columns) + np.outer(columns, columns)) @ scaled.T
        mean = table @ factors - scaled @ columns
        return np.asarray((square - mixed - mixed.T - np.outer(mean, mean)) / self.group.reports)


@dataclass(frozen=True, eq=False)
class _Table:
    """The two-way table of those who answered: π̂(a, m), and π̂(m) with its covariance, pooled over pairs of levels.

    `likely` are the nearest tables that could be true, one per pair of levels: all the same if pooled by precision.
    """

    levels: list[_PairLevel]
    weights: FloatArray
    shares: FloatArray
    margin: FloatArray
    margin_covariance: FloatArray
    likely: list[FloatArray]

    @classmethod
    def of(
        cls, groups: Sequence[PairGroup], tracked: Sequence[bool], rough: Sequence[FloatArray], pool: Pool
    ) -> _Table:
        """Decode with the least variance at rough shares of both questions."""
        levels = []
        for group in groups:
            decoders = (
                Decoder.plain(form, shares) if kept else Decoder.at(form, shares)
                for form, shares, kept in zip(group.forms, rough, tracked, strict=True)
            )
            levels.append(_PairLevel(group, *decoders))
        people = np.array([group.reports for group in groups])
        reports = int(people.sum())
        weights = people / reports if pool == "size" else precision_weights(list(groups), reports)
        tables, margins = zip(*(each.table() for each in levels), strict=True)
        shares, margin = (np.tensordot(weights, np.array(each), 1) for each in (tables, margins))
        same = pool == "precision"
        likely = [norm_sub(each.ravel()).reshape(each.shape) for each in ([shares] if same else tables)]
        likely = likely * len(groups) if same else likely
        parts = zip(levels, weights, likely, strict=True)
        covariance = np.sum([w**2 * each.margin_covariance(own.sum(axis=0)) for each, w, own in parts], axis=0)
        return cls(levels, weights, shares, margin, covariance, likely)

    @property
    def reports(self) -> int:
        """Number of reports that answer both."""
        return sum(each.group.reports for each in self.levels)


def _merge(table: _Table, margin: Margin) -> list[list[int]]:
    """Return groups of labels whose shares can be divided by.

    The least certain group joins the one whose people answered about as readily, π̂(m)/known(m), until all are certain:
    groups that answer alike need no correction among themselves.
    """
    merged = [[place] for place in range(len(margin.labels))]

    def certainty(places: list[int]) -> float:
        variance = float(table.margin_covariance[np.ix_(places, places)].sum())
        return float(table.margin[places].sum()) / math.sqrt(max(variance, 1e-300))

    def readiness(places: list[int]) -> float:
        return float(table.margin[places].sum() / margin.shares[places].sum())

    while True:
        merged.sort(key=certainty)
        least, *others = merged
        if certainty(least) >= FAR_FROM_ZERO:
            return sorted(merged)
        if len(others) == 1:
            _refuse_margin(margin, table)
        like = min(others, key=lambda places: abs(readiness(places) - readiness(least)))
        others.remove(like)
        merged = [*others, sorted(least + like)]


def _refuse_margin(margin: Margin, table: _Table) -> NoReturn:
    error = float(standard_errors(table.margin_covariance).max())
    raise EstimateError(
        f"{table.reports:,} {'report says' if table.reports == 1 else 'reports say'} too little about "
        f"{margin.question!r} to correct by it: standard errors of its "
        f"shares reach {error:.2g}, and a share must be {FAR_FROM_ZERO:g} of them above 0 in at least two groups; "
        "collect more reports, allow a larger epsilon or leave the shares as they are"
    )


def _merged_notes(margin: Margin, merged: Sequence[Sequence[int]]) -> tuple[Note, ...]:
    some = [[margin.labels[place] for place in places] for places in merged if len(places) > 1]
    return (notes.margin_merged(margin.question, some),) if some else ()


@dataclass(frozen=True, eq=False)
class _Correction:
    """The factor c_m of every label and the ratios r_am, alike for labels that were merged."""

    table: _Table
    factors: FloatArray
    ratios: FloatArray

    @classmethod
    def of(cls, table: _Table, margin: Margin, merged: Sequence[Sequence[int]]) -> _Correction:
        """Divide what is known by what was found, group by group."""
        member = np.zeros((len(margin.labels), len(merged)))
        for group, places in enumerate(merged):
            member[list(places), group] = 1
        found = table.margin @ member
        return cls(table, member @ (margin.shares @ member / found), (table.shares @ member / found) @ member.T)

    @property
    def shares(self) -> FloatArray:
        """Σ_m known(m)·π̂(a, m)/π̂(m)."""
        return np.asarray(self.table.shares @ self.factors)

    def covariance(self) -> FloatArray:
        """Return the covariance of the shares, by the delta method."""
        parts = zip(self.table.levels, self.table.weights, self.table.likely, strict=True)
        return np.asarray(
            np.sum([w**2 * each.influence(own, self.factors, self.ratios) for each, w, own in parts], axis=0)
        )

    def manipulation(self) -> float:
        """Return how many people one forged report counts as at most: both answers are forged, in a rare group."""
        people = (
            float(weight) * self.table.reports / each.group.reports * each.first.manipulation
            * each.second.manipulation
            for each, weight in zip(self.table.levels, self.table.weights, strict=True)
        )  # fmt: skip
        return max(people) * float(self.factors.max())


@dataclass(frozen=True, eq=False)
class _Corrected(Evidence):
    """The covariance of corrected shares."""

    matrix: FloatArray

    def covariance(self) -> FloatArray:
        return self.matrix

    def likely_shares(self) -> FloatArray:
        raise EstimateError("corrected shares have no likelihood: ask for norm-sub, norm-cut, base-cut or shrunk ones")
