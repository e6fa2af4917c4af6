"""Devices as mechanisms to audit: a new person for every report, and everything that leaves them as the output."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from pldp.auditing.calls import WARM_UP, Called, Progress, draw_values
from pldp.auditing.node import Lines
from pldp.device import Device
from pldp.epsilon import LARGEST_TOTAL
from pldp.errors import AuditError
from pldp.survey import Question, Survey

SCRIPT: Final = Path("vectors") / "audit.js"  # runs the device in the folder of the JavaScript client
START_SECONDS: Final = 300.0
SECONDS_PER_REPORT: Final = 0.2
"""Time that the process may take before it is taken for one that never returns."""
CHUNK: Final = 2_000  # people whom one request to the JavaScript device is about
_LEAST_ID: Final = 16

MakeDevice = Callable[..., Device]
Drawn = tuple[int, Sequence[bytes]]
"""A value, and the random bytes that its output is drawn from, as they are asked for."""
People = Sequence[tuple[dict[str, Any], str]]


def only(survey: Survey, question: Question) -> Survey:
    """Return a survey of this question alone, with the same channels: everybody is asked it, at any price."""
    return replace(survey, questions=(question,), ask=None, total_micro_epsilon=None)


def new_device(make: MakeDevice, survey: Survey, **options: Any) -> Device:
    """Return the device of a new person whom no cap stops."""
    device = make(survey, **options)
    device.change_cap(LARGEST_TOTAL, level_cap=LARGEST_TOTAL)
    return device


def send(make: MakeDevice, survey: Survey, person: tuple[dict[str, Any], str]) -> bytes:
    """Return the body that a new person's device sends, given the person's answers and their level."""
    return new_device(make, survey).answer_all(*person).body(survey)


def observe_body(body: str | bytes | None, **request: Any) -> dict[str, Any]:
    """Return everything that can be seen of one upload: the text as it is, what it says, and the request around it.

    The random id stands by itself in what the text says; in the text itself it is blanked, so that what is odd about
    its place shows and its digits are not looked at twice.

    >>> sorted(observe_body(b'{"id": "0123456789abcdef", "n": 1}  '))
    ['body', 'report']
    """
    if body is None:
        return {"report": None, "body": "", **request}
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    try:
        report = json.loads(text)
    except ValueError:
        report = None
    own = report.get("id") if isinstance(report, dict) else None
    blanked = text.replace(own, "#" * len(own)) if isinstance(own, str) and len(own) >= _LEAST_ID else text
    return {"report": report, "body": blanked, **request}


def observe_requests(sent: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return everything that can be seen of the requests that one report made: `url`, `headers` and `body` of each.

    >>> sorted(observe_requests([{"url": "POST /", "headers": [], "body": "{}"}]))
    ['body', 'headers', 'report', 'requests', 'url']
    """
    around = {name: [each[name] for each in sent] for name in ("url", "headers")}
    first = observe_body(sent[0]["body"] if sent else None, requests=len(sent), **around)
    return first | ({"more": [observe_body(each["body"]) for each in sent[1:]]} if len(sent) > 1 else {})


@dataclass(frozen=True)
class JavaScript:
    """The JavaScript client in its folder (`clients/js` of the project), run by Node as a process of its own.

    The process starts with the first request, answers all that follow, and ends with this object.
    """

    node: str
    folder: Path

    @staticmethod
    def find(folder: str | Path | None = None) -> JavaScript | None:
        """Return the client in this folder, or the one beside the sources; nothing if Node or it is missing."""
        node = shutil.which("node")
        place = Path(__file__).parents[3] / "clients" / "js" if folder is None else Path(folder)
        return JavaScript(node, place) if node is not None and (place / SCRIPT).exists() else None

    def call(
        self, survey: Survey, people: People, samples: int, progress: Progress | None = None, *, timed: bool = True
    ) -> Called:
        """Let new people answer, drawn at random, so many of each kind on average; as `calls.call` gives them.

        Each report is sent to nowhere by the client's own `send`, and the request is what is observed. People answer
        one after the other if that is `timed`, and otherwise several at once.
        """
        order = draw_values(len(people), samples)
        outputs, times, work = list[Any](), list[int](), list[int]()
        kinds = [{"values": list(values.items()), "level": level} for values, level in people]
        for start in range(0, len(order), CHUNK):
            own = order[start : start + CHUNK]
            request = {"people": kinds, "order": own, "warm_up": order[:WARM_UP], "timed": timed}
            answer = self.ask(survey, request, len(own))
            outputs += map(observe_requests, answer["sent"])
            times += map(int, answer["times"])
            work += map(int, answer["work"])
            if progress is not None:
                progress(len(outputs), len(order))
        return Called(tuple(order), tuple(outputs), tuple(times), tuple(work))

    @cached_property
    def _lines(self) -> Lines:
        return Lines([self.node, str(self.folder / SCRIPT)])

    def ask(self, survey: Survey | None, request: dict[str, Any], reports: int) -> dict[str, Any]:
        """Send one request to the script, about one survey unless it names several, and return its answer."""
        limit = START_SECONDS + SECONDS_PER_REPORT * reports
        subject = {} if survey is None else {"survey": survey.canonical.decode()}
        said, last = self._lines.ask(json.dumps({**subject, **request}), limit)
        if said is None:
            raise AuditError(f"the JavaScript device did not return within {limit:g} seconds")
        try:
            answer: dict[str, Any] = json.loads(said)
        except ValueError:
            raise AuditError(f"the JavaScript device failed: {last[:200]}") from None
        if "error" in answer:
            raise AuditError(f"the JavaScript device refuses this: {str(answer['error'])[:200]}")
        return answer

    def draw(
        self, survey: Survey, question: str, level: str, draws: Sequence[Drawn], *, sets: bool = False
    ) -> list[Any]:
        """Return what a channel draws from given random bytes; nothing where it asks for other numbers of them.

        Without a question it is that of the label which stands for a hidden level.
        """
        found: list[Any] = []
        for start in range(0, len(draws), CHUNK):
            some = [[str(value), [part.hex() for part in parts]] for value, parts in draws[start : start + CHUNK]]
            request = {"question": question, "level": level, "set": sets, "draws": some}
            found += self.ask(survey, request, len(some))["drawn"]
        return found
