"""A number: its mean, quantiles and density, or its mean alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, cast

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.estimates.notes import (
    CONSERVATIVE,
    CURVE_ASSUMES,
    CURVE_POOLS,
    CURVE_UNFINISHED,
    HEAPED,
    MEAN_ONLY,
    QUANTILES_OF_POPULATION,
    levels_disagree,
    levels_untested,
    of_one_survey,
)
from pldp.estimates.numbers.density import FEWEST, NO_DENSITY, Density, density, fit_density, pool_densities
from pldp.estimates.numbers.dependence import untested_groups
from pldp.estimates.numbers.hidden_estimate import estimate_hidden, fit_hidden
from pldp.estimates.numbers.means import Mean, MeanMethod, mean
from pldp.estimates.numbers.misfit import Reported
from pldp.estimates.numbers.profile import Profile
from pldp.estimates.options import SHARED, Options
from pldp.estimates.result import (
    GroupReports,
    Interval,
    PersonWeights,
    Result,
    Row,
    check_confidence,
    normal_reach,
)
from pldp.estimates.tables import Margin, NumberSide, Ranges, Side
from pldp.mechanisms.arrays import FloatArray, arrays, piecewise_arrays
from pldp.survey import Number
from pldp.tallies import Fused, Tally, fused_of

OPTIONS: Final = (*SHARED, "method", "mix")

METHODS: Final = {
    "weights": "unbiased, pooled by {pool}",
    "average": "unbiased, all reports weighted alike",
    "posterior": "weighted by each person's posterior",
    "fitted": "mean of the fitted density",
}
"""How means are made, in words."""

QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Shares of people below the quantiles that a result lists."""

