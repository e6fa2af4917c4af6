"""What happens when a question is asked again, and what that costs: the three rules of `repeat`.

*once*: one draw per question; a later answer changes nothing. *fresh*: one draw per question and round, each charged.
*tracked*: a permanent output per value, perturbed anew in every round. Of a tracked answer no single number is the
price: what two life stories cost depends on when they differ.
"""

from typing import Final, NamedTuple

from pldp.mechanisms import Micro
from pldp.survey.question import Question

ONCE: Final = "once"
FRESH: Final = "fresh"
TRACKED: Final = "tracked"

RULES: Final = (ONCE, FRESH, TRACKED)  #: Their names in survey files.


class Price(NamedTuple):
    """What something costs, in micro-ε."""

    what: str
    micro_epsilon: Micro


def prices(rule: str, question: Question, level: int) -> tuple[Price, ...]:
    """Return what answers to a question cost over time, apart from the caps that end them."""
    first = question.charge(level)
    if rule == ONCE:
        return (Price("this question, however often it is asked", first),)
    if rule == FRESH:
        return (Price("every round", first),)
    return (
        Price("one report", first),
        Price("an answer that never changes, however often it is asked", question.permanent_charge(level)),
        Price("every round in which two life stories differ", question.instant_charge(level)),
    )


def charge(rule: str, question: Question, level: int, earlier: int) -> int:
    """Return what the next report costs after so many earlier ones at this level, whatever the answers were.

    Given the reports before, a further one of a tracked answer tells at most what it tells about the permanent output.
    """
    return question.instant_charge(level) if rule == TRACKED and earlier else question.charge(level)
