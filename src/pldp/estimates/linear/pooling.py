"""From evidence to estimates: `decode`, and `Linear`, what one report adds to their error.

π̂_τx is unbiased for the share of people of level τ and state x, ρ̂_τ for that of level τ, whatever levels depend on.

- **By size** f̂ = Σ_τ π̂_τ / Σ_τ ρ̂_τ: nothing is assumed about the choice of levels.
- **By precision** people of all levels are assumed alike, π_τx = f_x ρ_τ. Then d_τx = π̂_τx − f_x ρ̂_τ has the mean 0 for
  all levels and all states but the first (which the others leave), S is the covariance of what one report adds to d at
  likely shares, and generalised least squares

      f̂ = (RᵀS⁻¹R)⁻¹RᵀS⁻¹π̂,        R = ρ̂ ⊗ I,

  weighs levels and states together: what other states say of the wanted one counts, too. Targets share one S, their
  mean, so that what sums to 1 still does (`alike`), or have one each.
- **Within a bound** the shares of levels differ by at most Δ: f̂ = Σ_τ a_τ π̂_τ is then off by at most Δ·t, and a gives
  the shortest interval that allows for it (`pldp.estimates.linear.differ`).

One report adds ψ(s, c) = Σ_τx b_τx (W_τx(s, c) − f_x V_τ(s, c)) to the error; variance, covariance, the test,
intervals of few reports and forged reports are sums over ψ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from pldp.estimates.linear.differ import bounded_weights
from pldp.estimates.linear.evidence import Evidence
from pldp.estimates.linear.known import Known
from pldp.estimates.results.options import Pool, Target
from pldp.mechanisms.arrays import FloatArray

_ROUNDS: Final = 2
"""Rounds of weights: the first are those of the shares by size, which may be rough."""

_DARK: Final = 1e-9
"""Part of the largest eigenvalue below which a direction of a covariance counts as none."""


@dataclass(frozen=True, eq=False)
class Linear:
    """Estimates that are linear in reports.

    `estimates` are those of the targets, `plain` the same without what is known, and `states` shares of all states at
    which laws are taken, targets × states. Tables are shown × targets × patterns: `counted` is what a report counts in
    an estimate, times the number of reports; ψ at a share f is `base` − f·`slope`, other states being in proportion.
    `weights` are what each of π̂ counts, targets × levels × states but the first; `gains` those of what is known,
    functional by functional, with what each explains. Shares of levels differ by at most the `bound`; without one,
    levels count for their people.
    """

    evidence: Evidence
    pool: Pool
    estimates: FloatArray
    plain: FloatArray
    states: FloatArray
    counted: FloatArray
    base: FloatArray
    slope: FloatArray
    weights: FloatArray
    gains: tuple[tuple[Known, FloatArray, FloatArray], ...] = ()  # gain and K, targets × functionals each
    bound: float = math.inf

    @property
    def reports(self) -> float:
        """Number of reports."""
        return self.evidence.reports

    @property
    def level_weights(self) -> FloatArray:
        """The parts of the levels in the estimates, which sum to 1."""
        return np.asarray((self.weights[:, :, -1] * self.evidence.mixes).mean(axis=0))

    @cached_property
    def _gained(self) -> tuple[FloatArray, FloatArray]:
        """By how much levels count for more than their people, and ρ̂, targets × levels."""
        mixes = self.evidence.mixes
        return np.maximum(self.weights[:, :, -1] - 1, 0.0), np.maximum(mixes / mixes.sum(axis=1, keepdims=True), 0.0)

    @cached_property
    def bias(self) -> FloatArray:
        """The most that each estimate is off if the shares of levels differ by as much as the bound allows."""
        if self.pool == "precision" or not math.isfinite(self.bound):
            return np.zeros(self.evidence.targets)
        gained, people = self._gained
        return np.asarray(self.bound * (gained * people).sum(axis=1))

    @cached_property
    def _mix_error(self) -> FloatArray:
        """The variance of that bias, as the mix of levels is estimated."""
        if not self.bias.any():
            return np.zeros(1)
        evidence = self.evidence
        rows = evidence.undo[evidence.levels]
        centred = rows - (rows @ evidence.shown)[:, None]
        return np.asarray(self.bound**2 * (self._gained[0] @ centred) ** 2 @ evidence.shown / self.reports)

    @cached_property
    def psi(self) -> FloatArray:
        """ψ: what one report adds to the error, times the number of reports, before what is known is taken off."""
        return np.asarray(self.base - self.plain[None, :, None] * self.slope)

    @property
    def explained(self) -> FloatArray:
        """The part of the variance of one report's ψ that is known not to be error."""
        return np.asarray(sum(((gain * along).sum(axis=1) for _, gain, along in self.gains), np.zeros(1)))

    @cached_property
    def came(self) -> FloatArray:
        """The mean of ψ² over the reports that came."""
        return np.asarray(np.einsum("sic,sic->i", self.evidence.shares, self.psi**2))

    @cached_property
    def lawful(self) -> FloatArray:
        """The mean of ψ² by the law at likely shares."""
        found, mix = np.zeros(self.evidence.targets), self.evidence.possible_mix
        for block in self.evidence.blocks():
            square = _by_target(self.psi[:, block]) ** 2
            found[block] = (self.evidence.expected(block, self.states, mix) * square).sum(axis=1)
        return found

    @cached_property
    def by_person(self) -> tuple[FloatArray, FloatArray]:
        """The mean and the variance of ψ of one report of people of each level and state, targets × levels × states."""
        evidence, law = self.evidence, self.evidence.patterns.law
        if law is None:
            raise ValueError("no states of a person stand behind these reports")
        chance, chosen = evidence.chance[:, evidence.levels], law[evidence.levels]
        parts = []
        for block in evidence.blocks():
            own = chosen if chosen.shape[1] == 1 else chosen[:, block]
            psi = np.swapaxes(self.psi[:, block], 0, 1)
            by_level = [chance.T @ psi**power for power in (1, 2)]
            mean, square = (_states_mean(each, own) for each in by_level)
            parts.append((mean, np.maximum(square - mean**2, 0)))
        mean, variance = (np.concatenate(each) for each in zip(*parts, strict=True))
        return mean, variance

    def variance(self, target: Target = "population") -> FloatArray:
        """Return the variance of each estimate.

        Where levels show and are taken to be alike, it is that of the law. Otherwise only the reports that came say how
        shares differ between levels; the law is a floor, as few reports may show next to no spread by chance.
        """
        known = self.pool == "precision" and self.evidence.visible
        people = target == "respondents"
        law = self.lawful - (_drawn(self.states[:, -1]) if people else 0.0)
        came = self.came - (_drawn(self.estimates) if people else 0.0)
        found = (law if known else np.maximum(came, law)) - self.explained
        return np.asarray(np.maximum(found, 0.0) / self.reports + self._mix_error)

    @cached_property
    def manipulation(self) -> float:
        """People that one forged report can count as: the most that any report adds to an estimate, times n."""
        least, most = self.counted, self.counted
        for known, gain, _ in self.gains:
            one, two = (np.einsum("il,lsc->sic", gain, end) for end in known.ends(self.evidence))
            least, most = least - np.maximum(one, two), most - np.minimum(one, two)
        return float(np.maximum(np.abs(least), np.abs(most)).max())


