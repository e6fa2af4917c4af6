"""Functionals of reports whose mean is known, as control variates: what is known takes error off, and never adds bias.

A functional φ of a report whose mean is known to be m, off by a covariance T, says how far off the reports that came
are. With ψ what one report adds to the error of an estimate, K = E ψφᵀ and C = E φφᵀ + nT,

    f̃ = f̂ − K C⁻¹ (mean of φ − m)        has the variance        (E ψ² − K C⁻¹ Kᵀ)/n,

and no other linear correction has less. Gains K C⁻¹ are taken from the law of reports at likely shares, not from the
counts: small samples would fit their own noise.

- `SumToOne`: Σ_j W_τ(c_j) over the labels of a question counts 1 for people of level τ, whatever levels depend on.
- `GivenMeans` are known if levels do not depend on the answer (`always` is false), and used with estimates that assume
  this: the shares of levels, which are known or lie within bounds (`given_mix`), or two decoders of one number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from pldp.estimates.linear.evidence import Evidence
from pldp.estimates.linear.mix import MixBounds
from pldp.mechanisms.arrays import LARGEST_DENSE, FloatArray, LabelArrays

_NONE: Final = 1e-9  # variance of the sum, in those of all shares, that is nothing but rounding
_LARGEST_UNLIKE: Final = 512  # labels with own budgets up to which the sum is used: it explains 1/k of a variance


class Known(Protocol):
    """One or several functionals of a report."""

    @property
    def always(self) -> bool:
        """Whether their mean is known whatever levels depend on."""

    def off(self, evidence: Evidence) -> FloatArray:
        """Return how far their means over the reports are from what is known."""

    def covariance(self, evidence: Evidence, states: FloatArray) -> FloatArray:
        """Return C at these shares of states."""

    def along(self, evidence: Evidence, block: slice, psi: FloatArray, states: FloatArray) -> FloatArray:
        """Return K of tables of what reports count (targets × tables × cells): targets × tables × functionals."""

    def ends(self, evidence: Evidence) -> tuple[FloatArray, FloatArray]:
        """Return φ at both ends of what a report can make it: functionals × shown × patterns (or 1)."""


@dataclass(frozen=True, eq=False)
class GivenMeans:
    """φ_l(s, c) = Σ_τ U_τs·g_l(τ, c), the same for all targets, with the mean `middle`, off by the covariance `spread`.

    `counted` are g, functionals × levels × patterns, or × 1 where the level decides.
    """

    counted: FloatArray
    middle: FloatArray
    spread: FloatArray

    always = False

    def _table(self, evidence: Evidence) -> FloatArray:
        """Return φ, functionals × shown × patterns (or 1)."""
        return np.asarray(np.einsum("ltc,ts->lsc", self.counted, evidence.undo))

    def off(self, evidence: Evidence) -> FloatArray:
        """Compare the means over the reports with the middle."""
        return _sum(self._table(evidence), self._cells(evidence.shares.mean(axis=1))) - self.middle

    def _centred(self, evidence: Evidence, states: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return φ less its mean, and the chances of what it depends on."""
        table, chances = self._table(evidence), evidence.level_chances.sum(axis=1, keepdims=True)
        if table.shape[2] > 1:
            chances = evidence.expected(slice(0, 1), states, evidence.possible_mix).reshape(table.shape[1:])
        return table - _sum(table, chances)[:, None, None], chances

    def covariance(self, evidence: Evidence, states: FloatArray) -> FloatArray:
        """Return that of reports, and n times what the middle may be off."""
        table, chances = self._centred(evidence, states)
        return _sum(table * chances, table) + evidence.reports * self.spread

    def along(self, evidence: Evidence, block: slice, psi: FloatArray, states: FloatArray) -> FloatArray:
        """Sum over what is shown and patterns."""
        chances = evidence.expected(block, states, evidence.possible_mix)
        cells = (psi * chances[:, None]).reshape(*psi.shape[:2], len(evidence.chance), -1)
        return _sum(self._cells(cells), self._centred(evidence, states)[0])

    def ends(self, evidence: Evidence) -> tuple[FloatArray, FloatArray]:
        """A report counts one number."""
        return self._table(evidence), self._table(evidence)

    def _cells(self, cells: FloatArray) -> FloatArray:
        """Add numbers of (shown, pattern) up over the patterns where these do not matter."""
        return cells if self.counted.shape[2] > 1 else cells.sum(axis=-1, keepdims=True)


def given_mix(bounds: MixBounds, members: FloatArray) -> GivenMeans:
    """Take a known mix of levels: M ρ̂ lies within these bounds, M being levels of the bounds × combinations."""
    return GivenMeans(members[:, :, None], bounds.middle, bounds.spread)


def _sum(one: FloatArray, two: FloatArray) -> FloatArray:
    """Return Σ of products over (shown, pattern), the last axes of both."""
    return np.asarray(np.tensordot(one, two, axes=((-2, -1), (-2, -1))))


