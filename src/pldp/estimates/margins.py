"""Who answered: shares corrected to a margin that is known from elsewhere, such as a census.

People of some groups answer more readily than others, and their answers weigh too much. Where the two-way table of the
question and of the group is tallied, and the share known(m) of every group m in the population is public,

    f(a) = Σ_m known(m)·π̂(a, m)/π̂(m)        (post-stratification)

weighs every group as the population does. π̂(a, m) is unbiased among those who answered, and so is π̂(m), from the same
reports. To first order the error of f is the mean over reports of

    ψ_a = Σ_m c_m·W_m·(Z_a − r_am),    c_m = known(m)/π(m),    r_am = π(a, m)/π(m),

Z_a and W_m being what one report says of value a and of group m: E[Z_a W_m] = π(a, m). Levels, shown or hidden, are
pooled by the engine (`pldp.estimates.kinds.cells`): products of Z and W of every level and state, each with its weight.
Given the true values (x, y), both answers are perturbed independently, so E[ψ ψᵀ] follows from the second moments of
one question at a time: no covariance of the cells of the table is ever built.

A ratio of two noisy numbers has an error only where the lower one is far from 0. Groups whose share among those who
answered is less than `FAR_FROM_ZERO` of its standard errors are left out. They are U = Σ known(m) of the population and
contribute something from 0 to U, whatever they answer:

    e_a = Σ_sure known(m)·π̂(a, m)/π̂(m),        f(a) is from E e_a to E e_a + U,

and intervals are those of e with this bias. The number shown, e_a/(1 − U), takes them to be like the others. (Merged
with groups that are not just as ready to answer, they would bias it by more than its error, the more people answer.)

Reference: Holt, Smith, "Post Stratification" (1979).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final, cast

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.estimates.kinds.cells import Cells, table_counts
from pldp.estimates.kinds.choice import Shares, side, standard_errors
from pldp.estimates.kinds.sides import LabelSide, Side
from pldp.estimates.linear.evidence import LabelChances, label_chances
from pldp.estimates.linear.pooling import Linear
from pldp.estimates.results import notes
from pldp.estimates.results.alike import beside_alike
from pldp.estimates.results.consistency import norm_sub
from pldp.estimates.results.facts import Note
from pldp.estimates.results.intervals import Interval
from pldp.estimates.results.options import (
    NO_BOUND,
    Known,
    Options,
    Target,
    check_options,
    known_shares,
    one_of,
    pooling_words,
)
from pldp.mechanisms.arrays import FloatArray, LabelArrays
from pldp.survey import Choice, Survey
from pldp.tallies import Tally

FAR_FROM_ZERO: Final = 6.0
"""Standard errors that a group's share must be away from 0, to be divided by."""

MOST_LEFT_OUT: Final = 0.2
"""Part of the population for which shares need not be corrected; with more, intervals would say next to nothing."""


def check_known(survey: Survey, known: Known) -> tuple[Choice, FloatArray, tuple[Note, ...]]:
    """Return the question whose shares are known, the shares, and a note if they had to be scaled to sum to 1."""
    if not isinstance(known, Mapping) or len(known) != 1:
        raise EstimateError(
            'known must name one question with the share of each of its labels, {"late": {"yes": 0.2, "no": 0.8}}'
        )
    ((name, given),) = known.items()
    asked = cast("Choice", survey.question(name))  # or another kind whose answer is one label
    if asked.domain != "labels":
        raise EstimateError(f"known: question {name!r} must be a choice of one label, not of kind {asked.kind}")
    return asked, *known_shares(given, asked.values, f"known: question {name!r}", repr(name), "label")


