"""A number from the joined reports of several services: its mean, and quantiles and density where levels show.

Every cell of a service (an output, with a label where levels are hidden) counts for an unbiased number z with mean v,
whatever levels depend on. A person's numbers are combined as Σ_j w_j z_j with Σ w = 1; the ways differ in the weights:

| method | weights of a person's services |
| --- | --- |
| `"weights"` | 1/V_j, V_j the noise of z_j at the estimated population: constants, so unbiased |
| `"average"` | equal (UA) |
| `"posterior"` | 1/V_j at the person's own posterior instead (UWA): depends on the noise, so slightly biased |
| `"fitted"` | none: the mean of the fitted density |

The population is estimated by a smooth density. Where numbers were asked for their mean only, or services hide levels,
two moments take its place (`two_moments`), and the last two methods, which need more than that, are refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal, NamedTuple

import numpy as np
from scipy.linalg import block_diag

from pldp.errors import EstimateError
from pldp.estimates.fused.combine import OWN_ERRORS, Joined
from pldp.estimates.fused.services import Part, Subsets, join_note, mixed_services, source_groups
from pldp.estimates.kinds.number import SPLINES, fit_progress, pool_by_size
from pldp.estimates.kinds.number_result import (
    WORDS,
    Mean,
    MeanResult,
    NumberResult,
    assumed_of_mean,
    check_mean,
    fitted_mean,
)
from pldp.estimates.likelihood.density import Density, fit_density
from pldp.estimates.likelihood.log_density import DensityProgress
from pldp.estimates.likelihood.profile import Profile
from pldp.estimates.likelihood.rows import PrefixRows, source_pieces
from pldp.estimates.linear.evidence import by_target
from pldp.estimates.linear.numbers import (
    ENOUGH,
    MOMENTS,
    PER_KURTOSIS,
    Flags,
    centres,
    compare_moments,
    moment_values,
    moment_weights,
    source_counts,
    spread,
    two_moments,
)
from pldp.estimates.linear.pooling import decode
from pldp.estimates.results import notes
from pldp.estimates.results.alike import beside_alike
from pldp.estimates.results.facts import Homogeneity, Note
from pldp.estimates.results.options import NO_BOUND, Options, Target, pooling_words
from pldp.mechanisms.arrays import FloatArray, IntArray
from pldp.tallies import ABSENT, Fused

MeanMethod = Literal["weights", "average", "posterior", "fitted"]

PAPER_NAMES: Final = {"ua": "average", "uwa": "posterior", "ule": "fitted"}
"""Methods by their names in the paper on several services."""

METHODS: Final = (*WORDS, *PAPER_NAMES)

_POPULATION_TUPLES: Final = 50_000
"""Tuples that the population behind the weights is estimated from."""

_FEW_ENVELOPES: Final = 3

_BY_PRECISION: Final = {"weights", "fitted"}
"""Methods that pool people by precision where that is asked for; others weigh all alike, as their paper does."""

_LEAST_NOISE: Final = 3e-5
"""Noise of a moment of a source that hides nothing: it then counts as nearly certain, not as certain."""


def mean(
    fused: Fused, *, method: MeanMethod = "weights", target: Target = "population", differ: float | None = None
) -> Mean:
    """Estimate the mean of the numbers behind a fused tally, all of whose services must have channels for numbers.

    `method` says how a person's services are weighted, `differ` how much people do who gave to different
    ones: 0 if they are alike, otherwise nothing is assumed. The methods `"average"` and `"posterior"` weigh all people
    alike, as their paper does; a fitted density cannot. The error for the `"population"` includes that these people are
    a random sample of it; `"respondents"` are exactly these people.

    Examples
    --------
    >>> from pldp.mechanisms import build
    >>> from pldp.simulate import perturb_numbers
    >>> from pldp.tallies import Service, fuse
    >>> generator = np.random.default_rng(1)
    >>> values, keys = np.full(10_000, 48), np.arange(10_000)
    >>> channels = [build(name, 64, 1_000_000) for name in ("sr", "sw")]
    >>> fused = fuse([Service(c.mechanism, c, keys, perturb_numbers(c, values, generator), (0, 64)) for c in channels])
    >>> found = mean(fused)
    >>> abs(found.value - 48.5) < 4 * found.standard_error, round(found.standard_error, 2)
    (True, 0.46)
    """
    return JoinedNumbers(fused, method, target, differ).result.mean


def density(fused: Fused, *, splines: int | None = None, progress: DensityProgress | None = None) -> Density:
    """Fit a distribution to a fused tally: smooth, and rough only where the reports leave no other way.

    The number of `splines` of a smooth density and roughness are chosen from the data if it is not given; `progress` is
    called with the number of splines and of steps.

    Examples
    --------
    >>> from pldp.mechanisms import Grid, build
    >>> from pldp.simulate import perturb_numbers, to_buckets
    >>> from pldp.tallies import Service, fuse
    >>> generator = np.random.default_rng(1)
    >>> values = to_buckets(Grid(0, 1, 64), generator.beta(2, 5, 20_000))
    >>> channels = [build(name, 64, 1_000_000) for name in ("pm", "sw")]
    >>> keys = np.arange(20_000)
    >>> services = [Service(c.mechanism, c, keys, perturb_numbers(c, values, generator), (0, 1)) for c in channels]
    >>> fitted = density(fuse(services))
    >>> fitted.splines, round(fitted.mean, 2), round(fitted.quantile(0.5)[0], 2)
    (24, 0.28, 0.27)
    """
    fitted = fit_density(fused, splines=splines, progress=progress)
    return replace(fitted, homogeneity=distribution_test(fused, fitted.shares))


class SourceNumbers(NamedTuple):
    """What the reports of a source say of functionals of a number: the number itself, or its moments."""

    cells: FloatArray  #: What they count for, cells × functionals.
    noise: FloatArray  #: The covariance that a report adds to the functionals of a person.
    enough: FloatArray  #: People who make each about normal; infinitely many of what it does not know.

    @classmethod
    def of(cls, fused: Fused, place: int, shares: FloatArray, *, moments: bool = False) -> SourceNumbers:
        """Take them at the estimated population."""
        source, counts = fused.sources[place], source_counts(fused, place)
        counted = decode(counts.moments(shares) if moments else counts.numbers(shares), None)
        table, values = by_target(counted.counted), moment_values(fused.size)
        chances = counted.evidence.expected(slice(0, 1), counted.states, counted.evidence.mix)[0]
        square, fourth = (table**power @ chances for power in (2, 4))
        known = np.all([moment_weights(channel)[1] for channel in source.channels], axis=0)[: len(table)]
        enough = np.divide(PER_KURTOSIS * fourth, square**2, out=np.full(len(table), np.inf), where=known)
        values = values[:, : len(table)]
        noise = (table * chances) @ table.T - values.T @ (shares[:, None] * values)
        return cls(counted.counted[source.labels, :, source.outputs.astype(np.intp)], noise, enough)


def distribution_test(fused: Fused, shares: FloatArray) -> Homogeneity | None:
    """Test whether people who gave to different services, or chose different levels, have the same distribution.

    `shares` are those of the estimated population. A person's reports are weighted by their precision, moment by
    moment. The test is `None` where fewer than two groups have enough people. `noticed` is a difference of means of the
    noisier and of the other groups that is noticed with a probability of at least 80 %, whatever else differs.
    """
    subsets, places = Subsets.of(fused), range(len(fused.sources))
    cells, noise, enough = zip(*(SourceNumbers.of(fused, place, shares, moments=True) for place in places), strict=True)
    # Subsets × services × moments: with fewer reports a moment is not normal enough.
    used = (subsets.people[:, None, None] >= np.maximum(enough, ENOUGH)) & subsets.given[:, :, None]
    precision = np.where(used, 1 / np.maximum(np.einsum("smm->sm", np.array(noise)), _LEAST_NOISE), 0.0)
    total = precision.sum(axis=1)
    within = precision / np.where(total > 0, total, 1.0)[:, None]
    means = np.zeros((len(total), MOMENTS))
    for (subset, place), counts in subsets.parts(fused, lambda _, counts: counts).items():
        means[subset] += within[subset, place] * (counts @ cells[place]) / subsets.people[subset]
    values = moment_values(fused.size)
    apart = values - shares @ values
    covariance = apart.T @ (shares[:, None] * apart) + np.einsum("gsm,gsn,smn->gmn", within, within, np.array(noise))
    return _compare_subsets(fused, subsets.people, means, covariance, total > 0)


def _compare_subsets(
    fused: Fused, people: IntArray, means: FloatArray, covariance: FloatArray, known: Flags
) -> Homogeneity | None:
    """Test whether people of all subsets have the same functionals, given the covariance of those of one person."""
    share, scale = people / people.sum(), (fused.bounds[1] - fused.bounds[0]) / 2
    blocks = [
        part**2 / number * own[np.ix_(some, some)]
        for part, number, own, some in zip(share, people, covariance, known, strict=True)
    ]
    noise = covariance[:, 0, 0].tolist()
    return compare_moments(share[:, None] * means, share, known, block_diag(*blocks), noise, scale)


class JoinedNumbers:
    """What the cells of every service count for, and means of that over the people who gave to the same services."""

    def __init__(self, fused: Fused, method: str, target: Target, differ: float | None) -> None:
        if differ:
            raise EstimateError(NO_BOUND.format("joined services"))
        mixed = mixed_services(fused)
        if mixed and method in {"posterior", "fitted"}:
            raise EstimateError(
                f"method must be weights or average (ua): service {mixed[0]!r} hides levels, and a curve from several "
                "services needs levels that show"
            )
        check_mean(method, differ, target, mean_only=fused.mean_only, several=len(Subsets.of(fused).people) > 1)
        self.fused, self.method, self.target, self.differ = fused, method, target, differ
        self.fitted = density(fused, splines=SPLINES) if method == "fitted" else None
        population = self._population() if self.fitted is None else self.fitted.shares
        sources = [SourceNumbers.of(fused, place, population) for place in range(len(fused.sources))]
        self.subsets, self.spread = Subsets.of(fused), spread(population)
        self.scale = (fused.bounds[1] - fused.bounds[0]) / 2
        self.numbers = [source.cells[:, 0] for source in sources]
        self.noise = np.array([source.noise[0, 0] for source in sources])
        self.counts = self.subsets.parts(fused, lambda _, counts: counts)

    def _population(self) -> FloatArray:
        """Return likely shares of the buckets."""
        fused, places = self.fused, range(len(self.fused.sources))
        if why_mean_only(fused) is not None:
            return two_moments([source_counts(fused, place) for place in places])
        # Services with many envelopes (Laplace) are left out if there are others: weights need no exact population.
        rows = [source_pieces(fused, place) for place in places]
        few = [fused.sources[place].name for place in places if len(rows[place].envelopes) <= _FEW_ENVELOPES]
        simplest = fused.only(*few) if 0 < len(few) < len(rows) else fused
        return fit_density(simplest.thin(_POPULATION_TUPLES), splines=SPLINES).shares

    @property
    def result(self) -> MeanResult:
        """The mean as it was asked for."""
        return self.stated(self.differ)

    def stated(self, differ: float | None) -> MeanResult:
        """Return the mean and what is to be said of it, people of different subsets alike or not."""
        method, said = self.method, differ if len(self.subsets.people) > 1 else None
        fused, asked, joined = self.fused, self.fused.asked, self._joined(method, differ)
        number, variance, test = self._estimated(method, joined)
        weights, drawn = 1 / self._added(method), 0.0 if self.target == "population" else self.spread
        groups = source_groups(fused, (weights / weights.sum()).tolist())
        reach = [float(np.ptp(z)) * self.scale for z in self.numbers]  # from the least to the most that a report counts
        mean = Mean(
            value=self._place(number),
            standard_error=self._error(max(variance - drawn / fused.people, 0.0)),
            people=fused.people,
            method=method,
            target=self.target,
            services=self._alone(drawn),
            weights={group.level: group.weight for group in groups},
            homogeneity=test,
            assumptions=assumed_of_mean(method, said, self.target),
        )
        return MeanResult(
            question=asked.name,
            text=asked.text,
            unit=asked.unit,
            reports=mean.people,
            method=WORDS[method].format(pool=pooling_words(said)),
            target=mean.target,
            groups=groups,
            homogeneity=test,
            assumptions=mean.assumptions,
            notes=(*notes.subsets_disagree(test, differ), join_note(fused)),
            standard_error=np.array([mean.standard_error]),
            mean=mean,
            bounds=asked.limits or fused.bounds,
            moves=joined.forged(lambda part: reach[part[1]]),
        )

    def _estimated(self, method: str, joined: Joined) -> tuple[float, float, Homogeneity | None]:
        """Return the mean on [−1, 1], its variance for a random sample of people, and the test."""
        if method == "fitted" and self.fitted is not None:
            return (*fitted_mean(self.fitted), self.fitted.homogeneity)
        return self._posterior() if method == "posterior" else self._combined(joined)

    def _alone(self, drawn: float) -> dict[str, tuple[float, float]]:
        """Return the mean of each service on its own, and its standard error."""
        found = {}
        for (_, place), counts in Subsets.whole(self.fused).parts(self.fused, lambda _, counts: counts).items():
            mean, people = counts @ self.numbers[place] / counts.sum(), counts.sum()
            variance = (self.noise[place] + self.spread - drawn) / people
            found[self.fused.sources[place].name] = self._place(mean), self._error(variance)
        return found

    def _place(self, number: float) -> float:
        """Return a number on [−1, 1] in the unit of the bounds."""
        return self.fused.bounds[0] + (float(number) + 1) * self.scale

    def _error(self, variance: float) -> float:
        """Return the standard error in the unit of the bounds."""
        return float(np.sqrt(variance)) * self.scale

    def _added(self, method: str) -> FloatArray:
        """Return the noise that the weights of services are made for: averages take it to be the same of all."""
        return np.ones(len(self.noise)) if method == "average" else self.noise

    def _joined(self, method: str, differ: float | None) -> Joined:
        """Return the means of all parts with their weights."""
        people = self.subsets.people
        means = {part: counts @ self.numbers[part[1]] / people[part[0]] for part, counts in self.counts.items()}
        return Joined(
            self.subsets, means, self._added(method), self.spread, differ if method in _BY_PRECISION else None
        )

    def _combined(self, joined: Joined) -> tuple[float, float, Homogeneity | None]:
        """Weigh the reports of every person by constants."""
        people, means = self.subsets.people, joined.of_subsets
        left = np.array([*joined.left(lambda part: self.noise[part[1]])])
        if mixed_services(self.fused):
            # Who shows a strict level at one service may hide one at another: a subset has noise of its own.
            own = np.array([*joined.left(lambda part: self._own_noise(part, joined.means[part]))])
            left = np.where(people >= OWN_ERRORS, np.maximum(own, 0.0), left)
        one, known = (left + self.spread)[:, None, None], np.ones((len(people), 1), np.bool_)
        test = _compare_subsets(self.fused, people, means[:, None], one, known)
        return float(joined.estimates), float(joined.variance(left, np.array(self.spread), "population")), test

    def _own_noise(self, part: Part, mean: FloatArray) -> FloatArray:
        """Return the noise of a report of a part, by the reports that came."""
        square = self.counts[part] @ self.numbers[part[1]] ** 2 / self.subsets.people[part[0]]
        return np.asarray(square - mean**2 - self.spread)

    def _posterior(self) -> tuple[float, float, None]:
        """Weigh the reports of every person by the noise at the person's own posterior."""
        fused = self.fused
        squares = np.array([source_pieces(fused, place).expectation(z**2) for place, z in enumerate(self.numbers)])
        variances = squares - centres(fused.size) ** 2
        weights = np.where(fused.cells == ABSENT, 0.0, posterior_weights(fused, variances))
        counted = np.transpose([z[cells] for z, cells in zip(self.numbers, fused.cells.T, strict=True)])
        numbers = (weights * counted).sum(axis=1) / weights.sum(axis=1)
        value = float(fused.counts @ numbers / fused.people)
        square = float(fused.counts @ (numbers - value) ** 2 / fused.people)
        return value, max(square, self.spread) / fused.people, None


