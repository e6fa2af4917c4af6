"""The mean of a number from the reports of several services, and how close to the best possible each way comes.

Every output of a number channel counts for an unbiased number z with mean v (see `NumberChannel.unbiased`). A person's
numbers are combined as Σ_j w_j z_j with Σ w = 1; the ways differ in the weights:

| method | weights of a person's services |
| --- | --- |
| `"weights"` | 1/V_j, V_j = Σ_t f_t Var(z_j given t), f the estimated population: constants, so unbiased |
| `"average"` | equal (UA) |
| `"posterior"` | 1/V_j with the person's own posterior instead of f (UWA): depends on the noise, so slightly biased |
| `"fitted"` | none: the mean of the fitted density |

The population is estimated by a smooth density. Where numbers were asked for their mean only, two moments take its
place (`_two_moments`), and the last two methods, which need more than that, are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.notes import (
    ANY_SUBSET,
    HONEST_DEVICES,
    SAME_DISTRIBUTION,
    SAME_MEAN,
    SAMPLE,
    services_disagree,
)
from pldp.estimates.numbers.density import NO_DENSITY, Density, density, fit_density
from pldp.estimates.numbers.fusion import FusedLikelihood, centres
from pldp.estimates.numbers.log_density import spline_basis
from pldp.estimates.numbers.sources import power_mean, source_numbers, source_pieces
from pldp.estimates.options import Pool, Target, check_pooling, one_of
from pldp.estimates.power import noticed
from pldp.estimates.result import CONFIDENCE, Homogeneity, Note, Row, normal_reach
from pldp.mechanisms.arrays import FloatArray
from pldp.records import Record
from pldp.tallies import ABSENT, Fused

MeanMethod = Literal["weights", "average", "posterior", "fitted"]

_POPULATION_TUPLES: Final = 50_000
"""Tuples that the population behind the weights is estimated from."""
_TUPLES_AT_ONCE: Final = 1 << 18
_FEW_ENVELOPES: Final = 3
_OWN_NOISE: Final = 100
"""Reports of a subset from which on their own noise is believed, where levels are hidden."""

_TELLING: Final = 1e-9
"""Curvature of E(z²|x) below which the squares of a service's numbers say nothing about those of people."""
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
    one_of("method", method, get_args(MeanMethod))
    check_pooling(pool, target)
    if pool == "size" and method == "fitted":
        raise EstimateError("pool must be precision for the mean of a fitted density, which cannot pool by size")
    if fused.mean_only and method in {"posterior", "fitted"}:
        raise EstimateError(f"method must be weights or average: {NO_DENSITY}")
    fitted = density(fused, splines=_SPLINES) if method == "fitted" else None
    return _mean(_Tables(fused, fitted), method, target, pool)


def _mean(tables: _Tables, method: MeanMethod, target: Target, pool: Pool) -> Mean:
    fused = tables.fused
    chosen, error, homogeneity = _combined(tables, method, target, pool)
    assumes = pool == "precision" and method in {"weights", "fitted"}
    several = len(np.unique(fused.cells != ABSENT, axis=0)) > 1
    by_size = _mean(tables, "weights", target, "size") if assumes and several else None
    people = (SAMPLE,) if target == "population" else ()
    levels = (SAME_DISTRIBUTION if method == "fitted" else SAME_MEAN) if assumes else ANY_SUBSET
    scale = (fused.bounds[1] - fused.bounds[0]) / 2

    def place(number: float) -> float:
        return fused.bounds[0] + (number + 1) * scale

    weights = np.ones(len(tables.names)) if method == "average" else 1 / tables.variances
    return Mean(
        place(chosen),
        scale * error,
        fused.people,
        method,
        target,
        {name: (place(value), scale * error) for name, value, error in tables.single(target)},
        dict(zip(tables.names, (weights / weights.sum()).tolist(), strict=True)),
        homogeneity,
        by_size,
        (*people, levels, HONEST_DEVICES),
    )


