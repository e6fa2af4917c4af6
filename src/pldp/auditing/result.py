"""What an audit found: a row for each mechanism, question, level and device, and what could have been found."""

import math
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final

from pldp.auditing.sampled import POWER, Bound
from pldp.auditing.times import Timing
from pldp.epsilon import MICRO, Micro
from pldp.show import Table, panel

EXACT, NOT_REFUTED, REFUTED, NOT_PROMISED = "exact", "not refuted", "refuted", "not promised"
"""The verdicts: computed from integers that the sampler keeps; samples saw nothing; shown to be false; no ε at all."""
HIDDEN: Final = "hidden"  # stands for the level in a row about the level
_SHOWN: Final = 3  # refuted promises in the short form of an audit
_TIED: Final = {"python", "document"}  # where the published integers are tied to what is judged
DRAWS_COMPARED: Final = "draws_compared"  # among details: draws of another device that were compared with the sampler's
_NEVER: Final = (
    "a channel that only the holder of a key can read (random text that is an encrypted answer looks like random text)",
    "other times of day, other machines and other versions: a device can behave until it is used",
    "a device that runs other code than the one that was audited",
    "addresses, the hour of sending, and who takes part at all",
)
"""What no audit of this kind can see."""


@dataclass(frozen=True, repr=False)
class Row:
    """One promise and what became of it. An audit only ever rejects.

    The device is `python`, `javascript`, `callable`, `observed` or `document`. `exact` is ε by enumeration of the
    published weights, `None` where there is nothing to enumerate. `bounds` are the tested events, one of each family
    of things that were looked at, and `sampled` the one that says most; `timing` compares the times by themselves;
    all that where `people` were sampled. `refutations` say what was found against the promise, `notes` what was not
    looked at and why; `details` are exact numbers beside the claimed one (of each output and value, say). With
    `rounds` above 1 the promise is that of a sequence of reports, by the rule of asking again. A sound mechanism is
    refuted by this row with a chance of at most `false_alarm`.
    """

    mechanism: str
    question: str
    level: str
    device: str
    claimed: float
    exact: float | None = None
    sampled: Bound | None = None
    bounds: tuple[Bound, ...] = ()
    timing: Timing | None = None
    refutations: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    rounds: int = 1
    people: int = 0
    false_alarm: float = 0.0

    def __str__(self) -> str:
        where = ", ".join(filter(None, (self.channel, self.question, self.level, self.device)))
        return f"{where}: claimed ε = {write_epsilon(self.claimed)}, exact {write_epsilon(self.exact)}, {self.verdict}"

    def __repr__(self) -> str:
        return f"<{self}>"

    @property
    def channel(self) -> str:
        """The mechanism, and over how many rounds."""
        return ", ".join(filter(None, (self.mechanism, self.span)))

    @property
    def span(self) -> str:
        """Over how many rounds, in words; empty for one report."""
        return "" if self.rounds == 1 else f"{self.rounds} rounds"

    @property
    def words(self) -> tuple[str, ...]:
        """What was audited, for a table: question, level, mechanism and device."""
        return self.question or "–", self.level or "–", self.channel, self.device

    @property
    def refuted(self) -> bool:
        """Whether something was found against the promise."""
        return bool(self.refutations)

    @property
    def verdict(self) -> str:
        """Refuted; not promised, where ε has no limit; exact, where the code draws by its integers; or not refuted."""
        if self.refuted:
            return REFUTED
        if self.exact == math.inf:
            return NOT_PROMISED
        tied = self.device in _TIED or DRAWS_COMPARED in self.details
        return EXACT if self.exact is not None and tied else NOT_REFUTED

    @property
    def reach(self) -> str:
        """Say what the samples would have found, in words; empty where nothing was sampled."""
        bound = self.sampled
        if bound is None:
            return ""
        if not bound.curve:
            return f"{self.people:,} people are too few to refute anything here"
        share, epsilon = bound.curve[:2][-1]
        shown = f"{self.people:,} people would have shown ε = {epsilon:.3g} by an event as frequent as {share:g}"
        return f"{shown}, or one in {1 / bound.rarest:,.3g} reports that no other answer makes"

    def to_mapping(self) -> dict[str, Any]:
        """Return plain data; an infinite ε is the word."""
        bound, timing = self.sampled, self.timing
        return {
            **{name: getattr(self, name) for name in ("mechanism", "question", "level", "device", "rounds")},
            "claimed": number(self.claimed),
            "exact": None if self.exact is None else number(self.exact),
            "sampled_lower_bound": None if bound is None else bound.epsilon,
            "verdict": self.verdict,
            "refutations": list(self.refutations),
            "notes": list(self.notes),
            "people": self.people,
            "false_alarm": self.false_alarm,
            "detectable_epsilon": None if bound is None else number(bound.detectable),
            "detectable": None if bound is None else _curve(bound),
            "event": None if bound is None else bound.event,
            "tested": [_tested(each) for each in self.bounds],
            "time_z": None if timing is None else timing.statistic,
            "detectable_nanoseconds": None if timing is None else timing.detectable,
            "allowed_nanoseconds": None if timing is None else timing.allowed,
            "details": dict(self.details),
        }


