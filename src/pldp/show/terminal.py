"""One result for terminals: a heading, and its tables as rows of text."""

from pldp.show.kinds import BY_KIND
from pldp.show.table import Mapped, Table, groups_table, name_of


def heading(result: Mapped) -> str:
    """Return what a result is about and what it is made from."""
    return f"{name_of(result)}: {result['reports']:,} reports, {result['method']}"


def tables(result: Mapped) -> list[Table]:
    """Return everything that is a table: rows, what the kind adds, bars in place of a picture, levels."""
    kind = BY_KIND[result["kind"]]
    return [*kind.tables(result), *filter(None, (kind.bars(result), groups_table(result)))]
