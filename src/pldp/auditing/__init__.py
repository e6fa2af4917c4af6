"""Try to refute a promise of ε: exactly from published weights, and by samples of any device or function.

>>> from pldp.auditing import audit
>>> audit("oue", samples=0).holds
True
"""

from pldp.auditing.audit import NAMES, audit, mechanism_survey
from pldp.auditing.calls import Called, Timing, call, compare_times
from pldp.auditing.certificate import certificate_page, write_certificate
from pldp.auditing.devices import JavaScript
from pldp.auditing.exact import Exact, audit_channel, exact_epsilon, level_odds
from pldp.auditing.law import sampler_fault
from pldp.auditing.published import read_table
from pldp.auditing.result import Audit, Row, write_epsilon
from pldp.auditing.sampled import Bound, lower_bound, ratio_bound, smallest_detectable
from pldp.auditing.sequences import exact_sequence, log_probability, stated_sequence
from pldp.auditing.surveys import AuditSettings
from pldp.auditing.tables import Table

__all__ = [
    "NAMES",
    "Audit",
    "AuditSettings",
    "Bound",
    "Called",
    "Exact",
    "JavaScript",
    "Row",
    "Table",
    "Timing",
    "audit",
    "audit_channel",
    "call",
    "certificate_page",
    "compare_times",
    "exact_epsilon",
    "exact_sequence",
    "level_odds",
    "log_probability",
    "lower_bound",
    "mechanism_survey",
    "ratio_bound",
    "read_table",
    "sampler_fault",
    "smallest_detectable",
    "stated_sequence",
    "write_certificate",
    "write_epsilon",
]
