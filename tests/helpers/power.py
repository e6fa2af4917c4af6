"""How often audits find a leak, with a lower bound; `PYTHONPATH=tests python -m helpers.power` prints the table.

Two bounds of the power, each with a confidence of 95 %. By counting: 59 of 59 rounds show .95. By *margins*, for fewer
rounds: the margin of a round is the signed root of the deviance of its best event less the root at which it refutes;
that is close to normal, and the noncentral t distribution bounds the chance that it is positive.
"""

from __future__ import annotations

import math
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from scipy import optimize, stats

from helpers.leaks import JAVASCRIPT_MISSED, JAVASCRIPT_OWN, MISSED, OWN, Leak, ScriptLeak
from pldp import Device
from pldp.auditing import AuditSettings, JavaScript, Row
from pldp.auditing.sampled import Bound, evidence
from pldp.auditing.surveys import audit_survey

CONFIDENCE = 0.95
POWER = 0.95
FEW, ROUNDS = (5, 12), 59
"""Rounds after which margins are asked, and those that are enough by counting if all are found."""

IN_PYTHON, IN_JAVASCRIPT = MISSED | OWN, JAVASCRIPT_MISSED | JAVASCRIPT_OWN
Look = Callable[[], list[Row]]


@dataclass(frozen=True)
class Round:
    """Whether one audit found the leak, and by which margin; none where a rule is checked and nothing is sampled."""

    found: bool
    margin: float | None


@dataclass(frozen=True)
class Power:
    """What rounds of one leak showed, at so many people per value."""

    name: str
    people: int
    rounds: tuple[Round, ...]

    @property
    def found(self) -> int:
        return sum(each.found for each in self.rounds)

    @property
    def counted(self) -> float:
        """Clopper and Pearson's lower bound."""
        return (
            float(stats.beta.ppf(1 - CONFIDENCE, self.found, len(self.rounds) - self.found + 1)) if self.found else 0.0
        )

    @property
    def computed(self) -> float:
        """The lower bound of the chance of a positive margin; 0 where there are no margins."""
        margins = [each.margin for each in self.rounds if each.margin is not None]
        return chance_of_positive(margins) if len(margins) == len(self.rounds) > 2 else 0.0

    @property
    def least(self) -> float:
        """The bound that counts: by counting where there are rounds enough, else by margins."""
        return self.counted if len(self.rounds) >= ROUNDS else self.computed

    @property
    def row(self) -> str:
        way = "counted" if len(self.rounds) >= ROUNDS else "computed"
        shown = min(math.floor(self.least * 1e4) / 1e4, 0.9999)
        return f"| {self.name} | {self.people:,} | {self.found} of {len(self.rounds)} | {shown:.4g} ({way}) |"


def chance_of_positive(margins: Sequence[float]) -> float:
    """Return the lower confidence bound of Pr(X > 0) for normal X.

    >>> round(chance_of_positive([3.1, 2.4, 2.9, 3.3, 2.2, 2.7, 3.0, 2.6, 2.5, 3.2]), 3)
    1.0
    """
    count, spread = len(margins), float(np.std(margins, ddof=1))
    if spread == 0:
        return float(margins[0] > 0)
    statistic = math.sqrt(count) * float(np.mean(margins)) / spread

    def beyond(shift: float) -> float:
        return float(stats.nct.sf(statistic, count - 1, shift)) - (1 - CONFIDENCE)

    low, high = -50.0, min(statistic, 35.0)  # SciPy's law is exact up to about there
    return float(stats.norm.cdf(optimize.brentq(beyond, low, high) / math.sqrt(count))) if beyond(high) > 0 else 1.0


def margin_of(bounds: Iterable[Bound]) -> float | None:
    """Return by how much the best event refutes; negative where none does."""
    return max(
        (
            math.sqrt(2 * max(0.0, float(evidence(*bound.seen, bound.contrast.most))))
            - math.sqrt(-2 * math.log(bound.error))
            for bound in bounds
        ),
        default=None,
    )


def look_at(leak: Leak, *, planted: bool = True) -> list[Row]:
    """Audit a device with the leak, or the same without it."""
    settings = AuditSettings(device=leak.device if planted else Device, timed=leak.timed, only=leak.only)
    return list(audit_survey(leak.survey, leak.samples, settings, sequences=leak.sequences))


def look_at_script(leak: ScriptLeak, client: JavaScript) -> list[Row]:
    """Audit the JavaScript device that this client runs; it answers for one person in four."""
    settings = AuditSettings(javascript=client, timed=leak.timed, only=(*leak.only, "javascript"))
    return list(audit_survey(leak.survey, 4 * leak.samples, settings, sequences=leak.sequences))


def tamper(client: JavaScript, folder: Path, leak: ScriptLeak) -> JavaScript:
    """Return a copy of the client with the leak in it."""
    shutil.copytree(client.folder, folder, ignore=shutil.ignore_patterns("test", "node_modules"))
    script = folder / "vectors" / "audit.js"
    text = script.read_text(encoding="utf-8")
    assert leak.old in text
    script.write_text(text.replace(leak.old, leak.new), encoding="utf-8")
    return JavaScript(client.node, folder)


def play(look: Look, *, by_rule: bool) -> Round:
    """Audit once. What finds it must be what is meant to: the rule of asking again, or an event of the samples."""
    rows = look()
    bounds = [bound for row in rows for bound in row.bounds]
    found = any(row.refuted for row in rows) if by_rule else any(bound.refutes for bound in bounds)
    return Round(found, None if by_rule else margin_of(bounds))


def measure(name: str, leak: Leak | ScriptLeak, look: Look, rounds: int = ROUNDS) -> Power:
    """Audit until margins or counting show the power, at most so many rounds."""
    played: list[Round] = []
    while len(played) < rounds:
        played.append(play(look, by_rule=leak.by_rule))
        power = Power(name, leak.samples, tuple(played))
        if len(played) in FEW and power.computed >= POWER:
            break
    return power


def main(wanted: Sequence[str]) -> None:
    """Print the table of all leaks, or of the named ones."""
    for name, leak in IN_PYTHON.items():
        if not wanted or name in wanted:
            print(measure(name, leak, partial(look_at, leak)).row, flush=True)  # noqa: T201
    client = JavaScript.find()
    for name, script in IN_JAVASCRIPT.items() if client else ():
        if not wanted or name in wanted:
            with tempfile.TemporaryDirectory() as folder:
                look = partial(look_at_script, script, tamper(client, Path(folder) / "js", script))
                print(measure(f"JavaScript: {name}", script, look).row, flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
