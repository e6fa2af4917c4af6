"""Personalised local differential privacy, end to end.

`Survey` · `Device` · `Report` · `Tally` · `Result`; `tally(survey, reports)`, `estimate(tally[, question])`,
`trend(rounds)`, `plan(…)`, `audit(…)`, `simulate.simulate(…)`. Names and packages are loaded when first used, so that
`import pldp.device` on a person's device loads no NumPy and `pldp --version` answers at once.
"""

from typing import TYPE_CHECKING

from pldp.lazy import lazy_exports

if TYPE_CHECKING:
    from pldp import auditing as auditing
    from pldp import budgets as budgets
    from pldp import device as device
    from pldp import errors as errors
    from pldp import estimates as estimates
    from pldp import mechanisms as mechanisms
    from pldp import papers as papers
    from pldp import planning as planning
    from pldp import reports as reports
    from pldp import shuffling as shuffling
    from pldp import simulate as simulate
    from pldp import survey as survey
    from pldp import tallies as tallies
    from pldp.auditing import Audit, audit
    from pldp.device import Device
    from pldp.errors import PldpError
    from pldp.estimates import Change, Result, Results, Trend, change, combine, estimate, three_way, trend, two_way
    from pldp.planning import Plan, plan
    from pldp.reports import Report
    from pldp.survey import Survey
    from pldp.tallies import Service, Tally, fuse, tally

try:
    from pldp._version import __version__ as __version__  # written by the build, from the tag
except ImportError:  # a checkout
    __version__ = "0.1.0.dev0"

_ELSEWHERE = {
    "auditing": ("AuditSettings", "audit_channel", "exact_epsilon"),
    "budgets": ("Level", "allocate", "compose", "micro_epsilon"),
    "collector": ("Collector", "Sender", "Settings", "Store", "serve"),
    "device": ("Ledger",),
    "estimates": (
        "Density",
        "Itemsets",
        "Mean",
        "MeanResult",
        "NumberResult",
        "Row",
        "Sets",
        "Shares",
        "Table",
        "supports",
    ),
    "mechanisms": ("Channel", "build", "names"),
    "papers": ("PAPERS", "reproduce"),
    "reports": ("Answer", "Rejection", "read_report"),
    "shuffling": ("Shuffled", "guess", "shuffle"),
    "simulate": ("Population", "perturb", "simulate_reports"),
    "survey": ("Choice", "Choices", "Number", "Question", "sign", "verify"),
    "tallies": ("Fused",),
}
"""Names that one could look for here, by the packages that have them."""

__all__ = [
    "Audit", "Change", "Device", "Plan", "PldpError", "Report", "Result", "Results", "Service", "Survey", "Tally",
    "Trend", "audit", "change", "combine", "estimate", "fuse", "plan", "tally", "three_way", "trend", "two_way",
]  # fmt: skip

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "pldp.auditing": ("Audit", "audit"),
        "pldp.device": ("Device",),
        "pldp.errors": ("PldpError",),
        "pldp.estimates": (
            "Change",
            "Result",
            "Results",
            "Trend",
            "change",
            "combine",
            "estimate",
            "three_way",
            "trend",
            "two_way",
        ),
        "pldp.planning": ("Plan", "plan"),
        "pldp.reports": ("Report",),
        "pldp.survey": ("Survey",),
        "pldp.tallies": ("Service", "Tally", "fuse", "tally"),
    },
    packages=(*_ELSEWHERE, "errors", "planning"),
    hints={
        **{name: f"pldp.{package}.{name}" for package, names in _ELSEWHERE.items() for name in names},
        **{
            name: f"pldp.estimate(tally, question), or pldp.estimates.{name}"
            for name in ("density", "frequencies", "itemsets", "mean")
        },
        "Estimate": "pldp.Result, which every estimate is",
        "channel": "pldp.mechanisms.build(name, size, budgets)",
        "load": "pldp.Survey.load(path)",
        "loads": "pldp.Survey.read(text)",
        "merge": "tally_a + tally_b, or pldp.Tally.merge(tallies)",
        "results": "pldp.estimate(tally)",
    },
)