def uncorrected_notes(tally: Tally, known: Known) -> dict[str, Note]:
    """Return, for every question that known shares cannot correct, the note that says so; refuse if there is no other.

    A question can be corrected if it was tallied as a pair with the known one.
    """
    name = check_known(tally.survey, known)[0].name
    domains = {each.name: each.domain for each in tally.survey.questions}
    pairs = (pair for pair in tally.paired if len(pair) == 2 and name in pair)
    paired = {other for pair in pairs for other in pair if domains[other] == "labels"} - {name}
    if not paired:
        raise EstimateError(f"known: no question was tallied as a pair with {name!r}; tally the reports with pairs")
    others = (each.name for each in tally.survey.questions if each.name not in paired)
    return {other: notes.not_corrected(other, name) for other in others}


def correct_shares(
    tally: Tally,
    question: str,
    known: Known,
    *,
    method: str | None = None,
    differ: float | None = None,
    target: Target = "population",
) -> Shares:
    """Return the shares of a question in a population whose shares of another question are known.

    Parameters
    ----------
    tally
        The counted reports, tallied with the pair of both questions.
    question, known
        Name of the question; and the other one with the known share of each of its labels, which sum to 1 (or to 100).
    method, differ, target
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
    ("unbiased, all people count alike, corrected to the known shares of 'late'", 1.0)
    """
    margin, population, scaled = check_known(tally.survey, known)
    asked = _choice(tally.survey, question, margin.name, method, differ, target)
    chances = label_chances(tally.survey, (question, margin.name))
    # Shares of one question that assume nothing are too rough behind labels, and only say which weights are good.
    alone = Options(differ=differ if chances.visible else 0)
    cells = _cells(tally, chances, [side(tally, each, alone) for each in (asked, margin)])
    several = len(cells.decode(None)[0].evidence.levels) > 1
    corrected = partial(_corrected, cells, asked, margin, population, scaled)
    return beside_alike(corrected, differ, several=several)


def _corrected(
    cells: Cells, asked: Choice, margin: Choice, population: FloatArray, scaled: Sequence[Note], differ: float | None
) -> Shares:
    table = _Table.of(cells, [bool(each.stages) for each in (asked, margin)], differ)
    found = np.where(table.certain, table.margin, np.inf)
    left = [name for name, certain in zip(margin.values, table.certain, strict=True) if not certain]
    part = float(population[~table.certain].sum())
    if part > MOST_LEFT_OUT:
        most = f"to correct by {margin.name!r}, and at most {100 * MOST_LEFT_OUT:g} % can be left out"
        todo = "collect more reports, allow a larger epsilon or leave the shares as they are"
        raise EstimateError(f"{notes.left_out(left, part)} {most}: {todo}")
    factors, ratios = population / found, table.shares / found
    least = table.shares @ factors
    shares = np.clip(least / (1 - part), least, least + part)
    together = differ == 0 and len(table.linear.evidence.levels) > 1
    levels = (notes.SAME_TABLE, notes.ROUGH_WEIGHTS) if together else (notes.FREE_CHOICE,)
    covariance = table.corrected_covariance(factors, ratios)
    own, other = (each.margin for each in cells.sides)
    said = (note for note in dict.fromkeys((*own.notes, *other.notes)) if note.code != notes.LEVELS_DISAGREE)
    return Shares(
        question=asked.name,
        text=asked.text,
        values=own.values,
        shares=shares,
        standard_error=standard_errors(covariance),
        bias=Interval(least - shares, least + part - shares) if left else None,
        covariance_matrix=covariance,
        reports=int(table.linear.reports),
        manipulation=table.manipulation(factors) / (1 - part),
        method=f"unbiased, {pooling_words(0 if together else None)}, corrected to the known shares of {margin.name!r}",
        target="population",
        homogeneity=own.homogeneity,
        assumptions=(notes.like_those_who_did_not(margin.name), *levels, notes.HONEST_DEVICES, notes.KNOWN_EXACTLY),
        notes=(
            *notes.levels_disagree(own.homogeneity, differ if together else None),
            *said,
            *scaled,
            *((notes.margin_left_out(left, part),) if left else ()),
            notes.who_answered(margin.name, margin.values, table.margin, population),
        ),
    )


