"""Personalised local differential privacy, end to end.

`Survey` · `Device` · `Report` · `Tally` · `Result`; `tally(survey, reports)`, `estimate(tally[, question])`, `plan(…)`,
`audit(…)`, `simulate(…)`. Names are loaded when first used, so that `import pldp.device` on a person's device loads no
NumPy and `pldp --version` answers at once.
"""

from typing import TYPE_CHECKING

from pldp.lazy import lazy_exports

if TYPE_CHECKING:
    from pldp.auditing import Audit as Audit
    from pldp.auditing import audit as audit
    from pldp.device import Device as Device
    from pldp.errors import PldpError as PldpError
    from pldp.estimates import Result as Result
    from pldp.estimates import Results as Results
    from pldp.estimates import estimate as estimate
    from pldp.estimates import two_way as two_way
    from pldp.planning import Plan as Plan
    from pldp.planning import plan as plan
    from pldp.reports import Report as Report
    from pldp.survey import Survey as Survey
    from pldp.tallies import Tally as Tally
    from pldp.tallies import tally as tally

__version__ = "0.1.0"

__all__, __getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "pldp.auditing": (
            "Audit",
            "audit",
        ),
        "pldp.device": ("Device",),
        "pldp.errors": ("PldpError",),
        "pldp.estimates": (
            "Result",
            "Results",
            "estimate",
            "two_way",
        ),
        "pldp.planning": (
            "Plan",
            "plan",
        ),
        "pldp.reports": ("Report",),
        "pldp.survey": ("Survey",),
        "pldp.tallies": (
            "Tally",
            "tally",
        ),
    },
)
