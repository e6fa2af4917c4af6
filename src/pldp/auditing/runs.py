"""One audit of a survey while it runs: who answers on which device, what that says, and how far it is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from pldp.auditing.calls import Called, Progress, call
from pldp.auditing.devices import JavaScript, People, observe_body, send
from pldp.auditing.judging import AuditSettings, Claims, Promise, judge, to_matrix
from pldp.auditing.times import WHOLE_ANSWER
from pldp.errors import AuditError
from pldp.survey import Question, Survey
from pldp.words import of_hundred

JAVASCRIPT_SHARE: Final = 4  # the JavaScript device is slower: it answers for one person in so many …
MOST_PROVED: Final = 8  # labels that a row names as provable
LEAST_JAVASCRIPT: Final = 200  # … but for at least so many


@dataclass
class Run:
    """One audit of a survey while it runs: how many people answer, which error a row may have, and how far it is."""

    survey: Survey
    samples: int
    settings: AuditSettings
    error: float = 0.0
    total: int = 0
    done: int = 0

    def progress(self, people: int) -> Progress:
        """Return what tells the progress of the next so many people."""
        start = self.done
        self.done += people

        def tell(done: int, total: int) -> None:
            if self.settings.progress is not None:
                self.settings.progress(start + people * min(done, total) // max(total, 1), max(self.total, self.done))

        tell(0, 1)
        return tell

    @property
    def javascript(self) -> JavaScript:
        """The JavaScript client: only asked for where there is one."""
        if self.settings.javascript is None:
            raise AuditError("there is no JavaScript client")
        return self.settings.javascript

    def count(self, device: str) -> int:
        """Return how many people of each value answer on a device."""
        return self.samples if device == "python" else max(LEAST_JAVASCRIPT, self.samples // JAVASCRIPT_SHARE)


def sample_people(
    run: Run, survey: Survey, people: People, claims: Claims, timed: Sequence[int]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield for each device what its samples say; the Python device comes also where nothing is sampled."""
    if len(people) < 2:
        yield "python", {"notes": ("fewer than two protected values: nothing to sample",)}
        return
    if not run.samples:
        yield "python", {}
        return
    matrix = to_matrix(claims, len(people))

    def take(device: str, times: int = 1) -> Called:
        count = run.count(device) * times
        progress = run.progress(count * len(people)) if times == 1 else None
        if device == "javascript":
            return run.javascript.call(survey, people, count, progress, timed=run.settings.timed)
        settings = run.settings
        sender = partial(send, settings.device, survey)
        sent = call(sender, people, count, timeout=settings.timeout, clock=settings.clock, progress=progress)
        return replace(sent, outputs=tuple(map(observe_body, sent.outputs)))

    refused: tuple[str, ...] = ()
    results = []
    for device in run.settings.devices:
        try:
            called = take(device)
        except AuditError as error:
            if device == run.settings.devices[0]:
                raise
            refused = (str(error),)
            continue
        promise = Promise(matrix, timed, allowed=WHOLE_ANSWER)
        found = judge(called, promise, run.settings, error=run.error, more=partial(take, device))
        results.append((device, found))
    for device, found in results:
        yield device, {**found, "notes": refused if device == "python" else ()}


def with_words(found: dict[str, Any], words: Sequence[str | None]) -> dict[str, Any]:
    """Put what was found beside samples in front of what they say."""
    return {**found, "refutations": (*filter(None, words), *found.get("refutations", ()))}


def proof_notes(question: Question, level: int) -> tuple[str, ...]:
    """Say which answers a report can prove: the ε of a row is that of all others."""
    return tuple(
        f"an answer {label!r} can be proved: {of_hundred(chance)} of 100 reports of people who give it do"
        for label, chance in question.provable(level)[:MOST_PROVED]
    )
