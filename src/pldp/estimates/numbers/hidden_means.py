"""The mean of a number whose levels are hidden, and whether levels depend on it: by moments, without a curve.

**If the choice of a level does not depend on the number**, the reports of label s come from the mixture of the levels'
channels Σ_τ Pr(τ|s) Q_τ, where Pr(τ|s) ∝ ρ_τ G(s|τ). Numbers d_s(y) that are unbiased for it give a mean m̂_s per label.
The mix ρ comes from the labels alone, ρ̂ = G⁻¹·(share of each label), so that its error moves all m̂_s together:

    Cov(m̂) = diag(Var d_s / n_s) + g Cov(ρ̂) gᵀ,     g_sτ = ∂m̂_s/∂ρ_τ = −G(s|τ)/π_s · (E_τ d_s − m),

(as Σ_y d_s Q̄_s(y|x) = x for every ρ, the derivative of d_s is that of Q̄_s with the opposite sign). Outputs given
labels do not depend on ρ̂, so both parts add up, and m̂ = Σ W_s m̂_s has the weights of least variance, C⁻¹1/(1ᵀC⁻¹1).

**Whatever the choice of a level depends on**, every report counts for h(s, y) = Σ_τ (G⁻¹)_τs z_τ(y), z_τ the unbiased
number of level τ: of the people of level τ' only the term of their own level has a mean, as Σ_s (G⁻¹)_τs G(s|τ') is 1
for τ = τ' and 0 for others. The mean of h is that of the numbers, exactly, and nothing is estimated beside it.

**The test** of the first against the second takes the moments E P_j(v) of `dependence` in place of z: the sums
a_τj = mean of (G⁻¹)_τs W_τj(y) estimate ρ_τ μ_τj without bias, and θ_τj = a_τj − ρ̂_τ Σ_τ a_τj is 0 if all levels have
the same moments. Wald's test has (levels − 1) × (moments) degrees of freedom, with the covariance of the reports
themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

import numpy as np

from pldp.estimates.agreement import stricter_half
from pldp.estimates.consistency import norm_sub
from pldp.estimates.mix import LevelMix
from pldp.estimates.mix_bounds import MixBounds
from pldp.estimates.numbers.dependence import ENOUGH, moment_weights, piece_moments
from pldp.estimates.numbers.fusion import centres
from pldp.estimates.numbers.hidden import HiddenNumbers
from pldp.estimates.power import noticed
from pldp.estimates.result import Homogeneity
from pldp.mechanisms import CategoricalChannel, Channel
from pldp.mechanisms.arrays import FloatArray, Pieces, label_arrays, piecewise_arrays

PER_KURTOSIS: Final = 30
"""Reports that a moment must have, times the kurtosis of what a report counts for: with fewer it is not normal."""

UNSURE: Final = 0.25
"""Relative error of how much reports say on average from which on errors are rough."""

_SAME: Final = 1e-9
_SINGULAR: Final = 1e10
_MANY: Final = 1e9


@dataclass(frozen=True)
class HiddenMean:
    """A mean on [−1, 1] with its variance for a random sample of people, and how far one forged report moves it."""

    value: float
    variance: float
    moves: float


@lru_cache(maxsize=64)
def _unbiased(channel: Channel) -> FloatArray:
    return piecewise_arrays(channel).unbiased()


@lru_cache(maxsize=32)
def _mixed_decoder(channels: tuple[Channel, ...], posterior: tuple[float, ...]) -> FloatArray:
    """Return what outputs of a mixture of levels count for: a plan asks for the same one at many shares."""
    pieces = [piecewise_arrays(channel).pieces() for channel in channels]
    return piece_moments(Pieces.mix(pieces, np.array(posterior)), 1)[0][:, 0]


class HiddenMoments:
    """What reports with hidden levels say about the mean."""

    def __init__(self, hidden: HiddenNumbers) -> None:
        self.hidden, self.mix = hidden, hidden.mix
        self.numbers = np.array([_unbiased(channel) for channel in hidden.channels])
        self.seen = np.flatnonzero(self.mix.counts)
        self.chances: FloatArray = hidden.counts / hidden.people

    @cached_property
    def _slopes(self) -> FloatArray:
        """How much more the first level's numbers are on average at each level, per unit of the number."""
        return self._lines(self.numbers[0])[:, 1]

    def _lines(self, numbers: FloatArray) -> FloatArray:
        """Return what outputs that count for these numbers have as a mean: a line in the value, level × (a, b)."""
        middle = centres(self.hidden.size)
        basis = np.stack([np.ones_like(middle), middle], axis=1)
        means = np.array([pieces.expectation(numbers) for pieces in self.hidden.pieces])
        return np.asarray(np.linalg.lstsq(basis, means.T, rcond=None)[0].T)

    @cached_property
    def decoders(self) -> FloatArray:
        """d, label × output: what a report counts for if levels do not depend on numbers.

        Where all levels count alike but for a factor (windows, stochastic rounding), so does the mixture; of other
        channels it is inverted as a whole.
        """
        posterior = self.mix.posterior
        first = self.numbers[0]
        factors = self.numbers @ first / (first @ first)
        if np.abs(self.numbers - np.outer(factors, first)).max() <= _SAME * np.abs(self.numbers).max():
            return np.asarray(first / (posterior @ (1 / factors))[:, None])
        return np.array([_mixed_decoder(self.hidden.channels, tuple(own)) for own in posterior.tolist()])

    @property
    def unsure(self) -> bool:
        """Whether labels say so little about the mix that the scale of all numbers is unsure."""
        slopes = self._slopes
        return bool(np.sqrt(slopes @ self.mix.covariance @ slopes) > UNSURE * abs(float(slopes @ self.mix.shares)))

    def pooled(self, *, known_mix: bool = False) -> HiddenMean:
        """Return the mean if levels do not depend on numbers; with `known_mix`, as if the mix had no error."""
        counts, n = self.hidden.counts[self.seen], self.mix.counts[self.seen]
        d = self.decoders[self.seen]
        means = (counts * d).sum(axis=1) / n
        # One report more, of evenly spread numbers: few equal reports have an error, too.
        equal = np.full(self.hidden.size, 1 / self.hidden.size)
        even = np.array([pieces.forward(equal) for pieces in self.hidden.pieces])
        shares = (counts + self.mix.posterior[self.seen] @ even) / (n + 1)[:, None]
        noise = (shares * d**2).sum(axis=1) - (shares * d).sum(axis=1) ** 2
        precision = n / noise
        slopes = self._mix_slopes(d, float(precision @ means / precision.sum()))
        error = np.zeros_like(self.mix.covariance) if known_mix else self.mix.covariance
        inverse = np.linalg.inv(np.diag(1 / precision) + slopes @ error @ slopes.T)
        variance = 1 / float(inverse.sum())
        weights = inverse.sum(axis=1) * variance
        value = float(weights @ means)
        own = (weights / n * self.hidden.people)[:, None] * (d - means[:, None])
        counted = own + (weights @ slopes @ self.mix.report_weights)[self.seen, None]
        return HiddenMean(value, variance, float(np.ptp(counted)) / self.hidden.people)

    def _mix_slopes(self, decoders: FloatArray, value: float) -> FloatArray:
        """Return how the mean of each label changes with the mix, seen labels × levels."""
        chances = self.mix.matrix[self.seen] / (self.mix.matrix[self.seen] @ self.mix.shares)[:, None]
        lines = np.array([self._lines(own) for own in decoders])
        return np.asarray(-chances * (lines @ np.array([1.0, value]) - value))

    def free(self) -> HiddenMean:
        """Return the mean whatever the choice of a level depends on."""
        counted = self.mix.inverse.T @ self.numbers
        value = float((self.chances * counted).sum())
        variance = float((self.chances * (counted - value) ** 2).sum()) / self.hidden.people
        return HiddenMean(value, variance, float(np.ptp(counted)) / self.hidden.people)

    def spread(self, value: float) -> float:
        """Return the variance between people from a second moment; 0, on the safe side, where reports show none."""
        mixed = Pieces.mix(self.hidden.pieces, self.mix.shares)
        table, known = piece_moments(mixed, 2)
        if not known[1]:
            return 0.0
        square = (2 * float(self.chances.sum(axis=0) @ table[:, 1]) + 1) / 3
        return float(np.clip(square - value**2, 0.0, 1 - min(1.0, value**2)))


