"""Many who spend from one budget at once, over connections of their own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

from helpers.collector.forks import FORKS
from pldp.collector import open_database
from pldp.collector.database import Connection
from pldp.collector.ledger import Ledger

Spend = Callable[[Connection, bytes, int, Callable[[], Any]], bool]


def conditional(connection: Connection, payer: bytes, micro: int, _: Callable[[], Any]) -> bool:
    """The ledger's own way."""
    return Ledger(micro).charge(connection, payer)


def check_then_update(connection: Connection, payer: bytes, micro: int, together: Callable[[], Any]) -> bool:
    """What one would write first: look, and then write. Everybody looks before anybody writes."""
    find = "SELECT name, budget, spent FROM ledger JOIN tokens USING (name) WHERE hash = ?"
    name, budget, spent = connection.execute(find, (payer,)).fetchone()
    together()
    if spent + micro > budget:
        return False
    connection.execute("UPDATE ledger SET spent = spent + ? WHERE name = ?", (micro, name))
    return True


def spend_at_once(where: str | Path, payer: bytes, ways: int, times: int, spend: Spend) -> int:
    """Let so many threads try so many times each to spend 1; return how many times they could."""
    together = Barrier(ways)

    def spend_some(_: int) -> int:
        connection = open_database(where).connect()
        together.wait(60)
        granted = sum(spend(connection, payer, 1, lambda: together.wait(60)) for _ in range(times))
        connection.close()
        return granted

    with ThreadPoolExecutor(ways) as pool:
        return sum(pool.map(spend_some, range(ways)))


def spend_in_processes(where: str | Path, payer: bytes, processes: int, ways: int, times: int) -> int:
    """The same from several processes, forked from one that has loaded the collector; see `helpers.collector.forks`."""
    work = [(where, payer, ways, times, conditional)] * processes
    with FORKS.Pool(processes) as pool:
        granted = pool.starmap(spend_at_once, work, chunksize=1)
        pool.close()
        pool.join()
    return sum(granted)