def _choice(
    survey: Survey, question: str, margin: str, method: str | None, differ: float | None, target: str
) -> Choice:
    """Return the question to correct; refuse what contradicts a correction."""
    asked = survey.question(question)
    if asked.domain != "labels":
        raise EstimateError(f"known corrects shares of choices of one label; question {question!r} is of {asked.kind}")
    if question == margin:
        raise EstimateError(f"the shares of {question!r} are known: name the question that they are to correct")
    check_options(differ, target)
    if differ:
        raise EstimateError(NO_BOUND.format("shares corrected to known ones"))
    if target != "population":
        raise EstimateError('known corrects to the population: target must be "population", not "respondents"')
    one_of("method, where shares are corrected to known ones,", method or "unbiased", ("unbiased",))
    return cast("Choice", asked)


def _cells(tally: Tally, chances: LabelChances, sides: Sequence[Side]) -> Cells:
    """Return the reports of both questions, the one to be corrected first, whatever the order of the pair."""
    question, margin = (each.margin.question for each in sides)
    counts = table_counts(tally, (question, margin))
    if not counts:
        untallied = f"known: questions {question!r} and {margin!r} were not tallied as a pair"
        raise EstimateError(f"{untallied}; tally the reports with pairs=[({question!r}, {margin!r})]")
    if not any(own.reports for own in counts.values()):
        raise EstimateError(f"no report answers both {question!r} and {margin!r}, so there is nothing to correct")
    return Cells.of(sides, chances, counts, None)


