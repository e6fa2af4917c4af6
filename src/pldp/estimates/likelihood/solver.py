"""Climb a likelihood over one or several simplices, of reports of one question (`fit_labels`) or joined (`fit_tuples`).

Maximise Σ_c N_c log P_c over f ≥ 0, Σ f = 1. Where P_c = L_c·f the function is concave, so a stationary point is the
maximum, and how far a point is from it can be certified: with g_j = (1/n) Σ_c N_c L_cj / (L_c·f),

    log-likelihood per report still to gain  ≤  max_j g_j − 1  =  the gap.

**Newton (`maximise`).** EM multiplies f_j by g_j. Under local privacy most information is missing and EM takes
thousands of steps, so EM is accelerated by Newton steps: minimise the quadratic model of −log-likelihood + Σ f over
f ≥ 0 (the sum then takes care of itself) by conjugate gradients on the positive values, or with the Hessian as a
matrix, and search along the line to that point. A step that does not improve is replaced by an EM step, which always
does. With several unknown distributions (`Likelihood.blocks`: shares, and mixes of hidden levels) the likelihood is not
concave, and the gap then says how stationary the point is.

**One multiplier (`separable_maximum`).** A report of a direct encoding (k-RR, URR, IPRR) names one value, so every
share has its own term Σ_g n_gy log(a_gy f_y + b_gy). On the simplex all shares that are not 0 have the same slope λ,

    Σ_g n_gy a_gy / (a_gy f_y + b_gy) = λ,        and  Σ_y f_y(λ) = 1  fixes λ.

With one group f_y = max(0, n_y/λ − b_y/a_y). With several, f_y is the root of a convex falling function; Newton steps
from below never pass it. So k one-dimensional problems and one outer root replace an iteration over k values at once,
which converges slowly where many values are rare and some are not perturbed at all.

**Joined reports (`fit_tuples`).** Sources that hide levels and have people in common have one mix, of the levels τ of a
person at all of them: careful people are careful everywhere, and with a mix per source shares would be wrong by several
standard errors. People who show different levels at other services have mixes of their own.

References
----------
Dempster, Laird, Rubin (1977) for EM; Lindsay, "The Geometry of Mixture Likelihoods" (1983) for the gap; Kim,
Carbonetto, Stephens, Anitescu, "A Fast Algorithm for Maximum Likelihood Estimation of Mixture Proportions" (2020); Li,
Wang, Lopuhaä-Zwakenberg, Li, Škorić, "Estimating Numerical Distributions under Local Differential Privacy" (2020) for
EM with smoothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
from scipy import optimize

from pldp.errors import EstimateError
from pldp.estimates.likelihood.mixture import LARGEST_HESSIAN, Mixture, Part, Product, ShareLikelihood, interior, ratio
from pldp.estimates.likelihood.rows import LabelRows, Places, TupleRows
from pldp.estimates.linear.labels import LabelReports
from pldp.estimates.linear.mix import MixBounds
from pldp.estimates.results.consistency import norm_sub
from pldp.mechanisms.arrays import FloatArray
from pldp.records import Record
from pldp.tallies import ABSENT, Fused

GAP: Final = 1e-8
"""Default tolerance: log-likelihood per report that may remain to be gained."""

_MOST_PRODUCTS: Final = 60
_MOST_PIVOTS: Final = 12
_TOGETHER: Final = 10  # entries that reach 0 within this factor of the first one are fixed with it
_RIDGE: Final = 1e-12  # added to the Hessian in products: outputs that never came leave directions without curvature
_EM_CHANGE: Final = 1e-3  # log-likelihood, of all people together, at whose change plain EM stops
_PILOT_STEPS: Final = 20
_MOST_INNER: Final = 100  # Newton steps towards the share of one value at a multiplier λ

AGREE: Final = 1e-6
"""Log-likelihood per report within which two starts are taken to have found the same maximum."""
LARGEST_JOINT: Final = 64
"""Most combinations of the levels of several services that are mixed."""

FitProgress = Callable[[int, float], None]
"""Called with the number of steps and the gap."""

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class Fit(Record):
    """A maximum-likelihood fit and how far it can be from the maximum.

    `gap` is a certified bound on the log-likelihood per report still to gain; where levels are hidden, for the shares
    given the levels and for the levels given the shares. `log_likelihood` is known up to a constant of the data.
    `slope` is that along each share, less that along the positive ones: below 0 where a share would be negative.
    """

    shares: FloatArray
    gap: float
    steps: int
    converged: bool
    log_likelihood: float
    slope: FloatArray


class Likelihood(Protocol):
    """What the solver needs: one or several unknown distributions, end to end in one point.

    `objective` is minus the log-likelihood per report, `scores` are g, minus its gradient, `curvature` is the product
    with its Hessian or a positive approximation, and `hessian` is that as a matrix, where it is small.
    """

    blocks: Sequence[slice]  #: The place of each distribution.
    reports: float  #: Number of reports, or of people.

    def objective(self, point: FloatArray) -> float: ...
    def scores(self, point: FloatArray) -> FloatArray: ...
    def curvature(self, point: FloatArray) -> Product: ...
    def hessian(self, point: FloatArray) -> FloatArray | None: ...


def maximise(
    model: Likelihood, point: FloatArray, gap: float = GAP, most_steps: int = 500, progress: FitProgress | None = None
) -> Fit:
    """Climb from the point until the gap is small enough or the steps are used up; fit all distributions end to end."""
    value, scores, steps = model.objective(point), model.scores(point), 0
    while (remaining := float(scores.max()) - 1) > gap and steps < most_steps:
        steps += 1
        if progress is not None:
            progress(steps, remaining)
        point, value = _step(model, point, scores, value)
        scores = model.scores(point)
    log_likelihood, slope = -value * model.reports, model.reports * (scores - 1)
    return Fit(point, max(remaining, 0.0), steps, remaining <= gap, log_likelihood, slope)


def _normalised(model: Likelihood, point: FloatArray) -> FloatArray:
    for block in model.blocks:
        point[block] /= point[block].sum()
    return point


def _step(model: Likelihood, point: FloatArray, scores: FloatArray, value: float) -> tuple[FloatArray, float]:
    """Take one Newton step, or an EM step where that does not improve."""
    direction = _newton_target(model, point, scores) - point
    slope = float((1 - scores) @ direction)
    length = 1.0
    while np.isfinite(slope) and slope < 0 and length > 1e-3:
        trial = point + length * direction
        if not all(trial[block].sum() > 0 for block in model.blocks):
            break
        trial = _normalised(model, trial)
        reached = model.objective(trial)
        if reached <= value + 1e-4 * length * slope:
            return trial, reached
        length /= 4
    trial = _normalised(model, point * scores)
    return trial, model.objective(trial)


def _newton_target(model: Likelihood, point: FloatArray, scores: FloatArray) -> FloatArray:
    """Minimise ½xᵀHx − (H·point + g − 1)ᵀx, the model around the point, over x ≥ 0, approximately.

    Entries that leave the positive range are fixed at 0 and the rest is solved again.
    """
    hessian = model.hessian(point)
    if hessian is None:
        curvature = model.curvature(point)
        linear = curvature(point) + scores - 1
        tolerance = min(0.1, max(float(scores.max()) - 1, 1e-12))
    elif len(model.blocks) > 1:
        # What one distribution gains in size another may lose: ½(Σx − 1)² of each, 0 where it matters, forbids that.
        for block in model.blocks:
            hessian[block, block] += 1.0
    free, target = (point > 0) | (scores > 1), point
    for _ in range(_MOST_PIVOTS):
        if hessian is None:
            target = _conjugate_gradients(curvature, linear, np.where(free, target, 0.0), free, tolerance)
        else:
            target = point + _dense_change(hessian, scores - 1, np.where(free, 0.0, -point), free)
        negative = free & (target < 0)
        if not negative.any():
            break
        if len(model.blocks) > 1:
            # A share that nobody has may have no curvature; where it would go must not push a level out as well.
            reach = point[negative] / (point - target)[negative]
            negative[negative] = reach <= _TOGETHER * reach.min()
        free &= ~negative
    return np.maximum(target, 0.0)


def _dense_change(hessian: FloatArray, downhill: FloatArray, fixed: FloatArray, free: Flags) -> FloatArray:
    """Solve with a matrix, whose eigenvalues are made positive: then the step goes down in every direction."""
    wanted = (downhill - hessian @ fixed)[free]
    values, vectors = np.linalg.eigh(hessian[np.ix_(free, free)])
    values = np.maximum(np.abs(values), 1e-10 * np.abs(values).max())
    fixed[free] = vectors @ ((vectors.T @ wanted) / values)
    return fixed


def _conjugate_gradients(
    curvature: Product, linear: FloatArray, solution: FloatArray, free: Flags, tolerance: float
) -> FloatArray:
    """Solve H x = linear on the free entries."""
    residual = np.where(free, linear - curvature(solution), 0.0)
    direction = residual
    size = float(residual @ residual)
    goal = (0.01 * tolerance) ** 2 * size
    for _ in range(_MOST_PRODUCTS):
        if size <= goal or size == 0:
            break
        image = np.where(free, curvature(direction) + _RIDGE * direction, 0.0)
        bend = float(direction @ image)
        if bend <= 0:
            break
        length = size / bend
        solution = solution + length * direction
        residual = residual - length * image
        size, previous = float(residual @ residual), size
        direction = residual + (size / previous) * direction
    return solution


def separable_maximum(counts: FloatArray, offset: FloatArray) -> FloatArray:
    """Return the shares of greatest likelihood from n_gy and b_gy/a_gy, groups × values; every group has reports.

    >>> separable_maximum(np.array([[600.0, 300.0, 100.0]]), np.array([[0.5, 0.5, 0.5]])).round(2)
    array([0.83, 0.17, 0.  ])
    """
    least = float((counts / (1 + offset)).max())
    most = float(counts.sum())

    def excess(multiplier: float) -> float:
        return float(_separate_shares(counts, offset, multiplier).sum() - 1)

    # At the ends the sum is at least and at most 1; rounding may turn them around where all people say one value.
    if excess(least) <= 0 or excess(most) >= 0:
        multiplier = least if excess(least) <= 0 else most
    else:
        multiplier = float(optimize.brentq(excess, least, most, xtol=1e-13 * most, rtol=1e-14))
    shares = _separate_shares(counts, offset, multiplier)
    return np.asarray(shares / shares.sum())


def _separate_shares(counts: FloatArray, offset: FloatArray, multiplier: float) -> FloatArray:
    """Return f(λ): the root of Σ_g n_gy/(f_y + b_gy/a_gy) = λ, or 0 where the sum is below λ even there."""
    shares = np.maximum(counts / multiplier - offset, 0.0).max(axis=0)
    if len(counts) == 1:
        return np.asarray(shares)
    for _ in range(_MOST_INNER):
        place = shares + offset
        term = ratio(counts, place)
        slope, rest = ratio(term, place).sum(axis=0), term.sum(axis=0) - multiplier
        step = np.divide(rest, slope, out=np.zeros_like(rest), where=(rest > 0) & (slope > 0))
        shares = shares + step
        if step.max() <= 1e-15:
            break
    return np.asarray(shares)


def em(model: ShareLikelihood, *, smoothing: bool, most_steps: int = 10_000) -> Fit:
    """Run EM from equal shares until the log-likelihood changes by less than a thousandth.

    With `smoothing`, shares are averaged with their neighbours by (1, 2, 1)/4 after each step (EMS), which climbs no
    likelihood.
    """
    shares, steps, converged = model.uniform, 0, False
    scores, value, remaining = model.scores(shares), model.objective(shares), np.inf
    while steps < most_steps and not converged:
        steps += 1
        shares = shares * scores
        if smoothing:
            padded = np.concatenate([shares[:1], shares, shares[-1:]])
            shares = (padded[:-2] + 2 * shares + padded[2:]) / 4
        shares /= shares.sum()
        before, scores, value = value, model.scores(shares), model.objective(shares)
        remaining = float(scores.max()) - 1
        converged = model.people * abs(value - before) < _EM_CHANGE
    return Fit(shares, remaining, steps, converged, -model.people * value, slope=model.people * (scores - 1))


def first_fit(model: ShareLikelihood) -> FloatArray:
    """Return the shares of a smooth first fit, from which others start."""
    return em(model, smoothing=True, most_steps=_PILOT_STEPS).shares


def label_mixture(reports: LabelReports) -> Mixture:
    """Return the likelihood of shares and of the mix of levels that labels leave open: a part per level or label."""
    if not all(counts.has_cells for counts in reports.counts if counts.reports):
        raise EstimateError("the likelihood of unary reports needs whole rows: tally them with patterns")
    parts, mixed = [], np.count_nonzero(reports.mix.matrix, axis=1).max() > 1
    for counts, chances in zip(reports.counts, reports.mix.matrix, strict=True):
        if counts.reports:
            levels = np.flatnonzero(chances)  # of the people who may show this
            rows = LabelRows([reports.forms[level] for level in levels], counts.cell_rows, chances[levels])
            parts.append(Part(rows, np.asarray(counts.cell_counts, np.float64), (0,) if mixed else ()))
    return Mixture(parts, [reports.mix.bounds] if mixed else [])


@dataclass(frozen=True, eq=False, repr=False)
class LabelFit(Record):
    """The most likely shares, the point of the model that they are a part of, and whether several starts led there."""

    model: Mixture
    fit: Fit
    point: FloatArray
    starts_agree: bool

    @property
    def shares(self) -> FloatArray:
        """The fitted shares."""
        return self.fit.shares

    @property
    def levels(self) -> FloatArray | None:
        """The fitted mix of levels, where reports do not show it."""
        return next(iter(self.model.mixes(self.point)), None)

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance of the shares from the information, k × k."""
        return self.model.covariance(self.point)


