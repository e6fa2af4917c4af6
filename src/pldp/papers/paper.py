"""What the folder of a paper tells everybody else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pldp.papers.report.exhibits import Exhibit, Result
from pldp.papers.verdict import Verdict


@dataclass(frozen=True)
class Paper:
    """A paper, its experiment, its claims and its exhibits in their order.

    Attributes
    ----------
    name
        That of its folder.
    citation
        Authors and title.
    datasets
        The data of real people that the experiment uses: what ships and what has a publisher.
    run
        The experiment: returns `rows` and whatever else is measured, as plain data.
    judge
        Returns a verdict on each claim from what the experiment returned.
    exhibits
        Tables and figures.
    notes
        What a reader must know of a run's data and of what it left out.
    """

    name: str
    citation: str
    datasets: Sequence[str]
    run: Callable[..., dict[str, Any]]
    judge: Callable[[Result], Sequence[Verdict]]
    exhibits: Sequence[Exhibit]
    notes: Callable[[Result], Sequence[str]] = lambda _: ()
