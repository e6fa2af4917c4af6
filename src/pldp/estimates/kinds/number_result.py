"""What an estimate of a number is: its mean, and quantiles and density unless only the mean was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.estimates.likelihood.density import NO_DENSITY, Density
from pldp.estimates.likelihood.profile import Profile, QuantileProfile
from pldp.estimates.linear.numbers import spread
from pldp.estimates.linear.small_counts import interval_around
from pldp.estimates.results import notes
from pldp.estimates.results.facts import Homogeneity, PersonWeights
from pldp.estimates.results.intervals import CONFIDENCE, Interval, Row, check_confidence, fit_confidence, normal_reach
from pldp.estimates.results.options import Options, check_options, one_of
from pldp.estimates.results.result import Result
from pldp.mechanisms.arrays import FloatArray
from pldp.records import Record

QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Shares of people below the quantiles that a result lists."""

ONE_ERROR: Final = 0.6826894921370859
"""Confidence of an interval that reaches one standard error to both sides."""


WORDS: Final = {
    "weights": "unbiased, {pool}",
    "average": "unbiased, all reports weighted alike",
    "posterior": "weighted by each person's posterior",
    "fitted": "mean of the fitted density",
}
"""How means are made."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Mean(Record):
    """A mean with its error, in the units of the bounds.

    Of joined services it has mean and standard error of each on its own, and its weight for a person who gave to all.
    `homogeneity` tests whether people of different levels, or who gave to different services, have the same mean (for
    that of a fitted density: the same distribution).
    """

    value: float
    standard_error: float
    people: int
    method: str
    target: str
    services: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    homogeneity: Homogeneity | None
    assumptions: tuple[str, ...]

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Return the ends of a normal interval."""
        reach = normal_reach(confidence) * self.standard_error
        return self.value - reach, self.value + reach

    def row(self, confidence: float = CONFIDENCE) -> Row:
        """Return the mean as a row of a result."""
        return Row("mean", self.value, self.standard_error, *self.interval(confidence))


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class _OfNumber(Result):
    """What every result of a number has: the mean, and how far one forged report `moves` it at most."""

    kind: ClassVar[str] = "number"

    mean: Mean
    bounds: tuple[float, float]
    moves: float

    @property
    def scale(self) -> tuple[Any, ...]:
        """Bounds and unit of the number, and what is known of it."""
        return (*self.bounds, self.unit, *(("mean only",) if len(self.labels) == 1 else ()))

    def person_weights(self) -> PersonWeights | None:
        """Return the weight of each person, unless the mean is fitted or people may have given to several services."""
        return None if self.mean.method == "fitted" or self.mean.weights else super().person_weights()

    @property
    def possible(self) -> tuple[float, float]:
        """The bounds."""
        return self.bounds

    @property
    def fitted(self) -> bool:
        """Whether the mean is that of a fitted density, or rests on a fitted mix of hidden levels."""
        return self.mean.method == "fitted" or bool(self.levels)

    def lead(self, confidence: float | None = None) -> None:
        """Mean and quantiles are not compared."""
        del confidence

    def covariance_of_values(self, other: Result) -> Interval:
        """Return the least and the largest covariance of a person's numbers in two rounds (Bhatia–Davis)."""
        low, high = self.bounds
        one, two = (np.clip(each.estimates, low, high) for each in (self, other))
        most = np.sqrt((one - low) * (high - one) * (two - low) * (high - two))
        return Interval(-most, most)

    def _extras(self, confidence: float) -> dict[str, Any]:
        del confidence
        return {"moves": self.moves, "bounds": list(self.bounds)}


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class MeanResult(_OfNumber):
    """The mean of a number that was asked for its mean only: there are neither quantiles nor a density."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The mean alone."""
        return ("mean",)

    @property
    def estimates(self) -> FloatArray:
        """The mean."""
        return np.array([self.mean.value])

    @property
    def density(self) -> Density:
        """Refused: such reports show no distribution."""
        raise EstimateError(NO_DENSITY)

    def quantile(self, share: float, confidence: float | None = None) -> tuple[float, float, float]:  # noqa: ARG002
        """Refused: such reports show no distribution."""
        raise EstimateError(NO_DENSITY)

    def with_curve(self, fitted: Density, profile: Profile, options: Options) -> NumberResult:
        """Return the same with quantiles from this curve, and what their intervals are looked up in."""
        wanted = options.confidence
        if options.live is not None:
            wanted = fit_confidence(wanted, self.reports / options.live)
        noted = {
            notes.CONSERVATIVE: True,
            notes.QUANTILES_OF_POPULATION: self.target == "respondents",
            notes.HEAPED: fitted.roughness,
            notes.CURVE_UNFINISHED: not fitted.converged,
        }
        quantiles = np.array([fitted.quantile(share, ONE_ERROR)[1:] for share in QUANTILES])
        return NumberResult.of(
            replace(self, notes=self.notes + tuple(note for note, holds in noted.items() if holds)),
            bias=None
            if self.bias is None
            else Interval(*(np.append(end, np.zeros(len(QUANTILES))) for end in self.bias)),
            standard_error=np.array([*self.standard_error, *(np.diff(quantiles)[:, 0] / 2)]),
            mean=self.mean,
            bounds=self.bounds,
            moves=self.moves,
            density=fitted,
            profile=profile.quantiles(QUANTILES, wanted),
        )


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class NumberResult(_OfNumber):
    """Mean and quantiles of a number, with the density that the quantiles come from.

    Intervals of quantiles and shares assume nothing about the distribution and are conservative. They are looked up in
    `profile`, which is exact for the listed quantiles at the confidence that was asked for; others are somewhat wider
    than needed (`share_between` has those of shares from the reports). Those of the smooth curve are narrower, and
    right if the distribution is one (`smooth=True`). Standard errors are those of the smooth curve, too: of a quantile,
    half the width of its 68 % interval.
    """

    density: Density
    profile: QuantileProfile

    @property
    def labels(self) -> tuple[str, ...]:
        """Mean and quantiles."""
        return ("mean", *(f"{share * 100:g} %" for share in QUANTILES))

    @property
    def estimates(self) -> FloatArray:
        """Mean and quantiles."""
        return np.array([self.mean.value, *(self.density.quantile(share)[0] for share in QUANTILES)])

    @property
    def has_normal_error(self) -> npt.NDArray[np.bool_]:
        """Whether a number is the mean: ends of quantiles are where hypotheses are rejected."""
        return np.array([True] + [False] * len(QUANTILES))

    @property
    def conservative(self) -> npt.NDArray[np.bool_]:
        """Whether a number is a quantile."""
        return ~self.has_normal_error

    def quantile(
        self, share: float, confidence: float | None = None, *, smooth: bool = False
    ) -> tuple[float, float, float]:
        """Return the number below which this share of people lies, and the ends of its interval.

        The interval assumes nothing about the distribution; with `smooth`, that it is a smooth curve.
        """
        wanted = self.fit_confidence(self._confidence(confidence))
        found, *ends = self.density.quantile(share, wanted)
        low, high = ends if smooth else self.profile.quantile(share, wanted)
        return found, min(low, found), max(high, found)

    def cumulative(self, number: float, confidence: float | None = None, *, smooth: bool = False) -> Row:
        """Return the share of people with at most this number, those who have exactly it included; see `range`.

        Reports do not tell numbers within a bucket apart. Of the bucket that the number is in or begins, anything from
        nobody to everybody has at most the number: the interval begins without it and ends with it, and the estimate is
        half way between.
        """
        first, last = self.bounds
        edges = self.density.edges
        end = float(edges[min(int(np.searchsorted(edges, number, side="right")), len(edges) - 1)])
        with_it = self.range(first, end, confidence, smooth=smooth)
        if number >= last:
            return with_it._replace(label=f"≤ {number:g}")
        without = (
            with_it._replace(estimate=0.0, low=0.0)
            if number <= first
            else self.below(number, confidence, smooth=smooth)
        )
        middle = (without.estimate + with_it.estimate) / 2
        error = max(without.standard_error, with_it.standard_error)
        return Row(f"≤ {number:g}", middle, error, without.low, with_it.high)

    def below(self, number: float, confidence: float | None = None, *, smooth: bool = False) -> Row:
        """Return the share of people with less than this number; see `range`."""
        found = self.range(self.bounds[0], number, confidence, smooth=smooth)
        return found._replace(label=f"< {number:g}")

    def range(self, low: float, high: float, confidence: float | None = None, *, smooth: bool = False) -> Row:
        """Return the share of people from one number to below another, with its error and interval.

        The interval assumes nothing about the distribution; with `smooth`, that it is a smooth curve. It follows from
        the intervals of the listed quantiles, and is far wider than that of `share_between`.
        """
        require_range(low, high, self.bounds)
        wanted = self.fit_confidence(self._confidence(confidence))
        share, error = self.density.share(low, high)
        if smooth:
            curve = (self.density.smooth or self.density).share(low, high)[0]
            reach = normal_reach(wanted) * error
            least, most = max(0.0, curve - reach), min(1.0, curve + reach)
        else:
            least, most = self.profile.range(low, high, wanted)
        return range_row((low, high), self.bounds, share, error, (least, most))

    def interval(self, confidence: float | None = None, *, simultaneous: bool = False) -> Interval:
        """Return an interval for the mean (normal) and for each quantile (conservative)."""
        wanted = self._confidence(confidence)
        check_confidence(wanted)
        if simultaneous:
            wanted = 1 - (1 - wanted) / (1 + len(QUANTILES))
        bias, live = self.bias and Interval(*(end[:1] for end in self.bias)), self.live is not None
        own = self.estimates[:1], self.standard_error[:1]
        around = np.ravel(interval_around(*own, self.reach(wanted), bias=bias, live=live))
        quantiles = (self.quantile(share, wanted)[1:] for share in QUANTILES)
        return Interval(*np.array([around, *quantiles]).T)

    def records(self, confidence: float | None = None) -> list[dict[str, Any]]:
        """Return the rows; those of quantiles are conservative, and their intervals if smooth stand beside."""
        smooth = [(None, None), *(self.quantile(share, confidence, smooth=True)[1:] for share in QUANTILES)]
        return [
            {**row, "conservative": wide, "smooth_low": low, "smooth_high": high}
            for row, wide, (low, high) in zip(
                super().records(confidence), self.conservative.tolist(), smooth, strict=True
            )
        ]

    def _extras(self, confidence: float) -> dict[str, Any]:
        fitted, (low, high) = self.density, self.density.band(self.fit_confidence(confidence))
        curve = {
            "edges": fitted.edges,
            "shares": fitted.shares,
            "low": low * fitted.width,
            "high": high * fitted.width,
            "roughness": fitted.roughness,
            "converged": fitted.converged,
        }
        return {**super()._extras(confidence), "density": curve}

    def plot(self, confidence: float | None = None, *, truth: FloatArray | None = None, axes: Any = None) -> Any:
        """Draw the density with both bands (needs the extra `plots`); `truth` adds true shares of the buckets."""
        axes = self.density.plot(self._confidence(confidence), truth=truth, axes=axes)
        axes.set_title(f"{self.question}: {axes.get_title(loc='left')}", loc="left", fontsize=11)
        axes.set_xlabel(self.unit)
        return axes