def _drawn(shares: FloatArray) -> FloatArray:
    """Return what drawing a person at random adds to the variance of each share: f(1 − f)."""
    inside = np.clip(shares, 0, 1)
    return np.asarray(inside * (1 - inside))


def decode(
    evidence: Evidence,
    pool: Pool = "precision",
    *,
    bound: float = math.inf,
    alike: bool = True,
    weights: FloatArray | None = None,
) -> Linear:
    """Return the estimates with the least error that the assumptions of the pooling allow, or with given weights.

    By size, a `bound` says by how much shares of different levels can differ.
    """
    if weights is None:
        weights = best_weights(evidence, pool, bound=bound, alike=alike)
    return replace(_finished(evidence, pool, _scaled(evidence, weights)), bound=bound)


def best_weights(
    evidence: Evidence, pool: Pool = "precision", *, bound: float = math.inf, alike: bool = True
) -> FloatArray:
    """Return what π̂ of each level and state weighs in the share of each state: targets (or 1) × states × π̂.

    The first state is what the others leave.
    """
    by_size = np.tile(np.eye(evidence.joint.shape[2]), len(evidence.levels))[None]
    if len(evidence.levels) == 1 or (pool == "size" and not math.isfinite(bound)):
        return by_size
    shares = _pooled(evidence, _scaled(evidence, by_size))
    if pool == "size":
        return _bounded(evidence, _covariance(evidence, shares, alike=alike), bound)
    for _ in range(_ROUNDS - 1):
        shares = _pooled(evidence, _scaled(evidence, _weights(evidence, shares, alike=alike)))
    return _weights(evidence, shares, alike=alike)


