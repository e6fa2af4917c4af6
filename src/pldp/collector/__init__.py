"""Reports in over HTTP, kept durably, estimates out. Nothing here can reach the code that sees raw values.

Needs the extra `collector`: `pip install 'pldp[collector]'`.
"""

from pldp.collector.packing import Packed, Packing
from pldp.collector.sqlite import SqliteStore, backup
from pldp.collector.store import Outcome, Round, Store

__all__ = ["Outcome", "Packed", "Packing", "Round", "SqliteStore", "Store", "backup"]
