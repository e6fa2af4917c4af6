"""Shares of labels by maximum likelihood, together with the mix of levels where reports do not show these."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.likelihood.mixture import MixPrior, Mixture, Part
from pldp.estimates.likelihood.rows import LabelRows
from pldp.estimates.likelihood.solver import GAP, Fit, FitProgress, interior, maximise, separable_maximum
from pldp.estimates.linear.labels import LabelReports
from pldp.estimates.linear.mix import LevelMix
from pldp.estimates.results.consistency import norm_sub
from pldp.mechanisms.arrays import FloatArray
from pldp.records import Record

AGREE: Final = 1e-6
"""Log-likelihood per report within which two starts are taken to have found the same maximum."""


def label_mixture(reports: LabelReports) -> Mixture:
    """Return the likelihood of shares and of the mix of levels that labels leave open: a part per level or label."""
    if not all(counts.has_cells for counts in reports.counts if counts.reports):
        raise EstimateError("the likelihood of unary reports needs whole rows: tally them with patterns")
    bounds, parts = reports.bounds, []
    mixes = [] if reports.visible else [MixPrior(bounds.corners, *bounds.pseudo_reports)]
    for shown, (cells, counts) in enumerate(reports.rows):
        levels = np.arange(len(reports.forms)) if mixes else np.array([shown])
        if len(counts):
            rows = LabelRows([reports.forms[level] for level in levels], cells, reports.chance[shown, levels])
            parts.append(Part(rows, counts, 0 if mixes else None))
    return Mixture(parts, mixes)


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
    reports: LabelReports,
    shares: FloatArray,
    *,
    gap: float = GAP,
    starts: int = 2,
    progress: FitProgress | None = None,
) -> LabelFit:
    """Fit the shares, and the mix of levels where it is not shown, from likely shares.

    With a mix the likelihood is not concave, so it is climbed from equal shares and levels as well, to see whether
    there is another maximum; the best is returned.
    """
    model = label_mixture(reports)
    even = [np.full(block.stop - block.start, 1 / (block.stop - block.start)) for block in model.blocks]
    shown = LevelMix(reports.chance, reports.reports.astype(np.int64), reports.bounds)
    mixes = [interior(shown.shares) if reports.bounds.nothing else own for own in even[1:]]
    begin = [[start_of(reports, shares), *mixes], even][: starts if mixes else 1]
    fits = [maximise(model, np.concatenate(start), gap, progress=progress) for start in begin]
    best = max(fits, key=lambda fit: fit.log_likelihood)
    agree = all(best.log_likelihood - other.log_likelihood <= AGREE * model.reports for other in fits)
    fit = replace(best, shares=best.shares[model.first].copy(), slope=best.slope[model.first])
    return LabelFit(model, fit, best.shares, agree)


def start_of(reports: LabelReports, shares: FloatArray) -> FloatArray:
    """Return the maximum where it has a formula, else likely shares, every value possible."""
    used = [level for level, people in enumerate(reports.reports) if people]
    if not (reports.visible and all(reports.forms[level].separable for level in used)):
        return interior(norm_sub(shares))
    offsets = [reports.forms[level].low / reports.forms[level].step * np.ones(reports.size) for level in used]
    return separable_maximum(np.array([reports.rows[level][1] for level in used]), np.array(offsets))
