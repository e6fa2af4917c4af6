"""A number: its mean, quantiles and density, or its mean alone."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.estimates.kinds.sides import RangeSide, Side
from pldp.estimates.likelihood.density import NO_DENSITY, Density
from pldp.estimates.likelihood.misfit import Reported
from pldp.estimates.likelihood.profile import Profile, QuantileProfile
from pldp.estimates.numbers.means import Mean
from pldp.estimates.numbers.reports import METHODS as WORDS
from pldp.estimates.numbers.reports import NumberReports, reports_of
from pldp.estimates.results.facts import PersonWeights
from pldp.estimates.results.intervals import CONFIDENCE, Interval, Row, check_confidence, fit_confidence, normal_reach
from pldp.estimates.results.notes import (
    CONSERVATIVE,
    CURVE_ASSUMES,
    CURVE_POOLS,
    CURVE_UNFINISHED,
    HEAPED,
    MEAN_ONLY,
    QUANTILES_OF_POPULATION,
    of_one_survey,
)
from pldp.estimates.results.options import Mix, Options, Pool
from pldp.estimates.results.result import Result
from pldp.mechanisms.arrays import FloatArray, arrays
from pldp.survey import Number
from pldp.tallies import Fused, Tally

METHODS: Final = tuple(WORDS)

QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Shares of people below the quantiles that a result lists."""

