"""What readers must know: assumptions, which every estimate names, and notes, each with a code that stays the same."""

import math
from collections.abc import Sequence
from typing import Final

from pldp.estimates.result import TEST_LEVEL, Homogeneity, Note, Result, normal_reach
from pldp.mechanisms.arrays import LARGEST_DENSE

SAMPLE: Final = "the people who reported are a random sample of the population"
RESPONDENTS: Final = "the shares are those of the people who reported, nobody else"
SAME_SHARES: Final = "people of every level have the same shares (tested; see homogeneity)"
SAME_SUPPORTS: Final = "people of every level have the same supports (tested per item; see homogeneity)"
SAME_MEAN: Final = "people of every level and service have the same mean (tested; see homogeneity)"
ANY_SUBSET: Final = "nothing about who chose which level or service: all people count alike"
BY_SIZE: Final = "none about the choice of levels: groups are weighted by their number of reports"
UNTESTED_CHOICE: Final = "the choice of a level does not depend on the value; with hidden levels this is not tested"
UNTESTED_EPSILON: Final = "nobody's ε depends on their value (not tested)"
ROUGH_WEIGHTS: Final = "weights come from the reports themselves: shares have a bias far below their standard errors"
HONEST_DEVICES: Final = (
    "devices used the channels of the survey; forged reports are bounded by manipulation, not detected"
)
NORMAL: Final = "supports are nearly normal: rare sets in few reports have rougher errors"
DISTINCT: Final = "rounds hold different people"
NOISE_OF_ROUNDS: Final = "a person's noise in one round does not oppose that in another: it is drawn anew, or kept"
INTERIOR: Final = "standard errors are for shares away from 0 (observed information)"

LEVELS_DISAGREE: Final = "levels-disagree"
"""Code of the note that says so."""

CURVE_POOLS: Final = Note("curve-pools-levels", "the curve still assumes that all levels have the same distribution")
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
CURVE_UNFINISHED: Final = Note("no-convergence", "the fit of the curve did not converge")
ROUGH_ERRORS: Final = Note("few-reports", "too few reports for a normal approximation: errors are rough")
LABELS_SAY_LITTLE: Final = Note(
    "labels-say-little", "labels say too little about the mix of levels for so few reports: errors are rough"
)
IMPOSSIBLE_MIX: Final = Note(
    "impossible-mix", "the estimated mix of levels is impossible; the nearest possible mix was used, errors are rough"
)
NO_ERRORS: Final = Note("no-standard-errors", f"no standard errors: more than {LARGEST_DENSE:,} values")
SEVERAL_MAXIMA: Final = Note("several-maxima", "the likelihood has more than one maximum; the best one found is shown")

DIFFERENT_PEOPLE: Final = Note(
    "different-people", "each person answers in one round: rounds hold different people", "info"
)
WIDE_QUANTILES: Final = Note(
    "wide-quantiles",
    "changes of quantiles lie between the ends of both rounds' intervals: their own intervals are wider than needed",
    "info",
)
LIVE_CHANGES: Final = Note(
    "live-intervals",
    "intervals and test hold however often one looks at the latest round, if no earlier one was closed because of what "
    "it showed; that makes the intervals wider",
    "info",
)
REWORDED: Final = Note("reworded", "the question reads differently in these rounds")


def assume(target: str, levels: str, *further: str) -> tuple[str, ...]:
    """Return what must hold for errors to be right: about the people, about their levels, and the rest."""
    return (SAMPLE if target == "population" else RESPONDENTS, levels, HONEST_DEVICES, *further)


def other_method(method: str) -> Note:
    """Say that the method that was asked for is one of other kinds of questions."""
    return Note("other-method", f"the method {method!r} does not apply to this kind of question", "info")


def levels_disagree(test: Homogeneity | None, pool: str) -> tuple[Note, ...]:
    """Say that the levels contradict the assumption behind pooling by precision, where they do."""
    if test is None or not test.rejected:
        return ()
    advice = "use the result pooled by size" if pool == "precision" else "the result is pooled by size"
    text = f"people of different levels answer differently (p = {test.p_value:.2g} < {TEST_LEVEL}): {advice}"
    return (Note(LEVELS_DISAGREE, text, "warning" if pool == "precision" else "info"),)


def people_overlap(people: int) -> Note:
    """Say how many people may be in two rounds, and what errors make of it."""
    text = f"up to {people:,} people may be in two of these rounds: errors allow for answers that change the most"
    return Note("people-overlap", text, "info")


def live_intervals(wider: float) -> Note:
    """Say that intervals hold at every look, and what that costs."""
    text = f"these intervals hold however often one looks; they are {wider:.1f} times as wide as for a single look"
    return Note("live-intervals", text, "info")


def too_few_to_say(labels: Sequence[str], needed: int, unit: str) -> Note:
    """Say that intervals are as wide as all that is possible, of these labels or, without any, of all."""
    more = f" and {len(labels) - 3} more" if len(labels) > 3 else ""
    about = f" about {', '.join(labels[:3])}{more}" if labels else ""
    wanted = "10 points" if unit == "share" else "10 % of the range"
    return Note("too-few-to-say", f"too few reports to say anything{about}; about {needed:,} needed for ± {wanted}")


def interval_notes(result: Result) -> tuple[tuple[Note, ...], tuple[Note, ...]]:
    """Return what a reader must know about the intervals of a result: before all other notes, and after them."""
    rows = result.marked()
    few = [row for row in rows if "too_few" in row]
    labels = [row["label"] if isinstance(row["label"], str) else " × ".join(row["label"]) for row in few]
    if result.unit != "share":
        labels = [f"the {label}{' quantile' if label.endswith('%') else ''}" for label in labels]
    needed = max((row["too_few"] for row in few), default=0)
    first = (too_few_to_say(labels if len(few) < len(rows) else (), needed, result.unit),) if few else ()
    wider = result.reach() / normal_reach(result.confidence)
    return first, (() if result.live is None else (live_intervals(wider),))


def few_reports(levels: Sequence[str]) -> tuple[Note, ...]:
    """Name the levels whose reports are too few."""
    if not levels:
        return ()
    text = f"too few reports for a normal approximation at level {', '.join(levels)}: its errors are rough"
    return (Note("few-reports", text),)


def no_convergence(gap: float, steps: int) -> Note:
    """Say how far a fit came."""
    return Note("no-convergence", f"the fit did not converge: gap {gap:.1e} after {steps} steps")


def search_ended_early(size: int, uncounted: int, error: float) -> Note:
    """Say that sets of this size would have been too uncertain to count."""
    reason = (
        f"their supports would have standard errors up to {error:.2g}"
        if math.isfinite(error)
        else 'reports of some level tell nothing about so many items together (pool = "precision" does without them)'
    )
    text = f"no set of {size} items could be reported: {uncounted:,} were left uncounted, as {reason}"
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
    more = f" and {len(items) - 3} more" if len(items) > 3 else ""
    about = f"{', '.join(items[:3])}{more}"
    return Note(
        "few-reports", f"too few reports: those of some level say nothing about {about}; other levels count alone"
    )


def uncertain_items(error: float) -> Note:
    """Say that supports of single items tell nothing."""
    return Note("few-reports", f"too few reports for these channels: standard errors of items reach {error:.2g}")