@dataclass(frozen=True, eq=False)
class SumToOne:
    """Shares of all labels sum to 1, level by level: φ_l(s, y) = U_ls·h_l(y), h_l = Σ_j (t_j − c_lj)/d_lj − 1.

    t is the statistic that reports have in common at all levels, c_l + d_l f its mean at level l (`SupportLaw`).
    """

    forms: Sequence[LabelArrays]

    always = True

    @classmethod
    def of(cls, forms: Sequence[LabelArrays]) -> tuple[SumToOne, ...]:
        """Return it where shares do not sum to 1 by themselves, and labels are not too many."""
        size = forms[0].channel.size
        equal = np.full(size, 1 / size)
        alike = all(np.ndim(form.contrast) == 0 for form in forms if form.sum_covariance(equal) is not None)
        if size > (LARGEST_DENSE if alike else _LARGEST_UNLIKE):
            return ()
        sums = [(form.sum_covariance(equal), form.variance(equal)) for form in forms]
        vary = any(along is not None and along.sum() > _NONE * variance.sum() for along, variance in sums)
        return (cls(forms),) if vary else ()

    def off(self, evidence: Evidence) -> FloatArray:
        """Return the sums over all labels, level by level, less the shares of levels."""
        return np.asarray(evidence.joint[:, :, -1].sum(axis=0) - evidence.mix)

    def covariance(self, evidence: Evidence, states: FloatArray) -> FloatArray:
        """Sum U_ls U_ms E_u[h_l h_m] over labels s and the true level u; 0 where the sum is always 1."""
        chance, undo = evidence.level_chances, evidence.undo[evidence.levels]
        mean, _, along, slope = self._moments(evidence, states)
        both = np.einsum("uli,mi->ulm", along, 1 / slope) + mean[:, :, None] * mean[:, None, :]
        found = np.einsum("su,ls,ms,ulm->lm", chance, undo, undo, both)
        scale = np.einsum("su,ls,ls->l", chance, undo, undo) * (slope**-2.0).sum(axis=1)
        varies = np.diag(found) > _NONE * scale  # the rest is rounding, whose inverse would be huge
        return np.asarray(np.where(np.outer(varies, varies), found, 0.0))

    def along(self, evidence: Evidence, block: slice, psi: FloatArray, states: FloatArray) -> FloatArray:
        """ψ is α + β·t_i for each label s: its first pattern is t_i = 0, its last one t_i = 1."""
        chance, undo = evidence.level_chances, evidence.undo[evidence.levels]
        mean, supports, along, _ = self._moments(evidence, states)
        table = psi.reshape(*psi.shape[:2], len(evidence.chance), -1)
        alpha, beta = table[..., 0], table[..., -1] - table[..., 0]
        constant = np.einsum("ifs,su,ls,ul->ifl", alpha, chance, undo, mean)
        mixed = along[:, :, block] + supports[:, None, block] * mean[:, :, None]  # E_u[t_i h_l]
        return np.asarray(constant + np.einsum("ifs,su,ls,uli->ifl", beta, chance, undo, mixed))

    def ends(self, evidence: Evidence) -> tuple[FloatArray, FloatArray]:
        """A report supports as few, or as many, labels as any output that does not, or does, support the target."""
        sizes, size = self.forms[0].support_sizes, self.forms[0].channel.size
        if sizes is None:
            least, most = np.array([0, 1]), np.array([size - 1, size])
        else:
            least, most = np.tile(sizes[sizes > 0].min(), 2), np.tile(sizes.max(), 2)
        laws = [self.forms[level].support_law() for level in evidence.levels]
        low, high = (
            np.array([(end - law.constant.sum()) / law.slope.mean() - 1 for law in laws]) for end in (least, most)
        )
        undo = evidence.undo[evidence.levels][:, :, None]
        return undo * low[:, None], undo * high[:, None]

    def _moments(self, evidence: Evidence, states: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return E_u h_l, E_u t_i, Cov_u(t_i, h_l) (true level u, level l, label i), and d_l."""
        shares, forms = states[:, -1], [self.forms[level] for level in evidence.levels]
        laws = [form.support_law() for form in forms]
        slope, constant = np.array([law.slope for law in laws]), np.array([law.constant for law in laws])
        supports = np.array([law.mean(shares) for law in laws])
        mean = ((supports[:, None] - constant) / slope).sum(axis=2) - 1
        along = np.array([_along_sum(form, shares, 1 / slope) for form in forms])
        return mean, supports, along, slope


def _along_sum(form: LabelArrays, shares: FloatArray, factors: FloatArray) -> FloatArray:
    """Return Cov(t_i, Σ_j factor_lj t_j) of one report of a level, l × labels."""
    if np.ndim(form.contrast) == 0 and np.ptp(factors, axis=1).max() == 0:
        own = form.sum_covariance(shares)
        return np.zeros_like(factors) if own is None else np.outer(factors[:, 0], own * float(form.contrast) ** 2)
    return np.asarray(factors @ form.statistic_covariance(shares))