class _Tables:
    """Unbiased numbers and variances of every service, the estimated population, and sums over the tuples."""

    def __init__(self, fused: Fused, fitted: Density | None) -> None:
        self.fused, self.fitted = fused, fitted
        self.names = [source.name for source in fused.sources]
        self.numbers = [source_numbers(fused, place) for place in range(len(fused.sources))]
        middle = centres(fused.size)
        self.by_value = np.array([power_mean(fused, place, z, 2) for place, z in enumerate(self.numbers)]) - middle**2
        self.variances: FloatArray
        if fused.mean_only:
            fourth = np.array([power_mean(fused, place, z, 4) for place, z in enumerate(self.numbers)])
            self.variances, self.spread = self._two_moments(middle, fourth)
            return
        if fitted is None:
            # Services with many envelopes (Laplace) are left out if there are others: weights need no exact population.
            rows = [source_pieces(fused, place) for place in range(len(self.names))]
            few = [name for name, row in zip(self.names, rows, strict=True) if len(row.envelopes) <= _FEW_ENVELOPES]
            simplest = fused.only(*few) if 0 < len(few) < len(rows) else fused
            fitted = fit_density(simplest.thin(_POPULATION_TUPLES), splines=_SPLINES)
        population = fitted.shares
        self.variances = self.by_value @ population
        self.spread = float(population @ middle**2 - (population @ middle) ** 2)

    def _two_moments(self, middle: FloatArray, fourth: FloatArray) -> tuple[FloatArray, float]:
        """Return the variance of each service's numbers and the spread between people, from two moments.

        E(z²|x) of a service is (nearly) a parabola a + bx + cx², so that its mean is a + bm + cs with the population's
        mean m and mean square s. The reports' mean of z² gives s, service by service, weighted by the inverse variance
        at equal shares. Outputs that say nothing about s (c = 0: stochastic rounding) do not need it either: then the
        spread counts as noise, which is right for the population and on the safe side for the respondents.
        """
        squares = self.by_value + middle**2
        basis = np.stack([np.ones_like(middle), middle, middle**2], axis=1)
        a, b, c = np.linalg.lstsq(basis, squares.T, rcond=None)[0]
        counts = [
            np.bincount(outputs + 1, weights=self.fused.counts, minlength=len(z) + 1)[1:]
            for z, outputs in zip(self.numbers, self.fused.cells.T, strict=True)
        ]
        reports = np.array([each.sum() for each in counts])
        first, second = (
            np.array([each @ z**power / each.sum() for each, z in zip(counts, self.numbers, strict=True)])
            for power in (1, 2)
        )
        weights = reports / squares.mean(axis=1)
        centre = float(np.clip(weights @ first / weights.sum(), middle[0], middle[-1]))
        noise = (fourth - squares**2).mean(axis=1)
        telling = np.where(c > _TELLING, reports * c / np.maximum(noise, _TELLING), 0.0)
        square = float(telling @ (second - a - b * centre) / (telling @ c)) if telling.any() else 0.0
        square = float(np.clip(square, centre**2, middle[-1] ** 2))
        found = a + b * centre + (c - 1) * square
        return np.clip(found, self.by_value.min(axis=1), self.by_value.max(axis=1)), square - centre**2

    def single(self, target: str) -> Iterator[tuple[str, float, float]]:
        """Yield name, mean and standard error of each service alone."""
        for name, z, outputs, own in zip(self.names, self.numbers, self.fused.cells.T, self.variances, strict=True):
            counts = np.bincount(outputs + 1, weights=self.fused.counts, minlength=len(z) + 1)[1:]
            reports = counts.sum()
            variance = own + (self.spread if target == "population" else 0)
            yield name, float(counts @ z / reports), float(np.sqrt(variance / reports))

    def per_tuple(self, weights: FloatArray) -> FloatArray:
        """Return Σ w z / Σ w over the services of each tuple; weights are services, or tuples × services."""
        result = np.empty(len(self.fused.counts))
        for start in range(0, len(result), _TUPLES_AT_ONCE):
            part = slice(start, start + _TUPLES_AT_ONCE)
            total, norm = np.zeros(len(result[part])), np.zeros(len(result[part]))
            for place, z in enumerate(self.numbers):
                outputs = self.fused.cells[part, place]
                own = np.where(outputs == ABSENT, 0.0, weights[place] if weights.ndim == 1 else weights[part, place])
                total += own * z[outputs]
                norm += own
            result[part] = total / norm
        return result


