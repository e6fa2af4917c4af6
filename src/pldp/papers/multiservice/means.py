"""The expected squared error of every mean from several services, exactly, for each value that a person can have.

People are independent, so of n people whose values have the shares f the mean squared error of a mean of personal
numbers u is (Σ f_v b(v))² + Σ f_v s²(v)/n, with the bias b(v) = E(u|v) − v and the variance s²(v) of one person's
number. For UA and constant weights both are sums over the services. For UWA they are sums over all tuples of outputs:
the services are split into two halves, so that the sums are products of matrices. Up to four services are few enough;
for more, `sampled` draws people. Values are the centres of `SIZE` buckets on [−1, 1], outputs those of the channels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Final

import numpy as np
import numpy.typing as npt

from pldp.estimates import centres
from pldp.mechanisms import build, micro_epsilon
from pldp.mechanisms.arrays import FloatArray, piecewise_arrays
from pldp.papers.multiservice import printed_posterior
from pldp.simulate import perturb_numbers

SIZE: Final = 32
"""Buckets of values: those of the posterior, whose number the paper does not print."""

UNBOUNDED: Final = {"laplace": "laplace_wide"}
"""Laplace noise goes beyond the bounds, as in the paper."""

MOST: Final = 4
"""Services whose tuples are few enough to be summed over."""

SAMPLED: Final = 20_000
"""People of one run where the tuples are too many."""

_FAR: Final = 2.7  # beyond it, √|y| from a report y does not reach the values: all outputs have one posterior
_ROWS: Final = 256  # of the first half at a time


@dataclass(frozen=True)
class Outputs:
    """The outputs of one service, those that tell the same about the value put together.

    `chance` is Pr(output|value), `posterior` the likelihood that a posterior uses (another one as printed), `number`
    and `spread` mean and variance of the unbiased number of an output, `variance` that of a value's number.
    """

    chance: FloatArray
    posterior: FloatArray
    number: FloatArray
    spread: FloatArray
    variance: FloatArray


@lru_cache(maxsize=256)
def outputs_of(mechanism: str, epsilon: float, *, printed: bool = False) -> Outputs:
    """Return the outputs of a mechanism's channel."""
    channel = build(UNBOUNDED.get(mechanism, mechanism), SIZE, micro_epsilon(epsilon))
    arrays = piecewise_arrays(channel)
    table, numbers = arrays.pieces().table()[:-1], arrays.unbiased()
    posterior = printed_posterior(channel)[:-1] if printed else table
    together = np.zeros(len(numbers), np.intp)
    together[1:] = np.cumsum(np.maximum(np.abs(numbers[1:]), np.abs(numbers[:-1])) < _FAR)
    if mechanism not in UNBOUNDED:
        together = np.arange(len(numbers))
    else:
        together[numbers > _FAR] = together.max() + 1
    first = np.unique(together, return_index=True)[1]
    chance = np.add.reduceat(table, first)
    number, square = (np.add.reduceat(table[:, 0] * numbers**power, first) / chance[:, 0] for power in (1, 2))
    return Outputs(
        chance,
        posterior[first],
        number,
        np.maximum(square - number**2, 0.0),
        np.asarray(table.T @ numbers**2 - (table.T @ numbers) ** 2),
    )


@dataclass(frozen=True)
class Personal:
    """Bias and variance of one person's number, by value."""

    bias: FloatArray
    variance: FloatArray

    def error(self, shares: FloatArray, people: float) -> float:
        """Return the mean squared error of the mean of so many people whose values have these shares."""
        return float((shares @ self.bias) ** 2 + shares @ self.variance / people)


Services = Sequence[tuple[str, float]]  # mechanism and ε of each


def average(services: Services, weights: Sequence[float] | None = None) -> Personal:
    """Return what one person's average is worth: of equal weights UA, of one service the service itself."""
    shares = np.ones(len(services)) if weights is None else np.asarray(weights)
    shares = shares / shares.sum()
    variances = np.array([outputs_of(*service).variance for service in services])
    return Personal(np.zeros(SIZE), shares**2 @ variances)


def constant_weights(services: Services, shares: FloatArray) -> Personal:
    """Return what inverse variances are worth that are the same for all people: those of the whole population."""
    return average(services, [1 / float(outputs_of(*service).variance @ shares) for service in services])


def posterior_weights(services: Services, *, printed: bool = False) -> Personal:
    """Return what UWA is worth: each person's inverse variances, averaged over the posterior of their value."""
    return _enumerate(tuple(services), printed=printed)


