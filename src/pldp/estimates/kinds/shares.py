"""Shares of the values of one question."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.estimates.likelihood.solver import Fit
from pldp.estimates.results.consistency import base_cut, norm_cut, norm_sub
from pldp.estimates.results.facts import GroupReports, PersonWeights
from pldp.estimates.results.options import one_of
from pldp.estimates.results.result import Result
from pldp.mechanisms.arrays import FloatArray

LARGEST_COMPARED: Final = 500
"""Most values whose covariance is computed to compare them; the errors of more are added, which is on the safe side."""


@dataclass(frozen=True, eq=False, repr=False)
class GroupShares(GroupReports):
    """What the reports of one level say on their own; `manipulation` is about people of this level."""

    shares: FloatArray
    standard_error: FloatArray
    manipulation: float


@dataclass(frozen=True)
class FitFacts:
    """Whether a fit converged, how far from its maximum it can be, and its steps."""

    converged: bool
    gap: float
    steps: int

    @classmethod
    def of(cls, fit: Fit) -> FitFacts:
        """Take those of a fit."""
        return cls(fit.converged, fit.gap, fit.steps)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Shares(Result):
    """Shares of one question's values, with everything needed to judge them.

    Attributes
    ----------
    values, shares, standard_error
        Each label, its share and the standard error. Unbiased shares can be negative (see `consistent`). They sum to 1,
        except of bits and hashes where levels are hidden or answers tracked, and where values are very many.
    covariance_matrix
        Covariance of the shares, of up to `LARGEST_COMPARED` values.
    """

    kind: ClassVar[str] = "choice"

    values: tuple[str, ...]
    shares: FloatArray
    groups: tuple[GroupShares, ...] = ()
    fit: FitFacts | None = None
    covariance_matrix: FloatArray | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """The values."""
        return self.values

    @property
    def estimates(self) -> FloatArray:
        """The shares."""
        return self.shares

    def person_weights(self) -> PersonWeights | None:
        """Return the weight of each person; a fit has none."""
        return None if self.fit is not None else super().person_weights()

    @property
    def conservative(self) -> npt.NDArray[np.bool_]:
        """Whether few reports speak for a share, or a fitted one lies beside 0 or 1, which a fit cannot pass."""
        if self.fit is None:
            return super().conservative
        near = 2 * self.standard_error
        return np.asarray(super().conservative | (self.shares < near) | (self.shares > 1 - near))

    @property
    def covariance(self) -> FloatArray:
        """Covariance matrix of the shares; refused where it was not kept."""
        if self.covariance_matrix is None:
            raise EstimateError(
                f"no covariance matrix of these shares was kept: {LARGEST_COMPARED} values at most have one"
            )
        return self.covariance_matrix

    @property
    def fitted(self) -> bool:
        """Whether the shares come from a fit."""
        return self.fit is not None

    def difference_errors(self, place: int) -> FloatArray:
        """Return the standard errors of the differences between one share and each, from the covariance if it is known.

        Shares of one question are opposed: where one is too large, the others are too small.
        """
        if self.covariance_matrix is None:
            return super().difference_errors(place)
        own = np.diag(self.covariance)
        return np.asarray(np.sqrt(np.maximum(own + own[place] - 2 * self.covariance[place], 0.0)))

    def consistent(self, method: str = "norm-sub") -> FloatArray:
        """Return shares that could be true: `norm-sub`, `norm-cut` or `base-cut`.

        Least squares (`norm-sub`) is a good default; `norm-cut` and `base-cut` leave large shares unbiased.
        """
        one_of("method", method, ("norm-sub", "norm-cut", "base-cut"))
        if method == "base-cut":
            return base_cut(self.shares, self.standard_error)
        return norm_cut(self.shares) if method == "norm-cut" else norm_sub(self.shares)

    def records(self, confidence: float | None = None) -> list[dict[str, Any]]:
        """Return the rows with the consistent share beside each; of a fit, also whether it is conservative."""
        rows = super().records(confidence)
        found = [{**row, "consistent": share} for row, share in zip(rows, self.consistent().tolist(), strict=True)]
        if self.fit is None:
            return found
        return [{**row, "conservative": wide} for row, wide in zip(found, self.conservative.tolist(), strict=True)]

    def _extras(self, confidence: float) -> dict[str, Any]:
        del confidence
        extras: dict[str, Any] = {}
        if self.fit is not None:
            extras["fit"] = asdict(self.fit)
        return extras


def standard_errors(covariance: FloatArray) -> FloatArray:
    """Return the square roots of the diagonal of a covariance matrix."""
    return np.sqrt(np.maximum(np.diag(covariance), 0.0))


def sampling_covariance(shares: FloatArray, reports: int) -> FloatArray:
    """Return what drawing the people at random adds: (diag f − f fᵀ)/n."""
    feasible = norm_sub(shares)
    return np.asarray((np.diag(feasible) - np.outer(feasible, feasible)) / reports)
