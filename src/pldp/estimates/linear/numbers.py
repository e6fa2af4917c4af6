"""What reports say of a number: evidence of its mean and moments, and the test whether people of all levels are alike.

Every output y of level τ counts for an unbiased number z_τ(y) on [−1, 1] (see `NumberChannel.unbiased`), or for the
moments E P_j(v), j = 1 … 4, of the numbers v: P_j is the Legendre polynomial of degree j, and P_1 the number itself. A
report y counts for W_yj with Σ_y Q(y|t) W_yj = P_j(t) for every value t, and of all such weights

    W = D⁻¹Q(QᵀD⁻¹Q)⁺P,   D = Q·(equal shares),

has the least variance at equal shares. It is found by conjugate gradients on the pieces of Q (Fong, Saunders, "LSMR: An
Iterative Algorithm for Sparse Least-Squares Problems", 2011). A channel that says nothing about a moment (stochastic
rounding knows the mean alone) leaves it out.

How likely reports are follows from a likely distribution f of the number, the fitted one or, where numbers were asked
for their mean only, one with the mean and mean square that reports show (`two_moments`): Λ(s|τ) ρ_τ Q_τ f.

**The test.** If people of all groups (levels, or sets of services that they gave to) have the same moments μ, then
π̂_gj − μ_j ρ̂_g has the mean 0 for every group g and moment j, with a covariance S that the law of reports gives
exactly. Of θ = Nᵀπ̂, the columns of N an orthonormal basis of what is orthogonal to ρ̂, moment by moment,

    X² = θᵀ(NᵀSN)⁻¹θ

is χ² with as many degrees of freedom as there are estimates more than moments. Only S comes from a fit, so that a bias
of the curve cannot look like a dependence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import compress
from typing import Final

import numpy as np
import numpy.typing as npt
from numpy.polynomial.legendre import legvander
from scipy.linalg import block_diag, null_space
from scipy.optimize import nnls
from scipy.sparse.linalg import LinearOperator, aslinearoperator, lsmr

from pldp.estimates.linear.evidence import Evidence
from pldp.estimates.linear.homogeneity import homogeneity_of_vector, stricter_half
from pldp.estimates.linear.known import GivenMeans
from pldp.estimates.linear.mix import MixBounds, source_mix
from pldp.estimates.linear.patterns import Patterns
from pldp.estimates.linear.pooling import Linear, decode
from pldp.estimates.results.consistency import norm_sub
from pldp.estimates.results.facts import Homogeneity
from pldp.mechanisms import CategoricalChannel, Channel
from pldp.mechanisms.arrays import FloatArray, label_arrays, piecewise_arrays
from pldp.tallies import ABSENT, Fused

MOMENTS: Final = 4

ENOUGH: Final = 100
"""People that a group must have to be tested."""

PER_KURTOSIS: Final = 30
"""Reports that a moment must have, times the kurtosis of what one report adds: with fewer it is not normal enough."""

_BIAS: Final = 3e-5
"""The largest bias of a moment's weights, in standard deviations of one report, with which they count as unbiased."""

_ACCURATE: Final = 1e-9
_MOST_STEPS: Final = 1000
_FEW_ENVELOPES: Final = 8  # envelopes up to which prefix sums are faster than a matrix
_SINGULAR: Final = 1e10  # condition of a covariance from which on differences cannot be told from rounding
_PLACES: Final = 33  # most values that a distribution with two given moments has
_EXACTLY: Final = 1e4  # how much more the moments of such a distribution count than that it is even
_MANY: Final = 1e9  # reports that come as often as they do on average: so many that single ones do not count
_OTHER: Final = 1e-4
"""Variance of the difference of two decoders, in that of one, from which on it is more than rounding."""

Flags = npt.NDArray[np.bool_]


def centres(size: int) -> FloatArray:
    """Return the centres of the buckets on [−1, 1]."""
    return np.asarray((2 * np.arange(size) + 1 - size) / size)


def spread(shares: FloatArray) -> float:
    """Return the variance of the number between people with these shares."""
    middle = centres(len(shares))
    return float(shares @ middle**2 - (shares @ middle) ** 2)


