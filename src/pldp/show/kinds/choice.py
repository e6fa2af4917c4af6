"""One answer out of several: a share per value."""

from pldp.show.kinds.kind import Kind, drawn, shown
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

    def picture(self, result: Mapped) -> str:
        """Draw a dot per value."""
        write = self.writer(result)
        about = f"Shares of {result['name']} with their intervals; the numbers are in the table below"
        return dots(drawn(result["rows"]), lambda row: (self.label(row), shown(row, write(row))), about)
