"""The same tallies from SQL: one query checks and counts reports wherever they are, and its result becomes a tally.

`tally_files` runs it in place with DuckDB, and is loaded when it is first used: it needs `pldp[sql]`.
"""

from typing import TYPE_CHECKING

from pldp.lazy import lazy_exports
from pldp.tallies.sql.dialects import DIALECTS, Dialect
from pldp.tallies.sql.query import Bytes, query
from pldp.tallies.sql.reading import read_counts

if TYPE_CHECKING:
    from pldp.tallies.sql.files import tally_files

__all__ = ["DIALECTS", "Bytes", "Dialect", "query", "read_counts", "tally_files"]

__getattr__ = lazy_exports(__name__, {"pldp.tallies.sql.files": ("tally_files",)})[0]