def moment_values(size: int) -> FloatArray:
    """Return P_1 … of every value, values × moments."""
    return np.asarray(legvander(centres(size), MOMENTS)[:, 1:])


@lru_cache(maxsize=64)
def moment_weights(channel: Channel) -> tuple[FloatArray, Flags]:
    """Return W of a channel, moments × outputs, and for which moments it is unbiased; other rows are 0."""
    pieces = piecewise_arrays(channel).pieces()
    size = pieces.envelopes.shape[1]
    root = np.sqrt(np.maximum(_even_chances(channel), np.finfo(float).tiny))
    if len(pieces.envelopes) > _FEW_ENVELOPES:
        system = aslinearoperator(pieces.table()[:-1].T / root)
    else:
        system = LinearOperator(
            (size, len(root)),
            matvec=lambda numbers: pieces.expectation(numbers.ravel() / root),
            rmatvec=lambda numbers: pieces.forward(numbers.ravel()) / root,
            dtype=np.float64,
        )
    table, known = np.zeros((MOMENTS, len(root))), np.zeros(MOMENTS, np.bool_)
    # On n values, polynomials from degree n on are combinations of those below.
    for degree, wanted in enumerate(moment_values(size).T[: size - 1]):
        scaled = lsmr(system, wanted, atol=_ACCURATE, btol=_ACCURATE, conlim=0, maxiter=_MOST_STEPS)[0]
        bias = np.abs(pieces.expectation(scaled / root) - wanted).max()
        known[degree] = bias <= _BIAS * np.sqrt(1 + scaled @ scaled)
        table[degree] = scaled / root if known[degree] else 0.0
    return table, known


def _even_chances(channel: Channel) -> FloatArray:
    """Return how likely each output is at equal shares."""
    return piecewise_arrays(channel).pieces().forward(np.full(channel.size, 1 / channel.size))


@dataclass(frozen=True, eq=False)
class NumberCounts:
    """How often every output came by what reports show beside it, with the channels of all levels; `chance` is Λ."""

    channels: Sequence[Channel]
    chance: FloatArray
    counts: Sequence[FloatArray]
    visible: bool = False

    def numbers(self, population: FloatArray | None = None) -> Evidence:
        """Return what reports say of the mean, given likely shares."""
        return self._evidence(self._unbiased, population)

    def moments(self, population: FloatArray | None = None) -> Evidence:
        """Return what reports say of the moments, each a target."""
        return self._evidence([moment_weights(channel)[0] for channel in self.channels], population)

    def hidden_mean(self, population: FloatArray | None = None, mix: MixBounds | None = None) -> Evidence:
        """Return what reports of hidden levels say of the mean; `mix` is what is known of that of the levels.

        Outputs say something about levels, too: pooled by precision the mean is one of several states, the others of
        which are moments that all levels know, and what else counts for the mean is a control.
        """
        weights = [moment_weights(channel) for channel in self.channels]
        shared = np.all([known for _, known in weights], axis=0) & (np.arange(MOMENTS) > 0)
        tables = [np.concatenate([own[shared], z]) for (own, _), z in zip(weights, self._unbiased, strict=True)]
        evidence = self._evidence(tables, population, states=bool(shared.any()))
        each = np.eye(len(self.channels))[:, :, None]
        counted = each * _padded([_other_decoder(channel) for channel in self.channels])  # whose mean is 0
        middle, beyond = np.zeros(len(each)), np.zeros((len(each), len(each)))
        if mix is not None and not mix.nothing:
            counted = np.concatenate([counted, np.broadcast_to(each, counted.shape)])
            middle, beyond = np.append(middle, mix.middle), block_diag(beyond, mix.spread)
        return replace(evidence, known=(GivenMeans(counted, middle, beyond),))

    @property
    def _unbiased(self) -> list[FloatArray]:
        """Return z of every output, level by level, as one functional."""
        return [piecewise_arrays(channel).unbiased()[None] for channel in self.channels]

    def _evidence(
        self, tables: Sequence[FloatArray], population: FloatArray | None, *, states: bool = False
    ) -> Evidence:
        """Return what reports say of what outputs count for: `tables` of levels, functionals × outputs.

        With `states` the functionals are those of one target, to be pooled together; otherwise each is a target.
        """
        weights, one = _padded(tables)[:, None], _padded(self.counts)[:, None]
        if states:
            weights = np.moveaxis(weights, 1, 2)
            weights = np.concatenate([np.zeros_like(weights[:, :1]), weights], axis=1)
        many = (one.shape[0], weights.shape[2], one.shape[2])
        cells = None
        if population is not None:
            rows = [piecewise_arrays(channel).pieces().forward(population) for channel in self.channels]
            shown = one.sum(axis=(1, 2))
            mix = norm_sub(np.linalg.solve(self.chance, shown / shown.sum()))
            cells = np.broadcast_to(((self.chance * mix) @ _padded(rows))[:, None], many)
        patterns = Patterns(None, weights, np.ones_like(weights[:, 0]))
        counts = np.broadcast_to(one, many)
        return Evidence(counts, patterns, self.chance, self.visible, exclusive=False, likely_cells=cells)


