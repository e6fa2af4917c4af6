"""Shares of labels by maximum likelihood: of reports with shown levels, and jointly with the mix of hidden ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.likelihood.groups import Group
from pldp.estimates.likelihood.hidden import HiddenReports, moments
from pldp.estimates.likelihood.mixture import MixPrior, Mixture, Part
from pldp.estimates.likelihood.rows import LabelRows
from pldp.estimates.likelihood.solver import GAP, Fit, FitProgress, interior, maximise, separable_maximum
from pldp.estimates.results.consistency import norm_sub
from pldp.mechanisms.arrays import FloatArray
from pldp.records import Record

AGREE: Final = 1e-6
"""Log-likelihood per report within which two starts are taken to have found the same maximum."""


def shown_mixture(groups: Sequence[Group]) -> Mixture:
    """Return the likelihood of the shares where reports show their level: a part per level."""
    return Mixture([Part(LabelRows([each.arrays], each.outputs, np.ones(1)), each.cells) for each in groups])


def hidden_mixture(hidden: HiddenReports) -> Mixture:
    """Return the likelihood of the shares and of the mix of hidden levels: a part per label."""
    pairs = zip(hidden.groups, hidden.label_matrix, strict=True)
    parts = [Part(LabelRows(hidden.arrays, each.outputs, row), each.cells, 0) for each, row in pairs if each.reports]
    return Mixture(parts, [MixPrior(hidden.mix.bounds.corners, *hidden.mix.bounds.pseudo_reports)])


def maximum_likelihood(
    groups: Sequence[Group], *, gap: float = GAP, most_steps: int = 500, progress: FitProgress | None = None
) -> Fit:
    """Fit the shares to the reports of several groups.

    >>> from pldp.estimates import group
    >>> from pldp.mechanisms import build
    >>> from pldp.tallies import OutputCounts
    >>> counted = group(build("krr", 3, 1_000_000), OutputCounts(np.array([600, 300, 100])))
    >>> fit = maximum_likelihood([counted])
    >>> fit.converged, fit.shares.round(3)
    (True, array([0.861, 0.139, 0.   ]))
    """
    used = [each for each in groups if each.reports > 0]
    if not used:
        raise EstimateError("nothing to fit: maximum likelihood needs at least one report")
    return maximise(shown_mixture(used), _start(used), gap, most_steps, progress)


def _start(groups: Sequence[Group]) -> FloatArray:
    """Start at the maximum where it has a formula, else at the projected unbiased shares; keep every value possible."""
    if all(each.arrays.separable for each in groups):
        ratios = [each.arrays.low / each.arrays.step * np.ones(each.channel.size) for each in groups]
        return separable_maximum(np.array([each.cells for each in groups]), np.array(ratios))
    precision = np.array([1 / each.mean_variance() for each in groups])
    return interior(norm_sub(np.average([each.shares() for each in groups], axis=0, weights=precision)))


@dataclass(frozen=True, eq=False, repr=False)
class HiddenFit(Record):
    """A joint fit: shares with convergence, the weights of the corners of possible mixes, and whether starts agreed."""

    model: Mixture
    fit: Fit
    corners: FloatArray
    starts_agree: bool

    @property
    def shares(self) -> FloatArray:
        """The fitted shares."""
        return self.fit.shares

    @property
    def levels(self) -> FloatArray:
        """The fitted distribution of levels."""
        return self.model.mixes(self._point)[0]

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance of the shares from the information, k × k."""
        return self.model.covariance(self._point)

    @property
    def information(self) -> FloatArray:
        """Information about the shares, given the fitted levels."""
        return self.model.information(self._point)[self.model.first, self.model.first]

    @property
    def _point(self) -> FloatArray:
        return np.concatenate([self.fit.shares, self.corners])


def joint_likelihood(
    hidden: HiddenReports, *, gap: float = GAP, starts: int = 2, progress: FitProgress | None = None
) -> HiddenFit:
    """Fit shares and level distribution together.

    The likelihood is not concave in both, so the climb starts from the projected moments and, to see whether another
    maximum exists, from equal shares and levels as well; the best is returned.
    """
    model, first = hidden_mixture(hidden), moments(hidden)
    even, equal = (np.full(block.stop - block.start, 1 / (block.stop - block.start)) for block in model.blocks)
    levels = interior(norm_sub(first.levels)) if hidden.mix.bounds.nothing else equal
    begin = [np.concatenate([interior(norm_sub(first.shares)), levels]), np.concatenate([even, equal])]
    fits = [maximise(model, start, gap, progress=progress) for start in begin[:starts]]
    best = max(fits, key=lambda fit: fit.log_likelihood)
    agree = all(best.log_likelihood - other.log_likelihood <= AGREE * model.reports for other in fits)
    (shares, corners), slope = (best.shares[block] for block in model.blocks), best.slope[model.first]
    return HiddenFit(model, replace(best, shares=shares.copy(), slope=slope), corners.copy(), agree)


def expected_covariance(hidden: HiddenReports, shares: FloatArray, levels: FloatArray) -> FloatArray:
    """Return the covariance that a joint fit of so many reports would have if these shares and levels were true."""
    return hidden_mixture(hidden).covariance(np.concatenate([shares, levels]))
