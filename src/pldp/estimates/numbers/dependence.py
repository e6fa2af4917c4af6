"""Whether the level, or who gave to which service, depends on the number: a test of the whole distribution.

People are put together by the services (levels) that they gave to. Every group has unbiased estimates of the moments
E P_j(v), j = 1 … 4, of its numbers v on [−1, 1]. P_j is the Legendre polynomial of degree j, and P_1 the number itself.
A report y counts for W_yj with Σ_y Q(y|t) W_yj = P_j(t) for every value t, and of all such weights

    W = D⁻¹Q(QᵀD⁻¹Q)⁺P,   D = Q·(equal shares),

has the least variance at equal shares. It is found by conjugate gradients on the pieces of Q (Fong, Saunders, "LSMR: An
Iterative Algorithm for Sparse Least-Squares Problems", 2011). A channel that says nothing about a moment (stochastic
rounding knows the mean alone) leaves it out. If all groups have the same moments μ, then

    X² = Σ_g (m_g − μ̂)ᵀ V_g⁻¹ (m_g − μ̂)

is χ² with as many degrees of freedom as there are estimates more than moments. V_g are the covariances at the estimated
population; nothing else comes from a fit, so that a bias of the curve cannot look like a dependence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.polynomial.legendre import legvander
from scipy.sparse.linalg import LinearOperator, aslinearoperator, lsmr

from pldp.estimates.numbers.fusion import centres
from pldp.estimates.power import noticed
from pldp.estimates.result import Homogeneity
from pldp.mechanisms import Channel
from pldp.mechanisms.arrays import FloatArray, Pieces, piecewise_arrays
from pldp.tallies import ABSENT, Fused

MOMENTS: Final = 4

ENOUGH: Final = 100
_PER_KURTOSIS: Final = 30
"""People that a group must have to be tested, and for each moment, times the kurtosis of its weights: with fewer it is
not normal enough."""

_BIAS: Final = 3e-5
"""The largest bias of a moment's weights, in standard deviations of one report, with which they count as unbiased."""

_ACCURATE: Final = 1e-9
_MOST_STEPS: Final = 1000
_FEW_ENVELOPES: Final = 8
"""Envelopes up to which prefix sums are faster than a matrix."""


@dataclass(frozen=True, eq=False)
class _Moments:
    """What the reports of a service say about the moments.

    `table` is W; `precision` is that of one report, 0 where it says nothing; `noise` is the covariance that a report
    adds to the moments of a person; and `enough` people make each moment about normal.
    """

    table: FloatArray
    precision: FloatArray
    noise: FloatArray
    enough: FloatArray


class _Group(NamedTuple):
    """The moments that a group of people is tested for, their estimates and the covariance of these."""

    known: npt.NDArray[np.bool_]
    found: FloatArray
    covariance: FloatArray


def distribution_test(fused: Fused, shares: FloatArray) -> Homogeneity | None:
    """Test whether people who gave to different services, or chose different levels, have the same distribution.

    `shares` are those of the estimated population. The test is `None` where fewer than two groups have enough people.
    `noticed` is a difference of means, in the unit of the number: any two groups that differ by as much, whatever else
    differs, are noticed with a probability of at least 80 %.

    >>> from pldp.mechanisms import build
    >>> from pldp.simulate import perturb_numbers
    >>> from pldp.tallies import Service, fuse
    >>> generator, channel = np.random.default_rng(1), build("sw", 32, 2_000_000)
    >>> first, second = generator.integers(0, 32, 4000), generator.integers(8, 24, 4000)     # the same mean
    >>> fused = fuse([
    ...     Service(name, channel, keys, perturb_numbers(channel, values, generator), (0, 32))
    ...     for name, keys, values in (("a", np.arange(4000), first), ("b", np.arange(4000, 8000), second))
    ... ])
    >>> found = distribution_test(fused, np.full(32, 1 / 32))
    >>> found.degrees, found.rejected, round(found.noticed, 1)
    (4, True, 1.7)
    """
    groups = list(_groups(fused, shares))
    total, aim, degrees = np.zeros((MOMENTS, MOMENTS)), np.zeros(MOMENTS), 0
    for known, found, covariance in groups:
        precision = np.linalg.inv(covariance)
        total[np.ix_(known, known)] += precision
        aim[known] += precision @ found
        degrees += int(known.sum())
    seen = total.any(axis=0)
    degrees -= int(seen.sum())
    if not degrees:
        return None
    common = np.zeros(MOMENTS)
    common[seen] = np.linalg.solve(total[np.ix_(seen, seen)], aim[seen])
    statistic = sum(
        float((found - common[known]) @ np.linalg.solve(covariance, found - common[known]))
        for known, found, covariance in groups
    )
    # Of all differences with these means the least visible is seen as well as the means alone would be by this test.
    variances = sorted(covariance[0, 0] for known, _, covariance in groups if known[0])
    least = (
        noticed(1 / (variances[-1] + variances[-2]), degrees) * (fused.bounds[1] - fused.bounds[0]) / 2
        if len(variances) > 1
        else None
    )
    return Homogeneity.of(statistic, degrees, noticed=least)


