"""Tables and figures of the published systems, run again, with a verdict on each claim: `pldp reproduce NAME`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pldp.errors import UsageError
from pldp.experiments import aprr, febsf, ipldp, mpldp, multiservice

__all__ = ["EXPERIMENTS", "NEEDS", "reproduce"]

Progress = Callable[[int, int], None]
"""Called with the number of parts done and the number in all."""

EXPERIMENTS: Final[dict[str, Callable[..., dict[str, Any]]]] = {
    "febsf": febsf.run,
    "mpldp": mpldp.run,
    "ipldp": ipldp.run,
    "aprr": aprr.run,
    "multiservice": multiservice.run,
}
"""Names and what runs them."""


NEEDS: Final[dict[str, tuple[str, ...]]] = {
    "febsf": ("adult_education", "bank_job", "adult_country"),
    "mpldp": ("adult",),
    "ipldp": ("kosarak_items",),
    "aprr": ("basket",),
    "multiservice": ("taxi_pickups", "sf_pay"),
}
"""The datasets of real people that each experiment uses, those that ship and those of `pldp.datasets.published`."""


def reproduce(name: str, *, quick: bool = False, seed: int = 0, progress: Progress | None = None) -> dict[str, Any]:
    """Run one experiment and return rows and verdicts as plain data."""
    if name not in EXPERIMENTS:
        raise UsageError(f"experiment must be one of {', '.join(EXPERIMENTS)}, not {name[:40]!r}")
    return EXPERIMENTS[name](quick=quick, seed=seed, progress=progress)
