"""Three ways to keep the level to oneself: a label, a lottery, and one strictest level for everybody."""

from collections.abc import Sequence
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


VERDICTS: Final = {
    "label": "the label is more accurate here",
    "lottery": "the lottery is more accurate here; it shows that nothing stricter was chosen",
    "strictest": "asking everybody at the strictest level is more accurate here, and leaves no level to hide",
}
_NEAR: Final = 1.1  # ratio of errors up to which none is said to be better


@dataclass(frozen=True, repr=False)
class HidingWays(Brief):
    """The largest standard error of a question, nothing assumed about levels, by what hides them at the same ε.

    A way that the survey cannot have is `None`.
    """

    question: str
    unit: str
    reach: float  # how far apart two values can be
    label: float | None
    lottery: float | None
    strictest: float | None

    @property
    def known(self) -> dict[str, float]:
        """The errors of the ways that the survey can have."""
        ways = {"label": self.label, "lottery": self.lottery, "strictest": self.strictest}
        return {name: error for name, error in ways.items() if error is not None}

    def words(self, confidence: float = 0.95) -> str:
        """Return the margins of all ways, and which is the least."""
        margins = {name: reach_of(confidence) * error for name, error in self.known.items()}
        best = min(margins, key=margins.__getitem__)
        write = margin_writer(margins[best], self.unit)
        named = [f"{_NAMES.get(name, name)} ± {write.bare(margin)}" for name, margin in margins.items()]
        near = max(margins.values()) < _NEAR * margins[best]
        return f"{', '.join(named)}{write.unit}: {'all are about as accurate here' if near else VERDICTS[best]}"


_NAMES: Final = {"strictest": "everybody strictest"}


def hiding_words(ways: Sequence[HidingWays], people: int, confidence: float = 0.95) -> str:
    """Say how accurate each way to hide levels is for the question with the widest margin."""
    widest = max(ways, key=lambda own: max(own.known.values()) / own.reach)
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

    def levels(by: str, own: bool) -> Sequence[Levels | None]:
        for keep in (False, True):  # with the best mechanisms, or, where these need another grid, with its own
            with suppress(PldpError):
                other = survey if own else hiding(survey, epsilon, by, keep=keep)
                return [Levels.of(other, question, people, level_mix) for question in other.questions]
        return [None] * len(survey.questions)  # these questions cannot be asked so

    lottery = levels("lottery", survey.lottery is not None)
    ways = [levels("epsilon", survey.lottery is None), lottery, [each and each.capped(0) for each in lottery]]
    if shares is None:
        shares = [each.shares for each in assume_shares(survey, None).values()]
    found = []
    for question, own, *every in zip(survey.questions, shares, *ways, strict=True):
        kind = BY_KIND[question.kind]
        errors = (_error(each, own) for each in every)
        found.append(HidingWays(question.name, kind.unit(question), kind.reach(question), *errors))
    return tuple(each for each in found if each.known)


def _error(levels: Levels | None, shares: FloatArray) -> float | None:
    """Return the largest standard error; `None` where it cannot be planned."""
    try:
        return None if levels is None else float(np.sqrt(levels.widest(shares)))
    except PldpError:
        return None
