"""What readers must know first, each note with a code that stays the same."""

from collections.abc import Sequence
from typing import Final

from pldp.estimates.result import Homogeneity, Note

TEST_LEVEL: Final = 0.01
"""False-alarm rate of the tests of homogeneity."""

LEVELS_DISAGREE: Final = "levels-disagree"
"""Code of the note that says so."""

CURVE_POOLS: Final = Note("curve-pools-levels", "the curve still assumes that all levels have the same distribution")
HEAPED: Final = Note(
    "heaped",
    "many people seem to share exact numbers; spikes may stand beside their true places, by as much as the band",
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
SEVERAL_MAXIMA: Final = Note("several-maxima", "the likelihood has more than one maximum; the best one found is shown")

DIFFERENT_PEOPLE: Final = Note(
    "different-people", "each person answers in one round: rounds hold different people", "info"
)
WIDE_QUANTILES: Final = Note(
    "wide-quantiles",
    "changes of quantiles lie between the ends of both rounds' intervals: their own intervals are wider than needed",
    "info",
)
REWORDED: Final = Note("reworded", "the question reads differently in these rounds")


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


def few_reports(levels: Sequence[str]) -> tuple[Note, ...]:
    """Name the levels whose reports are too few."""
    if not levels:
        return ()
    text = f"too few reports for a normal approximation at level {', '.join(levels)}: its errors are rough"
    return (Note("few-reports", text),)


def no_convergence(gap: float, steps: int) -> Note:
    """Say how far a fit came."""
    return Note("no-convergence", f"the fit did not converge: gap {gap:.1e} after {steps} steps")


def no_standard_errors(most: int) -> Note:
    """Say that there are too many values for a covariance."""
    return Note("no-standard-errors", f"no standard errors: more than {most:,} values")


def search_ended_early(size: int, uncounted: int, error: float) -> Note:
    """Say that sets of this size would have been too uncertain to count."""
    text = (
        f"no set of {size} items could be reported: {uncounted:,} were left uncounted, as their supports would have "
        f"standard errors up to {error:.2g}"
    )
    return Note("search-ended-early", text, "info")


def uncertain_items(error: float) -> Note:
    """Say that supports of single items tell nothing."""
    return Note("few-reports", f"too few reports for these channels: standard errors of items reach {error:.2g}")