@lru_cache(maxsize=256)
def _enumerate(services: tuple[tuple[str, float], ...], *, printed: bool) -> Personal:
    outputs = [outputs_of(*service, printed=printed) for service in services]
    half = (len(outputs) + 1) // 2
    left, right = _Half(outputs[:half]), _Half(outputs[half:])
    variances = [each.variance for each in outputs]
    first, second = np.zeros(SIZE), np.zeros(SIZE)
    for start in range(0, len(left.chance), _ROWS):
        rows = slice(start, start + _ROWS)
        evidence = left.posterior[rows] @ right.posterior.T
        weights = [evidence / ((left.posterior[rows] * variance) @ right.posterior.T) for variance in variances]
        total = reduce(np.add, weights)
        number, spread = np.zeros_like(total), np.zeros_like(total)
        for place, weight in enumerate(weights):
            own, rest = (
                (left.numbers[place][rows, None], left.spreads[place][rows, None])
                if place < half
                else (
                    right.numbers[place - half],
                    right.spreads[place - half],
                )
            )
            share = weight / total
            number += share * own
            spread += share**2 * rest
        first += (left.chance[rows] * (number @ right.chance)).sum(axis=0)
        second += (left.chance[rows] * ((number**2 + spread) @ right.chance)).sum(axis=0)
    return Personal(first - centres(SIZE), second - first**2)


class _Half:
    """All tuples of some services: chances, likelihoods, and the number of each service in each tuple."""

    def __init__(self, outputs: Sequence[Outputs]) -> None:
        sizes = [len(each.number) for each in outputs]
        places = np.indices(sizes).reshape(len(sizes), -1) if sizes else np.zeros((0, 1), np.intp)
        count = places.shape[1]
        self.chance, self.posterior = np.ones((count, SIZE)), np.ones((count, SIZE))
        self.numbers, self.spreads = [], []
        for each, place in zip(outputs, places, strict=True):
            self.chance *= each.chance[place]
            self.posterior *= each.posterior[place]
            self.numbers.append(each.number[place])
            self.spreads.append(each.spread[place])


def sampled(services: Services, shares: FloatArray, people: int, runs: int, seed: Sequence[int]) -> tuple[float, float]:
    """Return the mean squared error of UWA for so many people, with its standard error, from `runs` samples of people.

    The bias is measured as the mean difference to constant weights, which have none and nearly the same noise.
    """
    weights = np.array([1 / float(outputs_of(*service).variance @ shares) for service in services])
    generator = np.random.default_rng(seed)
    parts = []
    for _ in range(runs):
        values = generator.choice(SIZE, SAMPLED, p=shares)
        own, numbers = _weigh(services, values, generator)
        error = own - centres(SIZE)[values]
        parts.append((own - numbers @ weights / weights.sum(), error**2))
    difference, square = (np.concatenate(part) for part in zip(*parts, strict=True))
    bias, bias_error = _mean(difference)
    variance, variance_error = _mean(square)
    found = max(bias**2 - bias_error**2, 0.0) + (variance - bias**2) / people
    spread = np.sqrt(4 * bias**2 * bias_error**2 + 2 * bias_error**4 + (variance_error / people) ** 2)
    return float(found), float(spread)


def _mean(samples: FloatArray) -> tuple[float, float]:
    return float(samples.mean()), float(samples.std(ddof=1) / np.sqrt(len(samples)))


def _weigh(
    services: Services, values: npt.NDArray[np.int64], generator: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return UWA's number of every person, and those of the services, people × services."""
    posterior = np.ones((len(values), SIZE))
    numbers, variances = [], []
    for mechanism, epsilon in services:
        channel = build(UNBOUNDED.get(mechanism, mechanism), SIZE, micro_epsilon(epsilon))
        outputs = perturb_numbers(channel, values, generator)
        posterior *= _table(mechanism, epsilon)[outputs]
        numbers.append(piecewise_arrays(channel).unbiased()[outputs])
        variances.append(outputs_of(mechanism, epsilon).variance)
    weights = posterior.sum(axis=1, keepdims=True) / (posterior @ np.array(variances).T)
    table = np.array(numbers).T
    return np.asarray((weights * table).sum(axis=1) / weights.sum(axis=1)), table


@lru_cache(maxsize=64)
def _table(mechanism: str, epsilon: float) -> FloatArray:
    """Likelihood of every output, scaled so that products of many do not vanish."""
    channel = build(UNBOUNDED.get(mechanism, mechanism), SIZE, micro_epsilon(epsilon))
    table = piecewise_arrays(channel).pieces().table()[:-1]
    return np.asarray(table / table.max(axis=1, keepdims=True))