def _padded(rows: Sequence[FloatArray]) -> FloatArray:
    """Stack levels, all with the same number of outputs: those that a level does not have count for nothing."""
    most = max(row.shape[-1] for row in rows)
    return np.stack([np.pad(row, [(0, 0)] * (row.ndim - 1) + [(0, most - row.shape[-1])]) for row in rows])


def _other_decoder(channel: Channel) -> FloatArray:
    """Return z − W_1 of every output; 0 where both are the same but for rounding."""
    z, other = piecewise_arrays(channel).unbiased(), moment_weights(channel)[0][0]
    even = _even_chances(channel)
    return z - other if even @ (z - other) ** 2 > _OTHER * (even @ z**2) else np.zeros_like(z)


def expected_mean(
    channels: Sequence[Channel],
    label_channel: CategoricalChannel,
    mix: FloatArray,
    shares: FloatArray,
    differ: float | None = 0.0,
    reports: float | None = None,
) -> Linear:
    """Return what would be decoded of a mean on [−1, 1] from hidden levels: as `expected_reports` for labels."""
    chance = label_arrays(label_channel).matrix()
    outputs = np.array([piecewise_arrays(channel).pieces().forward(shares) for channel in channels])
    counts = NumberCounts(channels, chance, list((reports or _MANY) * (chance * mix) @ outputs))
    return decode(counts.hidden_mean(), differ)


def source_cells(fused: Fused, place: int) -> FloatArray:
    """Return how often each cell of a source came."""
    cells = fused.cells[:, place]
    here = cells != ABSENT
    return np.asarray(np.bincount(cells[here], fused.counts[here], fused.sources[place].count), np.float64)


def source_counts(fused: Fused, place: int) -> NumberCounts:
    """Return the reports of a source, whose hidden levels count alike whatever they depend on."""
    source, came = fused.sources[place], source_cells(fused, place)
    counts = np.zeros((len(source.channels), source.channel.form.count))
    counts[source.labels, source.outputs.astype(np.intp)] = came
    return NumberCounts(source.channels, source_mix(source, came).matrix, list(counts))


def two_moments(parts: Sequence[NumberCounts]) -> FloatArray:
    """Return likely shares of the buckets that have the mean and the mean square that these reports show.

    Levels are weighed by the precision of a report at equal shares. Where no report says anything about squares, the
    numbers are taken to be near their mean: their spread then counts as noise, which is right for the population and on
    the safe side for the respondents.
    """
    size = parts[0].channels[0].size
    totals = np.zeros((2, 2))
    for part in parts:
        evidence = part.moments()
        weights = evidence.reports * np.column_stack([_precisions(part.channels[level]) for level in evidence.levels])
        totals += [(weights * each[:2]).sum(axis=1) for each in (evidence.joint[:, :, 0], evidence.mixes)]
    first, second = np.divide(totals[0], totals[1], out=np.full(2, -1.0), where=totals[1] > 0)
    places = np.unique(np.linspace(0, size - 1, min(size, _PLACES)).round().astype(int))
    some = centres(size)[places]
    centre = float(np.clip(first, some[0], some[-1]))
    square = float(np.clip((2 * second + 1) / 3, centre**2, some[-1] ** 2))
    shape = np.concatenate([_EXACTLY * np.stack([np.ones_like(some), some, some**2]), np.eye(len(some))])
    aim = np.concatenate([_EXACTLY * np.array([1.0, centre, square]), np.full(len(some), 1 / len(some))])
    shares = np.zeros(size)
    shares[places] = nnls(shape, aim)[0]
    return np.asarray(shares / shares.sum())