def require_range(low: float, high: float, bounds: tuple[float, float]) -> None:
    """Refuse a range that is empty or reaches beyond the bounds."""
    first, last = bounds
    if not first <= low < high <= last:
        raise EstimateError(f"low and high must be between {first:g} and {last:g}, low below high")


def range_row(
    sides: tuple[float, float], bounds: tuple[float, float], share: float, error: float, ends: tuple[float, float]
) -> Row:
    """Return the share of people from one number to below another, or to the upper bound, as a row.

    Its interval is no narrower than the estimate needs.
    """
    words = "to" if sides[1] == bounds[1] else "to below"
    return Row(f"{sides[0]:g} {words} {sides[1]:g}", share, error, min(ends[0], share), max(ends[1], share))


def check_mean(method: str, differ: float | None, target: str, *, mean_only: bool, several: bool = True) -> None:
    """Refuse options of a mean that there are not, or that do not go together."""
    one_of("method", method, tuple(WORDS))
    check_options(differ, target)
    if several and differ != 0 and method == "fitted":
        raise EstimateError(
            "the mean of a fitted density takes people of all levels to be alike: add differ=0 (--differ 0) to say so"
        )
    if differ and method != "weights":
        raise EstimateError("a bound on differences of levels needs the method weights")
    if mean_only and method in {"posterior", "fitted"}:
        raise EstimateError(f"method must be weights or average: {NO_DENSITY}")


def assumed_of_mean(method: str, differ: float | None, target: str) -> tuple[str, ...]:
    """Return what the error of a mean assumes where levels show."""
    people = (notes.SAMPLE,) if target == "population" else ()
    same = notes.SAME_DISTRIBUTION if method == "fitted" else notes.SAME_MEAN
    together = differ == 0 and method in {"weights", "fitted"}
    return (*people, same if together else notes.ANY_SUBSET, notes.HONEST_DEVICES)


def fitted_mean(fitted: Density) -> tuple[float, float]:
    """Return the mean of a fitted density on [−1, 1], and its variance for a random sample of people."""
    scale = 2 / (fitted.bounds[1] - fitted.bounds[0])
    own = (fitted.mean_standard_error * scale) ** 2
    return (fitted.mean - fitted.bounds[0]) * scale - 1, own + spread(fitted.shares) / fitted.people
