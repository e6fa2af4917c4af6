"""The same tallies from SQL: one query checks and counts reports wherever they are, and its result becomes a tally."""

from pldp.tallies.sql.dialects import DIALECTS, Dialect
from pldp.tallies.sql.query import Bytes, query
from pldp.tallies.sql.reading import read_counts

__all__ = ["DIALECTS", "Bytes", "Dialect", "query", "read_counts"]
