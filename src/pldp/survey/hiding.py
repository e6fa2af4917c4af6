"""Read `hide_level`: which channels hide the level within a cap, and the channel of the label."""

from __future__ import annotations

from typing import Final, NamedTuple

from pldp.budgets import Level
from pldp.errors import EpsilonError, SurveyError
from pldp.mechanisms import (
    PureChannel,
    RandomizedResponse,
    epsilon_text,
    hideable,
    level_leak,
)
from pldp.survey.model import Question
from pldp.survey.reading import fail, read_epsilon, read_table

LEAST_LABEL_EPSILON: Final = 10_000
"""Micro-ε that a leak cap must leave for the label itself; with less, labels say nothing about the mix of levels."""


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


def read_hiding(entry: object, levels: tuple[Level, ...], questions: int) -> Hiding | None:
    """Read `hide_level` of a survey whose people answer so many questions."""
    if entry is None:
        return None
    table = read_table(entry, "hide_level", {"epsilon", "leak_cap", "mechanism", "weights"}, required=())
    if "epsilon" not in table and "leak_cap" not in table:
        raise SurveyError("hide_level: epsilon is missing (or leak_cap, from which it is derived)")
    if len(levels) < 2:
        fail("hide_level", "must have at least two levels to hide among", len(levels))
    if len({level.micro_epsilon for level in levels}) < len(levels):
        fail("hide_level", "must have levels of different epsilon", [str(level) for level in levels])
    if table.get("mechanism", "krr") != "krr":
        fail("hide_level.mechanism", "must be 'krr'", table["mechanism"])
    epsilon, cap = (
        None if table.get(name) is None else read_epsilon(table[name], f"hide_level.{name}")
        for name in ("epsilon", "leak_cap")
    )
    return Hiding(epsilon, cap, table.get("weights"), questions)


def hidden_channels(
    key: str, size: int, levels: tuple[Level, ...], mechanism: object, hiding: Hiding
) -> tuple[PureChannel, ...]:
    """Choose the most accurate channels of one form whose leak about the level stays within the cap."""
    if not isinstance(mechanism, str):
        fail(f"{key}.mechanism", "must be a name", mechanism)
    try:
        sets = list(hideable(mechanism, size, [level.micro_epsilon for level in levels]))
    except EpsilonError as error:
        raise SurveyError(f"{key}: {error}") from None
    leaks = {channels: level_leak(channels) for channels in sets}
    allowed = [channels for channels in sets if hiding.room is None or leaks[channels] <= hiding.room]
    if not allowed:
        known = ", ".join(f"{channels[0].mechanism} {epsilon_text(leak)}" for channels, leak in leaks.items())
        raise SurveyError(
            f"hide_level.leak_cap: must leave room for epsilon beside what the reports of {key} tell about the level "
            f"by themselves ({known}), not {epsilon_text(hiding.leak_cap or 0)}"
        )
    return max(allowed, key=lambda channels: sum(1 / channel.variance(1 / size) for channel in channels))


def label_channel(
    hiding: Hiding, levels: tuple[Level, ...], questions: tuple[Question, ...]
) -> tuple[int, PureChannel]:
    """Build the channel of the label; its ε is the one asked for, or what the cap leaves beside all outputs."""
    leaks = []
    for question in questions:
        try:
            leaks.append(level_leak(question.pure_channels))
        except EpsilonError:
            names = ", ".join(channel.mechanism for channel in question.channels)
            fail(
                f"hide_level: question {question.name}.mechanism",
                "must give reports of one form at every level, or their form shows the level",
                names,
            )
    outputs = sum(sorted(leaks)[-hiding.questions :])
    if hiding.leak_cap is not None and outputs + (hiding.micro_epsilon or LEAST_LABEL_EPSILON) > hiding.leak_cap:
        fail(
            "hide_level.leak_cap",
            f"must leave room for epsilon beside the {epsilon_text(outputs)} that outputs alone tell about the level",
            epsilon_text(hiding.leak_cap),
        )
    micro = hiding.micro_epsilon if hiding.micro_epsilon is not None else (hiding.leak_cap or 0) - outputs
    try:
        if hiding.weights is None:
            return micro, RandomizedResponse.of(len(levels), micro)
        return micro, _published(len(levels), micro, hiding.weights)
    except EpsilonError as error:
        raise SurveyError(f"hide_level: {error}") from None


def _published(size: int, micro: int, weights: object) -> PureChannel:
    """Rebuild the published channel of the label and refuse it if its true ε is above the promise."""
    if not isinstance(weights, dict) or not all(type(weight) is int for weight in weights.values()):
        fail("hide_level: weights", "must be a table of integers", weights)
    built = RandomizedResponse.read(size, weights)
    if built.micro_epsilon > micro:
        fail(
            "hide_level: weights",
            f"must keep the promised epsilon {epsilon_text(micro)}",
            epsilon_text(built.micro_epsilon),
        )
    return built
