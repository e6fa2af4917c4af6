"""Many questions: 100 of them with 2 to 1,000 values, a level for each; and planning such a survey."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.measure import Clock, Context, Row, memory_text, rate, serve
from pldp.estimates import frequencies
from pldp.planning import plan
from pldp.simulate import Population, simulate_reports
from pldp.survey import Survey, survey_from_mapping
from pldp.tallies import tally

TITLE = "Many attributes: 100 questions with 2 to 1,000 values, three levels for each, total ε 20"

MODULE = "benchmarks.attributes"
PEER_MODULE = "benchmarks.peers_attributes"
SEED = 3
SIZES = [int(size) for size in np.geomspace(2, 1000, 100).round()]
LEVELS = {"high": {"fraction": "1/3"}, "mid": {"fraction": "1/2"}, "low": {"fraction": 1}}
PEER_PEOPLE = 500


def survey_of(ask: int, sizes: Sequence[int] = SIZES) -> Survey:
    """Return the survey; everybody is asked so many of the questions."""
    questions = [
        {"name": f"q{place}", "values": [str(value) for value in range(size)]} for place, size in enumerate(sizes)
    ]
    head = {"pldp": 1, "title": "many", "levels": LEVELS, "total_epsilon": 20}
    return survey_from_mapping({**head, "questions": questions, "ask": ask})


def pipeline(people: int, ask: int, repeats: int, sizes: Sequence[int] = SIZES) -> dict[str, Any]:
    """Draw people, perturb, tally and estimate all questions; batches are counted as they come."""
    survey = survey_of(ask, sizes)
    _pipeline(survey, 1000)
    clock = Clock()
    error = clock.time(lambda: _pipeline(survey, people), repeats=repeats)
    return clock.result(people, error=error)


def _pipeline(survey: Survey, people: int) -> float:
    population = Population.of_shares(survey, people, seed=SEED)
    counted = tally(survey, simulate_reports(survey, population, seed=SEED))
    found = [frequencies(counted, question.name) for question in survey.questions]
    errors = [
        np.mean((each.shares - population.shares(question)) ** 2)
        for each, question in zip(found, survey.questions, strict=True)
    ]
    return float(np.sqrt(np.mean(errors)))


def planning(people: int, repeats: int) -> dict[str, Any]:
    """Read the survey (which allocates ε) and plan it, designs included."""
    clock = Clock()
    best = clock.time(lambda: plan(survey_of(100), people).designs[0], repeats=repeats)
    return clock.result(1, ask=best.ask)


def run(context: Context) -> Iterator[list[Row]]:
    """Yield the rows: both designs, linearity, planning."""
    million = context.people(1_000_000)
    for ask, words in ((100, "everybody answers all"), (2, "everybody answers 2, picked at random")):
        found = context.ours(MODULE, "pipeline", people=million, ask=ask, repeats=1)
        peer = None
        if ask == 100:
            peer = context.peer(PEER_MODULE, "pipeline", "multi-freq-ldpy", sizes=SIZES, people=PEER_PEOPLE, repeats=1)
        yield [_row(f"{million:,} people, {words}: draw, perturb, tally, estimate", found, 120.0, peer)]
    parts = [
        context.ours(MODULE, "pipeline", people=number, ask=100, repeats=1)
        for number in (million // 100, million // 10)
    ]
    costs = ", ".join(f"{part['count']:,}: {1e6 / rate(part):.0f} µs" for part in parts)
    yield [Row("CPU time per person, everybody answers all", costs, raw={"parts": parts})]
    found = context.ours(MODULE, "planning", people=million, repeats=2)
    seconds = min(found["seconds"])
    text = f"{seconds:.2f} s; best design: ask {found['ask']}"
    memory = memory_text(found["peak_bytes"])
    yield [Row("reading and planning the survey", text, target="≤ 5 s", met=seconds <= 5, memory=memory, raw=found)]


def _row(what: str, found: dict[str, Any], target: float, peer: dict[str, Any] | None) -> Row:
    seconds = min(found["seconds"])
    small = found["peak_bytes"] <= 2e9
    return Row(
        what=what,
        ours=f"{seconds:.1f} s, {1e6 / rate(found):.0f} µs/person, root mean squared error {found['error']:.4f}",
        peer="–" if peer is None else f"{1e6 / rate(peer):,.0f} µs/person (OUE, one ε, {peer['count']:,} people)",
        ratio=None if peer is None else rate(found) / rate(peer),
        target=f"≤ {target:g} s, ≤ 2 GB",
        met=seconds <= target and small,
        memory=memory_text(found["peak_bytes"]),
        raw={"ours": found, "peer": peer},
    )


if __name__ == "__main__":
    serve({"pipeline": pipeline, "planning": planning})
