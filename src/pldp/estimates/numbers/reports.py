"""The reports of one survey about a number: its mean, curve and test, one way whether levels show or are hidden.

What differs is what reports show beside an output (`label_chances`); the rest of this module knows only what a curve
is fitted to, and words.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.likelihood.density import FEWEST, NO_DENSITY, Density, fit_density, pool_densities, sum_densities
from pldp.estimates.likelihood.mixture import ShareLikelihood
from pldp.estimates.linear.evidence import Evidence, label_chances
from pldp.estimates.linear.pooling import Linear, decode
from pldp.estimates.numbers.evidence import (
    ENOUGH,
    compare_levels,
    mean_evidence,
    moment_tables,
    number_evidence,
    spread,
    two_moments,
)
from pldp.estimates.numbers.hidden import HiddenMisfit, HiddenNumbers
from pldp.estimates.numbers.means import Mean, check_mean, fitted_mean
from pldp.estimates.results.facts import GroupReports, Homogeneity, LevelShare, Note
from pldp.estimates.results.notes import (
    ANY_SUBSET,
    HONEST_DEVICES,
    LABELS_SAY_LITTLE,
    SAME_DISTRIBUTION,
    SAME_MEAN,
    SAMPLE,
    assume,
    levels_disagree,
    levels_untested,
    of_one_survey,
    weak_test,
)
from pldp.estimates.results.options import Options, Pool, check_pooling
from pldp.mechanisms.arrays import FloatArray
from pldp.survey import Number
from pldp.tallies import Fused, OutputCounts, Tally, fused_of

UNSURE: Final = 0.25
"""Relative error of how much reports say on average from which on errors are rough."""

_SPLINES: Final = 24
"""Detail of the curves of single levels: the quantiles of all levels together do not depend on finer detail."""

METHODS: Final = {
    "weights": "unbiased, pooled by {pool}",
    "average": "unbiased, all reports weighted alike",
    "posterior": "weighted by each person's posterior",
    "fitted": "mean of the fitted density",
}
"""How means are made, in words."""

_HIDDEN_METHODS: Final = {
    "weights": "unbiased given the mix of hidden levels, labels pooled by precision",
    "fitted": "mean of the joint fit of a density and the mix of hidden levels",
}

_FREE: Final = "unbiased, hidden levels and numbers free to depend on each other"


class Shown:
    """Reports that show their levels: what a curve is fitted to, and words."""

    def __init__(self, tally: Tally, question: Number, options: Options) -> None:
        self.fused, self.options, self.bounds = fused_of(tally, question.name), options, None

    def check(self, method: str) -> None:
        """Refuse what does not apply."""
        check_mean(method, self.options.pool, self.options.target, mean_only=self.fused.mean_only)

    def fit(self) -> Density:
        """Return the curve of all people, if levels do not depend on the number."""
        return fit_density(self.fused, progress=_progress(self.options))

    def fit_apart(self, fitted: Density) -> Density:
        """Return the sum of the curves of all levels; the one of all people stands in for a level of too few."""
        return pool_by_size(self.fused, fitted)

    def curve(self) -> Density:
        """Return the curve alone, pooled as asked."""
        several = len(self.fused.sources) > 1
        return pool_by_size(self.fused) if self.options.pool == "size" and several else self.fit()

    def reported(self, fitted: Density) -> Fused:
        """Return the reports by which any histogram can be judged."""
        del fitted
        return self.fused

    def method(self, method: str, pool: Pool) -> str:
        """Say how a mean was made."""
        return METHODS[method].format(pool=pool)

    def assumptions(self, method: str, pool: Pool, test: Homogeneity | None) -> tuple[str, ...]:
        """Return what errors assume."""
        del test
        people = (SAMPLE,) if self.options.target == "population" else ()
        same = SAME_DISTRIBUTION if method == "fitted" else SAME_MEAN
        assumes = pool == "precision" and method in {"weights", "fitted"}
        return of_one_survey((*people, same if assumes else ANY_SUBSET, HONEST_DEVICES))

    def notes(self, linear: Linear, test: Homogeneity | None, question: Number) -> tuple[Note, ...]:
        """Return what else a reader must know of an estimate by precision."""
        del linear, test, question
        return ()

    def mix(self, fitted: Density | None, pool: Pool) -> FloatArray | None:
        """Return the shares of levels that had to be estimated: none."""
        del fitted, pool
        return None


class Hidden:
    """The same of reports that show a label instead of the level."""

    def __init__(self, tally: Tally, question: Number, options: Options) -> None:
        self.hidden, self.options = HiddenNumbers.of(tally, question, options.mix), options
        self.bounds = self.hidden.mix.bounds

    def check(self, method: str) -> None:
        """Refuse what does not apply."""
        check_pooling(self.options.pool, self.options.target)
        if self.options.pool == "size":
            raise EstimateError(
                "pool must be precision where levels are hidden, as reports do not show them: groups of one level "
                "cannot be weighted by their size; assumption_free of the result assumes nothing about the choice of "
                "levels"
            )
        if method not in _HIDDEN_METHODS:
            known = " or ".join(_HIDDEN_METHODS)
            raise EstimateError(f"method must be {known} where levels are hidden: others weigh reports by their level")
        if self.hidden.mean_only and method == "fitted":
            raise EstimateError(f"method must be weights: {NO_DENSITY}")

    @cached_property
    def _model(self) -> ShareLikelihood:
        return self.hidden.likelihood

    def fit(self) -> Density:
        """Return the curve of all people, if levels do not depend on the number."""
        if self.hidden.mean_only:
            raise EstimateError(NO_DENSITY)
        if self.hidden.people < FEWEST:
            raise EstimateError(f"a density needs at least {FEWEST} people, not {self.hidden.people}")
        return fit_density(self._model, progress=_progress(self.options))

    def fit_apart(self, fitted: Density) -> Density:
        """Return the sum of the curves of all levels."""
        return sum_densities(self.hidden.free_likelihood, self.hidden.start(fitted.shares), _SPLINES)

    def curve(self) -> Density:
        """Return the curve alone."""
        return self.fit()

    def reported(self, fitted: Density) -> HiddenMisfit:
        """Return the reports by which any histogram can be judged."""
        return HiddenMisfit(self.hidden, self._model.levels(fitted.shares), fitted.shares)

    def method(self, method: str, pool: Pool) -> str:
        """Say how a mean was made."""
        return _FREE if pool == "size" else _HIDDEN_METHODS[method]

    def assumptions(self, method: str, pool: Pool, test: Homogeneity | None) -> tuple[str, ...]:
        """Return what errors assume."""
        del method
        mix = self.hidden.mix
        return assume(self.options.target, *mix.assumed("mean", together=pool == "precision", tested=test is not None))

    def notes(self, linear: Linear, test: Homogeneity | None, question: Number) -> tuple[Note, ...]:
        """Return what else a reader must know of an estimate by precision."""
        weights = linear.weights[0, :, -1]
        levels = linear.evidence.levels
        scale = weights @ self.hidden.mix.covariance[np.ix_(levels, levels)] @ weights
        unsure = scale > (UNSURE * (weights @ self.hidden.mix.shares[levels])) ** 2
        low, high = question.limits
        rough = (LABELS_SAY_LITTLE,) if unsure else ()
        return (*self.hidden.mix.contradicted, *rough, *weak_test(test, high - low, question.unit))

    def mix(self, fitted: Density | None, pool: Pool) -> FloatArray | None:
        """Return the shares of levels that had to be estimated."""
        if pool == "size":
            return self.hidden.label_mix
        return self.hidden.mix.shares if fitted is None else self._model.levels(fitted.shares)


def _progress(options: Options) -> Any:
    """Return what is called with the number of splines and of steps, of which users are told the steps."""
    progress = options.progress
    return None if progress is None else lambda _, steps: progress(steps)


@dataclass(frozen=True, eq=False)
class NumberReports:
    """The reports of a question, and its curve unless only the mean was asked for."""

    tally: Tally
    question: Number
    options: Options
    shown: Shown | Hidden
    fitted: Density | None

    @classmethod
    def of(cls, tally: Tally, question: Number, options: Options) -> NumberReports:
        """Check the options and fit the curve."""
        shown = reports_of(tally, question, options)
        shown.check(options.method or "weights")
        return cls(tally, question, options, shown, None if question.for_mean else shown.fit())

    @property
    def scale(self) -> float:
        """Half the distance of the bounds: numbers are counted on [−1, 1]."""
        return (self.question.grid.high - self.question.grid.low) / 2

    @cached_property
    def _shape(self) -> dict[str, Any]:
        """What reports show, and how often."""
        channels = self.question.channels
        parts = [self.tally.counts[self.question.name, level.name] for level in self.question.levels]
        counts = [
            part.counts if isinstance(part, OutputCounts) else np.zeros(channel.form.count)
            for part, channel in zip(parts, channels, strict=True)
        ]
        chances = label_chances(self.tally.survey, [self.question.name])
        return {"channels": channels, "chance": chances.matrix, "counts": counts, "visible": chances.visible}

    def _moments(self, population: FloatArray | None) -> Evidence:
        return number_evidence(**self._shape, tables=moment_tables(self.question.channels), population=population)

    @cached_property
    def _population(self) -> FloatArray:
        """Likely shares of the buckets."""
        if self.fitted is not None:
            return self.fitted.shares
        return two_moments([(self._moments(None), self.question.channels)])

    @cached_property
    def evidence(self) -> Evidence:
        """What the reports say of the mean."""
        return mean_evidence(**self._shape, population=self._population, mix=self.shown.bounds)

    @cached_property
    def test(self) -> Homogeneity | None:
        """The test whether people of different levels are alike, as far as mean or curve assume it."""
        mean_alone = self.fitted is None and self.evidence.visible
        evidence = self.evidence if mean_alone else self._moments(self._population)
        return compare_levels(evidence, self.question.channels, self.scale)

    def describe(self, method: str, pool: Pool) -> dict[str, Any]:
        """Return what a result says of the mean."""
        linear = decode(self.evidence, "size" if method in {"average", "posterior"} else pool)
        value, variance = float(linear.estimates[0]), float(linear.variance()[0])
        if method == "fitted" and self.fitted is not None:
            value, variance = fitted_mean(self.fitted)
        options, question, low = self.options, self.question, self.question.grid.low
        drawn = 0.0 if options.target == "population" else spread(self._population) / self.evidence.reports
        error = self.scale * float(np.sqrt(max(variance - drawn, 0.0)))
        people = int(self.evidence.reports)
        assumptions = self.shown.assumptions(method, pool, self.test)
        weights = linear.weights[0, :, -1] * self.evidence.mix
        mean = Mean(
            low + (value + 1) * self.scale,
            error,
            people,
            method,
            options.target,
            self._alone(float(linear.estimates[0]), drawn * people),
            {},
            self.test,
            None,
            assumptions,
        )
        noted = self.shown.notes(linear, self.test, question) if pool == "precision" else ()
        return {
            "question": question.name,
            "text": question.text,
            "mean": mean,
            "bounds": question.limits,
            "unit": question.unit,
            "moves": _reach(linear) * self.scale,
            "reports": people,
            "method": self.shown.method(method, pool),
            "target": options.target,
            "standard_error": np.array([error]),
            "homogeneity": self.test,
            "assumptions": assumptions,
            "notes": (*levels_disagree(self.test, pool), *noted),
            **self._levels(weights, self.shown.mix(self.fitted, pool)),
        }

    def _levels(self, weights: FloatArray, mix: FloatArray | None) -> dict[str, Any]:
        """Return the levels with their weights in the mean, or with their estimated shares."""
        question = self.question
        every = [
            (level.name, channel.mechanism, question.answer_epsilon(level.name))
            for level, channel in zip(question.levels, question.channels, strict=True)
        ]
        if mix is not None:
            return {"levels": tuple(LevelShare(*own, share) for own, share in zip(every, mix.tolist(), strict=True))}
        used = zip(self.evidence.levels, weights.tolist(), strict=True)
        reports = self.evidence.counts[:, 0].sum(axis=1)
        return {"groups": tuple(GroupReports(*every[level], int(reports[level]), own) for level, own in used)}

    def _alone(self, centre: float, drawn: float) -> dict[str, tuple[float, float]]:
        """Return the mean of each level on its own and its error, where levels show."""
        evidence, one = self.evidence, slice(0, 1)
        if not evidence.visible:
            return {}
        own, whole = evidence.weights(one)
        chances = evidence.expected(one, np.array([[centre]]), evidence.mix)[0]
        squares = (own[0, :, 0] - centre * whole[0]) ** 2 @ chances / evidence.mix
        values = self.question.grid.low + (evidence.joint[0, :, 0] / evidence.mix + 1) * self.scale
        errors = self.scale * np.sqrt(np.maximum(squares - drawn, 0.0) / (evidence.mix * evidence.reports))
        names = [self.question.levels[level].name for level in evidence.levels]
        return dict(zip(names, zip(values.tolist(), errors.tolist(), strict=True), strict=True))

    @property
    def untested(self) -> tuple[Note, ...]:
        """The levels that have too few people to be tested."""
        people = self.evidence.possible_mix * self.evidence.reports
        few = [level for level, number in zip(self.evidence.levels, people, strict=True) if number < ENOUGH]
        names = [self.question.levels[level].name for level in few]
        return levels_untested(names if len(self.evidence.levels) > 1 else [])


def reports_of(tally: Tally, question: Number, options: Options) -> Shown | Hidden:
    """Return the reports of a question by what they show beside an output."""
    return (Shown if tally.survey.level_channel is None else Hidden)(tally, question, options)


def _reach(linear: Linear) -> float:
    """Return how far one forged report moves the mean on [−1, 1]: from the least to the most that a report adds."""
    added = linear.psi[:, 0]
    for known, gain, _ in linear.gains:
        added = added - np.einsum("l,lsc->sc", gain[0], known.ends(linear.evidence)[0])
    return float(np.ptp(added)) / linear.reports


def pool_by_size(fused: Fused, fitted: Density | None = None) -> Density:
    """Return the curves of the levels, added up; the `fitted` one of all people stands in for a level of too few."""
    parts = [fused.only(source.name) for source in fused.sources]
    if fitted is None and any(part.people < FEWEST for part in parts):
        fitted = fit_density(fused)
    curves = [fitted if fitted and part.people < FEWEST else fit_density(part, splines=_SPLINES) for part in parts]
    return pool_densities(curves, np.array([part.people for part in parts]) / fused.people)
