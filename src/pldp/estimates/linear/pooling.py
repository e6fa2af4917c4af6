"""From evidence to estimates: `decode`, and `Linear`, what one report adds to their error.

π̂_τx is unbiased for the share of people of level τ and state x, ρ̂_τ for that of level τ, whatever levels depend on.

- **By size** f̂ = Σ_τ π̂_τ / Σ_τ ρ̂_τ: nothing is assumed about the choice of levels.
- **By precision** people of all levels are assumed alike, π_τx = f_x ρ_τ. Then d_τx = π̂_τx − f_x ρ̂_τ has the mean 0 for
  all levels and all states but the first (which the others leave), S is the covariance of what one report adds to d at
  likely shares, and generalised least squares

      f̂ = (RᵀS⁻¹R)⁻¹RᵀS⁻¹π̂,        R = ρ̂ ⊗ I,

  weighs levels and states together: what other states say of the wanted one counts, too. Targets share one S, their
  mean, so that what sums to 1 still does (`alike`), or have one each.
- **Within a bound** shares of levels differ by at most Δ. With weights a_τ, Σ a_τ ρ_τ = 1, the estimate Σ a_τ π̂_τ is
  then off by at most

      Δ·t,        t = Σ ((a_τ − 1) ρ_τ)₊,

  reached where all levels that count for more than their people have a share that is larger by Δ. With s² = aᵀSa/n the
  interval f̂ ± s·cv(Δt/s) holds for every such bias, cv(b) bounding |N(b, 1)| with the wanted confidence; `decode` takes
  the a with the shortest one. Δ = 0 is by precision (with one weight for all states), a bound out of reach by size.

One report adds ψ(s, c) = Σ_τx b_τx (W_τx(s, c) − f_x V_τ(s, c)) to the error; variance, covariance, the test,
intervals of few reports and forged reports are sums over ψ.

Reference: Armstrong, Kolesár, "Optimal inference in a class of regression models" (2018), for bounds; Donoho,
"Statistical Estimation and Optimal Recovery" (1994).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from scipy.optimize import minimize
from scipy.special import chndtrix, ndtr, ndtri

from pldp.estimates.linear.evidence import Evidence, by_target, proportions
from pldp.estimates.linear.known import Known
from pldp.estimates.results.options import Target
from pldp.mechanisms.arrays import FloatArray

_ROUNDS: Final = 2  # of weights: the first are those of the shares by size, which may be rough
_DARK: Final = 1e-9  # part of the largest eigenvalue below which a direction of a covariance counts as none

REACH: Final = float(ndtri(0.975))  # standard errors of the intervals that weights within a bound are best for
_FAR: Final = 12.0  # bias in standard errors from which on only one side of an interval can miss
_CERTAIN: Final = 7.0  # standard errors beyond which all is lost in rounding: there the bias is added as it is
_ON_THE_LINE: Final = 33


@dataclass(frozen=True, eq=False)
class Linear:
    """Estimates that are linear in reports.

    `estimates` are those of the targets, `plain` the same without what is known, and `states` shares of all states at
    which laws are taken, targets × states. Tables are shown × targets × patterns: `counted` is what a report counts in
    an estimate, times the number of reports; ψ at a share f is `base` − f·`slope`, other states being in proportion.
    `weights` are what each of π̂ counts, targets × levels × states but the first; `gains` those of what is known,
    functional by functional, with what each explains. Shares of levels `differ` by at most so much; where nothing is
    known of that, levels count for their people.
    """

    evidence: Evidence
    differ: float | None
    estimates: FloatArray
    plain: FloatArray
    states: FloatArray
    counted: FloatArray
    base: FloatArray
    slope: FloatArray
    weights: FloatArray
    gains: tuple[tuple[Known, FloatArray, FloatArray], ...] = ()  # gain and K, targets × functionals each

    @property
    def reports(self) -> float:
        """Number of reports."""
        return self.evidence.reports

    @property
    def level_weights(self) -> FloatArray:
        """The parts of the levels in the estimates, which sum to 1."""
        return np.asarray((self.weights[:, :, -1] * self.evidence.mixes).mean(axis=0))

    @property
    def bias(self) -> FloatArray:
        """The most that each estimate is off if the shares of levels differ by as much as the bound allows."""
        return self._bias[0]

    @cached_property
    def _bias(self) -> tuple[FloatArray, FloatArray]:
        """Δ·t of each estimate, and its variance, as the mix of levels is estimated."""
        evidence, mixes = self.evidence, self.evidence.mixes
        if not self.differ:
            return np.zeros(evidence.targets), np.zeros(evidence.targets)
        people = np.maximum(mixes / mixes.sum(axis=1, keepdims=True), 0.0)
        gained = self.differ * np.maximum(self.weights[:, :, -1] - 1, 0.0)
        rows = evidence.undo[evidence.levels]
        centred = rows - (rows @ evidence.shown)[:, None]
        return (gained * people).sum(axis=1), (gained @ centred) ** 2 @ evidence.shown / self.reports

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
        evidence, mix = self.evidence, self.evidence.possible_mix

        def mean(block: slice) -> FloatArray:
            chances = evidence.expected(block, self.states, mix)
            return np.asarray((chances * by_target(self.psi[:, block]) ** 2).sum(axis=1))

        return evidence.of_blocks(mean)

    @cached_property
    def by_person(self) -> tuple[FloatArray, FloatArray]:
        """The mean and the variance of ψ of one report of people of each level and state, targets × levels × states."""
        evidence = self.evidence
        chance = evidence.chance[:, evidence.levels]

        def moments(block: slice) -> FloatArray:
            law = evidence.patterns.chosen(evidence.levels, block).law
            if law is None:
                raise ValueError("no states of a person stand behind these reports")
            psi = np.swapaxes(self.psi[:, block], 0, 1)
            by_pattern = [chance.T @ psi, chance.T @ psi**2]  # of people of each level who make a pattern
            mean, square = (np.einsum("itc,tixc->itx", each, law) for each in by_pattern)
            return np.stack([mean, np.maximum(square - mean**2, 0)], axis=1)

        mean, variance = np.moveaxis(evidence.of_blocks(moments), 1, 0)
        return mean, variance

    def variance(self, target: Target = "population") -> FloatArray:
        """Return the variance of each estimate.

        Where levels show and are taken to be alike, it is that of the law. Otherwise only the reports that came say how
        shares differ between levels; the law is a floor, as few reports may show next to no spread by chance.
        """
        people = target == "respondents"
        law = self.lawful - (_drawn(self.states[:, -1]) if people else 0.0)
        came = self.came - (_drawn(self.estimates) if people else 0.0)
        known = self.differ == 0 and self.evidence.visible
        found = (law if known else np.maximum(came, law)) - self.explained
        return np.asarray(np.maximum(found, 0.0) / self.reports + self._bias[1])

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
    evidence: Evidence, differ: float | None = 0.0, *, alike: bool = True, weights: FloatArray | None = None
) -> Linear:
    """Return the estimates with the least error if shares of levels differ by at most so much, or by given weights.

    `differ` is 0 for people who are alike (by precision) and `None` if nothing is known (by size). If targets are
    `alike`, all have the same weights.
    """
    if weights is None:
        weights = best_weights(evidence, differ, alike=alike)
    found = _added_by_reports(evidence, differ, _scaled(evidence, weights))
    for known in evidence.known:
        if known.always or differ == 0:
            found = _corrected(found, known)
    return found


def best_weights(evidence: Evidence, differ: float | None = 0.0, *, alike: bool = True) -> FloatArray:
    """Return what π̂ of each level and state weighs in the share of each state: targets (or 1) × states × π̂.

    The first state is what the others leave.
    """
    weights = np.tile(np.eye(evidence.joint.shape[2]), len(evidence.levels))[None]  # by size
    if len(evidence.levels) == 1 or differ is None:
        return weights
    if differ > 0:
        return _bounded(evidence, _covariance(evidence, weights, alike=alike), differ)
    for _ in range(_ROUNDS):
        inverse = _inverse(_covariance(evidence, weights, alike=alike))
        design = np.kron(evidence.mix[:, None], np.eye(weights.shape[1]))  # R
        weights = np.asarray(np.linalg.solve(design.T @ inverse @ design, design.T @ inverse))
    return weights


def _scaled(evidence: Evidence, weights: FloatArray) -> FloatArray:
    """Return b: the weights over their sums over ρ̂, which are not 1 where each target has reports of its own."""
    states = weights.shape[1]
    wide = np.broadcast_to(weights, (evidence.targets, *weights.shape[1:]))
    if evidence.one_mix:
        return wide
    sums = np.einsum("ixty,it->ixy", wide.reshape(*wide.shape[:2], -1, states), evidence.mixes)
    return np.asarray(np.linalg.solve(sums, wide))


def _pooled(evidence: Evidence, scaled: FloatArray) -> FloatArray:
    """Return f̂ of all states but the first."""
    return np.asarray((scaled @ evidence.joint.reshape(evidence.targets, -1, 1))[..., 0])


def _covariance(evidence: Evidence, weights: FloatArray, *, alike: bool) -> FloatArray:
    """Return S of what one report adds to π̂ − f ρ̂ at the f of these weights, of all targets together or of each."""
    shares = _pooled(evidence, _scaled(evidence, weights))
    states = evidence.possible(shares)
    likely = states[:, -shares.shape[1] :]

    def spread(block: slice) -> FloatArray:
        own, whole = evidence.weights(block)
        apart = own - likely[block][:, None, :, None] * whole[:, :, None]
        apart = apart.reshape(len(apart), -1, apart.shape[-1])  # targets × (level, state) × cells
        chances = evidence.expected(block, states, evidence.possible_mix)
        found = (apart * chances[:, None]) @ np.swapaxes(apart, 1, 2)
        for known in evidence.known:
            along = known.along(evidence, block, apart, states)
            found = found - along @ _inverse(known.covariance(evidence, states)) @ np.swapaxes(along, 1, 2)
        return np.asarray(found.sum(axis=0, keepdims=True) if alike else found)

    found = evidence.of_blocks(spread)
    return np.asarray(found.sum(axis=0, keepdims=True) / evidence.targets if alike else found)


def _added_by_reports(evidence: Evidence, differ: float | None, scaled: FloatArray) -> Linear:
    """Return the share of the last state, and what one report adds to its error.

    ψ = Σ_τx b_τx (W_τx − f_x V_τ), in which the shares of states but the last are in proportion: f_x = r_x (1 − f).
    Where no law stands behind states they are other means of a number, which do not move with the last one.
    """
    shares, in_proportion = _pooled(evidence, scaled), evidence.patterns.law is not None
    rest = proportions(evidence.inside(shares))[:, 1:] if in_proportion else shares[:, :-1]
    weights = scaled[:, -1].reshape(evidence.targets, -1, shares.shape[1])

    def tables(block: slice) -> FloatArray:
        own, whole = evidence.weights(block)
        counted = np.einsum("itx,itxc->ic", weights[block], own)
        by_level = (weights[block, :, :-1] @ rest[block, :, None])[..., 0]  # Σ_x b_τx r_x, of states but the last
        others = np.einsum("it,itc->ic", by_level, whole)
        slope = np.einsum("it,itc->ic", weights[block, :, -1], whole)
        return np.stack([counted, counted - others, slope - others if in_proportion else slope], axis=1)

    shown, targets, patterns = evidence.counts.shape
    found = evidence.of_blocks(tables).reshape(targets, 3, shown, patterns)
    counted, base, slope = np.ascontiguousarray(np.moveaxis(found, 0, 2))
    plain = shares[:, -1]
    return Linear(evidence, differ, plain, plain, evidence.possible(shares), counted, base, slope, weights)


def _corrected(found: Linear, known: Known) -> Linear:
    """Take off what goes along with a functional whose mean is known."""
    evidence = found.evidence
    along = evidence.of_blocks(  # K
        lambda block: known.along(evidence, block, by_target(found.psi[:, block])[:, None], found.states)[:, 0]
    )
    gain = along @ _inverse(known.covariance(evidence, found.states))
    estimates = found.estimates - gain @ known.off(evidence)
    return replace(found, estimates=estimates, gains=(*found.gains, (known, gain, along)))


def _inverse(matrix: FloatArray) -> FloatArray:
    """Return the inverse along directions that are not dark, of one matrix or of many."""
    scale = np.sqrt(np.maximum(np.einsum("...aa->...a", matrix), np.finfo(np.float64).tiny))
    shape = scale[..., :, None] * scale[..., None, :]
    return np.asarray(np.linalg.pinv(matrix / shape, rcond=_DARK, hermitian=True) / shape)


def _bounded(evidence: Evidence, covariance: FloatArray, bound: float) -> FloatArray:
    """Return weights of levels, one for all states, that are best if shares differ by no more than the bound."""
    states = evidence.joint.shape[2]
    people = np.maximum(evidence.possible_mix, 1 / max(evidence.reports, 2.0))
    own = covariance[:, states - 1 :: states, states - 1 :: states] / evidence.reports
    levels = np.array([bounded_weights(each, people / people.sum(), bound) for each in own])
    levels /= levels @ evidence.mix[:, None]
    return np.asarray(np.einsum("it,xy->ixty", levels, np.eye(states)).reshape(len(own), states, -1))


def biased_reach(reach: float, bias: FloatArray) -> FloatArray:
    """Return how many standard errors an interval reaches to hold as often as ± `reach` does without the bias.

    `bias` is the largest one, in standard errors.

    >>> biased_reach(1.96, np.array([0.0, 1.0, 20.0])).round(3)
    array([ 1.96 ,  2.646, 21.645])
    """
    bias = np.asarray(bias, np.float64)
    if reach > _CERTAIN:
        return reach + bias
    near = np.minimum(bias, _FAR)
    biased = np.sqrt(chndtrix(1 - 2 * ndtr(-reach), 1, near**2)) + bias - near
    return np.where(bias > 0, biased, reach)


def bounded_weights(covariance: FloatArray, people: FloatArray, bound: float) -> FloatArray:
    """Return the weights a of levels with the shortest interval if their shares differ by at most `bound`.

    `covariance` is that of π̂ − f ρ̂ of all reports together, `people` is ρ̂. The length is convex in a.

    >>> people = np.array([0.5, 0.5])
    >>> noise = np.diag([4e-4, 1e-4])  # of π̂: the share among people of the second level is known twice as well
    >>> [bounded_weights(noise, people, bound).round(2).tolist() for bound in (0.0, 0.02, 1.0)]
    [[0.4, 1.6], [0.5, 1.5], [1.0, 1.0]]
    """
    spread = covariance / np.outer(people, people)  # of the shares among people of each level
    inverse = np.linalg.pinv(spread, hermitian=True).sum(axis=1)
    precise = inverse / inverse.sum()
    if bound <= 0:
        return np.asarray(precise / people)
    levels, scale = len(people), float(np.sqrt(people @ spread @ people))
    spread, bound = spread / scale**2, bound / scale

    def length(moved: FloatArray) -> tuple[float, FloatArray]:
        """Return half the length of the interval of Σ u_τ θ̂_τ, u = aρ = ρ + gained − lost, and its slope."""
        parts = people + moved[:levels] - moved[levels:]
        error = float(np.sqrt(parts @ spread @ parts))
        bias = bound * float(moved[:levels].sum()) / error
        reach = float(biased_reach(REACH, np.array(bias)))
        near, far = np.exp(-((reach - bias) ** 2) / 2), np.exp(-((reach + bias) ** 2) / 2)
        slope = (near - far) / (near + far)  # of the reach by the bias
        by_part = (reach - bias * slope) * (spread @ parts) / error
        return error * reach, np.concatenate([by_part + bound * slope, -by_part])

    toward = [part * (precise - people) for part in np.linspace(0, 1, _ON_THE_LINE)]
    tried = [np.maximum(np.concatenate([move, -move]), 0.0) for move in toward]
    best = min(tried, key=lambda moved: length(moved)[0])
    lost_as_gained = np.repeat([1.0, -1.0], levels)
    balance = {"type": "eq", "fun": lambda moved: lost_as_gained @ moved, "jac": lambda _: lost_as_gained}
    positive, options = [(0, None)] * (2 * levels), {"ftol": 1e-12, "maxiter": 300}
    found = minimize(length, best, jac=True, bounds=positive, constraints=balance, method="SLSQP", options=options)
    best = min(best, found.x, key=lambda moved: length(moved)[0])
    parts = people + best[:levels] - best[levels:]
    return np.asarray(parts / parts.sum() / people)
