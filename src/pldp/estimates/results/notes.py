"""What readers must know: assumptions, which every estimate names, and notes, each with a code that stays the same."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from pldp.estimates.results.facts import TEST_LEVEL, Homogeneity, Note
from pldp.forgery import Forgery
from pldp.mechanisms.arrays import LARGEST_DENSE, FloatArray
from pldp.tallies import Tally

SAMPLE: Final = "the people who reported are a random sample of the population"
RESPONDENTS: Final = "the shares are those of the people who reported, nobody else"
SAME_TABLE: Final = "people of every level answer both questions alike"
SAME_MEAN: Final = "people of every level and service have the same mean"
SAME_DISTRIBUTION: Final = "people of every level and service have the same distribution"
CURVE_ASSUMES: Final = "for curve and quantiles: people of every level and service have the same distribution"
_SERVICES: Final = (" and service", " or service")  # in assumptions that fused results share with those of one survey
ANY_SUBSET: Final = "nothing about who chose which level or service: all people count alike"
SAME_SUBSETS: Final = (
    "people of every level, and of every set of services that they gave to, have the same distribution"
)
CHOICE_OF_SERVICES: Final = "in a service that hides levels, the choice of a level does not depend on the value"
SAME_CHOICE: Final = "the choice of a level does not depend on the value"
FREE_CHOICE: Final = "none about the choice of levels: it may depend on the value in any way"
MIX_NOT_USED: Final = "nothing about the mix of levels: the one that was given is not used here"
ROUGH_WEIGHTS: Final = "weights come from the reports themselves: shares have a bias far below their standard errors"
HONEST_DEVICES: Final = (
    "devices used the channels of the survey; how far a forged report reaches is known, and some are detected"
)
NORMAL: Final = "supports are nearly normal: rare sets in few reports have rougher errors"
SAMPLE_OF_GROUPS: Final = "in every group, the people who reported are a random sample of the group"
DISTINCT: Final = "rounds hold different people"
DISTINCT_GROUPS: Final = "groups hold different people"
NOISE_OF_ROUNDS: Final = "a person's noise in one round does not oppose that in another: it is drawn anew, or kept"
KNOWN_EXACTLY: Final = "the known shares are exact, and those of the population that the result is about"
INTERIOR: Final = "standard errors are for shares away from 0 (observed information)"

LEVELS_DISAGREE: Final = "levels-disagree"
FORGED_REPORTS: Final = "forged-reports"
_OTHER_LEVELS: Final = "people of different levels"
_OTHER_SERVICES: Final = "people who gave to different services, or chose other levels,"

CURVE_POOLS: Final = Note(
    "curve-pools-levels",
    "the curve and its quantiles take all levels to have the same distribution: leave differ out for others",
)
CURVE_POOLS_SUBSETS: Final = Note(
    "curve-pools-levels",
    "the curve and its quantiles take people of all services and levels to have the same distribution: leave differ "
    "out for others",
)
BOUND_OF_MEAN: Final = Note(
    "bound-of-mean",
    "the bound on differences of levels is used for the mean; quantiles and the curve assume nothing about levels",
    "info",
)
BOUND_OF_ITEMS: Final = Note(
    "bound-of-items",
    "the bound on differences of levels is used for single items; sets of several assume nothing about levels",
    "info",
)
ONE_REPORT_EACH: Final = Note(
    "one-report-each",
    "intervals of quantiles use one report of each person, that of the largest epsilon; the estimates use all of them",
    "info",
)
CONSERVATIVE: Final = Note(
    "conservative-intervals",
    "intervals of quantiles, and of ranges in tables, hold for any distribution, so they are wide; the narrower ones, "
    '"if smooth", hold only if the distribution is a smooth curve',
    "info",
)
QUANTILES_OF_POPULATION: Final = Note(
    "quantiles-of-population",
    "intervals of quantiles, shares and the curve are those for the population that the respondents were drawn from: "
    "they hold for the respondents as well, and more often than stated; only the mean has narrower ones",
    "info",
)
HEAPED: Final = Note(
    "heaped",
    "many people seem to share exact numbers; spikes may stand beside their true places, by as much as the band",
    "info",
)
MEAN_ONLY: Final = Note(
    "mean-only",
    'the question is asked for its mean only (purpose = "mean"): such reports show no distribution, so there are '
    "neither quantiles nor a curve",
    "info",
)
HIDDEN_MEAN: Final = Note(
    "mean-only",
    "a service hides the levels of a number: its reports count for the mean, which assumes nothing about how levels "
    "were chosen; quantiles and a curve from several services need levels that show",
    "info",
)
CURVE_UNFINISHED: Final = Note("no-convergence", "the fit of the curve did not converge")
ROUGH_ERRORS: Final = Note("few-reports", "too few reports for a normal approximation: errors are rough")
LABELS_SAY_LITTLE: Final = Note(
    "labels-say-little", "labels say too little about the mix of levels for so few reports: errors are rough"
)
MIX_CONTRADICTED: Final = Note(
    "mix-contradicted",
    "the labels of the reports contradict the given mix of levels: check it, or estimate without it",
)
NO_ERRORS: Final = Note("no-standard-errors", f"no standard errors: more than {LARGEST_DENSE:,} values")
SEVERAL_MAXIMA: Final = Note("several-maxima", "the likelihood has more than one maximum; the best one found is shown")
QUANTILES_LEFT_OUT: Final = Note(
    "quantiles-left-out", "quantiles of groups do not add up to those of the population: only the mean is shown", "info"
)
TABLE_NOT_CORRECTED: Final = Note("not-corrected", "the table is that of those who answered: it is not corrected")

TABLE_WITHOUT_BOUND: Final = Note(
    "table-without-bound",
    "the table assumes nothing about levels: the bound on their differences is for questions",
    "info",
)

DIFFERENT_PEOPLE: Final = Note(
    "different-people", "each person answers in one round: rounds hold different people", "info"
)
DIFFERENT_GROUPS: Final = Note("different-people", "the groups hold different people", "info")
WIDE_QUANTILES: Final = Note(
    "wide-quantiles",
    "changes of quantiles lie between the ends of both intervals: their own intervals are wider than needed",
    "info",
)
SMOOTH_ERRORS: Final = Note(
    "smooth-errors",
    "these errors assume that the number has a smooth distribution: where many people share one number right beside "
    "the edge of a range, intervals can be too narrow",
    "info",
)
LIVE_CHANGES: Final = Note(
    "live-intervals",
    "intervals and test hold however often you look at the latest round, if no earlier one was closed because of what "
    "it showed; that makes the intervals wider",
    "info",
)
REWORDED: Final = Note("reworded", "the question reads differently in these rounds")


def of_one_survey(assumptions: Sequence[str]) -> tuple[str, ...]:
    """Return assumptions of fused results in the words of one survey, which has no services.

    >>> of_one_survey([SAME_MEAN])
    ('people of every level have the same mean',)
    """
    words = list(assumptions)
    for more in _SERVICES:
        words = [text.replace(more, "") for text in words]
    return tuple(words)


def assume(target: str, levels: str, *further: str) -> tuple[str, ...]:
    """Return the assumptions of the errors: about the people, about their levels, and the rest."""
    return (SAMPLE if target == "population" else RESPONDENTS, levels, HONEST_DEVICES, *further)


NOTHING_ASSUMED: Final = frozenset({FREE_CHOICE, ANY_SUBSET, ANY_SUBSET.replace(_SERVICES[1], "")})
"""What results assume about levels that assume nothing."""


def within_bound(differ: float) -> str:
    """Return what was declared about people of different levels."""
    return f"people of different levels differ by at most {100 * differ:g} points, or per cent of the range (declared)"


def same(what: str) -> str:
    """Return what pooling levels that show assumes: people of all of them have the same of this."""
    return f"people of every level have the same {what}"


def like_those_who_did_not(question: str) -> str:
    """Return what a correction to the known shares of a question assumes about the people."""
    return f"among people of the same answer to {question!r}, those who reported are like those who did not"


def who_answered(question: str, labels: Sequence[str], found: FloatArray, known: FloatArray) -> Note:
    """Say how those who answered differ from the population: the labels with the largest differences."""
    order = np.argsort(-abs(found - known), kind="stable")[:3]
    some = ", ".join(
        f"{labels[place]} {100 * found[place]:.1f} % instead of {100 * known[place]:.1f} %" for place in order
    )
    more = f" and {len(labels) - 3} more" if len(labels) > 3 else ""
    return Note("who-answered", f"among those who answered, shares of {question!r} are {some}{more}", "info")


def left_out(labels: Sequence[str], share: float) -> str:
    """Name the labels of a known question that too few people gave, with their part of the population."""
    quoted = [f"‘{label}’" for label in labels]
    named = _some(quoted) if len(quoted) > 3 else " and ".join(filter(None, [", ".join(quoted[:-1]), quoted[-1]]))
    return f"too few answers from {named} ({100 * share:.3g} % of the population)"


def margin_left_out(labels: Sequence[str], share: float) -> Note:
    """Say for which labels of a known question shares are not corrected, and what that does to intervals."""
    text = f"{left_out(labels, share)} to correct for them: the interval allows for any answer of theirs"
    return Note("margin-left-out", text)


def known_scaled(of: str, total: float) -> Note:
    """Say that known shares did not sum to 1."""
    return Note(
        "known-scaled", f"the known shares of {of} sum to {100 * total:.2f} %: they were scaled to 100 %", "info"
    )


def not_corrected(question: str, margin: str) -> Note:
    """Say that an estimate is of those who answered, though known shares were given."""
    text = f"not corrected to the known shares of {margin!r}: {question!r} was not tallied as a pair with it"
    return Note("not-corrected", text if question != margin else f"not corrected: the shares of {margin!r} are known")


def levels_disagree(
    test: Homogeneity | None,
    differ: float | None,
    service: str | None = None,
    *,
    who: str = "people of different levels",
) -> tuple[Note, ...]:
    """Say that people of different levels, of a service perhaps, differ where they do: a warning if that was denied."""
    if test is None or not test.rejected:
        return ()
    where = "" if service is None else f" of {service!r}"
    text = f"{who}{where} answer differently (p = {test.p_value:.2g})"
    if differ == 0:
        return (Note(LEVELS_DISAGREE, f"{text}, but this result takes them to be alike: leave differ out"),)
    return (Note(LEVELS_DISAGREE, text, "info"),)


def subsets_disagree(test: Homogeneity | None, differ: float | None) -> tuple[Note, ...]:
    """Say that people who gave to different services differ, where they do."""
    return levels_disagree(test, differ, who=_OTHER_SERVICES)


def services_disagree(test: Homogeneity | None) -> tuple[Note, ...]:
    """Say that people who gave to different services differ, where they do: what pools them is then of nobody."""
    return levels_disagree(test, 0, who=_OTHER_SERVICES)


def bent(question: str, p_value: float) -> Note:
    """Say that other answers do not change in straight lines along a number, as its ranges assume."""
    text = (
        f"shares of other answers do not change in straight lines along {question!r} "
        f"(p = {p_value:.2g} < {TEST_LEVEL}): those of its ranges are biased, by more than their errors say"
    )
    return Note("bent-ranges", text)


def no_association(cells: int) -> Note:
    """Say that there is no association measure."""
    return Note("no-association", f"no association measure: a table of {cells:,} cells is too large for it", "info")


def _some(values: Sequence[str]) -> str:
    """Name the first few values."""
    more = f" and {len(values) - 3:,} more" if len(values) > 3 else ""
    return f"{', '.join(values[:3])}{more}"


def forged_reports(forgery: Forgery) -> tuple[Note, ...]:
    """Say that reports look forged, where they do, and what shows it."""
    if not forgery.alarmed:
        return ()
    first = forgery.tests[0]
    where = f" (level {first.level})" if first.level else ""
    text = f"reports look forged: {first.finding}{where}, p = {forgery.p_value:.2g}; treat the result with caution"
    return (Note(FORGED_REPORTS, text),)


def repeated_ids(tally: Tally) -> tuple[Note, ...]:
    """Say that ids came before, where they did: errors are those of as many people as there are reports."""
    text = f"{tally.repeated_words} If they are copies, errors are larger than stated"
    return (Note("repeated-ids", text),) if tally.repeated else ()


def levels_untested(levels: Sequence[str]) -> tuple[Note, ...]:
    """Name the levels that have too few reports to be tested."""
    text = f"too few reports to test whether people of level {', '.join(levels)} answer like the others"
    return (Note("level-untested", text, "info"),) if levels else ()


def people_overlap(people: int) -> Note:
    """Say how many people may be in two rounds, and what errors make of it."""
    text = f"up to {people:,} people may be in two of these rounds: errors allow for answers that change the most"
    return Note("people-overlap", text, "info")


def live_intervals(wider: float) -> Note:
    """Say that intervals hold at every look, and what that costs."""
    text = f"these intervals hold however often you look; they are {wider:.1f} times as wide as for a single look"
    return Note("live-intervals", text, "info")


def too_few_to_say(labels: Sequence[str], needed: int, unit: str) -> Note:
    """Say that intervals are as wide as all that is possible, of these labels or, without any, of all."""
    about = f" about {_some(labels)}" if labels else ""
    wanted = "10 points" if unit == "share" else "10 % of the range"
    return Note("too-few-to-say", f"too few reports to say anything{about}; about {needed:,} needed for ± {wanted}")


def rare_labels(labels: Sequence[str]) -> Note:
    """Name the labels that few reports speak for."""
    about = f"few reports speak for {_some(labels)}"
    return Note("rare-labels", f"{about}: their intervals are not normal, and hold more often than stated", "info")


def few_reports(levels: Sequence[str]) -> tuple[Note, ...]:
    """Name the levels whose reports are too few."""
    text = f"too few reports for a normal approximation at level {', '.join(levels)}: its errors are rough"
    return (Note("few-reports", text),) if levels else ()


def no_convergence(gap: float, steps: int) -> Note:
    """Say how far a fit came."""
    return Note("no-convergence", f"the fit did not converge: gap {gap:.1e} after {steps} steps")


def search_ended_early(size: int, error: float) -> Note:
    """Say that sets of this size would have been too uncertain to count: the least of their standard errors."""
    reason = (
        f"their supports would have standard errors of {error:.2g} or more"
        if math.isfinite(error)
        else "reports of some level tell nothing about so many items together (differ = 0 does without them)"
    )
    text = f"no set of {size} items could be reported: none was counted, as {reason}"
    return Note("search-ended-early", text, "info")


def sets_not_told(largest: int) -> Note:
    """Say that larger sets cannot be estimated, whatever the number of reports."""
    text = (
        f"reports tell about at most {largest} {'item' if largest == 1 else 'items'} together: supports of larger "
        "sets, and rules among their items, cannot be estimated"
    )
    return Note("sets-not-told", text, "info")


def untold_items(items: Sequence[str]) -> Note:
    """Name the items that no report of some level tells about."""
    about = f"those of some level say nothing about {_some(items)}"
    return Note("few-reports", f"too few reports: {about}; other levels count alone")


def uncertain_items(error: float) -> Note:
    """Say that supports of single items tell nothing."""
    return Note("few-reports", f"too few reports for these channels: standard errors of items reach {error:.2g}")
