"""What reports say of a number: evidence of its mean and moments, and the test whether people of all levels are alike.

Every output y of level τ counts for an unbiased number z_τ(y) on [−1, 1] (see `NumberChannel.unbiased`), or for a
moment (see `moments`): a pattern of one state. How likely reports are follows from a likely distribution f of the
number, the fitted one or, where numbers were asked for their mean only, one with the mean and mean square that reports
show (`two_moments`): Λ(s|τ) ρ_τ Q_τ f.

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
from itertools import compress
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import block_diag, null_space
from scipy.optimize import nnls

from pldp.estimates.fused.services import Subsets
from pldp.estimates.linear.evidence import Evidence
from pldp.estimates.linear.homogeneity import homogeneity_of_vector, stricter_half
from pldp.estimates.linear.mix import MixBounds
from pldp.estimates.linear.patterns import Patterns
from pldp.estimates.linear.pooling import decode
from pldp.estimates.numbers.moments import MOMENTS, moment_values, moment_weights
from pldp.estimates.numbers.sources import centres
from pldp.estimates.results.consistency import norm_sub
from pldp.estimates.results.facts import Homogeneity
from pldp.mechanisms import CategoricalChannel, Channel
from pldp.mechanisms.arrays import FloatArray, label_arrays, piecewise_arrays
from pldp.tallies import ABSENT, Fused

ENOUGH: Final = 100
"""People that a group must have to be tested."""

PER_KURTOSIS: Final = 30
"""Reports that a moment must have, times the kurtosis of what one report adds: with fewer it is not normal enough."""

_SINGULAR: Final = 1e10
"""Condition of a covariance from which on differences cannot be told from rounding."""

_PLACES: Final = 33
"""Most values that a distribution with two given moments has."""

_LEAST_NOISE: Final = 3e-5
"""Noise of a moment of a source that hides nothing: it then counts as nearly certain, not as certain."""

_EXACTLY: Final = 1e4
"""How much more the moments of such a distribution count than that it is even."""

_MANY: Final = 1e9

_OTHER: Final = 1e-4
"""Variance of the difference of two decoders, in that of one, from which on it is more than rounding."""

Flags = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]


def mean_evidence(
    channels: Sequence[Channel],
    chance: FloatArray,
    counts: Sequence[FloatArray],
    *,
    visible: bool,
    population: FloatArray | None = None,
    mix: MixBounds | None = None,
) -> Evidence:
    """Return what reports say of the mean; `mix` is what is known of that of hidden levels.

    Where levels are hidden, outputs say something about them, too: pooled by precision the mean is one of several
    states, the others of which are moments that all levels know, and what else counts for the mean is a control.
    """
    tables = [unbiased(channel)[None] for channel in channels]
    if not visible:
        weights = [moment_weights(channel) for channel in channels]
        shared = np.all([known for _, known in weights], axis=0) & (np.arange(MOMENTS) > 0)
        tables = [np.concatenate([own[shared], z]) for (own, _), z in zip(weights, tables, strict=True)]
    evidence = number_evidence(channels, chance, counts, tables, visible=visible, population=population, states=True)
    if visible:
        return evidence
    apart = [_other_decoder(channel) for channel in channels]
    bounds = None if mix is None or mix.nothing else mix
    return replace(evidence, known=(Controls(np.stack(_padded(apart)), bounds),))


def number_evidence(
    channels: Sequence[Channel],
    chance: FloatArray,
    counts: Sequence[FloatArray],
    tables: Sequence[FloatArray],
    *,
    visible: bool,
    population: FloatArray | None = None,
    states: bool = False,
) -> Evidence:
    """Return what reports say of what outputs count for: `tables` of levels, functionals × outputs.

    `counts` are those of the outputs by what reports show, `chance` is Λ, and `population` are likely shares. With
    `states` the functionals are those of one target, to be pooled together; otherwise each is a target.
    """
    weights = np.stack(_padded(tables))[:, None]
    if states:
        first = np.zeros((weights.shape[0], int(weights.shape[2] > 1), 1, weights.shape[3]))
        weights = np.concatenate([first, np.moveaxis(weights, 1, 2)], axis=1)
    one = np.stack(_padded(counts)).astype(np.float64)[:, None]
    cells = None
    if population is not None:
        rows = [piecewise_arrays(channel).pieces().forward(population) for channel in channels]
        shown = one.sum(axis=(1, 2))
        mix = norm_sub(np.linalg.solve(chance, shown / shown.sum()))
        cells = ((chance * mix) @ np.stack(_padded(rows)))[:, None]
    many = (one.shape[0], weights.shape[2], one.shape[2])
    return Evidence(
        np.broadcast_to(one, many),
        Patterns(None, weights, np.ones_like(weights[:, 0])),
        chance,
        visible,
        exclusive=False,
        likely_cells=None if cells is None else np.broadcast_to(cells, many),
    )


@dataclass(frozen=True, eq=False)
class Controls:
    """Functionals of reports of hidden levels whose mean is known, if levels do not depend on the number.

    `apart` (levels × outputs) are differences of two decoders of one level, which are 0 on average for its people; and
    `bounds` are what is known of the mix.
    """

    apart: FloatArray
    bounds: MixBounds | None

    always = False

    def _table(self, evidence: Evidence) -> FloatArray:
        """φ: functionals × cells."""
        table = evidence.undo[:, :, None] * self.apart[:, None]
        if self.bounds is not None:
            labels = np.broadcast_to(evidence.undo[:, :, None], table.shape) - self.bounds.middle[:, None, None]
            table = np.concatenate([table, labels])
        return table.reshape(len(table), -1)

    def off(self, evidence: Evidence) -> FloatArray:
        """Return the means over the reports."""
        return np.asarray(self._table(evidence) @ evidence.flat_shares(slice(0, 1))[0])

    def _centred(self, evidence: Evidence, states: FloatArray) -> tuple[FloatArray, FloatArray]:
        table, chances = self._table(evidence), evidence.expected(slice(0, 1), states, evidence.possible_mix)[0]
        return table - (table @ chances)[:, None], chances

    def covariance(self, evidence: Evidence, states: FloatArray) -> FloatArray:
        """Return that at likely cells, and n times what the middle of the bounds may be off."""
        table, chances = self._centred(evidence, states)
        spread = np.zeros_like(self.apart[:, :1] * self.apart[:, :1].T)
        beyond = [] if self.bounds is None else [evidence.reports * self.bounds.spread]
        return np.asarray((table * chances) @ table.T + block_diag(spread, *beyond))

    def along(self, evidence: Evidence, block: slice, psi: FloatArray, states: FloatArray) -> FloatArray:
        """Sum over cells."""
        del block
        table, chances = self._centred(evidence, states)
        return np.asarray((psi * chances) @ table.T)

    def ends(self, evidence: Evidence) -> tuple[FloatArray, FloatArray]:
        """A report counts one number."""
        table = self._table(evidence).reshape(-1, len(evidence.chance), self.apart.shape[1])
        return table, table


def _other_decoder(channel: Channel) -> FloatArray:
    """Return z − W_1 of every output; 0 where both are the same but for rounding."""
    z, other = unbiased(channel), moment_weights(channel)[0][0]
    even = piecewise_arrays(channel).pieces().forward(np.full(channel.size, 1 / channel.size))
    return z - other if even @ (z - other) ** 2 > _OTHER * (even @ z**2) else np.zeros_like(z)


def unbiased(channel: Channel) -> FloatArray:
    """Return z of every output."""
    return piecewise_arrays(channel).unbiased()


def _padded(rows: Sequence[FloatArray]) -> list[FloatArray]:
    """Give levels that show the same number of outputs: those that a level does not have count for nothing."""
    most = max(row.shape[-1] for row in rows)
    return [np.pad(row, [(0, 0)] * (row.ndim - 1) + [(0, most - row.shape[-1])]) for row in rows]


def moment_tables(channels: Sequence[Channel]) -> list[FloatArray]:
    """Return what outputs count for the moments, level by level, moments × outputs."""
    return [moment_weights(channel)[0] for channel in channels]


def two_moments(parts: Sequence[tuple[Evidence, Sequence[Channel]]]) -> FloatArray:
    """Return likely shares of the buckets that have the mean and the mean square that these reports of moments show.

    Levels are weighed by the precision of a report at equal shares. Where no report says anything about squares, the
    numbers are taken to be near their mean: their spread then counts as noise, which is right for the population and on
    the safe side for the respondents.
    """
    size = parts[0][1][0].size
    totals = np.zeros((2, 2))
    for evidence, channels in parts:
        for place, level in enumerate(evidence.levels):
            weights = [_precision(channels[level], degree) for degree in range(2)] * np.array(evidence.reports)
            totals += [weights * evidence.joint[:2, place, 0], weights * evidence.mixes[:2, place]]
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


def _precision(channel: Channel, degree: int) -> float:
    """Return that of one report about a moment at equal shares; 0 where it says nothing."""
    table, known = moment_weights(channel)
    chances = piecewise_arrays(channel).pieces().forward(np.full(channel.size, 1 / channel.size))
    return float(1 / (chances @ table[degree] ** 2)) if known[degree] else 0.0


def spread(shares: FloatArray) -> float:
    """Return the variance of the number between people with these shares."""
    middle = centres(len(shares))
    return float(shares @ middle**2 - (shares @ middle) ** 2)


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


class SourceEvidence(NamedTuple):
    """Evidence of one source of joined reports, and the place of each of its cells: label and output."""

    evidence: Evidence
    channels: tuple[Channel, ...]
    labels: Places
    outputs: Places

    def of_cells(self, table: FloatArray) -> FloatArray:
        """Return what the cells of the source count for, from a table shown × outputs (× moments)."""
        return np.asarray(table[self.labels, self.outputs])


def source_evidence(
    fused: Fused, place: int, *, moments: bool = False, population: FloatArray | None = None
) -> SourceEvidence:
    """Return what a source says of the mean, or of the moments; where it hides levels, of all of these together."""
    source = fused.sources[place]
    channels: tuple[Channel, ...] = (source.channel,)
    chance: FloatArray = np.eye(1)
    if source.hidden is not None:
        channels, chance = source.hidden.channels, label_arrays(source.hidden.label).matrix()
    outputs = np.arange(source.count) if source.listed is None else source.listed.outputs.astype(np.intp)
    labels = None if source.listed is None else source.listed.labels
    labels = np.zeros(source.count, np.intp) if labels is None else labels
    here = fused.cells[:, place] != ABSENT
    counts = np.zeros((len(channels), source.channel.form.count))
    cells = fused.cells[here, place]
    np.add.at(counts, (labels[cells], outputs[cells]), fused.counts[here])
    # People of hidden levels count alike, whatever these depend on: levels are not pooled by precision.
    tables = moment_tables(channels) if moments else [unbiased(channel)[None] for channel in channels]
    evidence = number_evidence(channels, chance, list(counts), tables, visible=False, population=population)
    return SourceEvidence(evidence, channels, labels, outputs)


def two_moments_of(fused: Fused) -> FloatArray:
    """Return likely shares of the buckets from two moments of joined reports."""
    parts = [source_evidence(fused, place, moments=True) for place in range(len(fused.sources))]
    return two_moments([(part.evidence, part.channels) for part in parts])


def distribution_test(fused: Fused, shares: FloatArray) -> Homogeneity | None:
    """Test whether people who gave to different services, or chose different levels, have the same distribution.

    `shares` are those of the estimated population. A person's reports are weighted by their precision, moment by
    moment. The test is `None` where fewer than two groups have enough people. `noticed` is a difference of means, in
    the unit of the number, between people of the noisier and of the other groups, half of the people each as nearly as
    groups allow: noticed with a probability of at least 80 %, whatever else differs.

    >>> from pldp.mechanisms import build
    >>> from pldp.simulate import perturb_numbers
    >>> from pldp.tallies import Service, fuse
    >>> generator, channel = np.random.default_rng(1), build("sw", 32, 2_000_000)
    >>> first, second = generator.integers(0, 32, 4000), generator.integers(8, 24, 4000)     # the same mean
    >>> fused = fuse([
    ...     Service(name, channel, keys, perturb_numbers(channel, values, generator), (0, 32))
    ...     for name, keys, values in (("a", np.arange(4000), first), ("b", np.arange(4000, 8000), second))
    ... ])
    >>> test = distribution_test(fused, np.full(32, 1 / 32))
    >>> test.degrees, test.rejected, round(test.noticed, 1)
    (4, True, 1.7)
    """
    sources = [source_evidence(fused, place, moments=True, population=shares) for place in range(len(fused.sources))]
    services = [_Moments.of(source, shares) for source in sources]
    subsets = Subsets.of(fused)
    people, groups = subsets.people, len(subsets.people)
    cells = np.array([subsets.counts(fused, place) @ service.cells for place, service in enumerate(services)])
    # Subsets × services × moments: with fewer reports a moment is not normal enough.
    enough = np.array([np.where(people[:, None] >= service.enough, service.precision, 0.0) for service in services])
    precision = np.moveaxis(enough, 0, 1) * subsets.given[:, :, None] * (people >= ENOUGH)[:, None, None]
    total = precision.sum(axis=1)
    known = total > 0
    parts = precision / np.where(known, total, 1.0)[:, None]
    means = (parts * np.moveaxis(cells, 0, 1)).sum(axis=1) / people[:, None]
    values = moment_values(fused.size)
    apart = values - shares @ values
    noise = np.array([service.noise for service in services])
    covariance = apart.T @ (shares[:, None] * apart) + np.einsum("gsm,gsn,smn->gmn", parts, parts, noise)
    share = people / people.sum()
    blocks = [
        share[group] ** 2 / people[group] * covariance[group][np.ix_(known[group], known[group])]
        for group in range(groups)
    ]
    scale = (fused.bounds[1] - fused.bounds[0]) / 2
    return compare_moments(
        share[:, None] * means, share, known, block_diag(*blocks), covariance[:, 0, 0].tolist(), scale
    )


class _Moments(NamedTuple):
    """What the reports of a source say about the moments.

    `cells` is what they count for, cells × moments; `precision` is that of one report, 0 where it says nothing; `noise`
    is the covariance that a report adds to the moments of a person; `enough` people make each moment about normal.
    """

    cells: FloatArray
    precision: FloatArray
    noise: FloatArray
    enough: FloatArray

    @classmethod
    def of(cls, source: SourceEvidence, shares: FloatArray) -> _Moments:
        """Take them at the estimated population."""
        evidence, block, values = source.evidence, slice(0, MOMENTS), moment_values(len(shares))
        table = evidence.weights(block)[0][:, :, 0].sum(axis=1)
        chances = evidence.expected(block, evidence.joint[:, 0], evidence.mix)[0]
        known = np.all([moment_weights(channel)[1] for channel in source.channels], axis=0)
        noise = (table * chances) @ table.T - (values * known).T @ (shares[:, None] * values * known)
        precision = np.where(known, 1 / np.maximum(np.diag(noise), _LEAST_NOISE), 0.0)
        square, fourth = (table**power @ chances for power in (2, 4))
        kurtosis = np.divide(fourth, square**2, out=np.zeros(MOMENTS), where=square > 0)
        cells = source.of_cells(np.moveaxis(table.reshape(MOMENTS, len(evidence.chance), -1), 0, -1))
        return cls(cells, precision, noise, PER_KURTOSIS * kurtosis)


def expected_mean_variance(
    channels: Sequence[Channel], label_channel: CategoricalChannel, mix: FloatArray, shares: FloatArray
) -> float:
    """Return the variance of a mean on [−1, 1] from hidden levels, times the people, if this mix and shares are true.

    It is that of reports that came as often as they do on average, so many that single ones do not count.
    """
    chance = label_arrays(label_channel).matrix()
    outputs = np.array([piecewise_arrays(channel).pieces().forward(shares) for channel in channels])
    evidence = mean_evidence(channels, chance, list(_MANY * (chance * mix) @ outputs), visible=False)
    return float(decode(evidence).variance()[0]) * _MANY