def fit_labels(
    reports: LabelReports, shares: FloatArray, *, gap: float = GAP, starts: int = 2, progress: FitProgress | None = None
) -> LabelFit:
    """Fit the shares, and the mix of levels where it is not shown, from likely shares.

    With a mix the likelihood is not concave, so it is climbed from equal shares and levels as well, to see whether
    there is another maximum; the best is returned.
    """
    model = label_mixture(reports)
    even = [np.full(block.stop - block.start, 1 / (block.stop - block.start)) for block in model.blocks]
    mixes = [interior(reports.mix.shares) if reports.mix.bounds.nothing else own for own in even[1:]]
    begin = [[_likely_start(model, reports, shares), *mixes], even][: starts if mixes else 1]
    fits = [maximise(model, np.concatenate(start), gap, progress=progress) for start in begin]
    best = max(fits, key=lambda fit: fit.log_likelihood)
    agree = all(best.log_likelihood - other.log_likelihood <= AGREE * model.reports for other in fits)
    fit = replace(best, shares=best.shares[model.first].copy(), slope=best.slope[model.first])
    return LabelFit(model, fit, best.shares, agree)


def _likely_start(model: Mixture, reports: LabelReports, shares: FloatArray) -> FloatArray:
    """Return the maximum where it has a formula, else likely shares, every value possible."""
    used = [level for level, people in enumerate(reports.reports) if people]
    forms = [reports.forms[level] for level in used]
    if model.bounds or not all(form.separable for form in forms):
        return interior(norm_sub(shares))
    offsets = np.array([form.low / form.step * np.ones(reports.size) for form in forms])
    return separable_maximum(np.array([reports.counts[level].cell_counts for level in used], float), offsets)


