"""What the folder of a paper tells everybody else: its experiment, its exhibits, and a verdict on each claim."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pldp.papers.report.exhibits import Exhibit, Result


@dataclass(frozen=True)
class Verdict:
    """What a paper claims, whether that holds in this run, and the numbers that decide."""

    claim: str
    holds: bool
    measured: str


@dataclass(frozen=True)
class Paper:
    """A paper by the name of its folder, with its exhibits in their order.

    `datasets` are the data of real people that `run` uses: what ships and what has a publisher. `run` returns `rows`
    and whatever else is measured, as plain data; `judge` and `notes` (what a reader must know of the data, and what was
    left out) take what it returned.
    """

    name: str
    citation: str
    datasets: Sequence[str]
    run: Callable[..., dict[str, Any]]
    judge: Callable[[Result], Iterable[Verdict]]
    exhibits: Sequence[Exhibit]
    notes: Callable[[Result], Sequence[str]] = lambda _: ()


def span(numbers: Collection[float], form: str = ".2f") -> str:
    """Return the smallest and the largest number in words.

    >>> span([3, 1, 2], "g")
    '1 to 3'
    """
    return f"{min(numbers):{form}} to {max(numbers):{form}}"


def listing(numbers: Mapping[str, float], form: str) -> str:
    """Return named numbers in words.

    >>> listing({"job": 0.5, "country": 0.25}, ".0%")
    'job 50%, country 25%'
    """
    return ", ".join(f"{name} {number:{form}}" for name, number in numbers.items())
