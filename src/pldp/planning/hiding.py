"""Three ways to keep the level to oneself: a label, a lottery, and the strictest level for everybody."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import numpy as np

from pldp.errors import PldpError
from pldp.mechanisms import epsilon_text
from pldp.mechanisms.arrays import FloatArray
from pldp.planning.assumed import assume_shares
from pldp.planning.designs import hiding
from pldp.planning.kinds import BY_KIND
from pldp.planning.levels import LevelMix, Levels
from pldp.planning.question import margin_writer, reach_of
from pldp.records import Brief
from pldp.survey import Survey

BEST: Final = {
    "label": "the label is more accurate here",
    "lottery": "the lottery is more accurate here; it shows that nothing stricter was chosen",
    "everybody strictest": "the strictest level for everybody is more accurate here, and leaves no level to hide",
}
"""Ways to hide levels, and what is said of the best one."""
_NEAR: Final = 1.1  # ratio of errors up to which none is said to be better


@dataclass(frozen=True, repr=False)
class HidingWays(Brief):
    """The largest standard error of a question, nothing assumed about levels, by what hides them at the same ε."""

    question: str
    unit: str
    reach: float  # how far apart two values can be
    errors: Mapping[str, float]  # of the ways that the survey can have

    def words(self, confidence: float = 0.95) -> str:
        """Return the margins of all ways, and which is the least."""
        best, least = min(self.errors.items(), key=lambda way: way[1])
        reach = reach_of(confidence)
        write = margin_writer(reach * least, self.unit)
        margins = ", ".join(f"{name} ± {write.bare(reach * error)}" for name, error in self.errors.items())
        near = max(self.errors.values()) < _NEAR * least
        return f"{margins}{write.unit}: {'all are about as accurate here' if near else BEST[best]}"


def hiding_words(ways: Sequence[HidingWays], people: int, confidence: float = 0.95) -> str:
    """Say how accurate each way to hide levels is for the question with the widest margin."""
    widest = max(ways, key=lambda own: max(own.errors.values()) / own.reach)
    of = f" of {widest.question}" if len(ways) > 1 else ""
    return f"Margins{of} with {people:,} people and nothing assumed: {widest.words(confidence)}."


def compare_hiding(
    survey: Survey, people: int, shares: Sequence[FloatArray] | None = None, level_mix: LevelMix | None = None
) -> tuple[HidingWays, ...]:
    """Return what a label, a lottery of the same ε and a single strictest level give, question by question.

    There is nothing to compare where levels are not hidden. Shares are those that a plan guesses by default.
    """
    hidden = survey.level_channel or survey.lottery
    if hidden is None:
        return ()
    epsilon = epsilon_text(hidden.micro_epsilon)

    def levels(by: str, own: bool) -> Sequence[Levels | None]:  # noqa: FBT001 - both callers are below
        for keep in (False, True):  # with the best mechanisms, or, where these need another grid, with its own
            with suppress(PldpError):
                other = survey if own else hiding(survey, epsilon, by, keep=keep)
                return [Levels.of(other, question, people, level_mix) for question in other.questions]
        return [None] * len(survey.questions)  # these questions cannot be asked so

    lottery = levels("lottery", survey.lottery is not None)
    ways = [levels("epsilon", survey.lottery is None), lottery, [each and each.capped(0) for each in lottery]]
    found = []
    for question, own, *every in zip(survey.questions, shares or _guessed(survey), *ways, strict=True):
        errors: dict[str, float] = {}
        for name, each in zip(BEST, every, strict=True):
            with suppress(PldpError):  # too many values to be planned so
                errors |= {} if each is None else {name: float(np.sqrt(each.widest(own)))}
        kind = BY_KIND[question.kind]
        found.append(HidingWays(question.name, kind.unit(question), kind.reach(question), errors))
    return tuple(each for each in found if each.errors)


def _guessed(survey: Survey) -> list[FloatArray]:
    return [each.shares for each in assume_shares(survey, None).values()]
