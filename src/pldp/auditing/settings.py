"""How an audit is made, beside what is audited."""

import time
from dataclasses import dataclass
from typing import Final

from pldp.auditing.calls import TIMEOUT, Clock, Progress
from pldp.auditing.devices import JavaScript
from pldp.auditing.sampled import CONFIDENCE


@dataclass(frozen=True)
class AuditSettings:
    """What an audit may use and how sure it must be.

    Attributes
    ----------
    confidence
        Probability with which samples do not refute a sound mechanism.
    timed
        Whether the time of calls may be held against a mechanism.
    clock
        Nanoseconds; another one is for tests.
    timeout
        Seconds that one call of a function may take.
    javascript
        Where the JavaScript client is (`JavaScript.find`); its device is audited too.
    progress
        Called with (done, total) while the audit runs.
    """

    confidence: float = CONFIDENCE
    timed: bool = True
    clock: Clock = time.perf_counter_ns
    timeout: float = TIMEOUT
    javascript: JavaScript | None = None
    progress: Progress | None = None


DEFAULT: Final = AuditSettings()