ONE_ERROR: Final = 0.6826894921370859
"""Confidence of an interval that reaches one standard error to both sides."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class _OfNumber(Result):
    """What every result of a number has: the mean, in these bounds.

    `moves` is how far one forged report moves the mean at most.
    """

    kind: ClassVar[str] = "number"

    mean: Mean
    bounds: tuple[float, float]
    moves: float

    @property
    def scale(self) -> tuple[Any, ...]:
        """Bounds and unit of the number, and what is known of it."""
        return (*self.bounds, self.unit, *(("mean only",) if len(self.labels) == 1 else ()))

    def person_weights(self) -> PersonWeights | None:
        """Return the weight of each person in the mean, unless that is the mean of a fitted density."""
        return None if self.mean.method == "fitted" else super().person_weights()

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
        """Return the share of people with at most this number; see `range`."""
        return self.range(self.bounds[0], number, confidence, smooth=smooth)._replace(label=f"≤ {number:g}")

    def range(self, low: float, high: float, confidence: float | None = None, *, smooth: bool = False) -> Row:
        """Return the share of people between two numbers, with its error and interval.

        The interval assumes nothing about the distribution; with `smooth`, that it is a smooth curve. It follows from
        the intervals of the listed quantiles, and is far wider than that of `share_between`.
        """
        first, last = self.bounds
        if not first <= low < high <= last:
            raise EstimateError(f"low and high must be between {first:g} and {last:g}, low below high")
        wanted = self.fit_confidence(self._confidence(confidence))
        share, error = self.density.share(low, high)
        if smooth:
            curve = (self.density.smooth or self.density).share(low, high)[0]
            reach = normal_reach(wanted) * error
            least, most = max(0.0, curve - reach), min(1.0, curve + reach)
        else:
            least, most = self.profile.range(low, high, wanted)
        return Row(f"{low:g} to {high:g}", share, error, min(least, share), max(most, share))

    def interval(self, confidence: float | None = None, *, simultaneous: bool = False) -> Interval:
        """Return an interval for the mean (normal) and for each quantile (conservative)."""
        wanted = self._confidence(confidence)
        check_confidence(wanted)
        if simultaneous:
            wanted = 1 - (1 - wanted) / (1 + len(QUANTILES))
        reach = self.reach(wanted) * self.mean.standard_error
        around = (self.mean.value - reach, self.mean.value + reach)
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


def share_between(
    tally: Tally,
    question: str,
    low: float,
    high: float,
    *,
    confidence: float = CONFIDENCE,
    pool: Pool = "precision",
    mix: Mix | None = None,
) -> Row:
    """Return the share of people whose number lies between two numbers, with an interval for any distribution.

    Where an end lies inside a bucket, the estimate takes the bucket's people to be spread evenly; the interval does
    not: it begins with the share of the buckets that are wholly inside and ends with that of all that are partly
    inside. `pool` and `mix` are those of `Options`; with `size` people of every level may have a distribution of their
    own.

    Examples
    --------
    >>> from pldp import Survey, tally
    >>> from pldp.simulate import Population, simulate_reports
    >>> survey = Survey.load("examples/shopping.toml")
    >>> people = Population.of_shares(survey, 20_000, seed=1)
    >>> row = share_between(tally(survey, simulate_reports(survey, people, seed=1)), "spent", 0, 75)
    >>> row.low < row.estimate < row.high, row.label
    (True, '0 to 75')
    """
    asked = tally.survey.question(question)
    if not isinstance(asked, Number):
        raise EstimateError(
            f"shares between two numbers are those of numbers; question {question!r} is of kind {asked.kind}"
        )
    first, last = asked.limits
    if not first <= low < high <= last:
        raise EstimateError(f"low and high must be between {first:g} and {last:g}, low below high")
    curve, reports = _curve(tally, asked, Options(pool=pool, mix=mix))
    share, error = curve.share(low, high)
    least, most = Profile(reports, apart=pool == "size").range(low, high, confidence)
    return Row(f"{low:g} to {high:g}", share, error, min(least, share), max(most, share))


def estimate(tally: Tally, question: Number, options: Options) -> Result:
    """Return the mean, and quantiles and density unless only the mean was asked for."""
    reports = NumberReports.of(tally, question, options)
    shared, beside = reports.describe(options.method or "weights", options.pool), None
    if options.pool == "precision" and len(reports.evidence.levels) > 1:
        beside = reports.describe("weights", "size")
        shared["mean"] = replace(shared["mean"], by_size=beside["mean"])
    if reports.fitted is None:
        found = None if beside is None else MeanResult(**beside)
        return MeanResult(**shared | {"assumption_free": found, "notes": (*shared["notes"], MEAN_ONLY)})
    shared["notes"] += reports.untested
    fitted, model = replace(reports.fitted, homogeneity=reports.test), reports.shown
    reported = model.reported(fitted)
    if len(reports.evidence.levels) == 1:
        return with_curve(shared, fitted, Profile(reported), options)
    apart = model.fit_apart(fitted), Profile(reported, apart=True)
    if beside is None:
        return with_curve(shared, *apart, options)
    if reports.test is not None and reports.test.rejected:
        shared["notes"] += (CURVE_POOLS,)
    shared["assumptions"] += of_one_survey([CURVE_ASSUMES])
    return with_curve(
        shared | {"assumption_free": with_curve(beside, *apart, options)}, fitted, Profile(reported), options
    )


def with_curve(
    shared: dict[str, Any],
    fitted: Density,
    profile: Profile,
    options: Options,
    made: type[NumberResult] = NumberResult,
) -> NumberResult:
    """Return the result with quantiles from this curve, and what their intervals are looked up in."""
    wanted = options.confidence
    if options.live is not None:
        wanted = fit_confidence(wanted, shared["reports"] / options.live)
    notes = {
        CONSERVATIVE: True,
        QUANTILES_OF_POPULATION: shared["target"] == "respondents",
        HEAPED: fitted.roughness,
        CURVE_UNFINISHED: not fitted.converged,
    }
    quantiles = np.array([fitted.quantile(share, ONE_ERROR)[1:] for share in QUANTILES])
    errors = np.array([*shared["standard_error"], *(np.diff(quantiles)[:, 0] / 2)])
    noted = shared["notes"] + tuple(note for note, holds in notes.items() if holds)
    return made(
        **shared | {"notes": noted, "standard_error": errors},
        density=fitted,
        profile=profile.quantiles(QUANTILES, wanted),
    )


def side(tally: Tally, question: Number, options: Options) -> Side:
    """Return what the question brings to a table: ranges, by the fitted distribution of the number."""
    fitted, reports = _curve(tally, question, options)
    forms = [arrays(channel) for channel in question.channels]
    return RangeSide.of(question.name, forms, fitted, reports, (options.ranges or {}).get(question.name))


def _curve(tally: Tally, question: Number, options: Options) -> tuple[Density, Fused | Reported]:
    """Return the density of the number alone, and the reports by which any histogram can be judged."""
    reports = reports_of(tally, question, options)
    fitted = reports.curve()
    return fitted, reports.reported(fitted)
