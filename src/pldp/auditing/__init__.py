"""Try to refute a promise of ε: exactly from published weights, and by samples of any device or function.

>>> from pldp.auditing import audit
>>> audit("oue", samples=0).rows[0].verdict
'exact'
"""

from pldp.auditing.audit import NAMES, audit, audit_observed, mechanism_survey
from pldp.auditing.calls import Called, call, draw_values
from pldp.auditing.certificate import certificate_page, write_certificate
from pldp.auditing.devices import JavaScript
from pldp.auditing.exact import Exact, audit_channel, exact_epsilon, level_odds
from pldp.auditing.judging import AuditSettings
from pldp.auditing.law import sampler_fault
from pldp.auditing.published import read_table
from pldp.auditing.result import Audit, Row, write_epsilon
from pldp.auditing.sampled import Bound, Contrast, detectable_curve, rarest_event, ratio_bound, smallest_detectable
from pldp.auditing.search import search
from pldp.auditing.sequences import exact_sequence, log_probability, stated_sequence
from pldp.auditing.tables import Table
from pldp.auditing.times import Timing, compare_times

__all__ = [
    "NAMES",
    "Audit",
    "AuditSettings",
    "Bound",
    "Called",
    "Contrast",
    "Exact",
    "JavaScript",
    "Row",
    "Table",
    "Timing",
    "audit",
    "audit_channel",
    "audit_observed",
    "call",
    "certificate_page",
    "compare_times",
    "detectable_curve",
    "draw_values",
    "exact_epsilon",
    "exact_sequence",
    "level_odds",
    "log_probability",
    "mechanism_survey",
    "rarest_event",
    "ratio_bound",
    "read_table",
    "sampler_fault",
    "search",
    "smallest_detectable",
    "stated_sequence",
    "write_certificate",
    "write_epsilon",
]
