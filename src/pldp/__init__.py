"""Personalised local differential privacy, end to end.

`Survey` · `Device` · `Report` · `Tally` · `Result`; `tally(survey, reports)`, `estimate(tally)`.
Names are loaded when first used, so that `import pldp.device` on a person's device loads no NumPy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pldp.auditing import Audit, audit
    from pldp.device import Device
    from pldp.errors import PldpError
    from pldp.estimates import Result, Results, Shares, estimate, frequencies
    from pldp.planning import Plan, plan
    from pldp.reports import Report
    from pldp.survey import Survey
    from pldp.tallies import Tally, tally

__version__ = "0.1.0"

__all__ = [
    "Audit",
    "Device",
    "Plan",
    "PldpError",
    "Report",
    "Result",
    "Results",
    "Shares",
    "Survey",
    "Tally",
    "__version__",
    "audit",
    "estimate",
    "frequencies",
    "plan",
    "tally",
]

_HOMES = {
    "Audit": "pldp.auditing",
    "Device": "pldp.device",
    "Plan": "pldp.planning",
    "PldpError": "pldp.errors",
    "Report": "pldp.reports",
    "Result": "pldp.estimates",
    "Results": "pldp.estimates",
    "Shares": "pldp.estimates",
    "Survey": "pldp.survey",
    "Tally": "pldp.tallies",
    "audit": "pldp.auditing",
    "estimate": "pldp.estimates",
    "frequencies": "pldp.estimates",
    "plan": "pldp.planning",
    "tally": "pldp.tallies",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pldp' has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
