"""One answer out of several: a share per value."""

from typing import Final

from pldp.show.kinds.kind import Kind
from pldp.show.table import Mapped

_BAR: Final = " The bar is the nearest set of shares that could be true: none below 0, together 100 %."


class Choice(Kind):
    """Shares of values; they may be negative, and the consistent ones are the nearest that could be true."""

    phrase = "one answer"
    heads = ("value", "share")
    legend = "The dot is the unbiased estimate, the line its {confidence} % interval; both may reach below 0."

    def legend_of(self, result: Mapped) -> str:
        """Explain the bar where there is one."""
        bars = any(row.get("consistent") is not None for row in result["rows"])
        return f"{super().legend_of(result)}{_BAR if bars else ''}"

    def picture(self, result: Mapped) -> str:
        """Draw a dot per value."""
        return self.dotted(result, result["rows"], f"Shares of {result['name']} with their intervals")
