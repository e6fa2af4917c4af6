"""Do reports look forged? Tests for what honest reports cannot have, whatever the population.

Every test is about a law of the channel that holds for all populations (`pldp.mechanisms.honest`), so it says nothing
about the answers. Where levels show, each level is tested alone; where they are hidden, reports of all labels together
are compared with what any mixture of the levels can make. A p-value counts everything that its test looked at, and the
smallest one is multiplied by the number of tests: all tests of a question together raise a false alarm with a
probability of `FALSE_ALARM` at most.

What no test sees is bounded by `manipulation`: reports that could be honest, such as those that aim at one value each.

References: Cao, Jia, Gong, "Data Poisoning Attacks to Local Differential Privacy Protocols" (2021), who forge reports
with many targets each and look for bits that come together; Cheu, Smith, Ullman, "Manipulation Attacks in Local
Differential Privacy" (2021), for what no test can see.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, cast

import numpy as np
from scipy.optimize import nnls
from scipy.special import betainc, chdtrc, gammainc, gammaln, ndtr

from pldp.forgery.crowd import Places, centred, densest, excess
from pldp.mechanisms import Bits
from pldp.mechanisms.arrays import ChannelArrays, FloatArray, PairLaw, Range, arrays, rows_of
from pldp.survey import Question
from pldp.tallies import BitCounts, OutputCounts, Tally

FALSE_ALARM: Final = 0.001  # how often honest reports of one question raise an alarm, at most
MOST_PRODUCTS: Final = 1 << 35  # products of two bits that are counted; of more reports a part is looked at
LARGEST_PAIRS: Final = 2048  # values whose pairs are looked at
LARGEST_SUPPORTS: Final = 1 << 18  # values, or outputs of sets, whose shares are looked at one by one
LEAST_EXPECTED: Final = 10  # reports that a cell of a χ² test must expect


@dataclass(frozen=True)
class ForgeryTest:
    """One test, the level it is about (empty: all), its p-value, and what it found in words, if anything.

    The p-value counts all values, pairs or outputs that the test looked at, but not the other tests.
    """

    test: str
    level: str
    p_value: float
    finding: str


@dataclass(frozen=True)
class Forgery:
    """Whether reports look forged: `p_value` of all tests together, `alarmed` if it is below `false_alarm`.

    `tests` are those that were made, the most suspicious one first; `unseen` says what could not be looked at. No alarm
    does not mean that no report is forged.
    """

    p_value: float
    alarmed: bool
    false_alarm: float
    tests: tuple[ForgeryTest, ...]
    unseen: tuple[str, ...] = ()


def forgery_of(tally: Tally, question: Question) -> Forgery:
    """Test the reports of a question.

    >>> from pldp import Survey, tally
    >>> from pldp.simulate import Population, simulate_reports
    >>> survey = Survey.load("examples/commute.toml")
    >>> people = Population.of_shares(survey, 5_000, seed=1)
    >>> counted = tally(survey, simulate_reports(survey, people, seed=1))
    >>> forgery_of(counted, survey.question("mode")).alarmed
    False
    """
    views, found = _views(tally, question), list[ForgeryTest]()
    for view in views:
        for name, look in TESTS.items():
            finding = look(view)
            if finding is not None:
                found.append(ForgeryTest(name, view.level, min(1.0, finding[0]), finding[1]))
    found.sort(key=lambda each: each.p_value)
    p_value = min(1.0, found[0].p_value * len(found)) if found else 1.0
    tests = tuple(each if each.p_value * len(found) < FALSE_ALARM else replace(each, finding="") for each in found)
    unseen = tuple(dict.fromkeys(view.unseen for view in views if view.unseen))
    return Forgery(p_value, p_value < FALSE_ALARM, FALSE_ALARM, tests, unseen)


@dataclass(frozen=True, eq=False)
class _View:
    """Reports that are tested together: of one level, or of all where levels are hidden."""

    level: str
    labels: tuple[str, ...]
    forms: tuple[ChannelArrays, ...]
    counts: Any

    @property
    def reports(self) -> int:
        return int(self.counts.reports)

    @property
    def form(self) -> ChannelArrays:
        return self.forms[0]

    @cached_property
    def has_rows(self) -> bool:
        """Whether reports are bits, and whole rows were kept."""
        return isinstance(self.counts, BitCounts) and self.counts.has_cells

    @property
    def rows(self) -> Any:
        return rows_of(cast("Bits", self.form.channel.form))

    @cached_property
    def support(self) -> FloatArray:
        return self.form.support(self.counts.tallied)

    @cached_property
    def limits(self) -> Range | None:
        """Between which probabilities reports support each value, whatever the mixture of levels."""
        ranges = [each for each in (form.support_range() for form in self.forms) if each is not None]
        if not ranges:
            return None
        low, high = (np.array([each[side] for each in ranges]) for side in (0, 1))
        return Range(low.min(axis=0), high.max(axis=0))

    @cached_property
    def laws(self) -> list[tuple[PairLaw, ...]]:
        return [form.pair_laws() for form in self.forms]

    @cached_property
    def step(self) -> int:
        """Every so-many-th row is looked at for pairs."""
        size = self.form.channel.size
        return -(-len(self.counts.cell_counts) * size**2 // MOST_PRODUCTS) if self.has_rows else 1

    @property
    def unseen(self) -> str:
        """What cannot be looked at, or not in whole."""
        if isinstance(self.counts, BitCounts) and not self.has_rows:
            return (
                "whole rows of bits were not kept, so bits that come together and repeated rows were not looked at; "
                "tally the reports with patterns"
            )
        if self.limits is not None and len(self.limits.low) > LARGEST_SUPPORTS:
            return "impossible shares were not looked at, as there are too many values or outputs"
        if not any(self.laws):
            return ""
        if self.form.channel.size > LARGEST_PAIRS:
            return "bits that come together were not looked at, as there are too many values"
        if self.step > 1:
            return "bits that come together were looked at in a part of the reports only, as there are many"
        return ""

    def label(self, place: int) -> str:
        return self.labels[place] if place < len(self.labels) else f"output {place}"


def _views(tally: Tally, question: Question) -> list[_View]:
    parts = [tally.counts[question.name, level.name] for level in question.levels]
    forms = tuple(arrays(channel) for channel in question.channels)
    labels = tuple(getattr(question, "values", ()))
    hidden = tally.survey.level_channel
    if hidden is not None:
        shown = OutputCounts(np.array([counts.reports for counts in parts]))
        names = tuple(f"level {level.name}" for level in question.levels)
        merge: Any = type(parts[0]).merge
        views = [_View("", labels, forms, merge(parts)), _View("", names, (arrays(hidden),), shown)]
        return views if shown.reports else []
    named = zip(question.levels, forms, parts, strict=True)
    return [_View(level.name, labels, (form,), counts) for level, form, counts in named if counts.reports]


Finding = tuple[float, str] | None
"""A p-value and what was found; nothing where a test does not apply."""


def _pairs(view: _View) -> Finding:
    """Look for values whose bits come together more often than in any honest population."""
    size = view.form.channel.size
    if not view.has_rows or not any(view.laws) or not 3 <= size <= LARGEST_PAIRS or view.limits is None:
        return None
    rows, counts = view.counts.patterns[:: view.step], view.counts.cell_counts[:: view.step]
    both = view.rows.pair_counts(rows, counts)
    support, reports = np.diag(both).copy(), float(counts.sum())
    known = all(laws == view.laws[0] for laws in view.laws)  # then their mixtures have the same laws, too
    if not known and size < 4:
        return None
    worst, members = 1.0, np.zeros(0, np.intp)
    for law in view.laws[0]:
        limits = Range(*(each[law.places] for each in view.limits))
        whole = reports if law.ones is None else float(support[law.places].sum()) / law.ones
        found = excess(both[np.ix_(law.places, law.places)], support[law.places], whole, law, limits)
        p_value, crowd = densest(found if known else found._replace(sums=centred(found.sums)))
        if p_value < worst:
            worst, members = p_value, law.places[crowd]
    values = [repr(view.label(int(place))) for place in members]
    named = ", ".join(values[:3]) + (f" and {len(values) - 3:,} more" if len(values) > 3 else "")
    finding = f"bits of {named} come together more often than any honest population allows"
    return worst * len(view.laws[0]), finding


def _ones(view: _View) -> Finding:
    """Compare how many ones reports have with the law of that number, which no value changes."""
    laws = [law for law in (form.ones_law() for form in view.forms) if law is not None]
    if len(laws) < len(view.forms):
        return None
    finding = "the number of ones per report is not the one that honest devices make"
    if view.has_rows:
        ones = view.rows.sums(np.ones(view.form.channel.size), view.counts.cell_rows).astype(np.intp)
        counts = np.bincount(ones, view.counts.cell_counts, minlength=len(laws[0]))
        p_value = _mixture(counts.astype(np.float64), np.array(laws).T)
        return None if p_value is None else (p_value, finding)
    if len(laws) > 1:
        return None
    number = np.arange(len(laws[0]))
    mean = float(laws[0] @ number)
    deviation = math.sqrt(view.reports * float(laws[0] @ (number - mean) ** 2))
    return 2 * float(ndtr(-abs(float(view.support.sum()) - view.reports * mean) / deviation)), finding


def _shares(view: _View) -> Finding:
    """Look for values with fewer supports than nobody's, or more than everybody's; one by one, and all together."""
    if view.limits is None or len(view.limits.low) > LARGEST_SUPPORTS:
        return None
    (low, high), support, reports = view.limits, view.support, view.reports
    few, many = _at_least(reports - support, reports, 1 - low), _at_least(support, reports, high)
    least, most = int(few.argmin()), int(many.argmin())
    below, above = float(few[least]) * 2 * len(few), float(many[most]) * 2 * len(few)
    together = _negative(support, reports, low) if view.form.independent_supports else 1.0
    if together <= min(below, above):
        return 2 * together, "many values together have fewer reports than if nobody had any of them"
    if below <= above:
        return 2 * below, f"{view.label(least)!r} has fewer reports than if nobody had it"
    return 2 * above, f"{view.label(most)!r} has more reports than if everybody had it"


def _at_least(counts: FloatArray, reports: int, chance: FloatArray | float) -> FloatArray:
    """Return Pr(Binomial(reports, chance) ≥ counts)."""
    some = np.maximum(counts, 1)
    return np.where(counts > 0, betainc(some, reports - some + 1, np.clip(chance, 0, 1)), 1.0)


def _negative(support: FloatArray, reports: int, low: FloatArray) -> float:
    """Test the distance to the nearest possible shares: Σ z² over values below their least support, each a share of 0.

    Where nobody has any of the values it is χ² with as many degrees of freedom as are below, a number that is
    Binomial(k, ½); every other population has less (Silvapulle, Sen, "Constrained Statistical Inference", 2005).
    """
    usable = (reports * low >= LEAST_EXPECTED) & (low < 1)
    if not usable.any():
        return 1.0
    least = low[usable]
    score = np.minimum((support[usable] - reports * least) / np.sqrt(reports * least * (1 - least)), 0)
    size, distance = int(usable.sum()), float((score**2).sum())
    below = np.arange(1, size + 1)
    weights = gammaln(size + 1) - gammaln(below + 1) - gammaln(size - below + 1) - size * math.log(2)
    return float(np.exp(weights) @ chdtrc(below, distance))


def _repeats(view: _View) -> Finding:
    """Look for outputs that came more often than any population makes them: rows sent twice, for instance.

    Pr(an output comes at least m times) ≤ exp(−n·KL(m/n ‖ u)), u being its largest probability; times all outputs. And
    reports that repeat an earlier one are at most n²c/2 in the mean, where c is the largest probability that two are
    equal; as what stays empty is negatively associated, they are t more with exp(−t²/(2(n + t/3))) at most (Dubhashi,
    Ranjan, "Balls and Bins: A Study in Negative Dependence", 1998).
    """
    if not view.counts.has_cells:
        return None
    ceilings = [each for each in (form.log_ceiling(view.counts.cell_rows) for form in view.forms) if each is not None]
    if len(ceilings) < len(view.forms):
        return None
    came = np.flatnonzero(view.counts.cell_counts)
    counts, reports = view.counts.cell_counts[came], view.reports
    ceiling, share = np.max([each[came] for each in ceilings], axis=0), counts / reports
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = np.where(share < 1, (1 - share) * (np.log1p(-share) - np.log1p(-np.exp(ceiling))), 0)
    logarithms = np.where(np.log(share) > ceiling, -reports * (share * (np.log(share) - ceiling) + rest), 0.0)
    place = int(logarithms.argmin())
    logarithm = float(logarithms[place]) + math.log(view.form.channel.form.count)
    again, many = reports - len(came), 0.0
    collisions = [each for each in (form.log_collision() for form in view.forms) if each is not None]
    if len(collisions) == len(view.forms):
        beyond = max(0.0, again - reports * (reports - 1) / 2 * math.exp(max(collisions)))
        many = -(beyond**2) / (2 * (reports + beyond / 3))
    if many < logarithm:
        finding = f"{again:,} reports repeat another one, more than any population makes: forged, or counted twice"
        return 2 * math.exp(many), finding
    finding = f"one and the same report came {int(counts[place]):,} times, more often than any population makes it"
    return 2 * math.exp(min(0.0, logarithm)), f"{finding}: forged or sent again"


def _draws(view: _View) -> Finding:
    """Compare what devices draw uniformly, whatever the value, with a uniform law: hash functions, or what is asked."""
    if isinstance(view.counts, BitCounts):
        return None
    drawn = view.form.drawn_blindly(view.counts.tallied)
    if drawn is None:
        return None
    cells, reports = len(drawn), view.reports
    most = float(_at_least(drawn.max(), reports, 1 / cells))
    if reports >= cells:  # enough for χ² where all cells are equally likely
        statistic = float((drawn.astype(np.float64) ** 2).sum()) * cells / reports - reports
        spread = float(chdtrc(cells - 1, statistic))
    else:  # pairs of reports with one draw are nearly Poisson
        number = drawn.astype(np.float64)
        expected = reports * (reports - 1) / 2 / cells
        spread = float(gammainc(max(float((number * (number - 1)).sum()) / 2, 1e-9), max(expected, 1e-9)))
    return 2 * min(most * cells, spread), "what devices draw at random, whatever the answer, is not evenly spread"


def _image(view: _View) -> Finding:
    """Measure how far the outputs are from what any histogram of the values, and of hidden levels, makes."""
    coarse = view.form.coarse()
    if coarse is None:
        return None
    laws = [each for each in (form.coarse(coarse.group) for form in view.forms) if each is not None]
    counts = np.bincount(coarse.group, view.counts.tallied, minlength=len(coarse.chances))
    p_value = _mixture(counts.astype(np.float64), np.hstack([each.chances for each in laws]))
    finding = "no distribution of answers makes reports that are spread like these"
    return None if p_value is None else (p_value, finding)


def _mixture(counts: FloatArray, laws: FloatArray) -> float | None:
    """Test whether counts come from a mixture of laws (cells × laws): χ² of the best one, as if it were known.

    That is conservative: the best mixture fits better than the true one. Cells that expect too little are merged.
    """
    reports = float(counts.sum())
    merged = _merge_cells(laws.mean(axis=1) * reports)
    cells = int(merged[-1]) + 1
    if cells < 2:
        return None
    observed = np.bincount(merged, counts, minlength=cells)
    table = np.zeros((cells, laws.shape[1]))
    np.add.at(table, merged, laws)
    expected = observed + LEAST_EXPECTED / 2
    for _ in range(3):  # variances come from the fit before
        scale = 1 / np.sqrt(expected)
        weights = np.array([reports]) if laws.shape[1] == 1 else nnls(table * scale[:, None], observed * scale)[0]
        expected = np.maximum(table @ weights, 1e-9 * reports)
    usable = np.maximum(expected, 1.0)
    return float(chdtrc(cells - 1, float(((observed - expected) ** 2 / usable).sum())))


def _merge_cells(expected: FloatArray) -> Places:
    """Return the group of each cell: neighbours together expect enough; what is left joins the last group."""
    group, waiting, number = np.zeros(len(expected), np.intp), 0.0, 0
    left = float(expected.sum())
    for cell, own in enumerate(expected.tolist()):
        group[cell] = number
        waiting, left = waiting + own, left - own
        if waiting >= LEAST_EXPECTED and left >= LEAST_EXPECTED:
            number, waiting = number + 1, 0.0
    return group


TESTS: Final[dict[str, Callable[[_View], Finding]]] = {
    "pairs": _pairs,
    "ones": _ones,
    "shares": _shares,
    "repeats": _repeats,
    "draws": _draws,
    "image": _image,
}
"""Every test by its name."""