def _joint_places(fused: Fused) -> list[list[int]]:
    """Return the sources that hide levels, those together that people have in common."""
    given = fused.cells != ABSENT
    joint: list[set[int]] = []
    for place, source in enumerate(fused.sources):
        if len(source.channels) > 1:
            near = set(np.flatnonzero(given[given[:, place]].any(axis=0)).tolist())
            meet = [each for each in joint if each & near]
            joint = [*(each for each in joint if not each & near), {place}.union(*meet)]
    return [sorted(each) for each in joint]


def _shown_classes(fused: Fused) -> Places:
    """Return the class of each tuple: the levels that people show at services which show them."""
    shown = [place for place, source in enumerate(fused.sources) if source.service and len(source.channels) == 1]
    return np.unique(fused.cells[:, shown] != ABSENT, axis=0, return_inverse=True)[1].ravel()


def joint_levels(fused: Fused) -> int:
    """Return the most combinations of classes and hidden levels that have to be mixed together."""
    counts = [len(source.channels) for source in fused.sources]
    most = max((math.prod(counts[place] for place in places) for places in _joint_places(fused)), default=0)
    return most * (int(_shown_classes(fused).max(initial=0)) + 1)


class TupleMixture(Mixture):
    """The likelihood of joined reports of labels: a part for every class of people and the joint sources they gave to.

    `gave` has, for every mix, the sources with hidden levels and how many people of its part gave to each.
    """

    def __init__(self, fused: Fused) -> None:
        self.fused, given, joint = fused, fused.cells != ABSENT, _joint_places(fused)
        # A tuple's part: the joint sources that it has a report of (never of several), and its class.
        keys = np.full((2, len(fused.counts)), -1)
        for number, places in enumerate(joint):
            keys[0, given[:, places].any(axis=1)] = number
        keys[1] = np.where(keys[0] < 0, -1, _shown_classes(fused))
        parts: list[Part] = []
        self.gave: list[dict[int, float]] = []
        for key in np.unique(keys, axis=1).T:
            inside = (keys == key[:, None]).all(axis=0)
            counts, used = fused.counts[inside].astype(float), np.flatnonzero(given[inside].any(axis=0))
            rows = TupleRows([fused.sources[place] for place in used], fused.cells[np.ix_(inside, used)])
            parts.append(Part(rows, counts, () if key[0] < 0 else (len(self.gave),)))
            if key[0] >= 0:
                people = counts @ given[inside]
                self.gave.append({place: float(people[place]) for place in joint[key[0]] if people[place]})
        super().__init__(parts, [MixBounds.free(part.rows.levels) for part in parts if part.mixes])
        if self.gave and self.blocks[-1].stop > LARGEST_HESSIAN:
            raise EstimateError(
                f"a likelihood with hidden levels takes at most {LARGEST_HESSIAN:,} values; method unbiased takes more"
            )

    def start(self, shares: FloatArray, mixes: Mapping[int, FloatArray]) -> FloatArray:
        """Return where to start: these shares, and levels at several sources as if independent."""
        joint = [reduce(np.multiply.outer, [mixes[place] for place in places]).ravel() for places in self.gave]
        return np.concatenate([interior(each) for each in (shares, *joint)])

    def mixes_of(self, point: FloatArray) -> dict[int, FloatArray]:
        """Return the mix of levels of the people who gave to each source that hides them."""
        total: dict[int, FloatArray] = {}
        for mix, gave in zip(self.mixes(point), self.gave, strict=True):
            table = mix.reshape([len(self.fused.sources[place].channels) for place in gave])
            for axis, (place, people) in enumerate(gave.items()):
                own = people * table.sum(axis=tuple(other for other in range(table.ndim) if other != axis))
                total[place] = total.get(place, 0.0) + own
        return {place: own / own.sum() for place, own in total.items()}


def fit_tuples(
    fused: Fused, shares: FloatArray, mixes: Mapping[int, FloatArray], progress: Callable[[int], None] | None = None
) -> tuple[Fit, TupleMixture]:
    """Fit shares, and the mix of levels of every source that hides them, to all tuples, from likely ones.

    In the fit all of them stand end to end in `shares`.
    """
    model = TupleMixture(fused)
    start = model.start(shares, mixes)
    return maximise(model, start, progress=None if progress is None else lambda steps, _: progress(steps)), model
