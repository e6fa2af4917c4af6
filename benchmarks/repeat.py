"""Asking again: the same people over many rounds, drawn and counted, and what a tracked answer costs a device.

The upper half runs in fresh child processes, the lower half starts them and makes rows of what they return. No peer
package has a client that is asked again, so tracked answers stand beside plain ones.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

from benchmarks.measure import Clock, Context, Row, cost_text, memory_text, rate, serve
from pldp import Device, Survey, tally
from pldp.auditing import JavaScript
from pldp.simulate import Population, simulate_rounds

TITLE = "Asking again: rounds of the same people, and tracked answers on a device"

MODULE = "benchmarks.repeat"
MILLION = 1_000_000
LONGEST = 60
"""CPU seconds that all rounds of both mechanisms may take together."""

DEAREST = 2.0
"""How many times the cost of a plain answer a tracked one may have."""


KINDS: dict[str, tuple[dict[str, Any], Any]] = {
    "krr": ({"values": [f"v{place}" for place in range(16)], "mechanism": "krr"}, "v1"),
    "lh": ({"values": [f"v{place}" for place in range(16)], "mechanism": "lh"}, "v1"),
    "item_set": ({"kind": "choices", "values": [f"v{place}" for place in range(16)]}, ["v1", "v5"]),
    "sr": ({"kind": "number", "low": 0, "high": 1, "mechanism": "sr"}, 0.3),
}
"""Questions by mechanism, and an answer to each."""


def panel(repeat: str, mechanism: str) -> Survey:
    """Return a survey of one question at one level."""
    question = {"name": "q", **KINDS[mechanism][0]}
    return Survey.read({"pldp": 1, "title": "Panel", "repeat": repeat, "levels": {"one": 1}, "questions": [question]})


def rounds(mechanism: str, people: int, rounds: int) -> dict[str, Any]:
    """Change answers, draw and tally the reports of all rounds; drawing the people is not timed."""
    survey = panel("tracked", mechanism)
    for each in simulate_rounds(survey, Population.of_shares(survey, 100), 2):
        tally(survey, each.batches)
    clock = Clock()
    population = Population.of_shares(survey, people)

    def work() -> int:
        return sum(tally(survey, each.batches).reports for each in simulate_rounds(survey, population, rounds))

    return clock.result(clock.time(work, repeats=1))


def device(repeat: str, mechanism: str, people: int, repeats: int) -> dict[str, Any]:
    """One answer each of many new devices; making the devices is not timed."""
    survey = panel(repeat, mechanism)
    answer = KINDS[mechanism][1]
    Device(survey).answer("q", answer, "one")
    clock = Clock()
    for _ in range(repeats):
        devices = [Device(survey) for _ in range(people)]
        clock.time(lambda devices=devices: [each.answer("q", answer, "one") for each in devices], repeats=1)
    return clock.result(people)


def javascript(repeat: str, mechanism: str, people: int) -> dict[str, Any]:
    """The same on the JavaScript device, by the clock of its own process: the median answer."""
    client = JavaScript.find()
    if client is None:
        return {"count": 0, "seconds": [1.0], "peak_bytes": 0}
    clock = Clock()
    called = client.call(panel(repeat, mechanism), [({"q": KINDS[mechanism][1]}, "one")], people)
    clock.seconds = [statistics.median(time for times in called.times for time in times) / 1e9 * people]
    return clock.result(people)


CASES = (rounds, device, javascript)


def run(context: Context) -> Iterator[list[Row]]:
    """Yield the rows."""
    yield _round_rows(context)
    yield _device_rows(context)


def _round_rows(context: Context) -> list[Row]:
    people, number = context.people(MILLION), 100
    found = {
        mechanism: context.ours(MODULE, "rounds", mechanism=mechanism, people=people, rounds=number)
        for mechanism in ("krr", "lh")
    }
    total = sum(measured["seconds"][0] for measured in found.values())
    return [
        Row(
            what=f"{number} rounds of {people:,} people, 16 labels, tracked, {mechanism}: change, draw, tally",
            ours=f"{measured['seconds'][0]:.1f} s, {cost_text(measured, 'report')}",
            target=f"≤ {LONGEST} s for both",
            met=total <= LONGEST,
            memory=memory_text(measured["peak_bytes"]),
            raw=measured,
        )
        for mechanism, measured in found.items()
    ]


def _device_rows(context: Context) -> list[Row]:
    rows = []
    for mechanism in KINDS:
        for case, more in (("device", {"repeats": 3}), ("javascript", {})):
            variants = [
                {"repeat": repeat, "mechanism": mechanism, "people": 2000, **more} for repeat in ("fresh", "tracked")
            ]
            plain, tracked = context.rounds(MODULE, case, variants)
            if not plain["count"]:
                continue
            ratio = rate(plain) / rate(tracked)
            rows.append(
                Row(
                    what=f"One tracked answer of a new device, {mechanism} ({case}); beside it a fresh one",
                    ours=cost_text(tracked, "answer"),
                    peer=cost_text(plain, "answer"),
                    ratio=ratio,
                    target=f"≤ {DEAREST:g} ×",
                    met=ratio <= DEAREST,
                    raw={"fresh": plain, "tracked": tracked},
                )
            )
    return rows


if __name__ == "__main__":
    serve({case.__name__: case for case in CASES})