def expected_mean_variance(
    channels: Sequence[Channel], label_channel: CategoricalChannel, mix: FloatArray, shares: FloatArray
) -> float:
    """Return the variance of a mean on [−1, 1] from hidden levels, times the people, if this mix and shares are true.

    It is that of reports that came as often as they do on average, so many that single ones do not count.
    """
    matrix = label_arrays(label_channel).matrix()
    outputs = np.array([piecewise_arrays(channel).pieces().forward(shares) for channel in channels])
    cells = _MANY * (matrix @ (mix[:, None] * outputs))
    labels = np.rint(_MANY * (matrix @ mix)).astype(np.int64)
    hidden = HiddenNumbers(tuple(channels), LevelMix(matrix, labels, MixBounds.free(len(mix))), cells, (-1.0, 1.0))
    return HiddenMoments(hidden).pooled().variance * _MANY


def choice_test(hidden: HiddenNumbers) -> Homogeneity | None:
    """Test whether hidden levels depend on the number; `None` where reports are too few.

    `noticed` is the difference of means, in the unit of the number, between people of the stricter and of the more open
    levels (half of the people each, as nearly as levels allow).
    """
    mix, levels, people = hidden.mix, len(hidden.channels), hidden.people
    if people < ENOUGH * levels:
        return None
    found = [moment_weights(channel) for channel in hidden.channels]
    known = np.all([each for _, each in found], axis=0)
    # A mix that was given may be wrong; the test must not blame that on levels that depend on numbers.
    chances, rho = hidden.counts / people, norm_sub(mix.unbiased)
    # What a report counts for: level × moment × label × output.
    counted = np.einsum("ts,tyj->tjsy", mix.inverse, np.array([table for table, _ in found]))
    total = counted.sum(axis=0)
    mean = np.einsum("jsy,sy->j", total, chances)
    apart = counted - mix.inverse[:, None, :, None] * mean[:, None, None]
    apart -= rho[:, None, None, None] * (total - mean[:, None, None])
    apart = apart[:-1]
    theta = np.einsum("tjsy,sy->tj", apart, chances)
    centred = apart - theta[..., None, None]
    second, fourth = (np.einsum("tjsy,sy->tj", centred**power, chances) for power in (2, 4))
    enough = PER_KURTOSIS * fourth <= people * second**2
    tested = np.flatnonzero(known & enough.all(axis=0))
    if not len(tested):
        return None
    rows = centred[:, tested].reshape((levels - 1) * len(tested), -1)
    covariance = (rows * chances.ravel()) @ rows.T / people
    scale = np.sqrt(np.diag(covariance))
    if not (scale > 0).all() or np.linalg.cond(covariance / np.outer(scale, scale)) > _SINGULAR:
        return None
    values = theta[:, tested].ravel()
    statistic = float(values / scale @ np.linalg.solve(covariance / np.outer(scale, scale), values / scale))
    least = None
    if tested[0] == 0:
        # Of all differences with these means the least visible is seen as well as the means alone would be.
        means = np.arange(levels - 1) * len(tested)
        stricter = stricter_half([channel.equal_variance for channel in hidden.channels], rho)
        moves = (rho * np.where(stricter, rho[~stricter].sum(), -rho[stricter].sum()))[:-1]
        unit = float(moves @ np.linalg.solve(covariance[np.ix_(means, means)], moves))
        least = noticed(unit, len(values)) * (hidden.bounds[1] - hidden.bounds[0]) / 2
    return Homogeneity.of(statistic, len(values), noticed=least)
