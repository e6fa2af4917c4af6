"""Three ways to keep the level to oneself: a label, a lottery, and the strictest level for everybody."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

import numpy as np

from pldp.errors import PldpError
from pldp.mechanisms import epsilon_text
from pldp.planning.assumed import Assumed, assume_shares
from pldp.planning.designs import hiding
from pldp.planning.kinds import BY_KIND
from pldp.planning.levels import LevelMix, Levels
from pldp.planning.question import margin_writer, reach_of
from pldp.survey import Survey

BEST: Final = {
    "label": "the label is more accurate here",
    "lottery": "the lottery is more accurate here; it shows that nothing stricter was chosen",
    "everybody strictest": "the strictest level for everybody is more accurate here, and leaves no level to hide",
}
"""Ways to hide levels, and what is said of the best one."""
_NEAR: Final = 1.1  # ratio of errors up to which none is said to be better

Errors = Mapping[str, Mapping[str, float]]
"""By question and way, as far as the survey can have it, the largest standard error with nothing assumed."""


def compare_hiding(
    survey: Survey, people: int, assumed: Mapping[str, Assumed] | None = None, level_mix: LevelMix | None = None
) -> Errors:
    """Return what a label, a lottery of the same ε and a single strictest level give, if levels are hidden at all."""
    hidden, found = survey.level_channel or survey.lottery, dict[str, dict[str, float]]()
    if hidden is None:
        return found

    def levels(by: str) -> Sequence[Levels | None]:
        for keep in (False, True):  # with the best mechanisms, or, where these need another grid, with its own
            with suppress(PldpError):
                own = (by == "lottery") == (survey.lottery is not None)
                other = survey if own else hiding(survey, epsilon_text(hidden.micro_epsilon), by, keep=keep)
                return [Levels.of(other, question, people, level_mix) for question in other.questions]
        return [None] * len(survey.questions)  # these questions cannot be asked so

    lottery = levels("lottery")
    ways = [levels("epsilon"), lottery, [each and each.capped(0) for each in lottery]]
    shares = assume_shares(survey, None) if assumed is None else assumed
    for question, *every in zip(survey.questions, *ways, strict=True):
        for name, each in zip(BEST, every, strict=True):
            with suppress(PldpError):  # too many values to be planned so
                if each is not None:
                    error = float(np.sqrt(each.widest(shares[question.name].shares)))
                    found.setdefault(question.name, {})[name] = error
    return found


def hiding_words(survey: Survey, people: int, found: Errors, confidence: float = 0.95) -> str:
    """Say how accurate each way to hide levels is for the question with the widest margin."""
    asked = [(question, BY_KIND[question.kind]) for question in survey.questions if question.name in found]
    question, kind = max(asked, key=lambda pair: max(found[pair[0].name].values()) / pair[1].reach(pair[0]))
    margins = {name: reach_of(confidence) * error for name, error in found[question.name].items()}
    best = min(margins, key=margins.__getitem__)
    write = margin_writer(margins[best], kind.unit(question))
    words = ", ".join(f"{name} ± {write.bare(margin)}" for name, margin in margins.items())
    verdict = BEST[best] if max(margins.values()) > _NEAR * margins[best] else "all are about as accurate here"
    of = f" of {question.name}" if len(survey.questions) > 1 else ""
    return f"Margins{of} with {people:,} people and nothing assumed: {words}{write.unit}: {verdict}."
