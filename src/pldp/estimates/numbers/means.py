"""The mean of a number from the reports of several services, and how close to the best possible each way comes.

Every cell of a service (an output, with a label where levels are hidden) counts for an unbiased number z with mean v,
whatever levels depend on. A person's numbers are combined as Σ_j w_j z_j with Σ w = 1; the ways differ in the weights:

| method | weights of a person's services |
| --- | --- |
| `"weights"` | 1/V_j, V_j the noise of z_j at the estimated population: constants, so unbiased |
| `"average"` | equal (UA) |
| `"posterior"` | 1/V_j at the person's own posterior instead (UWA): depends on the noise, so slightly biased |
| `"fitted"` | none: the mean of the fitted density |

A person's reports are independent given the number, so with the spread M of the numbers between people those of subset
p, who gave to the same services, have the mean Σ_j w_pj z̄_pj with the variance (Σ_j w_pj² V_j + M)/n_p.

The population is estimated by a smooth density. Where numbers were asked for their mean only, or services hide levels,
two moments take its place (`two_moments`), and the last two methods, which need more than that, are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.fused.services import Subsets
from pldp.estimates.likelihood.density import NO_DENSITY, Density, density, fit_density
from pldp.estimates.likelihood.log_density import spline_basis
from pldp.estimates.likelihood.mixture import fused_likelihood
from pldp.estimates.likelihood.rows import PrefixRows
from pldp.estimates.linear.evidence import Evidence
from pldp.estimates.linear.pooling import decode
from pldp.estimates.numbers.evidence import compare_moments, source_evidence, spread, two_moments_of
from pldp.estimates.numbers.sources import centres, source_pieces
from pldp.estimates.results.facts import Homogeneity, Note
from pldp.estimates.results.intervals import CONFIDENCE, Row, normal_reach
from pldp.estimates.results.notes import (
    ANY_SUBSET,
    HONEST_DEVICES,
    SAME_DISTRIBUTION,
    SAME_MEAN,
    SAMPLE,
    services_disagree,
)
from pldp.estimates.results.options import Pool, Target, check_pooling, one_of
from pldp.mechanisms.arrays import FloatArray
from pldp.records import Record
from pldp.tallies import ABSENT, Fused

MeanMethod = Literal["weights", "average", "posterior", "fitted"]

_POPULATION_TUPLES: Final = 50_000
"""Tuples that the population behind the weights is estimated from."""

_FEW_ENVELOPES: Final = 3

_OWN_NOISE: Final = 100
"""Reports of a subset from which on their own noise is believed, where levels are hidden."""

_SPLINES: Final = 24
"""Detail of the fitted density: a mean does not depend on finer detail."""


@dataclass(frozen=True, eq=False, repr=False)
class Mean(Record):
    """A mean with its error, in the units of the bounds.

    Attributes
    ----------
    services, weights
        Mean and standard error of each service on its own; and its weight for a person who gave to all.
    homogeneity, by_size
        Test whether people who gave to different services have the same mean (for the mean of a fitted density: the
        same distribution), where they did; and the mean pooled by size, which does not assume it, beside one that does.
    """

    value: float
    standard_error: float
    people: int
    method: str
    target: str
    services: Mapping[str, tuple[float, float]]
    weights: Mapping[str, float]
    homogeneity: Homogeneity | None
    by_size: Mean | None
    assumptions: tuple[str, ...]

    @property
    def notes(self) -> tuple[Note, ...]:
        """Say so where the mean assumes that people who gave to different services are alike, and they are not."""
        return () if self.by_size is None else services_disagree(self.homogeneity)

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Return the ends of a normal interval."""
        reach = normal_reach(confidence) * self.standard_error
        return self.value - reach, self.value + reach

    def row(self, confidence: float = CONFIDENCE) -> Row:
        """Return the mean as a row of a result."""
        return Row("mean", self.value, self.standard_error, *self.interval(confidence))


def mean(
    fused: Fused, *, method: MeanMethod = "weights", target: Target = "population", pool: Pool = "precision"
) -> Mean:
    """Estimate the mean of the numbers behind a fused tally.

    Parameters
    ----------
    fused
        The tally; all services must have channels for numbers.
    method
        `"weights"`, `"average"`, `"posterior"` or `"fitted"`: how a person's services are weighted.
    target
        `"population"`: the error includes that these people are a random sample. `"respondents"`: the mean of exactly
        these people.
    pool
        How people who gave to different services are weighed: by `"precision"` or all alike, by `"size"`. The methods
        `"average"` and `"posterior"` weigh all people alike, as their paper does; a fitted density cannot.

    Examples
    --------
    >>> from pldp.mechanisms import build
    >>> from pldp.simulate import perturb_numbers
    >>> from pldp.tallies import Service, fuse
    >>> generator = np.random.default_rng(1)
    >>> values, keys = np.full(10_000, 48), np.arange(10_000)
    >>> channels = [build(name, 64, 1_000_000) for name in ("sr", "sw")]
    >>> fused = fuse([Service(c.mechanism, c, keys, perturb_numbers(c, values, generator), (0, 64)) for c in channels])
    >>> found = mean(fused)
    >>> abs(found.value - 48.5) < 4 * found.standard_error, round(found.standard_error, 2)
    (True, 0.46)
    """
    check_mean(method, pool, target, mean_only=fused.mean_only)
    hidden = [source.owner for source in fused.sources if source.hidden is not None]
    if hidden and method in {"posterior", "fitted"}:
        raise EstimateError(
            f"method must be weights or average (ua): service {hidden[0]!r} hides levels, and a curve from several "
            "services needs levels that show"
        )
    fitted = density(fused, splines=_SPLINES) if method == "fitted" else None
    return _mean(_Services(fused, _population(fused, fitted)), fitted, method, target, pool)


