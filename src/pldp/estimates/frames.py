"""Records as data frames, of whichever library is installed."""

from contextlib import suppress
from importlib import import_module
from typing import Any

from pldp.errors import EstimateError


def make_frame(records: list[dict[str, Any]], library: str | None) -> Any:
    """Return records as a pandas or Polars data frame, whichever is asked for or installed."""
    if library not in (None, "pandas", "polars"):
        raise EstimateError(f"library must be pandas or polars, not {library!r}")
    for name in (library,) if library else ("pandas", "polars"):
        with suppress(ImportError):
            return import_module(name).DataFrame(records)
    lacking = f"the package {library}, which is not" if library else "pandas or Polars, and neither is"
    raise EstimateError(f"to_frame needs {lacking} installed")