def _pooled(evidence: Evidence, scaled: FloatArray) -> FloatArray:
    """Return the shares of all states but the first with these weights of π̂."""
    return np.asarray((scaled @ evidence.joint.reshape(evidence.targets, -1, 1))[..., 0])


def _scaled(evidence: Evidence, weights: FloatArray) -> FloatArray:
    """Return b: the weights over their sums over ρ̂, which are not 1 where each target has reports of its own."""
    states = weights.shape[1]
    wide = np.broadcast_to(weights, (evidence.targets, *weights.shape[1:]))
    if evidence.one_mix:
        return wide
    sums = np.einsum("ixty,it->ixy", wide.reshape(*wide.shape[:2], -1, states), evidence.mixes)
    return np.asarray(np.linalg.solve(sums, wide))


def _weights(evidence: Evidence, shares: FloatArray, *, alike: bool) -> FloatArray:
    """Return (RᵀS⁻¹R)⁻¹RᵀS⁻¹, of all targets together or of each."""
    inverse = _inverse(_covariance(evidence, shares, alike=alike))
    design = np.kron(evidence.mix[:, None], np.eye(shares.shape[1]))
    return np.asarray(np.linalg.solve(design.T @ inverse @ design, design.T @ inverse))


def _bounded(evidence: Evidence, covariance: FloatArray, bound: float) -> FloatArray:
    """Return weights of levels, one for all states, that are best if shares differ by no more than the bound."""
    states = evidence.joint.shape[2]
    people = np.maximum(evidence.possible_mix, 1 / max(evidence.reports, 2.0))
    own = covariance[:, states - 1 :: states, states - 1 :: states] / evidence.reports
    levels = np.array([bounded_weights(each, people / people.sum(), bound) for each in own])
    levels /= levels @ evidence.mix[:, None]
    return np.asarray(np.einsum("it,xy->ixty", levels, np.eye(states)).reshape(len(own), states, -1))


def _covariance(evidence: Evidence, shares: FloatArray, *, alike: bool) -> FloatArray:
    """Return S of what one report adds to π̂ − f ρ̂, of all targets together or of each."""
    states = evidence.possible(shares)
    total: list[FloatArray] = []
    for block in evidence.blocks():
        apart, chances = _apart(evidence, block, _likely(evidence, states, shares)[block], states)
        spread = (apart * chances[:, None]) @ np.swapaxes(apart, 1, 2)
        for known in evidence.known:
            along = known.along(evidence, block, apart, states)
            spread = spread - along @ _inverse(known.covariance(evidence, states)) @ np.swapaxes(along, 1, 2)
        total.append(spread.sum(axis=0, keepdims=True) if alike else spread)
    return np.asarray(np.sum(total, axis=0) / evidence.targets if alike else np.concatenate(total))


def _likely(evidence: Evidence, states: FloatArray, shares: FloatArray) -> FloatArray:
    """Return the shares of all states but the first at which errors are taken; of numbers those that were estimated."""
    return shares if evidence.patterns.law is None else states[:, -shares.shape[1] :]


