"""What an audit found: a row for each mechanism, question, level and device, and what could have been found."""

import math
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final

from pldp.auditing.calls import Timing
from pldp.auditing.sampled import Bound
from pldp.show import Table, panel

TIMING_ALARM: Final = 7e-6  # chance that times of a sound mechanism look different: two tails of a normal beyond 4.5
TOO_FEW: Final = "too few samples"
_SHOWN: Final = 3  # refuted promises in the short form of an audit


@dataclass(frozen=True, repr=False)
class Row:
    """One promise and what became of it. An audit only ever rejects: `holds` means that nothing was found against it.

    The device is `python`, `javascript`, `callable` or `document`. `exact` is ε by enumeration of the published
    weights, `None` where there is nothing to enumerate; `sampled` and `timing` are the lower bound from samples and the
    comparison of times, where they were taken. `refutations` say what was found against the promise, `notes` what was
    not looked at and why; `details` are exact numbers beside the claimed one (of each output and value, say). With
    `rounds` above 1 the promise is that of a sequence of reports, by the survey's rule of asking again.
    """

    mechanism: str
    question: str
    level: str
    device: str
    claimed: float
    exact: float | None = None
    sampled: Bound | None = None
    timing: Timing | None = None
    refutations: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    rounds: int = 1

    def __str__(self) -> str:
        where = ", ".join(filter(None, (self.channel, self.question, self.level, self.device)))
        return f"{where}: claimed ε = {write_epsilon(self.claimed)}, exact {write_epsilon(self.exact)}, {self.verdict}"

    def __repr__(self) -> str:
        return f"<{self}>"

    @property
    def channel(self) -> str:
        """The mechanism, and over how many rounds."""
        return self.mechanism if self.rounds == 1 else f"{self.mechanism}, {self.rounds} rounds"

    @property
    def words(self) -> tuple[str, ...]:
        """What was audited, for a table: question, level, mechanism and device."""
        return self.question or "–", self.level or "–", self.channel, self.device

    @property
    def holds(self) -> bool:
        """Whether nothing was found against the promise."""
        return not self.refutations

    @property
    def conclusive(self) -> bool:
        """Whether there was an exact ε, or samples enough to refute twice the claim."""
        return not self.holds or self.exact is not None or (self.sampled is not None and self.sampled.conclusive)

    @property
    def verdict(self) -> str:
        """One or two words."""
        return "REFUTED" if not self.holds else "holds" if self.conclusive else TOO_FEW

    def to_mapping(self) -> dict[str, Any]:
        """Return plain data; an infinite ε is the word."""
        bound, timing = self.sampled, self.timing
        return {
            **{name: getattr(self, name) for name in ("mechanism", "question", "level", "device", "rounds")},
            "claimed": number(self.claimed),
            "exact": None if self.exact is None else number(self.exact),
            "sampled_lower_bound": None if bound is None else bound.epsilon,
            "holds": self.holds,
            "verdict": self.verdict,
            "refutations": list(self.refutations),
            "notes": list(self.notes),
            "samples": None if bound is None else bound.samples,
            "detectable_epsilon": None if bound is None else number(bound.detectable),
            "event": None if bound is None else bound.event,
            "time_t": None if timing is None or math.isinf(timing.statistic) else timing.statistic,
            "detectable_nanoseconds": None if timing is None else timing.detectable,
            "details": dict(self.details),
        }


@dataclass(frozen=True, repr=False)
class Audit:
    """The rows of one audit, with what was audited by what.

    `target` is the survey's title, or the mechanism's name; `survey_hash` is empty where there is no survey.
    """

    target: str
    survey_hash: str
    rows: tuple[Row, ...]
    worth: tuple[str, ...] = ()  #: What a survey's reports are worth to whoever sees them, in words.

    @property
    def holds(self) -> bool:
        """Whether nothing was found against any promise."""
        return all(row.holds for row in self.rows)

    @property
    def conclusive(self) -> bool:
        """Whether every row says something."""
        return all(row.conclusive for row in self.rows)

    @property
    def false_alarm(self) -> float:
        """The chance, at most, that an audit of sound mechanisms refutes any of these rows."""
        sampled = sum(1 - row.sampled.confidence for row in self.rows if row.sampled is not None)
        return sampled + TIMING_ALARM * sum(row.timing is not None for row in self.rows)

    @property
    def versions(self) -> dict[str, str]:
        """What the audit was made with."""
        own = import_module("pldp")  # the package's first page names this module, so not the other way round
        return {"pldp": own.__version__, "python": platform.python_version(), "system": platform.system()}

    def to_mapping(self) -> dict[str, Any]:
        """Return plain data."""
        names = ("target", "survey_hash", "versions", "holds", "conclusive", "false_alarm")
        rows = [row.to_mapping() for row in self.rows]
        return {**{name: getattr(self, name) for name in names}, "worth": list(self.worth), "rows": rows}

    def __repr__(self) -> str:
        refuted = [f"  {row}" for row in self.rows if not row.holds]
        more = [f"  … and {len(refuted) - _SHOWN} more"] if len(refuted) > _SHOWN else []
        return "\n".join([f"Audit of {self}", *refuted[:_SHOWN], *more])

    def _repr_html_(self) -> str:
        """Show what was found in notebooks."""
        heads = ("question", "level", "mechanism", "device", "claimed ε", "exact ε", "verdict")
        rows = [(*row.words, write_epsilon(row.claimed), write_epsilon(row.exact), row.verdict) for row in self.rows]
        findings = [text for row in self.rows for text in (*row.refutations, *row.notes)]
        return panel(str(self), Table("", heads, rows, left=4), *findings)

    def __str__(self) -> str:
        refuted = sum(not row.holds for row in self.rows)
        return f"{self.target}: {refuted or 'none'} of {len(self.rows)} promises refuted"


def number(epsilon: float) -> float | str:
    """Write ε for JSON: a number, or the word for what is none."""
    return "infinite" if math.isinf(epsilon) else epsilon


def write_epsilon(number: float | None) -> str:
    """Write ε for people; six decimals are all that an exact ε has."""
    if number is None:
        return "–"
    return "∞" if math.isinf(number) else f"{number:.6f}".rstrip("0").rstrip(".")
