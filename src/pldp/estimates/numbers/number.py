"""The result of a number: its mean, its quantiles and its density."""

from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from pldp.estimates.groups import FloatArray
from pldp.estimates.numbers.density import Density
from pldp.estimates.numbers.means import Mean
from pldp.estimates.result import Interval, PersonWeights, Result, check_confidence

QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Shares of people below the quantiles that a result lists."""

ONE_ERROR: Final = 0.6826894921370859
"""Confidence of an interval that reaches one standard error to both sides."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class NumberResult(Result):
    """Mean and quantiles of a number, with the density that the quantiles come from.

    Attributes
    ----------
    mean
        The mean and its error, of each level too.
    density
        The fitted distribution.
    number_unit
        Unit of the number; may be empty.
    moves
        How far one forged report moves the mean at most.
    by_size
        The mean pooled by size, present where the levels do not agree.
    standard_error
        Of the mean and of each quantile; that of a quantile is half the width of its 68 % interval.
    """

    kind: ClassVar[str] = "number"

    mean: Mean
    density: Density
    number_unit: str = ""
    moves: float
    by_size: Mean | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """Mean and quantiles."""
        return ("mean", *(f"{share * 100:g} %" for share in QUANTILES))

    @property
    def estimates(self) -> FloatArray:
        """Mean and quantiles."""
        return np.array([self.mean.value, *(self.quantile(share)[0] for share in QUANTILES)])

    @property
    def unit(self) -> str:
        """Unit of the number."""
        return self.number_unit

    @property
    def scale(self) -> tuple[Any, ...]:
        """Bounds and unit of the number."""
        return (*self.density.bounds, self.unit)

    @property
    def has_normal_error(self) -> npt.NDArray[np.bool_]:
        """Whether a number is the mean: ends of quantiles are where curves cross."""
        return np.array([True] + [False] * len(QUANTILES))

    def person_weights(self) -> PersonWeights | None:
        """Return the weight of each person in the mean, unless that is the mean of a fitted density."""
        return None if self.mean.method == "fitted" else super().person_weights()

    def covariance_of_values(self, other: Result) -> Interval:
        """Return the least and the largest covariance of a person's numbers in two rounds (Bhatia–Davis)."""
        low, high = self.density.bounds
        one, two = (np.clip(each.estimates, low, high) for each in (self, other))
        most = np.sqrt((one - low) * (high - one) * (two - low) * (high - two))
        return Interval(-most, most)

    def quantile(self, share: float, confidence: float | None = None) -> tuple[float, float, float]:
        """Return the number below which this share of people lies, and the ends of its interval."""
        return self.density.quantile(share, self._confidence(confidence))

    def interval(self, confidence: float | None = None, *, simultaneous: bool = False) -> Interval:
        """Return an interval for the mean (normal) and for each quantile (where the moved cumulative curve crosses)."""
        wanted = self._confidence(confidence)
        check_confidence(wanted)
        if simultaneous:
            wanted = 1 - (1 - wanted) / (1 + len(QUANTILES))
        ends = [self.mean.interval(wanted), *(self.quantile(share, wanted)[1:] for share in QUANTILES)]
        low, high = np.array(ends).T
        return Interval(low, high)

    def _extras(self, confidence: float) -> dict[str, Any]:
        band = self.density.band(confidence)
        extras: dict[str, Any] = {
            "moves": self.moves,
            "density": {
                "edges": self.density.edges,
                "shares": self.density.shares,
                "low": band.low * self.density.width,
                "high": band.high * self.density.width,
                "roughness": self.density.roughness,
                "converged": self.density.converged,
            },
        }
        if self.by_size is not None:
            extras["by_size"] = [self.by_size.row(confidence)._asdict()]
        return extras

    def plot(self, confidence: float | None = None, *, truth: FloatArray | None = None, axes: Any = None) -> Any:
        """Draw the density with both bands (needs the extra `plots`); `truth` adds true shares of the buckets."""
        axes = self.density.plot(self._confidence(confidence), truth=truth, axes=axes)
        axes.set_title(f"{self.question}: {axes.get_title(loc='left')}", loc="left", fontsize=11)
        axes.set_xlabel(self.unit)
        return axes


def quantile_errors(fitted: Density) -> list[float]:
    """Return the standard error of every listed quantile: half the width of its 68 % interval."""
    ends = [fitted.quantile(share, ONE_ERROR)[1:] for share in QUANTILES]
    return [(high - low) / 2 for low, high in ends]
