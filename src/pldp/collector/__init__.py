"""Reports in over HTTP, kept durably, estimates out. Nothing here can reach the code that sees raw values.

Needs the extra `collector`: `pip install 'pldp[collector]'`. Names are loaded when first used, so that the command line
works without it.
"""

from typing import TYPE_CHECKING

from pldp.lazy import lazy_exports

if TYPE_CHECKING:
    from pldp.collector.app import Collector as Collector
    from pldp.collector.database import open_database as open_database
    from pldp.collector.http import Problem as Problem
    from pldp.collector.packing import Packed as Packed
    from pldp.collector.packing import Packing as Packing
    from pldp.collector.sender import Sender as Sender
    from pldp.collector.server import serve as serve
    from pldp.collector.settings import PREFIX as PREFIX
    from pldp.collector.settings import Settings as Settings
    from pldp.collector.store import Outcome as Outcome
    from pldp.collector.store import Round as Round
    from pldp.collector.store import Store as Store
    from pldp.collector.tokens import Tokens as Tokens

__all__, __getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "pldp.collector.app": ("Collector",),
        "pldp.collector.database": ("open_database",),
        "pldp.collector.packing": ("Packed", "Packing"),
        "pldp.collector.http": ("Problem",),
        "pldp.collector.sender": ("Sender",),
        "pldp.collector.server": ("serve",),
        "pldp.collector.settings": ("PREFIX", "Settings"),
        "pldp.collector.store": ("Outcome", "Round", "Store"),
        "pldp.collector.tokens": ("Tokens",),
    },
)
