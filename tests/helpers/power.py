"""How often audits find a leak, with a lower bound; `PYTHONPATH=tests python -m helpers.power NAME …` plays some leaks.

Two bounds of the power, each with a confidence of 95 %. By counting: 59 of 59 rounds show .95. By *margins*, for fewer
rounds: the margin of a round is the signed root of the deviance of its best event less the root at which it refutes;
that is close to normal, and the noncentral t distribution bounds the chance that it is positive. The number of rounds
of a leak is fixed beforehand: stopping at a good moment gives less confidence than that. What comes out stands in
`docs/research/audit-power.md`, and a leak that is played again takes the place of its row.
"""

from __future__ import annotations

import fcntl
import math
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from scipy import optimize, stats

from helpers.leaks import COUNTED_ROUNDS, JAVASCRIPT_MISSED, JAVASCRIPT_OWN, MISSED, OWN, Leak, ScriptLeak
from pldp import Device
from pldp.auditing import AuditSettings, JavaScript, Row
from pldp.auditing.sampled import Bound, evidence
from pldp.auditing.surveys import audit_survey

CONFIDENCE = 0.95
POWER = 0.95
PAGE = Path(__file__).parent.parent.parent / "docs" / "research" / "audit-power.md"
IN_PYTHON, IN_JAVASCRIPT = MISSED | OWN, JAVASCRIPT_MISSED | JAVASCRIPT_OWN
Look = Callable[[], list[Row]]
Played = TypeVar("Played", Leak, ScriptLeak)


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
        return self.counted if len(self.rounds) >= COUNTED_ROUNDS else self.computed

    @property
    def row(self) -> str:
        """The row of the page."""
        margins = [each.margin for each in self.rounds if each.margin is not None]
        between = f"{min(margins):.1f} to {max(margins):.1f}" if margins else "–"
        way = "rounds" if len(self.rounds) >= COUNTED_ROUNDS else "margins"
        shown = min(math.floor(self.least * 1e4) / 1e4, 0.9999)
        found = f"{self.found} of {len(self.rounds)}"
        return f"| {self.name} | {self.people:,} | {found} | {between} | {shown:.4f} | {way} |"


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


def tamper(client: JavaScript, folder: Path, old: str, new: str, path: str = "vectors/audit.js") -> JavaScript:
    """Return a copy of the client with one text in the place of another: by default in the script that is audited."""
    shutil.copytree(client.folder, folder, ignore=shutil.ignore_patterns("test", "node_modules"))
    script = folder / path
    text = script.read_text(encoding="utf-8")
    assert old in text
    script.write_text(text.replace(old, new), encoding="utf-8")
    return JavaScript(client.node, folder)


def play(look: Look, *, by_rule: bool) -> Round:
    """Audit once. What finds it must be what is meant to: the rule of asking again, or an event of the samples."""
    rows = look()
    bounds = [bound for row in rows for bound in row.bounds]
    found = any(row.refuted for row in rows) if by_rule else any(bound.refutes for bound in bounds)
    return Round(found, None if by_rule else margin_of(bounds))


def measure(name: str, leak: Leak | ScriptLeak, look: Look, rounds: int | None = None) -> Power:
    """Audit as often as the leak says, or so often."""
    played = [play(look, by_rule=leak.by_rule) for _ in range(rounds or leak.rounds)]
    return Power(name, leak.samples, tuple(played))


def record(power: Power, device: str, page: Path = PAGE) -> None:
    """Put a row into the table of a device, in the place of the row of the same leak."""
    with page.open("r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # several processes may play leaks
        text = file.read()
        start = text.index(f"## {device}\n")
        end = text.index("\n## ", start)
        place = re.compile(rf"^\| {re.escape(power.name)} \|.*$", re.MULTILINE)
        section, found = place.subn(lambda _: power.row, text[start:end])
        assert found == 1, f"the page has no row of {power.name}"
        file.seek(0)
        file.write(text[:start] + section + text[end:])
        file.truncate()


class Shown(NamedTuple):
    """A row of the page."""

    people: int
    found: int
    rounds: int
    least: float


def read_rows(device: str, page: Path = PAGE) -> dict[str, Shown]:
    """Return the rows of the table of a device."""
    text = page.read_text(encoding="utf-8")
    section = text[text.index(f"## {device}\n") :].split("\n## ")[0]
    rows = re.findall(
        r"^\| (.+) \| ([\d,]+) \| (\d+) of (\d+) \| .* \| ([\d.]+) \| (?:rounds|margins) \|$", section, re.MULTILINE
    )
    return {
        name: Shown(int(people.replace(",", "")), int(found), int(rounds), float(least))
        for name, people, found, rounds, least in rows
    }


def cheapest_first(leaks: Mapping[str, Played]) -> list[tuple[str, Played]]:
    """Return leaks in the order of what their rounds cost, so that a run that is interrupted leaves most rows."""
    return sorted(leaks.items(), key=lambda item: (item[1].timed, item[1].samples * item[1].rounds))


def python_powers(wanted: Sequence[str] = ()) -> Iterator[Power]:
    """Play the leaks of the Python device, all or the named ones, and put them on the page."""
    for name, leak in cheapest_first(IN_PYTHON):
        if not wanted or name in wanted:
            power = measure(name, leak, partial(look_at, leak))
            record(power, "Python")
            yield power


def javascript_powers(client: JavaScript, wanted: Sequence[str] = ()) -> Iterator[Power]:
    """Play those of the JavaScript device."""
    for name, leak in cheapest_first(IN_JAVASCRIPT):
        if not wanted or name in wanted:
            with tempfile.TemporaryDirectory() as folder:
                leaking = tamper(client, Path(folder) / "js", leak.old, leak.new)
                power = measure(name, leak, partial(look_at_script, leak, leaking))
            record(power, "JavaScript")
            yield power


def main(wanted: Sequence[str]) -> None:
    """Play all leaks, or the named ones."""
    client = JavaScript.find()
    for power in python_powers(wanted):
        print(power.row, flush=True)  # noqa: T201
    for power in javascript_powers(client, wanted) if client else ():
        print(power.row, flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
