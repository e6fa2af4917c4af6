"""Packages that load a name when it is first used, so that a device or a help text loads only what it needs."""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from sys import modules
from typing import Any


def lazy_exports(
    package: str,
    names: Mapping[str, Iterable[str]],
    *,
    packages: Iterable[str] = (),
    hints: Mapping[str, str] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package, given the names that it exports, by the modules that have them.

    `packages` are those inside it that need no import of their own; `hints` say what to use instead of names that one
    could look for here.

    >>> load, names = lazy_exports("pldp", {"pldp.errors": ["PldpError"]})
    >>> names(), load("PldpError").__name__
    (['PldpError'], 'PldpError')
    """
    homes = {name: module for module, exported in names.items() for name in exported}
    inside = frozenset(packages)

    def load(name: str) -> Any:
        if name in inside:
            return import_module(f"{package}.{name}")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}{_hint(name)}", name=name)
        found = getattr(import_module(homes[name]), name)
        setattr(modules[package], name, found)
        return found

    def _hint(name: str) -> str:
        if name.startswith("_"):  # asked by Python itself
            return ""
        if hints and name in hints:
            return f"; use {hints[name]}"
        from pldp.words import suggest  # noqa: PLC0415 - only errors need it

        return suggest(name, [*homes, *inside])

    return load, lambda: sorted({*homes, *inside})
