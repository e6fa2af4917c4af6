"""What each enrolled person has spent: charged by one conditional statement, in a table that no report points to.

Every report is charged the same: the most that any report of the survey can cost. A sum of what the reports really cost
would tell which levels a person chose, and so which reports are theirs; a multiple of one price tells how many came.

The ledger is written in the transaction that stores the report, so a spend is there if and only if its report is. A
database remembers the order of its writes in places that no query of ours reads: PostgreSQL stamps every row with its
transaction, and both move a rewritten row. `mix` therefore writes all rows anew, in the order of their names.
"""

from typing import Final, NamedTuple

from pldp.collector.database import Connection

MIX_AT_LEAST: Final = 1000
"""Charges between two mixes, or as many as there are people if that is more: the cost per charge stays constant."""

CHARGE: Final = (
    "UPDATE ledger SET spent = spent + ? WHERE spent + ? <= budget "
    "AND name = (SELECT name FROM tokens WHERE hash = ? OR previous = ?)"
)


class Account(NamedTuple):
    """Budget of a person and what is spent of it, in micro-ε."""

    budget: int
    spent: int


class Ledger:
    """Charges `price` micro-ε per report, and mixes what it has written before its order could tell who sent which."""

    def __init__(self, price: int) -> None:
        self._price = price
        self.charged = 0  # charges that were tried since the last mix
        self._people = 0

    def charge(self, writer: Connection, payer: bytes) -> bool:
        """Charge one report to the holder of the token with this hash; `False` if the budget does not allow it.

        Condition and change are one statement: however many try at once, no two of them see the same rest.
        """
        self.charged += 1
        return bool(writer.execute(CHARGE, (self._price, self._price, payer, payer)).rowcount)

    @property
    def due(self) -> bool:
        """Whether enough was charged to be mixed."""
        return self.charged >= max(MIX_AT_LEAST, self._people)

    def mix(self, writer: Connection) -> None:
        """Write all rows anew in the order of their names, in the transaction that is open.

        Sums that an older version charged by the levels of the reports are rounded up to whole reports.
        """
        if writer.execute("SELECT 1 FROM ledger LIMIT 1").fetchone():
            writer.execute("CREATE TEMPORARY TABLE mixed AS SELECT name, budget, spent FROM ledger")
            writer.execute("DELETE FROM ledger WHERE name IN (SELECT name FROM mixed)")  # others may enrol meanwhile
            written = writer.execute(
                "INSERT INTO ledger SELECT name, budget, (spent + ? - 1) / ? * ? FROM mixed ORDER BY name",
                (self._price,) * 3,
            )
            self._people = int(written.rowcount)
            writer.execute("DROP TABLE mixed")
        self.charged = 0