def untested_groups(fused: Fused) -> list[str]:
    """Return the groups that have too few people to be tested, named by their services, where there are several."""
    subsets = fused.subsets
    return [" + ".join(names) for names, people in subsets.items() if people < ENOUGH] if len(subsets) > 1 else []


def _groups(fused: Fused, shares: FloatArray) -> Iterator[_Group]:
    """Yield the groups that can be tested: people who gave to the same services."""
    services = [_moments(source.channel, shares) for source in fused.sources]
    values = moment_values(fused.size)
    around = values - shares @ values
    spread = around.T @ (shares[:, None] * around)
    flags = (fused.cells != ABSENT) @ (1 << np.arange(len(services)))
    for flag in np.unique(flags):
        cells, counts = fused.cells[flags == flag], fused.counts[flags == flag]
        given = [(service, own) for service, own in zip(services, cells.T, strict=True) if own[0] != ABSENT]
        people = counts.sum()
        if people < ENOUGH:
            continue
        # A person's reports are weighted by their precision, moment by moment.
        precision = np.array([np.where(people >= service.enough, service.precision, 0.0) for service, _ in given])
        known = np.asarray(precision.any(axis=0))
        parts = precision / np.where(known, precision.sum(axis=0), 1.0)
        found, covariance = np.zeros(MOMENTS), spread.copy()
        for (service, outputs), part in zip(given, parts, strict=True):
            reports = np.bincount(outputs, counts, len(service.table))
            found += part * (reports @ service.table) / people
            covariance += np.outer(part, part) * service.noise
        if known.any():
            yield _Group(known, found[known], covariance[np.ix_(known, known)] / people)


def _moments(channel: Channel, shares: FloatArray) -> _Moments:
    """Return what a channel says about the moments of this population."""
    table, known = moment_weights(channel)
    values = moment_values(channel.size) * known
    chance = piecewise_arrays(channel).pieces().forward(shares)
    squares, fourth = chance @ table**2, chance @ table**4
    noise = table.T @ (chance[:, None] * table) - values.T @ (shares[:, None] * values)
    precision = np.where(known, 1 / np.maximum(np.diag(noise), _BIAS), 0.0)
    kurtosis = np.divide(fourth, squares**2, out=np.zeros(MOMENTS), where=squares > 0)
    return _Moments(table, precision, noise, _PER_KURTOSIS * kurtosis)


@lru_cache(maxsize=64)
def moment_weights(channel: Channel) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Return W of a channel, outputs × moments, and for which moments it is unbiased; other columns are 0."""
    return piece_moments(piecewise_arrays(channel).pieces(), MOMENTS)


def piece_moments(pieces: Pieces, moments: int) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Return the same of pieces, for so many moments."""
    size = pieces.envelopes.shape[1]
    root = np.sqrt(np.maximum(pieces.forward(np.full(size, 1 / size)), np.finfo(float).tiny))
    if len(pieces.envelopes) > _FEW_ENVELOPES:
        system = aslinearoperator(pieces.table()[:-1].T / root)
    else:
        system = LinearOperator(
            (size, len(root)),
            matvec=lambda numbers: pieces.expectation(numbers.ravel() / root),
            rmatvec=lambda numbers: pieces.forward(numbers.ravel()) / root,
            dtype=np.float64,
        )
    table, known = np.zeros((len(root), moments)), np.zeros(moments, np.bool_)
    # On n values, polynomials from degree n on are combinations of those below.
    for degree, wanted in enumerate(moment_values(size).T[: min(moments, size - 1)]):
        scaled = lsmr(system, wanted, atol=_ACCURATE, btol=_ACCURATE, conlim=0, maxiter=_MOST_STEPS)[0]
        bias = np.abs(pieces.expectation(scaled / root) - wanted).max()
        known[degree] = bias <= _BIAS * np.sqrt(1 + scaled @ scaled)
        table[:, degree] = scaled / root if known[degree] else 0.0
    return table, known


def moment_values(size: int) -> FloatArray:
    """Return P_1 … of every value, values × moments."""
    return np.asarray(legvander(centres(size), MOMENTS)[:, 1:])
