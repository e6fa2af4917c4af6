"""Somebody with a token to read, who looks after every single upload and withdrawal and tries to solve for reports.

Run it on its own to see what it finds: PYTHONPATH=tests python -m helpers.collector.adversary

What it has: every address that a token `read` opens, at any time, and the survey. What it tries:

- *By trial.* It keeps the tally that it believes in. When an answer changes, it adds (or takes out) each report that
  the survey allows, makes the estimate itself, and looks which one gives exactly the shares, standard errors, weights
  and numbers of reports that it was shown.
- *By counts.* Where one level alone is in a result, and for each level of a comparison of levels, shares times reports
  are solved for the integer counts of outputs.
  Then any two readings, and any three, are subtracted: few reports left over are reports found.
- *Sizes of tiers*, from the number of the level, or from the total less the other levels.

What it cannot do: know the reports of others. Somebody who sends 49 of the 50 reports of a step himself subtracts them
and learns the output of the 50th, which stays protected by its ε. And what is left out after withdrawals is drawn anew
with each of them: somebody who withdraws hundreds of reports of his own before and after somebody else withdraws can
average over what was drawn. Neither is tried here.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations, count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from helpers.collector.client import call
from helpers.collector.senders import make_id, receipt_of
from pldp.collector import Collector, Packed, Settings, Store, Tokens
from pldp.collector.answers import Reading, estimate
from pldp.collector.formats import FORMATS, encode
from pldp.errors import EstimateError, TallyError
from pldp.mechanisms import Channel, Integers
from pldp.reports import Answer, Report
from pldp.survey import Survey, loads
from pldp.tallies import Pair, Tally, tally

Read = Callable[[str], bytes]
MOST_OUTPUTS = 64  # questions with more are not tried
FEW = 4  # reports that two or three readings differ by, at most, if that is to tell of single ones


class Found(NamedTuple):
    """What is claimed of one report, or of a few: level and output, and whether they came or went."""

    question: str
    level: str
    output: int
    came: bool


def addresses(survey: Survey) -> list[str]:
    """Every address that a reader can look at."""
    exports = [f"/v1/estimates/{question.name}.{kind}" for question in survey.questions for kind in FORMATS]
    levels = [f"/v1/groups/{question.name}.json" for question in survey.questions]
    return ["/v1/overview", "/v1/rounds", "/v1/round", "/metrics", *exports, *levels]


@dataclass
class Adversary:
    """Looks with `read`, and keeps what it saw and what it found."""

    survey: Survey
    read: Read
    seen: list[dict[str, bytes]] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._believed: Tally | None = Tally.empty(self.survey)

    def gather(self) -> dict[str, bytes]:
        """Look at everything once and keep it."""
        shown = {path: self.read(path) for path in addresses(self.survey)}
        shown["/v1/overview"] = json.dumps({**json.loads(shown["/v1/overview"]), "hours": None}).encode()
        lines = shown["/metrics"].splitlines()  # those of the requests that were refused here are its own doing
        shown["/metrics"] = b"\n".join(line for line in lines if b'code="no_estimate"' not in line)
        self.seen.append(shown)
        return shown

    def look(self) -> None:
        """Look at everything once and try to explain what has changed by one report."""
        shown = self.gather()
        if len(self.seen) > 1:
            self._try_reports(shown)

    def _try_reports(self, shown: dict[str, bytes]) -> None:
        for question in self.survey.questions:
            path = f"/v1/estimates/{question.name}.json"
            if self._believed is None or shown[path] == self.seen[-2][path]:
                continue
            fits = [trial for trial in self._trials(question.name) if self._shows(*trial, shown[path])]
            if len(fits) == 1:
                (found, self._believed) = fits[0]
                self.found.append(found)
            else:
                self._believed = None  # lost track: what follows has no beginning

    def _trials(self, name: str) -> Iterator[tuple[Found, Tally]]:
        assert self._believed is not None
        question = self.survey.question(name)
        for level, channel in zip(question.levels, question.channels, strict=True):
            few = isinstance(channel.form, Integers) and channel.form.count <= MOST_OUTPUTS
            for output in range(channel.form.count if few else 0):
                one = tally(self.survey, [Report(self.survey.hash, "00" * 16, (Answer(name, level.name, output),))])
                yield Found(name, level.name, output, came=True), self._believed + one
                fewer = self._believed.without(one)
                if min(fewer.counts[name, level.name].arrays()["counts"]) >= 0:
                    yield Found(name, level.name, output, came=False), fewer

    def _shows(self, found: Found, after: Tally, wanted: bytes) -> bool:
        try:
            reading = Reading(planned=Settings().planned_reports)
            return encode(estimate(after, found.question, 1, reading), "json") == wanted
        except (EstimateError, TallyError):
            return json.loads(wanted).get("code") == "no_estimate"

    def counts(self, question: str) -> list[Any]:
        """Solve each reading for the outputs of a question, where one level alone is in its result."""
        solved = []
        for shown in self.seen:
            view = json.loads(shown[f"/v1/estimates/{question}.json"])
            groups = [group for group in view.get("groups", []) if group["reports"]]
            if len(groups) == 1:
                solved += self._solve(question, groups[0]["level"], view)
        return solved

    def counts_of_level(self, question: str, level: str) -> list[Any]:
        """Solve each comparison of levels for the outputs of one of them."""
        views = [json.loads(shown[f"/v1/groups/{question}.json"]).get("levels", {}).get(level) for shown in self.seen]
        return [counts for view in views if view for counts in self._solve(question, level, view)]

    def _solve(self, question: str, level: str, view: Any) -> list[Any]:
        asked = self.survey.question(question)
        rows = _rows(asked.channels[[each.name for each in asked.levels].index(level)])
        exact = view["reports"] * np.array([row["estimate"] for row in view["rows"]]) @ rows
        return [exact.round().astype(int)] if np.abs(exact - exact.round()).max() < 1e-3 else []

    def size_of(self, question: str, level: str) -> int:
        """Return how many people the last reading gives a level, from its number or from those of the others."""
        overview = json.loads(self.seen[-1]["/v1/overview"])
        (view,) = [each for each in overview["questions"] if each["name"] == question]
        numbers = {group["level"]: group["reports"] for group in view["groups"]}
        if numbers[level] is not None:
            return int(numbers[level])
        return int(overview["reports"] - sum(number or 0 for number in numbers.values()))


def few_apart(readings: Sequence[Any]) -> int:
    """Return how many combinations of two or three readings of counts differ by few reports, but not by none."""
    solved = list({counts.tobytes(): counts for counts in readings}.values())
    pairs = [one - two for one, two in combinations(solved, 2)]
    threes = [one - two - three for one, two, three in combinations(solved, 3)]
    return sum(0 < np.abs(difference).sum() <= FEW for difference in (*pairs, *threes))


@cache
def _rows(channel: Channel) -> Any:
    """Q(output | value)."""
    outputs = range(channel.form.count)
    return np.array([[float(channel.probability(each, value)) for each in outputs] for value in range(channel.size)])


@contextmanager
def watched(survey: Survey, step: int, pairs: Sequence[Pair] = ()) -> Iterator[tuple[Store, Adversary]]:
    """Give a store in a new folder, and somebody who looks at it through a collector without a network."""
    clock = count(0, 1000)  # every overview is made anew
    with TemporaryDirectory(prefix="pldp-") as folder:
        database = Path(folder) / "reports.db"
        with closing(Store(survey, database, pairs=pairs, step=step)) as store:
            tokens = Tokens(database)
            app = Collector(survey, store, tokens, Settings(rate_limit=0), clock=lambda: next(clock))
            token = tokens.create("reader", "read")
            yield store, Adversary(survey, lambda path: call(app, "GET", path, token=token).body)


def attack(
    step: int, *, before: int, uploads: int, withdrawals: int, labels: int = 30, levels: str = "a"
) -> tuple[Adversary, list[Found]]:
    """Look after each of so many uploads and withdrawals, and once after those before; return what is true, too.

    People choose the levels, of a and b, by turns.
    """
    values = ",".join(f'"{number}"' for number in range(labels))
    survey = loads(f'pldp=1\ntitle="t"\nlevels={{a=1,b=2}}\nquestions=[{{name="q",values=[{values}],mechanism="krr"}}]')
    chance = Random(1)  # noqa: S311 - the same reports every time
    chosen = [1 + "ab".index(levels[number % len(levels)]) for number in range(before + uploads)]
    rows = [
        Packed(make_id(survey, number), bytes((code, chance.randrange(labels)))) for number, code in enumerate(chosen)
    ]
    truth: list[Found] = []
    with watched(survey, step) as (store, spy):
        spy.look()
        if before:
            store.add(rows[:before], {})
            spy.look()
        for row in rows[before:]:
            store.add([row], {})
            truth.append(Found("q", "ab"[row.row[0] - 1], row.row[1], came=True))
            spy.look()
        for row in chance.sample(rows, withdrawals):
            assert store.withdraw(receipt_of(row.id))
            truth.append(Found("q", "ab"[row.row[0] - 1], row.row[1], came=False))
            spy.look()
    return spy, truth


def main() -> None:
    """Look at a collector in steps of 50, and at one that shows every report."""
    for step in (50, 1):
        spy, truth = attack(step, before=0, uploads=130, withdrawals=12)
        right = sum(one == two for one, two in zip(spy.found, truth, strict=False))
        sys.stdout.write(
            f"step {step}: of {len(truth)} uploads and withdrawals, {right} found by trial; "
            f"{few_apart(spy.counts('q'))} combinations of readings differ by few reports\n"
        )


if __name__ == "__main__":
    main()