def _precisions(channel: Channel) -> FloatArray:
    """Return those of one report about two moments at equal shares; 0 where it says nothing."""
    table, known = moment_weights(channel)
    squares = table[:2] ** 2 @ _even_chances(channel)
    return np.divide(1.0, squares, out=np.zeros(2), where=known[:2])


def compare_levels(evidence: Evidence, channels: Sequence[Channel], scale: float) -> Homogeneity | None:
    """Test whether people of different levels have the same moments, from the evidence of these.

    `None` where fewer than two levels have enough people. `noticed` is a difference of means between people of the
    stricter and of the more open levels, in the unit of the number, of which `scale` is half the range.
    """
    levels = evidence.levels
    block, mix = slice(0, evidence.targets), evidence.possible_mix
    own, whole = (np.moveaxis(table, 0, 1) for table in evidence.weights(block))
    chances = evidence.expected(block, np.zeros(0), mix)[0]
    mean = own[:, :, 0].sum(axis=0) @ chances
    added = own[:, :, 0] - mean[:, None] * whole  # levels × moments × cells
    second, fourth = (added**power @ chances for power in (2, 4))
    known = np.array([moment_weights(channels[level])[1][: evidence.targets] for level in levels])
    known &= PER_KURTOSIS * fourth <= evidence.reports * second**2
    known &= (mix * evidence.reports >= ENOUGH)[:, None]
    rows = added[known]
    covariance = (rows * chances) @ rows.T / evidence.reports
    noise = [channels[level].equal_variance for level in levels]
    return compare_moments(evidence.joint[:, :, 0].T, evidence.mix, known, covariance, noise, scale)


def compare_moments(
    values: FloatArray, people: FloatArray, known: Flags, covariance: FloatArray, noise: Sequence[float], scale: float
) -> Homogeneity | None:
    """Test whether groups have the same moments: `values` are these times the share of `people`, groups × moments.

    `covariance` is that of the `known` ones, in their order. `noise` tells stricter groups from more open ones.
    """
    groups, moments = np.nonzero(known & known[:, :1])
    kept = known[:, 0][np.nonzero(known)[0]]
    bases = [_contrasts(people[groups[moments == moment]]) for moment in range(known.shape[1])]
    order = np.argsort(moments, kind="stable")
    apart = block_diag(*bases).T
    if not apart.size:
        return None
    theta = apart @ values[groups, moments][order]
    covariance = apart @ covariance[np.ix_(kept, kept)][np.ix_(order, order)] @ apart.T
    errors = np.sqrt(np.diag(covariance))
    if not (errors > 0).all() or np.linalg.cond(covariance / np.outer(errors, errors)) > _SINGULAR:
        return None
    first = np.arange(bases[0].shape[1])
    some = known[:, 0]
    share = people[some] / people[some].sum()
    stricter = stricter_half(list(compress(noise, some)), share)
    shift = people[some] * np.where(stricter, share[~stricter].sum(), -share[stricter].sum())
    # Of all differences with these means, the least visible: other moments move as their errors go along.
    move = covariance[:, first] @ np.linalg.solve(covariance[np.ix_(first, first)], bases[0].T @ shift)
    return homogeneity_of_vector(theta, covariance, move[:, None] / scale)


def _contrasts(people: FloatArray) -> FloatArray:
    """Return the differences between groups of so many people, groups × differences; none of fewer than two."""
    return null_space(people[None]) if len(people) > 1 else np.zeros((len(people), 0))
