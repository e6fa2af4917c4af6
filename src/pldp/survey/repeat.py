"""What happens when a question is asked again, and what that costs: the three rules of `repeat`.

*once*: one draw per question; a later answer changes nothing. *fresh*: one draw per question and round, each charged.
*tracked*: a permanent output per value, perturbed anew in every round. Of a tracked answer no single number is the
price: what two life stories cost depends on when they differ.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pldp.mechanisms import Micro, epsilon_text
from pldp.survey.hidden_prices import LEVEL_CAP, MOST_SUMS, affordable_reports, dearest_affordable, report_price
from pldp.survey.question import Question

if TYPE_CHECKING:
    from pldp.survey.model import Survey

ONCE: Final = "once"
FRESH: Final = "fresh"
TRACKED: Final = "tracked"

RULES: Final[Mapping[str, str]] = {
    ONCE: "one draw per question, kept whatever is answered later",
    FRESH: "one draw per question and round, each charged",
    TRACKED: "a permanent draw per value, and a fresh one over it in every round",
}  #: The rules by their names in survey files.

Asked = tuple[Question, int]
"""A question, and the place of the level at which it is answered."""

LIFETIME_CAP: Final = 20_000_000
"""The most that a person spends on one collector unless they say otherwise, in micro-ε."""


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


def dearest_report(survey: "Survey") -> int:
    """Return in micro-ε the ε of a whole report, at the levels and with the answers that cost most.

    >>> from pldp.survey import load
    >>> dearest_report(load("examples/commute.toml"))
    4000000
    """
    if survey.level_channel is not None:
        # A later report without a new label may leave room for another answer. Where nobody can answer anything, a
        # collector charges the total for what it gets nevertheless.
        cost = max(dearest_affordable(survey, new_label=new_label) for new_label in (True, False))
        return cost or survey.total_micro_epsilon or 0
    answers = sorted(
        max(charge(survey.repeat, each, level, earlier) for level in range(len(each.levels)) for earlier in (0, 1))
        for each in survey.questions
    )
    cost = sum(answers[-(survey.ask or len(answers)) :])
    return cost if survey.total_micro_epsilon is None else min(cost, survey.total_micro_epsilon)


def report_epsilon(survey: "Survey", level: str) -> int:
    """Return in micro-ε the ε of a whole report of a person who chooses a level and answers all that they can.

    Of more questions than a person is asked, or than the total allows, it is that of the answers that tell most. Where
    levels are hidden it is the same for all of them.

    >>> from pldp.survey import load
    >>> report_epsilon(load("examples/commute.toml"), "standard")
    2000000
    """
    total = survey.total_micro_epsilon
    if survey.level_channel is not None:
        return dearest_affordable(survey)
    places = ((each, survey.level_for(each, level)) for each in survey.questions)
    charges = [charge(survey.repeat, each, place, 0) for each, place in places if place is not None]
    dearest = sum(sorted(charges)[-(survey.ask or 0) :])
    return dearest if total is None or dearest <= total else _largest_sum(charges, total, survey.ask or len(charges))


def _largest_sum(charges: Sequence[int], total: int, most: int) -> int:
    """Return the largest sum of at most `most` charges within a total; the total where there are too many sums."""
    sums = {(0, 0)}  # how many, and what they cost together
    for micro in charges:
        sums |= {(count + 1, cost + micro) for count, cost in sums if count < most and cost + micro <= total}
        if len(sums) > MOST_SUMS:
            return total
    return max(cost for _, cost in sums)


def affordable_rounds(rule: str, asked: Sequence[Asked], cap: int) -> int:
    """Return in how many rounds a person can answer all these questions, each at its level, within a cap.

    >>> from pldp.survey import load
    >>> question = load("examples/panel.toml").question("mode")
    >>> question.charge(0), question.instant_charge(0), affordable_rounds(TRACKED, [(question, 0)], LIFETIME_CAP)
    (500000, 1737194, 12)
    """
    first, later = (sum(charge(rule, question, level, earlier) for question, level in asked) for earlier in (0, 1))
    return 0 if first > cap else 1 + (cap - first) // later


def repeat_mapping(survey: "Survey") -> dict[str, Any]:
    """Return as plain data what asking again costs at every level, and how many rounds the caps allow.

    `questions` are asked alone; `levels` are for a person who answers all that they are asked at that level: of some
    questions, picked at random, those that cost most. Under `once` there are no rounds to count. Where levels are
    hidden, what an answer costs includes what it tells about the level, whichever that is.
    """
    rule, hidden = survey.repeat, survey.level_channel is not None
    caps = {"total_epsilon": survey.total_micro_epsilon, "lifetime_cap": LIFETIME_CAP}
    if hidden:
        caps["level_cap"] = LEVEL_CAP
    questions: list[dict[str, Any]] = []
    together: defaultdict[str, list[Asked]] = defaultdict(list)
    for question in survey.questions:
        for place, level in enumerate(question.levels):
            asked = (question, place)
            costs = hidden_prices(survey, question) if hidden else prices(rule, *asked)
            row = {
                "question": question.name,
                "level": level.name,
                "prices": {what: epsilon_text(micro) for what, micro in costs},
                "rounds": _rounds(survey, [asked], caps),
            }
            questions.append(row)
            together[level.name].append(asked)
    levels = []
    for name, offered in together.items():
        if len(offered) == len(survey.questions):
            offered.sort(key=lambda each: charge(rule, each[0], each[1], 1), reverse=True)
            levels.append({"level": name, "rounds": _rounds(survey, offered[: survey.ask], caps)})
    limits = {name: None if cap is None else epsilon_text(cap) for name, cap in caps.items()}
    return {"rule": rule, "words": RULES[rule], **limits, "questions": questions, "levels": levels}


def hidden_prices(survey: "Survey", question: Question) -> tuple[Price, ...]:
    """Return what answers to a question cost where levels are hidden: the label is drawn with the first report."""
    first, later = (report_price(survey, [question], new_label=new) for new in (True, False))
    if survey.repeat == ONCE:
        return (Price("this question, however often it is asked", first),)
    return (Price("the first round", first), Price("every further round", later))


def _rounds(survey: "Survey", asked: Sequence[Asked], caps: Mapping[str, int | None]) -> dict[str, int | None]:
    if survey.repeat == ONCE:
        return dict.fromkeys(caps)
    if survey.level_channel is None:
        return {
            name: None if cap is None else affordable_rounds(survey.repeat, asked, cap) for name, cap in caps.items()
        }
    questions = [question for question, _ in asked]
    first, later = (report_price(survey, questions, new_label=new) for new in (True, False))
    rounds = {
        name: None if cap is None else (1 + (cap - first) // later) * (first <= cap) for name, cap in caps.items()
    }
    return rounds | {"level_cap": affordable_reports(survey, questions)}