def _curve(bound: Bound) -> dict[str, Any]:
    """For events of these frequencies, the smallest ε that would have been refuted; and the rarest event at all."""
    points = [{"frequency": share, "epsilon": epsilon} for share, epsilon in bound.curve]
    return {"power": POWER, "curve": points, "rarest_event": bound.rarest if bound.rarest <= 1 else None}


def _tested(bound: Bound) -> dict[str, Any]:
    names = ("family", "event", "epsilon", "claimed", "seen", "samples", "error", "chance", "refutes")
    return {**{name: getattr(bound, name) for name in names}, "seen": list(bound.seen)}


@dataclass(frozen=True, repr=False)
class Audit:
    """The rows of one audit, with what was audited by what.

    `target` is the survey's title, or the mechanism's name; `survey_hash` is empty where there is no survey. `source`
    is what a command line calls it.
    """

    target: str
    survey_hash: str
    rows: tuple[Row, ...]
    source: str = ""
    worth: tuple[str, ...] = ()  #: What a survey's reports tell an observer, in words.

    @property
    def refuted(self) -> bool:
        """Whether something was found against any promise."""
        return any(row.refuted for row in self.rows)

    @property
    def false_alarm(self) -> float:
        """The chance, at most, that an audit of sound mechanisms refutes any of these rows."""
        return sum(row.false_alarm for row in self.rows)

    @property
    def people(self) -> int:
        """How many people's devices answered."""
        return sum(row.people for row in self.rows)

    @property
    def not_looked_at(self) -> tuple[str, ...]:
        """What this audit did not look at, and what none can see."""
        own = []
        devices = {row.device for row in self.rows if row.people}
        if not devices:
            own.append("no device was run: reports, times, sequences and files were not looked at")
        elif "python" in devices:
            own += ["the JavaScript device"] if "javascript" not in devices else []
            own.append("the survey page in a browser (requests that were recorded there: pldp.auditing.audit_observed)")
        if devices and not any(row.timing for row in self.rows):
            own.append("times")
        return (*own, *_NEVER)

    def command(self, row: Row) -> str:
        """Return what shows a refuted promise again: a command line, or a call for a function."""
        if not self.source:
            return f"pldp.audit({self.target}, …, epsilon={row.claimed:g}, samples={max(row.people, 1):,})".replace(
                ",}", "}"
            )
        if not row.question:
            return f"pldp audit {self.source}"
        device = f"/{row.device}" if row.device in {"python", "javascript"} else ""
        level = row.level.split(", ")[0]
        people = f" --samples {row.sampled.samples * 2}" if row.sampled is not None else " --samples 0"
        only = f"{row.question}/{level}{device}"
        return (
            f'pldp audit {self.source} --only "{only}"{people}'
            if self.survey_hash
            else f"pldp audit {self.source}{people}"
        )

    @property
    def versions(self) -> dict[str, str]:
        """What the audit was made with."""
        own = import_module("pldp")  # the package's first page names this module, so not the other way round
        return {"pldp": own.__version__, "python": platform.python_version(), "system": platform.system()}

    def to_mapping(self) -> dict[str, Any]:
        """Return plain data."""
        names = ("target", "survey_hash", "versions", "refuted", "false_alarm", "people")
        return {
            **{name: getattr(self, name) for name in names},
            "rows": [row.to_mapping() | ({"command": self.command(row)} if row.refuted else {}) for row in self.rows],
            "worth": list(self.worth),
            "not_looked_at": list(self.not_looked_at),
        }

    def __repr__(self) -> str:
        refuted = [f"  {row}" for row in self.rows if row.refuted]
        more = [f"  … and {len(refuted) - _SHOWN} more"] if len(refuted) > _SHOWN else []
        return "\n".join([f"Audit of {self}", *refuted[:_SHOWN], *more])

    def _repr_html_(self) -> str:
        """Show what was found in notebooks."""
        heads = ("question", "level", "mechanism", "device", "claimed ε", "exact ε", "verdict")
        rows = [(*row.words, write_epsilon(row.claimed), write_epsilon(row.exact), row.verdict) for row in self.rows]
        findings = [text for row in self.rows for text in (*row.refutations, *row.notes)]
        return panel(str(self), Table("", heads, rows, left=4), *findings)

    def __str__(self) -> str:
        refuted = sum(row.refuted for row in self.rows)
        return f"{self.target}: {refuted or 'none'} of {len(self.rows)} promises refuted"


def number(epsilon: float) -> float | str:
    """Write ε for JSON: a number, or the word for what is none."""
    return "infinite" if math.isinf(epsilon) else epsilon


def text_of(micro: Micro) -> float | str:
    """Write micro-ε for JSON."""
    return number(micro / MICRO)


def write_epsilon(number: float | None) -> str:
    """Write ε for people; six decimals are all that an exact ε has."""
    if number is None:
        return "–"
    return "∞" if math.isinf(number) else f"{number:.6f}".rstrip("0").rstrip(".")