def _combined(tables: _Tables, method: str, target: str, pool: str) -> tuple[float, float, Homogeneity | None]:
    """Return value and standard error on [−1, 1], and the test."""
    counts, people = tables.fused.counts, tables.fused.people
    sampling = tables.spread / people if target == "population" else 0.0
    if tables.fitted is not None and method == "fitted":
        fitted = tables.fitted
        scale = 2 / (fitted.bounds[1] - fitted.bounds[0])
        value = (fitted.mean - fitted.bounds[0]) * scale - 1
        error = float(np.sqrt((fitted.mean_standard_error * scale) ** 2 + sampling))
        return value, error, fitted.homogeneity
    if method == "posterior":
        numbers = tables.per_tuple(posterior_weights(tables.fused, tables.by_value))
        value = float(counts @ numbers / people)
        total = float(counts @ (numbers - value) ** 2 / people)
        return value, float(np.sqrt(max(total - tables.spread, 0) / people + sampling)), None
    weights = np.ones(len(tables.names)) if method == "average" else 1 / tables.variances
    numbers = tables.per_tuple(weights)
    # People are put together by the subset of services that they gave to.
    flags = (tables.fused.cells != ABSENT) @ (1 << np.arange(len(weights)))
    _, first, subset = np.unique(flags, return_index=True, return_inverse=True)
    sizes = np.bincount(subset, weights=counts)
    sums = np.bincount(subset, weights=counts * numbers)
    given = tables.fused.cells[first] != ABSENT
    noise = (given * weights**2) @ tables.variances / (given @ weights) ** 2
    precision = sizes / (noise + tables.spread)
    by_precision = precision / precision.sum()
    share = by_precision if method == "weights" and pool == "precision" else sizes / people
    value = float(share @ (sums / sizes))
    if any(source.hidden is not None for source in tables.fused.sources):
        # Who shows a strict level at one service may hide one at another: a subset has noise of its own.
        squares = np.bincount(subset, weights=counts * numbers**2) / sizes - (sums / sizes) ** 2
        noise = np.where(sizes >= _OWN_NOISE, np.maximum(squares - tables.spread, 0.0), noise)
        precision = sizes / (noise + tables.spread)
        by_precision = precision / precision.sum()
    # A share that is not a subset's size leaves part of the spread between people in the error.
    variance = share**2 @ (noise / sizes) + ((share / sizes - 1 / people) ** 2 * sizes).sum() * tables.spread + sampling
    if len(sizes) < 2:
        return value, float(np.sqrt(variance)), None
    # However the mean is pooled, only around the mean of least variance is the sum of squares a χ².
    statistic = float((((sums / sizes) - by_precision @ (sums / sizes)) ** 2 * precision).sum())
    # Of any two subsets; those of the largest errors differ the most before it is noticed.
    worst = np.sort(1 / precision)[-2:].sum()
    least = noticed(1 / worst, len(sizes) - 1) * (tables.fused.bounds[1] - tables.fused.bounds[0]) / 2
    return value, float(np.sqrt(variance)), Homogeneity.of(statistic, len(sizes) - 1, noticed=least)


def posterior_weights(fused: Fused, variances: FloatArray) -> FloatArray:
    """Return 1/V_j of every tuple and service, V_j averaged over the posterior from equal shares (UWA)."""
    model = FusedLikelihood(fused)
    evidence = model.forward(model.uniform)
    weights = np.empty((len(fused.counts), len(variances)))
    for place, variance in enumerate(variances):
        weights[model.order, place] = evidence / model.forward(model.uniform * variance)
    return weights


def mean_bound(fused: Fused, shares: FloatArray, *, target: Target = "population", splines: int = 48) -> float:
    """Return the Cramér–Rao bound: the least standard error of an unbiased mean from these reports.

    The information is that of the distribution along so many smooth directions at the given shares.
    """
    model = FusedLikelihood(fused)
    basis = spline_basis(model.size, splines)
    directions = shares[:, None] * (basis - shares @ basis)
    information = model.people * model.sampled.information(shares, directions) + 1.0
    numbers = centres(model.size)
    slope = numbers @ directions
    variance = float(slope @ np.linalg.solve(information, slope))
    if target == "respondents":
        variance -= float(shares @ numbers**2 - (shares @ numbers) ** 2) / model.people
    return float(np.sqrt(variance)) * (fused.bounds[1] - fused.bounds[0]) / 2