def check_mean(method: str, pool: str, target: str, *, mean_only: bool) -> None:
    """Refuse options of a mean that there are not, or that do not go together."""
    one_of("method", method, get_args(MeanMethod))
    check_pooling(pool, target)
    if pool == "size" and method == "fitted":
        raise EstimateError("pool must be precision for the mean of a fitted density, which cannot pool by size")
    if mean_only and method in {"posterior", "fitted"}:
        raise EstimateError(f"method must be weights or average: {NO_DENSITY}")


def _population(fused: Fused, fitted: Density | None) -> FloatArray:
    """Return likely shares of the buckets."""
    if fitted is not None:
        return fitted.shares
    if fused.mean_only or any(source.hidden is not None for source in fused.sources):
        return two_moments_of(fused)
    # Services with many envelopes (Laplace) are left out if there are others: weights need no exact population.
    rows = [source_pieces(fused, place) for place in range(len(fused.sources))]
    few = [source.name for source, row in zip(fused.sources, rows, strict=True) if len(row.envelopes) <= _FEW_ENVELOPES]
    simplest = fused.only(*few) if 0 < len(few) < len(rows) else fused
    return fit_density(simplest.thin(_POPULATION_TUPLES), splines=_SPLINES).shares


def _mean(services: _Services, fitted: Density | None, method: MeanMethod, target: Target, pool: Pool) -> Mean:
    fused = services.fused
    chosen, variance, homogeneity = services.combined(method, pool)
    if fitted is not None:
        chosen, variance, homogeneity = *fitted_mean(fitted), fitted.homogeneity
    assumes = pool == "precision" and method in {"weights", "fitted"}
    several = len(services.subsets.people) > 1
    by_size = _mean(services, None, "weights", target, "size") if assumes and several else None
    people = (SAMPLE,) if target == "population" else ()
    levels = (SAME_DISTRIBUTION if method == "fitted" else SAME_MEAN) if assumes else ANY_SUBSET
    scale = (fused.bounds[1] - fused.bounds[0]) / 2
    drawn = 0.0 if target == "population" else services.spread

    def place(number: float) -> float:
        return fused.bounds[0] + (number + 1) * scale

    weights = services.weights(method)
    reports = np.array([source.reports for source in fused.sources])
    errors = scale * np.sqrt((services.noise + services.spread - drawn) / reports)
    alone = zip(map(place, services.alone), errors.tolist(), strict=True)
    return Mean(
        place(chosen),
        scale * float(np.sqrt(max(variance - drawn / fused.people, 0.0))),
        fused.people,
        method,
        target,
        dict(zip(services.names, alone, strict=True)),
        dict(zip(services.names, (weights / weights.sum()).tolist(), strict=True)),
        homogeneity,
        by_size,
        (*people, levels, HONEST_DEVICES),
    )


def fitted_mean(fitted: Density) -> tuple[float, float]:
    """Return the mean of a fitted density on [−1, 1], and its variance for a random sample of people."""
    scale = 2 / (fitted.bounds[1] - fitted.bounds[0])
    own = (fitted.mean_standard_error * scale) ** 2
    return (fitted.mean - fitted.bounds[0]) * scale - 1, own + spread(fitted.shares) / fitted.people


