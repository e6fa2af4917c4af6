"""Files of code: JavaScript modules with what they import, and scripts that are in no package."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any


def with_imports(names: Iterable[str], pattern: str, text_of: Callable[[str], str]) -> set[str]:
    """Return these modules and all that come with them, through imports of this form."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [normpath(join(dirname(name), path)) for path in re.findall(pattern, text_of(name))]
    return found


def load_script(path: Path) -> Any:
    """Return a script as a module."""
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