@dataclass(frozen=True, eq=False)
class _Table:
    """The two-way table of those who answered, values × groups, and what makes it of marks.

    `undo` is Λ⁻¹, and `counted` are b of `pldp.estimates.linear.pooling`: levels × states of the value × states of the
    group. `first` and `second` are what marks count for every state of a value (or group): levels × values × states ×
    marks and the whole.
    """

    cells: Cells
    linear: Linear
    undo: FloatArray
    counted: FloatArray
    first: FloatArray
    second: FloatArray
    shares: FloatArray

    @classmethod
    def of(cls, cells: Cells, tracked: Sequence[bool], differ: float | None) -> _Table:
        """Decode with the weights of the engine; shares of each question sum to 1 where they can."""
        linear, _ = cells.decode(differ)
        evidence, marks = linear.evidence, []
        for axis, own in enumerate(cells.sides):
            whole, forms = np.eye(own.size + 1)[-1], cast("LabelSide", own).forms
            of_level = [_decoder(form, own.margin.possible, plain=tracked[axis]) for form in forms]
            decoded = [np.stack([whole - each, each], axis=1) for each in of_level]
            marks.append(np.array([decoded[cells.levels(axis)[level]] for level in evidence.levels]))
        first, second = marks
        weights, states = linear.weights[0], first.shape[2] * second.shape[2]
        counted = np.pad(weights, ((0, 0), (states - weights.shape[1], 0))).reshape(len(weights), first.shape[2], -1)
        none = np.zeros((first.shape[3], second.shape[3]))
        marked = np.array([cells.marked.get(shown, none) for shown in cells.chances.combinations]) / evidence.reports
        undo = evidence.undo[evidence.levels]
        shares = np.einsum("txy,taxp,tpq,tmyq->am", counted, first, np.tensordot(undo, marked, 1), second)
        return cls(cells, linear, undo, counted, first, second, shares)

    @property
    def margin(self) -> FloatArray:
        """π̂(m)."""
        return np.asarray(self.shares.sum(axis=0))

    @cached_property
    def certain(self) -> npt.NDArray[np.bool_]:
        """Which groups have shares that can be divided by."""
        size, groups = self.shares.shape
        errors = standard_errors(self._covariance(self._influence(np.ones((groups, size)), np.eye(groups))))
        return np.asarray(self.margin >= FAR_FROM_ZERO * np.maximum(errors, np.finfo(np.float64).tiny))

    def corrected_covariance(self, factors: FloatArray, ratios: FloatArray) -> FloatArray:
        """Return the covariance of the corrected shares, to first order: that of ψ for these c_m and r_am."""
        size = len(ratios)
        own = self._influence(np.eye(size), np.tile(factors, (size, 1)))
        return self._covariance(own - self._influence(np.ones((size, size)), factors * ratios))

    def _influence(self, rows: FloatArray, columns: FloatArray) -> FloatArray:
        """Return what marks add to the error of Σ_am u_a v_m π̂(a, m), for rows u and v: shown × rows × marks × marks.

        With U = Λ⁻¹ a report that shows s adds Σ_τ U_τs Σ_xy b_τxy (Z_x W_y − f_xy), its marks counting Z and W.
        """
        one, two = np.einsum("ra,taxp->trxp", rows, self.first), np.einsum("rm,tmyq->tryq", columns, self.second)
        by_level = np.einsum("txy,trxp,tryq->trpq", self.counted, one, two)
        values, groups = (side.states(np.vstack([np.eye(side.size), np.ones(side.size)])) for side in self.cells.sides)
        likely = np.einsum("ra,axi,ij,myj,rm->rxy", rows, values, self.shares, groups, columns)
        by_level[:, :, -1, -1] -= np.einsum("txy,rxy->tr", self.counted, likely)
        return np.asarray(np.einsum("ts,trpq->srpq", self.undo, by_level))

    def _covariance(self, influence: FloatArray) -> FloatArray:
        """Return the covariance of means over the reports of what marks add (shown × numbers × marks × marks).

        Given the true values x and y, and levels, marks of both questions are independent of each other. People of one
        level, or of levels that are alike, have one table.
        """
        evidence, combinations = self.linear.evidence, self.cells.chances.combinations
        if self.linear.differ == 0 or len(evidence.levels) == 1:
            tables = np.multiply.outer(norm_sub(evidence.mix), norm_sub(self.shares.ravel()))
        else:
            tables = norm_sub(evidence.joint[:, :, -1].T.ravel())
        total, means = 0.0, 0.0
        for level, joint in zip(evidence.levels, tables.reshape(-1, *self.shares.shape), strict=True):
            places = zip(self.cells.sides, combinations[level], strict=True)
            one, two = (cast("LabelSide", side).marks(place) for side, place in places)
            beside = np.tensordot(joint, two, 1)  # for every x, the products of two marks of the group
            for shown in np.flatnonzero(evidence.chance[:, level]):
                own, chance = influence[shown], evidence.chance[shown, level]
                for products, others in zip(one, beside, strict=True):
                    half = np.tensordot(products, own, axes=([1], [1])) @ others  # marks × numbers × marks
                    total = total + chance * np.einsum("rpq,psq->rs", own, half)
                    means = means + chance * np.einsum("rpq,p,q->r", own, products[-1], others[-1])
        return np.asarray(total - np.outer(means, means)) / evidence.reports

    def manipulation(self, factors: FloatArray) -> float:
        """Return how many people one forged report counts as at most: both answers are forged, in a rare group."""
        one, two = (np.einsum("taxa->tax", each[..., :-1]) + each[..., -1] for each in (self.first, self.second))
        people = np.einsum("ts,txy,tax,tmy->sam", self.undo, self.counted, one, two)
        return float(np.abs(people * factors).max())


def _decoder(form: LabelArrays, shares: FloatArray, *, plain: bool) -> FloatArray:
    """Return what marks count for each label, labels × marks and the whole; all labels together 1 unless `plain`.

    Of all parts of 1 − Σ that each label can take, those that are proportional to its covariance with the sum leave the
    least error.
    """
    size = len(shares)
    weights, whole = form.shares(np.eye(size, size + 1), np.eye(size + 1)[-1]), np.eye(size + 1)[-1]
    along = form.sum_covariance(shares)
    if plain or along is None:
        return weights
    parts = np.maximum(along, 0.0) + np.finfo(np.float64).tiny
    return np.asarray(weights + np.outer(parts / parts.sum(), whole - weights.sum(axis=0)))
