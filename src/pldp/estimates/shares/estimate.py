"""The estimate: shares that never travel without their errors, groups and assumptions."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.consistency import base_cut, norm_cut, norm_sub
from pldp.estimates.groups import FloatArray
from pldp.estimates.shares.shrinkage import shrink
from pldp.estimates.solver.likelihood import Fit

CONSISTENT = ("norm-sub", "norm-cut", "base-cut", "likelihood", "shrunk")
"""Names that `Estimate.consistent` takes."""


class Interval(NamedTuple):
    """Lower and upper ends, one per value."""

    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, eq=False)
class GroupShares:
    """What the reports of one level say on their own.

    Attributes
    ----------
    level, mechanism, epsilon
        The level's name, its mechanism and the true ε of its channel.
    reports
        Number of reports.
    weight
        Weight of this group in the pooled shares; the weights sum to 1.
    shares, standard_error
        Unbiased shares of this group and their standard errors.
    manipulation
        People of this group that one forged report can count as.
    """

    level: str
    mechanism: str
    epsilon: float
    reports: int
    weight: float
    shares: FloatArray
    standard_error: FloatArray
    manipulation: float


@dataclass(frozen=True)
class LevelShare:
    """A hidden level: its mechanism and ε, and the estimated share of people who chose it."""

    level: str
    mechanism: str
    epsilon: float
    share: float


@dataclass(frozen=True)
class Homogeneity:
    """Test of "the shares are the same at every level", the assumption behind pooling by precision.

    Attributes
    ----------
    statistic, degrees
        χ² statistic and its degrees of freedom.
    p_value
        Probability of a statistic this large if the assumption holds.
    rejected
        Whether it is below the stated level of the test.
    """

    statistic: float
    degrees: int
    p_value: float
    rejected: bool


@dataclass(frozen=True, eq=False)
class Estimate:
    """Shares of one question's values, with everything needed to judge them.

    Attributes
    ----------
    question, values
        The question and its labels.
    shares
        Unbiased shares (or fitted ones, see `method`). They can be negative and need not sum to 1: see `consistent`.
    standard_error
        Standard error of each share.
    reports
        Number of reports behind them.
    method, target
        How they were made; and whose shares they are, of the respondents or of the population they were drawn from.
    groups
        What each level says on its own.
    homogeneity
        Test whether the levels agree, where there are at least two with enough reports.
    assumptions, warnings
        What must hold for the errors to be right; what a reader must know first.
    manipulation
        People that one forged report can count as in the unbiased shares, at the level where it does most harm; a
        likelihood fit moves by about as much.
    by_size
        The same shares pooled by size, present where the levels do not agree.
    fit
        Convergence of a maximum-likelihood fit.
    levels
        Where levels are hidden, how many people are estimated to have chosen each.
    """

    question: str
    values: tuple[str, ...]
    shares: FloatArray
    standard_error: FloatArray
    reports: int
    method: str
    target: str
    groups: tuple[GroupShares, ...]
    homogeneity: Homogeneity | None
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]
    manipulation: float = float("nan")
    by_size: Estimate | None = None
    fit: Fit | None = None
    levels: tuple[LevelShare, ...] = ()
    _covariance: Callable[[], FloatArray] | None = field(default=None, repr=False)
    _likelihood: Callable[[], Fit] | None = field(default=None, repr=False)
    _shrunk: Callable[[], FloatArray] | None = field(default=None, repr=False)

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance matrix of the shares."""
        if self._covariance is None:
            raise EstimateError("this estimate has standard errors but no covariance matrix")
        return self._covariance()

    def interval(self, confidence: float = 0.95, *, simultaneous: bool = False) -> Interval:
        """Return normal intervals for each share; with `simultaneous`, for all of them at once (Bonferroni).

        The ends are not cut at 0 and 1: an interval that reaches below 0 says that 0 is possible.
        """
        if not 0 < confidence < 1:
            raise EstimateError(f"confidence must be between 0 and 1, not {confidence}")
        tail = (1 - confidence) / 2 / (len(self.values) if simultaneous else 1)
        reach = NormalDist().inv_cdf(1 - tail) * self.standard_error
        return Interval(self.shares - reach, self.shares + reach)

    def consistent(self, method: str = "norm-sub") -> FloatArray:
        """Return shares that could be true: `norm-sub`, `norm-cut`, `base-cut`, `likelihood` (EM) or `shrunk`.

        Least squares (`norm-sub`) is a good default; `likelihood` is the most accurate where rows of unary reports were
        kept; `norm-cut` and `base-cut` leave large shares unbiased. `shrunk` has the least expected squared error: the
        posterior mean under a prior whose strength the reports choose. It is biased towards equal shares and has no
        interval: `interval` and `standard_error` are those of `shares`.
        """
        if method == "norm-sub":
            return norm_sub(self.shares)
        if method == "norm-cut":
            return norm_cut(self.shares)
        if method == "base-cut":
            return base_cut(self.shares, self.standard_error)
        if method == "likelihood":
            if self.fit is not None:
                return self.fit.shares
            if self._likelihood is None:
                raise EstimateError("this estimate has no likelihood")
            return self._likelihood().shares
        if method == "shrunk":
            return shrink(self.shares, self.covariance) if self._shrunk is None else self._shrunk()
        raise EstimateError(f"method must be one of {', '.join(CONSISTENT)}, not {method!r}")

    def rows(self, confidence: float = 0.95) -> list[dict[str, Any]]:
        """Return one plain record per value: value, estimate, standard_error, low, high, consistent."""
        low, high = self.interval(confidence)
        columns = (self.shares, self.standard_error, low, high, self.consistent())
        names = ("estimate", "standard_error", "low", "high", "consistent")
        return [
            {"value": value, **dict(zip(names, map(float, numbers), strict=True))}
            for value, *numbers in zip(self.values, *columns, strict=True)
        ]

    def to_mapping(self, confidence: float = 0.95) -> dict[str, Any]:
        """Return everything as plain data for JSON."""
        content: dict[str, Any] = {
            "name": self.question,
            "reports": self.reports,
            "method": self.method,
            "target": self.target,
            "confidence": confidence,
            "warnings": list(self.warnings),
            "assumptions": list(self.assumptions),
            "manipulation": self.manipulation,
            "homogeneity": None if self.homogeneity is None else vars(self.homogeneity),
            "groups": [
                {
                    "level": group.level,
                    "mechanism": group.mechanism,
                    "epsilon": group.epsilon,
                    "reports": group.reports,
                    "weight": group.weight,
                }
                for group in self.groups
            ],
            "levels": [vars(level) for level in self.levels],
            "rows": self.rows(confidence),
        }
        if self.fit is not None:
            content["fit"] = {"converged": self.fit.converged, "gap": self.fit.gap, "steps": self.fit.steps}
        if self.by_size is not None:
            content["by_size"] = self.by_size.rows(confidence)
        return content

    def to_frame(self, confidence: float = 0.95, *, library: str | None = None) -> Any:
        """Return the rows as a pandas or Polars data frame, whichever is asked for or installed."""
        for name in ("pandas", "polars") if library is None else (library,):
            try:
                if name == "pandas":
                    import pandas  # noqa: ICN001, PLC0415 - optional

                    return pandas.DataFrame(self.rows(confidence))
                if name == "polars":
                    import polars  # noqa: ICN001, PLC0415 - optional

                    return polars.DataFrame(self.rows(confidence))
            except ImportError:
                if library is not None:
                    raise EstimateError(f"to_frame needs the package {library}, which is not installed") from None
                continue
            raise EstimateError(f"library must be pandas or polars, not {name!r}")
        raise EstimateError("to_frame needs pandas or Polars, and neither is installed")

    def plot(self, confidence: float = 0.95, *, truth: FloatArray | None = None, axes: Any = None) -> Any:
        """Draw the shares with error bars (needs the extra `plots`); `truth` adds a mark per value."""
        from pldp.estimates.shares.plot import plot_shares  # noqa: PLC0415 - matplotlib is optional

        return plot_shares(self, confidence, truth=truth, axes=axes)

    def __str__(self) -> str:
        return f"{self.question}: {len(self.values)} values from {self.reports:,} reports, {self.method}"

    def _repr_html_(self) -> str:
        """Show a table in notebooks."""
        warnings = "".join(f"<p><strong>{html.escape(text)}</strong></p>" for text in self.warnings)
        rows = "".join(
            f"<tr><td>{html.escape(row['value'])}</td><td>{row['estimate']:.4f}</td><td>{row['standard_error']:.4f}</td>"
            f"<td>{row['low']:.4f} … {row['high']:.4f}</td><td>{row['consistent']:.4f}</td></tr>"
            for row in self.rows()
        )
        return (
            f"<p>{html.escape(str(self))}</p>{warnings}<table><thead><tr><th>value</th><th>share</th>"
            f"<th>standard error</th><th>95 % interval</th><th>consistent</th></tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )


def standard_errors(covariance: FloatArray) -> FloatArray:
    """Return the square roots of the diagonal of a covariance matrix."""
    return np.sqrt(np.maximum(np.diag(covariance), 0.0))
