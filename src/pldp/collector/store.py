"""What every store does, whichever database is below: the contract that `tests/collector` checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import pyarrow as pa

from pldp.collector.packing import Packed
from pldp.reports import Rejection
from pldp.tallies import Tally

Outcome = Rejection | None
"""Why a report was not taken; `None`: it is stored."""

NO_ROUND: Final = 0
"""Under this number rejections are counted while no round is open."""


@dataclass(frozen=True)
class Round:
    """A time of collection: its number, whether it still takes reports, how many it has and how many went away."""

    number: int
    open: bool
    reports: int
    withdrawn: int


class Store(Protocol):
    """Keeps reports for good. Methods that write are called from one thread, those that read from any."""

    def add(self, reports: Sequence[Packed], rejections: Mapping[Rejection, int]) -> list[Outcome]:
        """Store reports in one transaction and count what was rejected before; when it returns, all is durable."""

    def receipt(self, identity: bytes) -> str:
        """Return what the sender of a report withdraws it with."""

    def withdraw(self, receipt: str) -> bool:
        """Erase the report of a receipt; `False` if there is none. Again is harmless."""

    def close_round(self) -> Round:
        """Close the open round: its tally is kept and never changes again."""

    def open_round(self) -> Round:
        """Open the next round; the open one stays if there is one."""

    def rounds(self) -> list[Round]:
        """Return all rounds, oldest first."""

    def tally(self, number: int | None = None) -> Tally:
        """Return the tally of a round, of the latest by default."""

    def batches(self, number: int | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the reports of a round in columns."""

    def rejections(self) -> dict[Rejection, int]:
        """Return how many reports were rejected in all, by reason."""

    def backup(self, target: str | Path) -> None:
        """Copy everything to a file that a collector can start from."""

    def close(self) -> None:
        """Let go of the database."""
