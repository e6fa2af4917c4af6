"""One answer out of several: a share per value."""

from pldp.show.kinds.kind import Kind
from pldp.show.table import Mapped


class Choice(Kind):
    """Shares of values."""

    phrase = "one answer"
    heads = ("value", "share")
    legend = "The line is the {confidence} % interval, the dot the estimate within it."

    def picture(self, result: Mapped) -> str:
        """Draw a dot per value."""
        return self.dotted(result, result["rows"], f"Shares of {result['name']} with their intervals")