class _Services:
    """What the cells of every service count for, and sums over the people who gave to the same services."""

    def __init__(self, fused: Fused, population: FloatArray) -> None:
        self.fused, self.subsets, self.spread = fused, Subsets.of(fused), spread(population)
        self.names = [source.name for source in fused.sources]
        self.cells = [self.subsets.counts(fused, place) for place in range(len(self.names))]
        evidence = [source_evidence(fused, place, population=population) for place in range(len(self.names))]
        alone = [decode(each.evidence, "size") for each in evidence]
        self.alone = [float(each.estimates[0]) for each in alone]
        total = [_variance(one.counted.ravel(), each.evidence) for each, one in zip(evidence, alone, strict=True)]
        self.noise = np.array(total) - self.spread
        self.numbers = [each.of_cells(one.counted[:, 0]) for each, one in zip(evidence, alone, strict=True)]

    def weights(self, method: str) -> FloatArray:
        """Return the weight of each service for a person who gave to all."""
        return np.ones(len(self.names)) if method == "average" else 1 / self.noise

    def combined(self, method: str, pool: str) -> tuple[float, float, Homogeneity | None]:
        """Return the mean on [−1, 1], its variance for a random sample of people, and the test."""
        if method == "posterior":
            return self._posterior()
        subsets, people = self.subsets, self.subsets.people
        given = subsets.given * self.weights(method)
        within = given / given.sum(axis=1, keepdims=True)
        means = [
            cells @ z / np.maximum(cells.sum(axis=1), 1) for cells, z in zip(self.cells, self.numbers, strict=True)
        ]
        values = (within * np.transpose(means)).sum(axis=1)
        noise = within**2 @ self.noise
        precision = people / (noise + self.spread)
        share = (precision if method == "weights" and pool == "precision" else people) / 1.0
        share = share / share.sum()
        if any(source.hidden is not None for source in self.fused.sources):
            # Who shows a strict level at one service may hide one at another: a subset has noise of its own.
            own = (within**2 * (self._own_variances(means) - self.spread)).sum(axis=1)
            noise = np.where(people >= _OWN_NOISE, np.maximum(own, 0.0), noise)
        # A share that is not a subset's size leaves part of the spread between people in the error.
        total = people.sum()
        drawn = (((share / people - 1 / total) ** 2 * people).sum() + 1 / total) * self.spread
        variance = float(share**2 @ (noise / people) + drawn)
        return float(share @ values), variance, self._test(values, noise)

    def _own_variances(self, means: Sequence[FloatArray]) -> FloatArray:
        """Return the variance of the numbers of each service among the people of each subset, subsets × services."""
        squares = [
            cells @ z**2 / np.maximum(cells.sum(axis=1), 1) for cells, z in zip(self.cells, self.numbers, strict=True)
        ]
        return np.asarray(np.transpose(squares) - np.transpose(means) ** 2)

    def _test(self, values: FloatArray, noise: FloatArray) -> Homogeneity | None:
        """Test whether people of all subsets have the same mean."""
        share = self.subsets.people / self.subsets.people.sum()
        one = noise + self.spread
        covariance = np.diag(share**2 * one / self.subsets.people)
        known = np.ones((len(share), 1), np.bool_)
        scale = (self.fused.bounds[1] - self.fused.bounds[0]) / 2
        return compare_moments((share * values)[:, None], share, known, covariance, one.tolist(), scale)

    def _posterior(self) -> tuple[float, float, None]:
        """Weigh the reports of every person by the noise at the person's own posterior."""
        fused, middle = self.fused, centres(self.fused.size) ** 2
        squares = [source_pieces(fused, place).expectation(z**2) for place, z in enumerate(self.numbers)]
        weights = np.where(fused.cells == ABSENT, 0.0, posterior_weights(fused, np.array(squares) - middle))
        counted = np.transpose([z[cells] for z, cells in zip(self.numbers, fused.cells.T, strict=True)])
        numbers = (weights * counted).sum(axis=1) / weights.sum(axis=1)
        value = float(fused.counts @ numbers / fused.people)
        square = float(fused.counts @ (numbers - value) ** 2 / fused.people)
        return value, max(square, self.spread) / fused.people, None


def _variance(counted: FloatArray, evidence: Evidence) -> float:
    """Return the variance of what a report counts for, at likely cells."""
    chances = evidence.expected(slice(0, 1), np.zeros((1, 1)), evidence.mix)[0]
    return float(chances @ counted**2 - (chances @ counted) ** 2)


def posterior_weights(fused: Fused, variances: FloatArray) -> FloatArray:
    """Return 1/V_j of every tuple and service, V_j averaged over the posterior from equal shares (UWA)."""
    rows, uniform = PrefixRows(fused), np.full(fused.size, 1 / fused.size)
    evidence = rows.forward(uniform)[0]
    weights = np.empty((len(fused.counts), len(variances)))
    for place, variance in enumerate(variances):
        weights[rows.order, place] = evidence / rows.forward(uniform * variance)[0]
    return weights


def mean_bound(fused: Fused, shares: FloatArray, *, target: Target = "population", splines: int = 48) -> float:
    """Return the Cramér–Rao bound: the least standard error of an unbiased mean from these reports.

    The information is that of the distribution along so many smooth directions at the given shares.
    """
    model = fused_likelihood(fused)
    basis = spline_basis(model.size, splines)
    directions = shares[:, None] * (basis - shares @ basis)
    information = model.people * model.sampled.information(shares, directions) + 1.0
    numbers = centres(model.size)
    slope = numbers @ directions
    variance = float(slope @ np.linalg.solve(information, slope))
    if target == "respondents":
        variance -= float(shares @ numbers**2 - (shares @ numbers) ** 2) / model.people
    return float(np.sqrt(variance)) * (fused.bounds[1] - fused.bounds[0]) / 2
