"""What a kind of question must offer so that its promises can be audited."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final, Generic, NamedTuple, TypeVar

from pldp.epsilon import MICRO
from pldp.mechanisms import Domain
from pldp.survey import Question

Q = TypeVar("Q", bound=Question)

LABELS: Final = ["a", "b", "c", "d"]  # of the questions that a mechanism is audited with


MOST_VALUES: Final = 12  # labels of a question that are compared


class Comparison(NamedTuple):
    """Answers to compare, ε that is claimed between any two of them, and those that should take the same time.

    `left_out` says what could have been compared and is not.
    """

    answers: list[Any]
    claims: list[list[float]]
    timed: list[int]
    left_out: str = ""


class AuditedKind(ABC, Generic[Q]):
    """The promises of a question of one kind."""

    domain: ClassVar[Domain]  # what the values of its channels are

    @abstractmethod
    def compare(self, question: Q, level: int) -> Comparison:
        """Return answers between which a device's reports are compared; fewer than two where nothing is protected."""

    def size(self, document: Mapping[str, Any]) -> int:
        """Return the number of values of a question's channels, from its table in a survey document."""
        return len(document["values"])

    def whole(self, document: Mapping[str, Any]) -> bool:  # noqa: ARG002 - sets of labels have a choice
        """Tell whether a question's budget is that of the whole answer, not of its parts; from its table."""
        return True

    @abstractmethod
    def example(self, mechanism: str) -> dict[str, Any]:
        """Return a small question that uses this mechanism, as a survey file has it."""


def claims_between(count: int, claim: Callable[[int, int], float]) -> list[list[float]]:
    """Return the ε claimed between any two of so many answers."""
    return [[claim(one, two) for two in range(count)] for one in range(count)]


def label_epsilons(question: Question, level: int) -> list[float]:
    """Return the ε of each label: its budget, or that of the answer."""
    promises = [micro / MICRO for micro in question.promises(level)]
    return promises if len(promises) > 1 else promises * question.size


def spread(places: Sequence[int], most: int = MOST_VALUES) -> list[int]:
    """Return all places, or as many as are compared: the first two, the last one, and some evenly between.

    >>> spread(range(100), 5)
    [0, 1, 34, 66, 99]
    """
    if len(places) <= most:
        return list(places)
    step = (len(places) - 2) / (most - 2)
    return [*places[:2], *(places[round(1 + step * at)] for at in range(1, most - 1))]


def left_out(places: Sequence[int], chosen: Sequence[int], what: str = "labels") -> str:
    """Say how many labels are not compared, if any."""
    return (
        f"{len(places) - len(chosen):,} of {len(places):,} {what} were not compared"
        if len(places) > len(chosen)
        else ""
    )


def protected(epsilons: Sequence[float]) -> list[int]:
    """Return the places of the labels that have a finite ε."""
    return [place for place, epsilon in enumerate(epsilons) if math.isfinite(epsilon)]