_SPLINES: Final = 24
"""Detail of the curve of a single level: the quantiles of all levels together do not depend on finer detail."""

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

    Intervals of quantiles and shares assume nothing about the distribution and are conservative (`profile`). Those of
    the smooth curve are narrower, and right if the distribution is one (`smooth=True`). Standard errors are those of
    the smooth curve, too: of a quantile, half the width of its 68 % interval.
    """

    density: Density
    profile: Profile

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

        The interval assumes nothing about the distribution; with `smooth`, that it is a smooth curve. Where an end lies
        inside a bucket, the estimate takes the bucket's people to be spread evenly; the interval does not: it begins
        with the share of the buckets that are wholly inside and ends with that of all that are partly inside.
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


def estimate(tally: Tally, question: Number, options: Options) -> Result:
    """Return the mean, and quantiles and density unless only the mean was asked for."""
    if tally.survey.level_channel is not None:
        return _hidden(tally, question, options)
    fused = fused_of(tally, question.name)
    method = cast("MeanMethod", options.method or "weights")
    found = mean(fused, method=method, target=options.target, pool=options.pool)
    shared = _of_mean(fused, question, found, options.pool)
    if question.for_mean:
        if found.by_size is not None:
            shared["assumption_free"] = MeanResult(**_of_mean(fused, question, found.by_size, "size"))
        return MeanResult(**shared | {"notes": (*shared["notes"], MEAN_ONLY)})
    progress = options.progress
    fitted = density(fused, progress=None if progress is None else lambda _, steps: progress(steps))
    # The test of the whole distribution takes the place of that of the mean alone.
    shared["homogeneity"] = tested = fitted.homogeneity
    shared["notes"] = (*levels_disagree(tested, options.pool), *levels_untested(untested_groups(fused)))
    if len(fused.sources) == 1:
        return with_curve(shared, fitted, Profile(fused))
    apart = pool_by_size(fused, fitted), Profile(fused, apart=True)
    if options.pool == "size":
        return with_curve(shared, *apart)
    beside = with_curve(_of_mean(fused, question, found.by_size or found, "size"), *apart)
    if tested is not None and tested.rejected:
        shared["notes"] += (CURVE_POOLS,)
    shared["assumptions"] += of_one_survey([CURVE_ASSUMES])
    return with_curve(shared | {"assumption_free": beside}, fitted, Profile(fused))


def _hidden(tally: Tally, question: Number, options: Options) -> Result:
    """Return the same where levels are hidden."""
    found = estimate_hidden(tally, question, options)
    if found.curves is None:
        free = MeanResult(**found.free)
        return MeanResult(**found.shared | {"assumption_free": free, "notes": (*found.shared["notes"], MEAN_ONLY)})
    curves = found.curves
    beside = with_curve(found.free, curves.free, Profile(curves.reports, apart=True))
    return with_curve(found.shared | {"assumption_free": beside}, curves.fitted, Profile(curves.reports))


def with_curve(
    shared: dict[str, Any], fitted: Density, profile: Profile, made: type[NumberResult] = NumberResult
) -> NumberResult:
    """Return the result with quantiles from this curve, whose intervals come from the profile."""
    notes = {
        CONSERVATIVE: True,
        QUANTILES_OF_POPULATION: shared["target"] == "respondents",
        HEAPED: fitted.roughness,
        CURVE_UNFINISHED: not fitted.converged,
    }
    quantiles = np.array([fitted.quantile(share, ONE_ERROR)[1:] for share in QUANTILES])
    errors = np.array([*shared["standard_error"], *(np.diff(quantiles)[:, 0] / 2)])
    noted = shared["notes"] + tuple(note for note, holds in notes.items() if holds)
    return made(**shared | {"notes": noted, "standard_error": errors}, density=fitted, profile=profile)


def pool_by_size(fused: Fused, fitted: Density | None = None) -> Density:
    """Return the curves of the levels, added up; the `fitted` one of all people stands in for a level of too few."""
    parts = [fused.only(source.name) for source in fused.sources]
    if fitted is None and any(part.people < FEWEST for part in parts):
        fitted = fit_density(fused)
    curves = [fitted if fitted and part.people < FEWEST else fit_density(part, splines=_SPLINES) for part in parts]
    return pool_densities(curves, np.array([part.people for part in parts]) / fused.people)


def _of_mean(fused: Fused, question: Number, found: Mean, pool: str) -> dict[str, Any]:
    """Return what a result says of the mean."""
    weights = _level_weights(fused, found, pool)
    return {
        "question": question.name,
        "text": question.text,
        "mean": found,
        "bounds": question.limits,
        "unit": question.unit,
        "moves": _moves(fused, weights),
        "reports": found.people,
        "method": METHODS[found.method].format(pool=pool),
        "target": found.target,
        "standard_error": np.array([found.standard_error]),
        "groups": tuple(
            GroupReports(
                source.name, source.channel.mechanism, question.answer_epsilon(source.name), source.reports, weight
            )
            for source, weight in zip(fused.sources, weights.tolist(), strict=True)
        ),
        "homogeneity": found.homogeneity,
        "assumptions": of_one_survey(found.assumptions),
        "notes": levels_disagree(found.homogeneity, pool),
    }


def _level_weights(fused: Fused, found: Mean, pool: str) -> FloatArray:
    """Return the weight of each level in the mean."""
    reports = np.array([source.reports for source in fused.sources])
    if pool == "precision" and found.method not in {"average", "posterior"}:
        # Weights by precision follow from the errors for the population.
        population = found if found.target == "population" else mean(fused)
        precision = np.array([error for _, error in population.services.values()]) ** -2
        return np.asarray(precision / precision.sum())
    return np.asarray(reports / reports.sum())


def _moves(fused: Fused, weights: FloatArray) -> float:
    """Return how far one forged report moves the mean: at level g it counts for w_g/n_g of its number on [−1, 1]."""
    reports = np.array([source.reports for source in fused.sources])
    reach = np.array([np.ptp(piecewise_arrays(source.channel).unbiased()) for source in fused.sources])
    return float((weights / reports * reach).max()) * (fused.bounds[1] - fused.bounds[0]) / 2


def side(tally: Tally, question: Number, options: Options, edges: Sequence[float] | None) -> Side:
    """Return what the question brings to a table: ranges, by the fitted distribution of the number."""
    fitted, reports = _curve(tally, question, options)
    ranges = Ranges.of(question.name, fitted, edges)
    margin = Margin(question.name, ranges.labels, ranges.sums, ranges.sums / ranges.sums.sum(), fitted.people)
    return NumberSide(margin, [arrays(channel) for channel in question.channels], ranges, reports)


def _curve(tally: Tally, question: Number, options: Options) -> tuple[Density, Fused | Reported]:
    """Return the density of the number alone, and the reports by which any histogram can be judged."""
    if tally.survey.level_channel is not None:
        return fit_hidden(tally, question, options)
    fused = fused_of(tally, question.name)
    if options.pool == "size" and len(fused.sources) > 1:
        return pool_by_size(fused), fused
    return fit_density(fused), fused