def posterior_weights(fused: Fused, variances: FloatArray) -> FloatArray:
    """Return 1/V_j of every tuple and service, V_j averaged over the posterior from equal shares (UWA)."""
    rows, uniform = PrefixRows(fused), np.full(fused.size, 1 / fused.size)
    evidence = rows.forward(uniform)[0]
    weights = np.empty((len(fused.counts), len(variances)))
    for place, variance in enumerate(variances):
        weights[rows.order, place] = evidence / rows.forward(uniform * variance)[0]
    return weights


def why_mean_only(fused: Fused) -> Note | None:
    """Say why joined reports show no distribution, where they do not."""
    if mixed_services(fused):
        return notes.HIDDEN_MEAN
    return notes.MEAN_ONLY if fused.mean_only else None


def fused_number(fused: Fused, options: Options) -> MeanResult | NumberResult:
    """Return the mean, and quantiles and density unless only the mean was asked for."""
    name = options.method or "weights"
    joined, why = (
        JoinedNumbers(fused, PAPER_NAMES.get(name, name), options.target, options.differ),
        why_mean_only(fused),
    )
    several = len(joined.subsets.people) > 1
    if why is not None:
        made = beside_alike(joined.stated, options.differ, several=several)
        return replace(made, notes=(*made.notes, why))
    fitted, single = density(fused, progress=fit_progress(options)), one_report_each(fused)
    each = () if single is fused else (notes.ONE_REPORT_EACH,)

    def with_quantiles(differ: float | None) -> NumberResult:
        found, test = joined.stated(differ), fitted.homogeneity
        together = differ == 0 or not several
        pools = (notes.CURVE_POOLS_SUBSETS,) if together and test is not None and test.rejected else ()
        about = (*notes.subsets_disagree(test, differ), join_note(fused), *each, *pools)
        assumed = (*found.assumptions, *((notes.CURVE_ASSUMES,) if together else ()))
        found = replace(found, homogeneity=test, notes=about, assumptions=assumed)
        if together:
            return found.with_curve(fitted, Profile(single), options)
        return found.with_curve(pool_by_size(single, lambda: fitted), Profile(single, apart=True), options)

    return beside_alike(with_quantiles, options.differ, several=several)


def one_report_each(fused: Fused) -> Fused:
    """Return the tally with one report of each person: that of the source with the largest ε, the first among equals.

    Intervals without smoothness are known for people who gave one report each. Which one is kept does not depend on
    what the reports say, so these people's reports are as good as any.
    """
    given = fused.cells != ABSENT
    if (given.sum(axis=1) <= 1).all():
        return fused
    prices = np.array([float(source.micro_epsilon) for source in fused.sources])
    best = np.argmax(np.where(given, prices, -1.0), axis=1)
    cells = np.where(np.arange(len(prices)) == best[:, None], fused.cells, ABSENT)
    counts = [int(fused.counts[column != ABSENT].sum()) for column in cells.T]
    sources = tuple(replace(source, reports=count) for source, count in zip(fused.sources, counts, strict=True))
    kept = replace(fused, sources=sources, cells=cells)
    return kept.only(*(source.name for source in sources if source.reports))
