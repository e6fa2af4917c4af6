"""Read `hide_level`: which channels hide the level within a cap, and the channel of the label."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from pldp.budgets import Level, epsilon_text
from pldp.errors import EpsilonError, SurveyError
from pldp.mechanisms import (
    LARGEST_EPSILON,
    LARGEST_TOTAL,
    MICRO,
    Channel,
    Micro,
    PureChannel,
    RandomizedResponse,
    level_leak,
    most_accurate,
)
from pldp.survey.question import Entry, Question, Schema, ref
from pldp.survey.reading import fail, naming, read_epsilon, read_table

LEAST_LABEL_EPSILON: Final = 10_000
"""Micro-ε that a leak cap must leave for the label itself; with less, labels say nothing about the mix of levels."""

ALIKE: Final = 1.05
"""Ratio of two variances up to which the channels that tell less about the level are taken.

It is more than where levels show: a few percent of the error are worth a sixth of what reports tell about the level.
"""

LABEL: Final = RandomizedResponse  #: The mechanism that replaces the level by a label.

KEYS: Final[Mapping[str, Schema]] = {
    "epsilon": ref("epsilon", "of the label that replaces the level"),
    "leak_cap": ref("total", "on what label and output tell together about the level"),
    "mechanism": {"const": LABEL.mechanism},
    "weights": ref("weights"),
}
"""Keys of `hide_level` with their JSON Schema."""


_PROVES: Final = (
    "hide_level: {}: some reports can come at some levels only and would prove the level, whatever hides it; leave the "
    "same labels unprotected at every level, or none"
)


class Hiding(NamedTuple):
    """What `hide_level` asks for: ε of the label, or a cap on the whole leak about the level, or both."""

    micro_epsilon: int | None
    leak_cap: int | None
    weights: object
    questions: int

    @property
    def room(self) -> int | None:
        """What the output of each question may tell about the level: an equal part of what the label leaves."""
        if self.leak_cap is None:
            return None
        return (self.leak_cap - (self.micro_epsilon or LEAST_LABEL_EPSILON)) // self.questions

    def choose(
        self, entry: Entry, candidates: Iterable[tuple[Channel, ...]], variance: Callable[[Channel], float], advice: str
    ) -> tuple[Channel, ...]:
        """Choose channels of one form whose leak stays within the cap: the least leak at about the least error.

        `variance` is the error by which they are compared, `advice` what would tell less where the cap is too small.
        """
        with naming(entry.key):
            leaks = {channels: level_leak(channels) for channels in candidates}
        if not leaks:
            rule = "must give reports of one form at every level, or their form shows the level"
            fail(f"hide_level: {entry.key}.mechanism", rule, next(iter(entry.mechanisms().values())))
        if min(leaks.values()) == math.inf:
            raise SurveyError(_PROVES.format(entry.key))
        room = LARGEST_TOTAL * MICRO if self.room is None else self.room
        allowed = [channels for channels, leak in leaks.items() if leak <= room]
        if not allowed:
            least: dict[str, Micro] = {}
            for channels, leak in leaks.items():
                least[channels[0].mechanism] = min(leak, least.get(channels[0].mechanism, leak))
            known = ", ".join(f"{name} {epsilon_text(leak)}" for name, leak in least.items())
            raise SurveyError(
                f"hide_level.leak_cap: must leave room for epsilon beside what the reports of {entry.key} tell about "
                f"the level by themselves ({known}), not {epsilon_text(self.leak_cap or 0)}{advice}"
            )
        with naming(entry.key):
            return most_accurate(allowed, entry.answer_bytes, alike=ALIKE, rank=level_leak, variance=variance)


def read_hiding(entry: object, levels: tuple[Level, ...], questions: int) -> Hiding | None:
    """Read `hide_level` of a survey whose people answer so many questions."""
    if entry is None:
        return None
    table = read_table(entry, "hide_level", KEYS)
    if "epsilon" not in table and "leak_cap" not in table:
        raise SurveyError("hide_level: epsilon is missing (or leak_cap, from which it is derived)")
    if len(levels) < 2:
        fail("hide_level", "must have at least two levels to hide among", len(levels))
    if len({level.micro_epsilon for level in levels}) < len(levels):
        fail("hide_level", "must have levels of different epsilon", [str(level) for level in levels])
    if table.get("mechanism", LABEL.mechanism) != LABEL.mechanism:
        fail("hide_level.mechanism", f"must be {LABEL.mechanism!r}", table["mechanism"])
    epsilon, cap = (
        None if table.get(name) is None else read_epsilon(table[name], f"hide_level.{name}", largest=largest)
        for name, largest in (("epsilon", LARGEST_EPSILON), ("leak_cap", LARGEST_TOTAL))
    )
    return Hiding(epsilon, cap, table.get("weights"), questions)


def label_channel(hiding: Hiding, levels: Sequence[Level], questions: Sequence[Question]) -> tuple[int, PureChannel]:
    """Build the channel of the label; its ε is the one asked for, or what the cap leaves beside all outputs."""
    outputs = sum(sorted(map(_leak, questions))[-hiding.questions :])
    if hiding.leak_cap is not None and outputs + (hiding.micro_epsilon or LEAST_LABEL_EPSILON) > hiding.leak_cap:
        rule = f"must leave room for epsilon beside the {epsilon_text(outputs)} that outputs alone tell about the level"
        fail("hide_level.leak_cap", rule, epsilon_text(hiding.leak_cap))
    left = min((hiding.leak_cap or 0) - outputs, LARGEST_EPSILON * MICRO)
    micro = hiding.micro_epsilon if hiding.micro_epsilon is not None else left
    with naming("hide_level"):
        built = LABEL.of(len(levels), micro) if hiding.weights is None else LABEL.read(len(levels), hiding.weights)
    if built.micro_epsilon > micro:
        rule = f"must keep the promised epsilon {epsilon_text(micro)}"
        fail("hide_level: weights", rule, epsilon_text(built.micro_epsilon))
    return micro, built


def _leak(question: Question) -> int:
    """Return what outputs of a question tell about the level; refuse one that cannot be hidden."""
    reason = question.hideable()
    if reason is not None:
        raise SurveyError(f"hide_level: question {question.name}: {reason}")
    try:
        leak = level_leak(question.channels)
    except EpsilonError:
        names = ", ".join(channel.mechanism for channel in question.channels)
        rule = "must give reports of one form at every level, or their form shows the level"
        fail(f"hide_level: question {question.name}.mechanism", rule, names)
    if leak == math.inf:
        raise SurveyError(_PROVES.format(f"question {question.name}"))
    return int(leak)
