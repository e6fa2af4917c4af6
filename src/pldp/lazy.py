"""Packages that load a name when it is first used, so that a device or a help text loads only what it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from sys import modules
from typing import Any

__all__ = ["lazy_exports"]


def lazy_exports(
    package: str, names: Mapping[str, Iterable[str]]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` of a package, given the names that each module exports.

    >>> exported, load, _ = lazy_exports("pldp", {"pldp.errors": ["PldpError"]})
    >>> exported, load("PldpError").__name__
    (['PldpError'], 'PldpError')
    """
    homes = {name: module for module, exported in names.items() for name in exported}

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(homes[name]), name)
        setattr(modules[package], name, found)
        return found

    return sorted(homes), load, lambda: sorted(homes)
