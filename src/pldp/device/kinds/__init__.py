"""What a device does with a raw answer, by the kind of its question. Raw answers are seen nowhere else."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final, Protocol

from pldp.device.kinds import choice, choices, number


class DeviceKind(Protocol):
    """What the module of a kind offers."""

    def encode(self, question: Any, value: object) -> int | Fraction:
        """Return what the channel perturbs; a value that does not fit is refused and never repeated.

        A fraction is a place between two values: it is rounded to one of them at random just before the channel.
        """

    def explain(self, question: Any, level: int) -> list[str]:
        """Say in a few lines what a level does to an answer and what a report can tell."""


BY_KIND: Final[Mapping[str, DeviceKind]] = {"choice": choice, "choices": choices, "number": number}
"""The module of each kind."""
