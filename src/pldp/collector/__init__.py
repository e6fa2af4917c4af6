"""Reports in over HTTP, kept durably, estimates out. Nothing here can reach the code that sees raw values.

Needs the extra `collector`: `pip install 'pldp[collector]'`. Names are loaded when first used, so that the command line
works without it.
"""

from typing import TYPE_CHECKING

from pldp.lazy import lazy_exports

if TYPE_CHECKING:
    from pldp.collector.acts import Act, acts_at, record_at
    from pldp.collector.advice import token_command, warnings
    from pldp.collector.app import Collector
    from pldp.collector.database import open_database
    from pldp.collector.http import Problem
    from pldp.collector.lake import Exported, Lake
    from pldp.collector.logs import log_json
    from pldp.collector.packing import Packed, Packing
    from pldp.collector.recount import tally_all
    from pldp.collector.rounds import Round
    from pldp.collector.sender import Sender
    from pldp.collector.server import serve
    from pldp.collector.settings import PREFIX, Settings
    from pldp.collector.store import Outcome, Store
    from pldp.collector.tokens import Tokens

__all__ = [
    "PREFIX", "Act", "Collector", "Exported", "Lake", "Outcome", "Packed", "Packing", "Problem", "Round", "Sender",
    "Settings", "Store", "Tokens", "acts_at", "log_json", "open_database", "record_at", "serve", "tally_all",
    "token_command", "warnings",
]  # fmt: skip

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "pldp.collector.acts": ("Act", "acts_at", "record_at"),
        "pldp.collector.app": ("Collector",),
        "pldp.collector.database": ("open_database",),
        "pldp.collector.lake": ("Exported", "Lake"),
        "pldp.collector.packing": ("Packed", "Packing"),
        "pldp.collector.http": ("Problem",),
        "pldp.collector.logs": ("log_json",),
        "pldp.collector.sender": ("Sender",),
        "pldp.collector.server": ("serve",),
        "pldp.collector.settings": ("PREFIX", "Settings"),
        "pldp.collector.rounds": ("Round",),
        "pldp.collector.store": ("Outcome", "Store"),
        "pldp.collector.recount": ("tally_all",),
        "pldp.collector.tokens": ("Tokens",),
        "pldp.collector.advice": ("token_command", "warnings"),
    },
)
