"""The standard errors to expect from the channels of several levels, pooled by precision."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pldp.mechanisms import Channel
from pldp.mechanisms.arrays import FloatArray
from pldp.planning.kinds import BY_KIND
from pldp.planning.kinds.kind import OneReport
from pldp.survey import Question


@dataclass(frozen=True, eq=False)
class LevelPool:
    """The expected reports of several levels, some of each, put together: Σ_g w_g z_g with w_g ∝ n_g/V_g, row by row.

    >>> report = OneReport(np.array([4.0]), 4.0, 2.0)
    >>> LevelPool([report, report], np.array([100.0, 300.0])).variance
    array([0.01])
    """

    levels: Sequence[OneReport]
    reports: FloatArray

    @property
    def weights(self) -> FloatArray:
        """The weight of every level (rows) in every row of the result, or in all of them."""
        with np.errstate(divide="ignore", invalid="ignore"):
            precision = np.array(
                [n / np.atleast_1d(own.pooled_by) for own, n in zip(self.levels, self.reports, strict=True)]
            )
            weights = precision / precision.sum(axis=0)
        # Where a level has no error at all, which takes values without protection that nobody or everybody has, any do.
        return np.asarray(np.where(np.isfinite(weights), weights, (self.reports / self.reports.sum())[:, None]))

    @property
    def variance(self) -> FloatArray:
        """Σ_g w_g² V_g/n_g of every row."""
        parts = zip(self.weights, self.levels, self.reports, strict=True)
        return np.asarray(sum(weight**2 * own.variance / n for weight, own, n in parts))

    @property
    def manipulation(self) -> float:
        """People that one forged report counts as, at the level and in the row where it does most harm."""
        parts = zip(self.weights, self.levels, self.reports, strict=True)
        return max(float(np.max(weight * self.reports.sum() / n * own.forged)) for weight, own, n in parts)


def pool_levels(question: Question, channels: Sequence[Channel], reports: FloatArray, shares: FloatArray) -> LevelPool:
    """Put the expected reports of a question's levels together; levels without any are left out."""
    kind = BY_KIND[question.kind]
    used = [kind.one_report(question, channel, shares) for channel, n in zip(channels, reports, strict=True) if n > 0]
    return LevelPool(used, reports[reports > 0])


def alone(report: OneReport, reports: float) -> float:
    """Return the standard error (root mean square over the rows) from so many reports of one level."""
    return math.sqrt(float(np.mean(report.pooled_by)) / reports)
