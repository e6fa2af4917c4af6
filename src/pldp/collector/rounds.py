"""Rounds of a store: which there are, which is open, and what is known of each."""

from dataclasses import dataclass
from typing import NamedTuple

from pldp.collector.database import Connection
from pldp.errors import StoreError


@dataclass(frozen=True)
class Round:
    """A time of collection: its number, whether it still takes reports, how many it has and how many went away."""

    number: int
    open: bool
    reports: int
    withdrawn: int


class RoundState(NamedTuple):
    """What decides how a round is counted; `latest`: no round came after it."""

    number: int
    withdrawn: int
    closed: bool
    deleted: bool
    latest: bool


def read_rounds(reader: Connection) -> list[Round]:
    """Return all rounds, oldest first."""
    found = reader.execute("SELECT number, closed, received, withdrawn FROM rounds ORDER BY number").fetchall()
    return [Round(number, not closed, received - gone, gone) for number, closed, received, gone in found]


def deleted_rounds(reader: Connection) -> set[int]:
    """Return the rounds whose single reports were deleted or are being deleted."""
    return {number for (number,) in reader.execute("SELECT number FROM rounds WHERE deleted > 0").fetchall()}


def round_state(reader: Connection, number: int | None) -> RoundState:
    """Return the state of a round, of the latest by default."""
    found = reader.execute(
        "SELECT number, withdrawn, closed, deleted, number = (SELECT max(number) FROM rounds) FROM rounds "
        "WHERE number = coalesce(?, (SELECT max(number) FROM rounds))",
        (number,),
    ).fetchone()
    if found is None:
        raise StoreError(f"there is no round {number}")
    number, withdrawn, *flags = found
    return RoundState(number, withdrawn, *map(bool, flags))