def _apart(evidence: Evidence, block: slice, shares: FloatArray, states: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return W − f V (targets × level and state × cells) and the chances of cells, targets × cells."""
    own, whole = evidence.weights(block)
    apart = own - shares[:, None, :, None] * whole[:, :, None]
    chances = evidence.expected(block, states, evidence.possible_mix)
    return apart.reshape(len(apart), -1, apart.shape[-1]), chances


def _finished(evidence: Evidence, pool: Pool, scaled: FloatArray) -> Linear:
    """Return what one report adds to the error of the last state, and take off what is known.

    ψ = Σ_τx b_τx (W_τx − f_x V_τ), in which the shares of states but the last are in proportion: f_x = r_x (1 − f).
    Where no law stands behind states they are other means of a number, which do not move with the last one.
    """
    shares, last = _pooled(evidence, scaled), scaled[:, -1]
    states = evidence.possible(shares)
    apart = evidence.patterns.law is None
    rest = shares[:, :-1] if apart else _proportions(evidence.inside(shares))[:, : shares.shape[1] - 1]
    shown, targets, patterns = evidence.counts.shape
    counted, base, slope = np.empty((3, targets, shown * patterns))
    for block in evidence.blocks():
        own, whole = evidence.weights(block)
        counted[block] = (last[block, None] @ own.reshape(len(own), -1, own.shape[-1]))[:, 0]
        split = last[block].reshape(len(own), -1, shares.shape[1])
        others = _over_levels(split[:, :, :-1] @ rest[block, :, None], whole)
        base[block] = counted[block] - others
        slope[block] = _over_levels(split[:, :, -1:], whole) - (0.0 if apart else others)
    tables = [
        np.ascontiguousarray(np.swapaxes(each.reshape(targets, shown, patterns), 0, 1))
        for each in (counted, base, slope)
    ]
    plain, last = shares[:, -1], last.reshape(targets, -1, shares.shape[1])
    found = Linear(evidence, pool, plain, plain, states, tables[0], tables[1], tables[2], last)
    for known in evidence.known:
        if known.always or pool == "precision":
            found = _corrected(found, known)
    return found


def _over_levels(factors: FloatArray, tables: FloatArray) -> FloatArray:
    """Return Σ_τ of factors (targets × levels × 1) times tables (targets × levels × cells)."""
    return np.asarray((np.swapaxes(factors, 1, 2) @ tables)[:, 0])


def _proportions(states: FloatArray) -> FloatArray:
    """Return the shares of states but the first and the last among all but the last, targets × states."""
    others = states[:, :-1]
    return np.asarray((others / np.maximum(others.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny))[:, 1:])


def _corrected(found: Linear, known: Known) -> Linear:
    """Take off what goes along with a functional whose mean is known."""
    evidence = found.evidence
    weight = _inverse(known.covariance(evidence, found.states))
    along = np.concatenate(
        [
            known.along(evidence, block, _by_target(found.psi[:, block])[:, None], found.states)[:, 0]
            for block in evidence.blocks()
        ]
    )
    gain = along @ weight
    estimates = found.estimates - gain @ known.off(evidence)
    return replace(found, estimates=estimates, gains=(*found.gains, (known, gain, along)))


def _states_mean(table: FloatArray, law: FloatArray) -> FloatArray:
    """Return the mean of a table (targets × levels × patterns) over the patterns of each state."""
    return np.asarray((table[:, :, None] @ np.moveaxis(law, (1, 2, 3), (0, 3, 2)))[:, :, 0])


def _by_target(table: FloatArray) -> FloatArray:
    return np.swapaxes(table, 0, 1).reshape(table.shape[1], -1)


def _inverse(matrix: FloatArray) -> FloatArray:
    """Return the inverse along directions that are not dark, of one matrix or of many."""
    scale = np.sqrt(np.maximum(np.einsum("...aa->...a", matrix), np.finfo(np.float64).tiny))
    shape = scale[..., :, None] * scale[..., None, :]
    return np.asarray(np.linalg.pinv(matrix / shape, rcond=_DARK, hermitian=True) / shape)
