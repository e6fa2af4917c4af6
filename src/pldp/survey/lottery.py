"""Read `hide_level = { lottery = 1 }`: devices draw the level that they use and show, at most the one that is chosen.

Of levels 0 (the strictest), 1, …, a person chooses τ. Their device draws e ≤ τ once: going up from the strictest, it
stops at each level below τ with probability a. It uses e, shows it, and keeps it for later reports:

    K(e|τ) = a(1−a)^e  for e < τ,    K(τ|τ) = (1−a)^τ,    a = stop / 2⁵³ ≥ e^{−ε}

Outputs are made from e and the answers, so they say no more about τ than e does, however many there are. For a stricter
choice τ' < τ that is at most K(τ'|τ')/K(τ'|τ) = 1/a ≤ e^ε. For a more open one it has no limit: anyone who sees e knows
that nothing stricter was chosen. See docs/decisions/0035-lottery.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pldp.epsilon import exp_micro, micro_epsilon_of_ratio, share_rounded_up
from pldp.errors import SurveyError
from pldp.mechanisms import TOTAL, draw_53_bits, epsilon_text
from pldp.survey.question import Question, Schema, ref
from pldp.survey.reading import fail, read_epsilon

if TYPE_CHECKING:
    from pldp.budgets import Level
    from pldp.mechanisms import Micro, RandomBytes

LOTTERY: Final = "lottery"

KEYS: Final[Mapping[str, Schema]] = {
    LOTTERY: ref("epsilon", "devices draw the level that they use and show; what that tells for a stricter choice"),
    "stop": {
        "type": "integer",
        "minimum": 1,
        "maximum": TOTAL - 1,
        "description": "spelled out: of 2⁵³ draws at a level below the chosen one, how many stop there",
    },
}
"""Keys of `hide_level` with a lottery; no others go with them."""


class Lottery(NamedTuple):
    """How a device draws the level that it uses: of 2⁵³ draws at a level below the chosen one, `stop` end there."""

    micro_epsilon: int  #: The promise: what is told for a stricter choice.
    stop: int

    @property
    def true_micro_epsilon(self) -> Micro:
        """What the weight really keeps, rounded up."""
        return micro_epsilon_of_ratio(TOTAL, self.stop)

    def probability(self, shown: int, chosen: int) -> Fraction:
        """Return how often a person who chose one level shows another, exactly.

        >>> lottery = Lottery(693_148, 2**52)
        >>> [str(lottery.probability(shown, 2)) for shown in range(3)]
        ['1/2', '1/4', '1/4']
        """
        if shown > chosen:
            return Fraction(0)
        stop = Fraction(self.stop, TOTAL)
        return (1 - stop) ** shown * (stop if shown < chosen else 1)

    def law(self, levels: int) -> list[list[float]]:
        """Return how often each level is shown (columns) by people who chose one (rows)."""
        return [[float(self.probability(shown, chosen)) for shown in range(levels)] for chosen in range(levels)]

    def draw(self, chosen: int, levels: int, random: RandomBytes) -> int:
        """Draw a level; how many numbers are drawn depends on how many levels there are, never on the chosen one."""
        drawn, goes_on = 0, 1
        for _ in range(levels - 1):
            goes_on &= draw_53_bits(random) >= self.stop
            drawn += goes_on
        return min(drawn, chosen)


def is_lottery(entry: object) -> bool:
    """Tell whether the content of `hide_level` is that of a lottery."""
    return isinstance(entry, dict) and bool(KEYS.keys() & entry.keys())


def read_lottery(entry: Any, levels: Sequence[Level]) -> Lottery:
    """Read `hide_level` where a lottery hides levels."""
    others = sorted(str(name) for name in entry.keys() - KEYS.keys())
    if LOTTERY not in entry or others:
        fail("hide_level", "must have lottery alone, or keys of a label", sorted(map(str, entry)))
    if len({level.micro_epsilon for level in levels}) < max(2, len(levels)):
        fail("hide_level", "must have at least two levels, of different epsilon", [str(level) for level in levels])
    micro = read_epsilon(entry[LOTTERY], f"hide_level.{LOTTERY}")
    stop = entry.get("stop", share_rounded_up(TOTAL, exp_micro(micro), 0))
    if type(stop) is not int or not 0 < stop < TOTAL:
        fail("hide_level.stop", f"must be a whole number from 1 to {TOTAL - 1}", stop)
    lottery = Lottery(micro, stop)
    if lottery.true_micro_epsilon > micro:
        true = epsilon_text(lottery.true_micro_epsilon)
        fail("hide_level.stop", f"must keep the promised epsilon {epsilon_text(micro)}", true)
    return lottery


def check_stricter_protects(questions: Sequence[Question]) -> None:
    """Refuse a question with a level that protects some part of an answer less than a more open one.

    A device may use it for a person who chose the more open one.
    """
    for question in questions:
        for stricter, chosen in pairwise(range(len(question.levels))):
            pairs = zip(_protections(question, stricter), _protections(question, chosen), strict=True)
            if any(one > two for one, two in pairs):
                first, second = (question.levels[place].name for place in (stricter, chosen))
                raise SurveyError(
                    f"hide_level.lottery: level {first!r} of question {question.name} must protect all that {second!r} "
                    "does, as devices may use it instead"
                )


def _protections(question: Question, level: int) -> list[Micro]:
    tracked = (question.permanent_charge(level), question.instant_charge(level)) if question.stages else ()
    sides = [side for pair in question.side_promises(level) for side in pair]
    return [*question.promises(level), *sides, *tracked]


def lottery_document(lottery: Lottery) -> dict[str, Any]:
    """Return `hide_level` with the weight spelled out, so that clients need no logarithm."""
    return {LOTTERY: epsilon_text(lottery.micro_epsilon), "stop": lottery.stop}
