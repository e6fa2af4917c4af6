"""Reports in over HTTP, kept durably, estimates out. Nothing here can reach the code that sees raw values.

Needs the extra `collector`: `pip install 'pldp[collector]'`. Names are loaded when first used, so that the command line
works without it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pldp.collector.app import Collector
    from pldp.collector.database import open_database
    from pldp.collector.packing import Packed, Packing
    from pldp.collector.problems import Problem
    from pldp.collector.sender import Sender
    from pldp.collector.server import serve
    from pldp.collector.settings import Settings
    from pldp.collector.store import Outcome, Round, Store
    from pldp.collector.tokens import Tokens

__all__ = [
    "Collector",
    "Outcome",
    "Packed",
    "Packing",
    "Problem",
    "Round",
    "Sender",
    "Settings",
    "Store",
    "Tokens",
    "open_database",
    "serve",
]

_HOMES = {
    "Collector": "app",
    "Outcome": "store",
    "Packed": "packing",
    "Packing": "packing",
    "Problem": "problems",
    "Round": "store",
    "Sender": "sender",
    "Settings": "settings",
    "Store": "store",
    "Tokens": "tokens",
    "open_database": "database",
    "serve": "server",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pldp.collector' has no attribute {name!r}")
    return getattr(import_module(f"pldp.collector.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
