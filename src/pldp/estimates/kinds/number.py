"""A number: its mean, quantiles and density, or its mean alone, one way whether levels show or are hidden.

What reports show beside an output differs, and with it what a curve is fitted to. Where it is a label, let π(τ, x) be
the share of people who chose level τ and have a number in bucket x: label s comes with output y with the probability

    P(s, y) = Σ_τ Σ_x π(τ, x) G(s|τ) Q_τ(y|x).

Either the choice of a level does not depend on the number, π(τ, x) = ρ_τ f_x, with one histogram f and the mix ρ that
fits it best; or π is any histogram over the buckets of all levels, end to end.

**Without smoothness** (`Profile`). X² is that of all cells (s, y). For one f and any mix it is made linear around the
fit, P = Σ_τ (ρ̂_τ + δ_τ) G(s|τ) Q_τ f ≈ P(ρ̂, f) + Σ_τ δ_τ G(s|τ) Q_τ f̂, and δ is free: X² is the least of all δ (see
`misfit`). What is left out, δ·(f − f̂), is small of second order, as all f that fit have about the same Q_τ f. For any π
it is linear as it stands.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Final

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.kinds.number_result import (
    WORDS,
    Mean,
    MeanResult,
    assumed_of_mean,
    check_mean,
    fitted_mean,
    range_row,
    require_range,
)
from pldp.estimates.kinds.sides import RangeSide, Side
from pldp.estimates.likelihood.density import FEWEST, NO_DENSITY, Density, fit_density, pool_densities, sum_densities
from pldp.estimates.likelihood.log_density import DensityProgress
from pldp.estimates.likelihood.misfit import Counted, Misfit, Part, Reported
from pldp.estimates.likelihood.mixture import PossibleMixes, ShareLikelihood, fused_likelihood, interior
from pldp.estimates.likelihood.profile import Profile
from pldp.estimates.likelihood.rows import FreeRows, PieceRows
from pldp.estimates.linear.evidence import Evidence
from pldp.estimates.linear.homogeneity import check_bound
from pldp.estimates.linear.mix import mix_of
from pldp.estimates.linear.numbers import ENOUGH, NumberCounts, compare_levels, spread, two_moments
from pldp.estimates.linear.pooling import Linear, decode
from pldp.estimates.results import notes
from pldp.estimates.results.alike import beside_alike
from pldp.estimates.results.consistency import norm_sub
from pldp.estimates.results.facts import GroupReports, Homogeneity, LevelShare, Note
from pldp.estimates.results.intervals import CONFIDENCE, Interval, Row
from pldp.estimates.results.options import Mix, Options, pooling_words
from pldp.estimates.results.result import Result
from pldp.mechanisms.arrays import FloatArray, arrays, piecewise_arrays
from pldp.survey import Number
from pldp.tallies import Fused, OutputCounts, Tally, fused_of

UNSURE: Final = 0.25
"""Relative error of how much reports say on average from which on errors are rough."""

SPLINES: Final = 24
"""Detail of curves of which only a sum or a mean is wanted: these do not depend on finer detail."""

METHODS: Final = tuple(WORDS)

BY_SIZE: Final = frozenset({"average", "posterior"})
"""Methods that count all people alike, whatever is said of their levels."""

_HIDDEN_WORDS: Final = {
    "weights": "unbiased given the mix of hidden levels, labels pooled by precision",
    "fitted": "mean of the joint fit of a density and the mix of hidden levels",
}

_FREE: Final = "unbiased, hidden levels and numbers free to depend on each other"


class NumberReports:
    """The reports of a question that show their levels: mean, curve, and the test whether levels matter."""

    def __init__(self, tally: Tally, question: Number, options: Options) -> None:
        self.tally, self.question, self.options, self.channels = tally, question, options, question.channels
        self.mix = mix_of(tally, question.name, options.mix)
        parts = [tally.counts[question.name, level.name] for level in question.levels]
        counts = [
            part.counts.astype(np.float64) if isinstance(part, OutputCounts) else np.zeros(channel.form.count)
            for part, channel in zip(parts, self.channels, strict=True)
        ]
        self.counts = NumberCounts(self.channels, self.mix.matrix, counts, self.mix.visible)
        self.scale = (question.grid.high - question.grid.low) / 2  # numbers are counted on [−1, 1]

    @cached_property
    def fused(self) -> Fused:
        """The reports with a source for every level."""
        return fused_of(self.tally, self.question.name)

    def check(self, method: str) -> None:
        """Refuse what does not apply."""
        options, mean_only = self.options, self.question.for_mean or self.fused.mean_only
        check_mean(method, options.differ, options.target, mean_only=mean_only, several=self.several)

    @property
    def several(self) -> bool:
        """Whether reports of more than one level came."""
        return int((self.mix.counts > 0).sum()) > 1

    @cached_property
    def population(self) -> FloatArray:
        """Likely shares of the buckets."""
        return two_moments([self.counts]) if self.question.for_mean else self.fitted.shares

    @cached_property
    def evidence(self) -> Evidence:
        """What the reports say of the mean."""
        return self.counts.numbers(self.population)

    @property
    def _tested(self) -> Evidence:
        return self.evidence if self.question.for_mean else self.counts.moments(self.population)

    @cached_property
    def test(self) -> Homogeneity | None:
        """The test whether people of different levels are alike, as far as mean or curve assume it."""
        return compare_levels(self._tested, self.channels, self.scale)

    @cached_property
    def likelihood(self) -> ShareLikelihood:
        """The likelihood of the shares of the buckets, if levels do not depend on the number."""
        return fused_likelihood(self.fused)

    @cached_property
    def fitted(self) -> Density:
        """The curve of all people, if levels do not depend on the number."""
        if self.question.for_mean:
            raise EstimateError(NO_DENSITY)
        if self.mix.reports < FEWEST:
            raise EstimateError(f"a density needs at least {FEWEST} people, not {self.mix.reports}")
        return fit_density(self.likelihood, progress=fit_progress(self.options))

    def fit_apart(self) -> Density:
        """Return the curves of all levels, added up."""
        return pool_by_size(self.fused, lambda: self.fitted)

    @property
    def curve(self) -> Density:
        """The curve alone, pooled as asked."""
        several = len(self.fused.sources) > 1
        return self.fit_apart() if self.options.differ != 0 and several else self.fitted

    @property
    def reported(self) -> Fused | Reported:
        """The reports by which any histogram can be judged."""
        return self.fused

    def _decoded(self, method: str, differ: float | None) -> Linear:
        """Decode numbers on [−1, 1], on which a part of the range is twice as much."""
        bound = None if differ is None else 2 * differ
        if bound:
            check_bound(self.evidence, bound, self.scale, self.question.unit)
        return decode(self.evidence, None if method in BY_SIZE else bound)

    def stated(self, method: str, differ: float | None) -> Result:
        """Return the mean, and quantiles and density unless only the mean was asked for."""
        found, question = self.result(method, differ), self.question
        if question.for_mean:
            return replace(found, notes=(*found.notes, notes.MEAN_ONLY))
        together = self.several and differ == 0
        told = [*found.notes, *self.untested]
        told += [notes.CURVE_POOLS] if together and self.test is not None and self.test.rejected else []
        told += [notes.BOUND_OF_MEAN] if self.several and differ else []
        assumed = notes.of_one_survey([notes.CURVE_ASSUMES]) if together else ()
        found = replace(found, notes=tuple(told), assumptions=(*found.assumptions, *assumed))
        if self.several and not together:
            if self.fitted.roughness:  # curves of single levels are smooth
                found = replace(found, notes=(*found.notes, notes.HEAPED))
            return found.with_curve(self.fit_apart(), Profile(self.reported, apart=True), self.options)
        return found.with_curve(replace(self.fitted, homogeneity=self.test), Profile(self.reported), self.options)

    def result(self, method: str, differ: float | None) -> MeanResult:
        """Return the mean by this method, and what is to be said of it."""
        linear, said = self._decoded(method, differ), differ if self.several else None
        value, variance = float(linear.estimates[0]), float(linear.variance()[0])
        if method == "fitted":
            value, variance = fitted_mean(self.fitted)
        options, question, people = self.options, self.question, self.mix.reports
        drawn = 0.0 if options.target == "population" else spread(self.population) / people
        mean = Mean(
            value=question.grid.low + (value + 1) * self.scale,
            standard_error=self.scale * float(np.sqrt(max(variance - drawn, 0.0))),
            people=people,
            method=method,
            target=options.target,
            homogeneity=self.test,
            assumptions=notes.of_one_survey(assumed_of_mean(method, said, options.target)),
        )
        used = zip(self.evidence.levels, linear.level_weights.tolist(), strict=True)
        return MeanResult(
            question=question.name,
            text=question.text,
            unit=question.unit,
            reports=people,
            method=WORDS[method].format(pool=pooling_words(said)),
            target=options.target,
            groups=tuple(GroupReports(*self._levels[at], int(self.mix.counts[at]), own) for at, own in used),
            homogeneity=self.test,
            assumptions=mean.assumptions,
            notes=notes.levels_disagree(self.test, differ),
            standard_error=np.array([mean.standard_error]),
            bias=Interval(-self.scale * linear.bias, self.scale * linear.bias) if differ else None,
            mean=mean,
            bounds=question.limits,
            moves=_reach(linear) * self.scale,
        )

    @property
    def _levels(self) -> list[tuple[str, str, float]]:
        """Name, mechanism and ε of the levels."""
        question = self.question
        pairs = zip(question.levels, self.channels, strict=True)
        return [(level.name, channel.mechanism, question.answer_epsilon(level.name)) for level, channel in pairs]

    @property
    def untested(self) -> tuple[Note, ...]:
        """The levels that have too few people to be tested."""
        levels, people = self.evidence.levels, self.evidence.possible_mix * self.mix.reports
        few = [self._levels[level][0] for level, number in zip(levels, people, strict=True) if number < ENOUGH]
        return notes.levels_untested(few if len(levels) > 1 else [])


class HiddenNumberReports(NumberReports):
    """The same of reports that show a label instead of the level, and how badly histograms fit these (`Reported`)."""

    def __init__(self, tally: Tally, question: Number, options: Options) -> None:
        super().__init__(tally, question, options)
        if not self.mix.reports:
            raise EstimateError(f"question {question.name!r} has no reports, so there is nothing to estimate")
        self.cells = np.array(self.counts.counts)  # labels × outputs
        self.pieces = tuple(piecewise_arrays(channel).pieces() for channel in self.channels)
        self.size, self.bounds = question.grid.size, (question.grid.low, question.grid.high)

    def check(self, method: str) -> None:
        """Refuse what does not apply."""
        check_mean(method, self.options.differ, self.options.target, mean_only=False, several=self.several)
        if method not in _HIDDEN_WORDS:
            known = " or ".join(_HIDDEN_WORDS)
            raise EstimateError(f"method must be {known} where levels are hidden: others weigh reports by their level")
        if self.question.for_mean and method == "fitted":
            raise EstimateError(f"method must be weights: {NO_DENSITY}")

    @property
    def several(self) -> bool:
        """Whether there is more than one level that people may have chosen."""
        return len(self.channels) > 1

    @cached_property
    def evidence(self) -> Evidence:
        """What the reports say of the mean."""
        return self.counts.hidden_mean(self.population, self.mix.bounds)

    @property
    def _tested(self) -> Evidence:
        return self.counts.moments(self.population)

    @property
    def label_mix(self) -> FloatArray:
        """The mix of levels that labels show, whatever else is known of it."""
        return norm_sub(self.mix.unbiased)

    def _start(self, shares: FloatArray) -> FloatArray:
        """Return shares of all levels and buckets from which free ones are fitted, end to end."""
        return np.asarray(np.outer(interior(self.label_mix), shares).ravel())

    @property
    def possible_mixes(self) -> PossibleMixes:
        """The mixes of levels that are possible."""
        return PossibleMixes(self.mix.bounds, self.mix.reports, self.mix.shares)

    @cached_property
    def likelihood(self) -> ShareLikelihood:
        """The same, at the mix of levels that fits best."""
        rows = PieceRows(self.pieces, self.mix.matrix)
        return ShareLikelihood(rows, self.cells.ravel(), self.bounds, mixes=self.possible_mixes)

    @property
    def free_likelihood(self) -> ShareLikelihood:
        """The likelihood of any shares π of levels and buckets, levels end to end."""
        rows = FreeRows(self.pieces, self.mix.matrix)
        return ShareLikelihood(rows, self.cells.ravel(), self.bounds, copies=len(self.channels))

    def fit_apart(self) -> Density:
        """Return the curves of all levels, added up."""
        return sum_densities(self.free_likelihood, self._start(self.fitted.shares), SPLINES)

    @property
    def curve(self) -> Density:
        """The curve alone."""
        return self.fitted

    @property
    def reported(self) -> Reported:
        """These reports, around the curve."""
        return self

    def misfit(self, *, apart: bool) -> Misfit:
        """Return X² of one histogram and any mix, or with `apart` of any histogram over levels and buckets."""
        shares, cells, chances = self.fitted.shares, self.cells.ravel(), self.mix.matrix
        if apart:
            free = Counted(FreeRows(self.pieces, chances), cells, np.ones(1))
            return Misfit(self.size, [Part(1.0, [free], self._start(shares))])
        mixes, levels = self.possible_mixes, self.likelihood.levels(shares)
        known = mixes.known, mixes.known @ (mixes.directions.T @ (self.mix.bounds.middle - levels))
        counted = Counted(PieceRows(self.pieces, chances), cells, levels, mixes.directions)
        return Misfit(self.size, [Part(1.0, [counted], shares, known)])

    def result(self, method: str, differ: float | None) -> MeanResult:
        """Return the mean by this method, and what is to be said of it, with the estimated shares of the levels."""
        precise = differ == 0 and self.several
        found, question = super().result(method, differ), self.question
        assumed = self.mix.assumed("mean", together=precise)
        assumptions = notes.assume(self.options.target, *assumed)
        shares = self.mix.shares if question.for_mean else self.likelihood.levels(self.fitted.shares)
        shares = shares if precise else self.label_mix
        levels = tuple(LevelShare(*level, share) for level, share in zip(self._levels, shares.tolist(), strict=True))
        about = list(found.notes)
        if precise:
            about += self.mix.contradicted
            weights, some = self._decoded(method, differ).weights[0, :, -1], self.evidence.levels
            scale = weights @ self.mix.covariance[np.ix_(some, some)] @ weights
            if scale > (UNSURE * (weights @ self.mix.shares[some])) ** 2:
                about.append(notes.LABELS_SAY_LITTLE)
        return replace(
            found,
            method=_HIDDEN_WORDS[method] if precise else _FREE,
            groups=(),
            levels=levels,
            assumptions=assumptions,
            notes=tuple(about),
            mean=replace(found.mean, assumptions=assumptions),
        )


def reports_of(tally: Tally, question: Number, options: Options) -> NumberReports:
    """Return the reports of a question by what they show beside an output."""
    kind = NumberReports if tally.survey.level_channel is None else HiddenNumberReports
    return kind(tally, question, options)


def fit_progress(options: Options) -> DensityProgress | None:
    """Return what is called with the number of splines and of steps, of which users are told the steps."""
    progress = options.progress
    return None if progress is None else lambda _, steps: progress(steps)


def pool_by_size(fused: Fused, fitted: Callable[[], Density]) -> Density:
    """Return the curves of the levels, added up; the `fitted` one of all people stands in for a level of too few."""
    parts = [fused.only(source.name) for source in fused.sources]
    curves = [fitted() if part.people < FEWEST else fit_density(part, splines=SPLINES) for part in parts]
    return pool_densities(curves, np.array([part.people for part in parts]) / fused.people)


def _reach(linear: Linear) -> float:
    """Return how far one forged report moves the mean on [−1, 1]: from the least to the most that a report adds."""
    added = linear.psi[:, 0]
    for known, gain, _ in linear.gains:
        added = added - np.einsum("l,lsc->sc", gain[0], known.ends(linear.evidence)[0])
    return float(np.ptp(added)) / linear.reports


def estimate(tally: Tally, question: Number, options: Options) -> Result:
    """Return the mean, and quantiles and density unless only the mean was asked for."""
    reports = reports_of(tally, question, options)
    method = options.method or "weights"
    reports.check(method)
    several = reports.several and method not in BY_SIZE
    return beside_alike(lambda differ: reports.stated(method, differ), options.differ, several=several)


def share_between(
    tally: Tally,
    question: str,
    low: float,
    high: float,
    *,
    confidence: float = CONFIDENCE,
    differ: float | None = None,
    mix: Mix | None = None,
) -> Row:
    """Return the share of people whose number is from one to below another, with an interval for any distribution.

    Where an end lies inside a bucket, the estimate takes the bucket's people to be spread evenly; the interval does
    not: it begins with the share of the buckets that are wholly inside and ends with that of all that are partly
    inside. `mix` is that of `Options`, and so is `differ`: unless it is 0, people of every level may have a
    distribution of their own.

    Examples
    --------
    >>> from pldp import Survey, tally
    >>> from pldp.simulate import Population, simulate_reports
    >>> survey = Survey.load("examples/shopping.toml")
    >>> people = Population.of_shares(survey, 20_000, seed=1)
    >>> row = share_between(tally(survey, simulate_reports(survey, people, seed=1)), "spent", 0, 75)
    >>> row.low < row.estimate < row.high, row.label
    (True, '0 to below 75')
    """
    asked = tally.survey.question(question)
    if not isinstance(asked, Number):
        raise EstimateError(
            f"shares between two numbers are those of numbers; question {question!r} is of kind {asked.kind}"
        )
    require_range(low, high, asked.limits)
    reports = reports_of(tally, asked, Options(differ=differ, mix=mix))
    share, error = reports.curve.share(low, high)
    ends = Profile(reports.reported, apart=differ != 0).range(low, high, confidence)
    return range_row((low, high), asked.limits, share, error, ends)


def side(tally: Tally, question: Number, options: Options) -> Side:
    """Return what the question brings to a table: ranges, by the fitted distribution of the number."""
    reports = reports_of(tally, question, options)
    forms = [arrays(channel) for channel in question.channels]
    edges = (options.ranges or {}).get(question.name)
    return RangeSide.of(question.name, forms, reports.curve, reports.reported, edges)
