"""Shares of the values of one question."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.estimates.consistency import base_cut, norm_cut, norm_sub
from pldp.estimates.options import one_of
from pldp.estimates.result import GroupReports, PersonWeights, Result
from pldp.estimates.shares.shrinkage import shrink
from pldp.estimates.solver.likelihood import Fit
from pldp.mechanisms.arrays import FloatArray

LARGEST_COMPARED: Final = 500
"""Most values whose covariance is computed to compare them; the errors of more are added, which is on the safe side."""


@dataclass(frozen=True, eq=False, repr=False)
class GroupShares(GroupReports):
    """What the reports of one level say on their own; `manipulation` is about people of this level."""

    shares: FloatArray
    standard_error: FloatArray
    manipulation: float


class Evidence(ABC):
    """The reports behind shares, as plain data: what is computed only on request."""

    @abstractmethod
    def covariance(self) -> FloatArray:
        """Return the covariance matrix of the shares."""

    @abstractmethod
    def likely_shares(self) -> FloatArray:
        """Return the shares of greatest likelihood."""

    def shrunk_shares(self, shares: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return the posterior mean of the shares."""
        return shrink(shares, covariance)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Shares(Result):
    """Shares of one question's values, with everything needed to judge them.

    Attributes
    ----------
    values, shares, standard_error
        Each label, its share and the standard error. Unbiased shares can be negative (see `consistent`). They sum to 1,
        except where levels are hidden and where hashed answers are tracked.
    evidence
        The reports, where they were kept: what `covariance` and some ways of `consistent` need.
    """

    kind: ClassVar[str] = "choice"

    values: tuple[str, ...]
    shares: FloatArray
    groups: tuple[GroupShares, ...] = ()
    fit: Fit | None = None
    evidence: Evidence | None = None

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

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance matrix of the shares."""
        return self._evidence("covariance matrix").covariance()

    @property
    def fitted(self) -> bool:
        """Whether the shares come from a fit."""
        return self.fit is not None

    def difference_errors(self, place: int) -> FloatArray:
        """Return the standard errors of the differences between one share and each, from the covariance if it is known.

        Shares of one question are opposed: where one is too large, the others are too small.
        """
        if self.evidence is None or len(self.values) > LARGEST_COMPARED:
            return super().difference_errors(place)
        own = np.diag(self.covariance)
        return np.asarray(np.sqrt(np.maximum(own + own[place] - 2 * self.covariance[place], 0.0)))

    def _evidence(self, wanted: str) -> Evidence:
        if self.evidence is None:
            raise EstimateError(f"these shares have standard errors but no {wanted}: they were made without a tally")
        return self.evidence

    def consistent(self, method: str = "norm-sub") -> FloatArray:
        """Return shares that could be true: `norm-sub`, `norm-cut`, `base-cut`, `likelihood` (EM) or `shrunk`.

        Least squares (`norm-sub`) is a good default; `likelihood` is the most accurate where rows of unary reports were
        kept; `norm-cut` and `base-cut` leave large shares unbiased. `shrunk` has the least expected squared error: the
        posterior mean under a prior whose strength the reports choose. It is biased towards equal shares and has no
        interval: `interval` and `standard_error` are those of `shares`.
        """
        one_of("method", method, ("norm-sub", "norm-cut", "base-cut", "likelihood", "shrunk"))
        if method == "likelihood":
            return self._evidence("likelihood").likely_shares() if self.fit is None else self.fit.shares
        if method == "shrunk":
            return self._evidence("covariance matrix").shrunk_shares(self.shares, self.covariance)
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
            extras["fit"] = {name: getattr(self.fit, name) for name in ("converged", "gap", "steps")}
        return extras


def standard_errors(covariance: FloatArray) -> FloatArray:
    """Return the square roots of the diagonal of a covariance matrix."""
    return np.sqrt(np.maximum(np.diag(covariance), 0.0))
