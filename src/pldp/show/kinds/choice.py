"""One answer out of several: a share per value."""

from __future__ import annotations

from collections.abc import Callable

from pldp.show.kinds.kind import Kind
from pldp.show.numbers import Writer, percents
from pldp.show.picture import dots
from pldp.show.table import Mapped


class Choice(Kind):
    """Shares of values; they may be negative, and the consistent ones are the nearest that could be true."""

    phrase = "one answer"
    heads = ("value", "share")
    legend = (
        "The dot is the unbiased estimate, the line its {confidence} % interval; both may reach below 0. "
        "The bar is the nearest set of shares that could be true."
    )

    def writer(self, result: Mapped, *, more: int = 0) -> Callable[[Mapped], Writer]:
        """Write per cent, all rows with the digits of the most precise one."""
        write = percents([row["standard_error"] for row in result["rows"]], more=more)
        return lambda _: write

    def picture(self, result: Mapped) -> str:
        """Draw a dot per value."""
        write = self.writer(result)
        about = f"Shares of {result['name']} with their intervals; the numbers are in the table below"
        return dots(result["rows"], lambda row: (self.label(row), write(row)(row["estimate"])), about)
