"""Every estimate: CPU time, peak memory and error beside a former revision, one case after the other.

A child process draws the same people for both sides, tallies their reports, and only then is timed: the estimate and
all that its `to_mapping` computes. The error is the root mean square of estimate − truth over the rows of a result: its
labels, items, sets or cells, or the mean and the quantiles of a number on [0, 1]; over a few collections.
"""

from __future__ import annotations

import inspect
import math
import resource
import signal
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from benchmarks.measure import ChildError, Clock, Context, Row, checked_out, memory_text, serve
from pldp import Survey, Tally, estimate, tally
from pldp.estimates import baskets_of, cross, estimate_fused, frequencies, supports
from pldp.mechanisms.arrays import arrays
from pldp.simulate import Population, perturb_counts, simulate_reports, truth_mapping
from pldp.survey import Question
from pldp.tallies import Asked, Fused, Service, fuse

TITLE = "Estimates: CPU seconds, peak memory and error of every kind, beside a former revision"
COLUMNS = ("what", "now", "former", "CPU now / former", "bound", "met", "peak memory (former)")
MODULE = "benchmarks.estimates"

FORMER: Final = "c3ebdaa5"
"""What is measured beside, unless another revision is named: the last one before one engine decoded every estimate."""

RUNS: Final = 3
LONGEST: Final = 60.0  # CPU seconds after which an estimate is given up
SHORT: Final = 0.5  # CPU seconds below which an estimate is made five times: the best one counts
ENOUGH: Final = 20.0  # CPU seconds after which no further run is begun
LARGEST: Final = 8 << 30  # bytes of address space of a child: what needs more fails alone
LEVELS: Final = {"strict": 0.5, "standard": 1, "open": 2}
GIVES: Final = 0.7  # probability with which a person gives to a service

Asks = Mapping[str, Any]
Shares = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """What is asked of how many people, what is estimated, and in how many CPU seconds it should be.

    With `services` all questions are one, asked by that many; `pairs` are those of items. `by_counts` draws the counts
    of reports instead of reports, so that the people cost nothing.
    """

    questions: tuple[Asks, ...]
    people: int
    hidden: bool = False
    by_counts: bool = False
    services: int = 0
    pairs: bool = False
    spiky: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 2.0


def choice(size: int, mechanism: str = "auto") -> Asks:
    return {"values": [f"v{place}" for place in range(size)], "mechanism": mechanism}


def items(size: int, **keys: Any) -> Asks:
    return {"kind": "choices", "values": [f"v{place}" for place in range(size)], **keys}


def number(**keys: Any) -> Asks:
    return {"kind": "number", "low": 0, "high": 1, **keys}


def _both(name: str, *asks: Asks, people: tuple[int, int], by_counts: bool = False, **keys: Any) -> dict[str, Case]:
    """Return a case with levels shown and one with levels hidden, each with its number of people."""
    shown = Case(asks, people[0], by_counts=by_counts, **keys)
    return {name: shown, f"{name}, hidden": Case(asks, people[1], hidden=True, **keys)}


QUARTERS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
CASES_BY_NAME: Final[dict[str, Case]] = {
    **_both("choice, k-RR, k=4", choice(4, "krr"), people=(10**7, 10**6), by_counts=True),
    **_both("choice, subset, k=512", choice(512, "subset"), people=(10**6, 10**5)),
    **_both("choice, pairs, k=1,024", choice(1024, "pairs"), people=(10**6, 10**6)),
    **_both("choice, pairs, k=4,096", choice(4096, "pairs"), people=(10**6, 10**6)),
    **_both("choice, k-RR, k=4,096", choice(4096, "krr"), people=(10**7, 10**6), by_counts=True),
    **_both("choice, OUE, k=64", choice(64, "oue"), people=(10**7, 10**5), by_counts=True),
    **_both("choice, OUE, k=4,096", choice(4096, "oue"), people=(10**7, 20_000), by_counts=True),
    "choice, OUE, k=64, likelihood": Case((choice(64, "oue"),), 10**5, options={"method": "likelihood"}),
    **_both("set, 20 items", items(20), people=(10**6, 10**5)),
    **_both("set, 20 items, one budget", items(20, budget="set"), people=(10**6, 10**5)),
    **_both("set, 1,000 items, largest 3", items(1000), people=(10**5, 20_000), options={"largest": 3}),
    **_both("pairs of 20 items", items(20), people=(10**6, 10**5), pairs=True),
    **_both("number, 256 buckets, smooth", number(buckets=256), people=(10**6, 10**6)),
    **_both("number, 256 buckets, spiky", number(buckets=256), people=(10**6, 10**6), spiky=True),
    **_both("number, 1,024 buckets, smooth", number(buckets=1024), people=(10**6, 10**6), seconds=5),
    **_both("number, 1,024 buckets, spiky", number(buckets=1024), people=(10**6, 10**6), spiky=True, seconds=5),
    **_both("mean of a number", number(purpose="mean"), people=(10**6, 10**6)),
    **_both("table, 6 × 5", choice(6), choice(5), people=(10**6, 10**6)),
    **_both("table, 100 × 100", choice(100), choice(100), people=(10**6, 10**5)),
    **_both("table, choice × set of 10", choice(6), items(10), people=(10**6, 10**5)),
    **_both("table, choice × number", choice(6), number(buckets=256), people=(10**6, 10**5)),
    **_both("fused choice, k=8, three services", choice(8, "krr"), people=(10**5, 10**5), services=3),
    **_both("fused set, 10 items, two services", items(10), people=(10**5, 10**5), services=2),
    **_both("fused number, 256 buckets, two services", number(buckets=256), people=(10**5, 10**5), services=2),
}  # fmt: skip
"""A new kind, or a new way to ask, needs one line here."""


# Inside a child process


def survey_of(case: Case) -> Survey:
    asked = [{"name": f"q{place}", **asks} for place, asks in enumerate(case.questions)]
    content = {"pldp": 1, "title": "Estimates", "levels": LEVELS, "questions": asked}
    return Survey.read({**content, "hide_level": {"epsilon": 1}} if case.hidden else content)


def shares_of(question: Question, case: Case) -> Shares:
    """Return the shares of labels, the supports of items, or the shares of buckets."""
    rank, middle = np.arange(1.0, question.size + 1), (np.arange(question.size) + 0.5) / question.size
    if question.domain == "sets":
        return np.asarray(0.5 / rank)
    shares = 1 / rank if question.domain == "labels" else middle * (1 - middle) ** 4
    shares /= shares.sum()
    if case.spiky:
        shares *= 0.3
        shares[(np.array([0.12, 0.3, 0.55, 0.8]) * question.size).astype(int)] += 0.7 / 4
    return np.asarray(shares)


def truth_of(case: Case, survey: Survey, shares: Mapping[str, Shares]) -> Shares:
    """Return what the rows of the result should say; answers to several questions and items are independent."""
    if case.pairs:
        return np.array([one * two for one, two in combinations(shares["q0"], 2)])
    if len(shares) == 1:
        return np.array([row["true"] for row in truth_mapping(survey, shares)[0]["rows"]])
    sides = [
        own if survey.question(name).domain != "numbers" else own.reshape(len(QUARTERS) - 1, -1).sum(axis=1)
        for name, own in shares.items()
    ]
    return np.outer(*sides).ravel()


def draw(case: Case, people: int, seed: int) -> tuple[Tally | Fused, Shares]:
    """Return the tally of one collection, and the truth about the rows of its result."""
    survey = survey_of(case)
    shares = {each.name: shares_of(each, case) for each in survey.questions}
    truth = truth_of(case, survey, shares)
    generator = np.random.default_rng(seed)
    if case.by_counts:
        return _draw_counts(survey, shares["q0"], people, generator), truth
    population = Population.of_shares(survey, people, shares, seed=seed)
    if case.services:
        values = population.values["q0"]
        return fuse([_draw_service(survey, place, values, generator) for place in range(case.services)]), truth
    pairs = [tuple(shares)] if len(shares) > 1 else []
    rows = case.hidden or "method" in case.options
    return tally(survey, simulate_reports(survey, population, seed=seed), patterns=rows, pairs=pairs), truth


def _draw_counts(survey: Survey, shares: Shares, people: int, generator: np.random.Generator) -> Tally:
    """Let as many people choose each level."""
    (question,) = survey.questions
    part = people // len(question.levels)
    counts = {
        (question.name, level.name): perturb_counts(channel, generator.multinomial(part, shares), generator)
        for level, channel in zip(question.levels, question.channels, strict=True)
    }
    return Tally(survey, counts, part * len(counts))


def _draw_service(survey: Survey, place: int, values: Any, generator: np.random.Generator) -> Service:
    """Return the reports of those who give to a service, each at a level of its own there."""
    (question,) = survey.questions
    here = np.flatnonzero(generator.random(len(values)) < GIVES)
    level = generator.integers(0, len(question.levels), len(here))
    outputs = np.stack([_perturbed(channel, values[here], generator) for channel in question.channels])
    shown = level if survey.level_channel is None else _perturbed(survey.level_channel, level, generator)
    names = tuple(each.name for each in question.levels)
    asked = {"values": tuple(question.values)} if question.domain != "numbers" else {"limits": (0.0, 1.0)}
    return Service(
        f"s{place}", question.channels[0], here, outputs[level, np.arange(len(here))], (0.0, 1.0), Asked("q0", **asked),
        np.array(names)[shown], names, question.channels, survey.level_channel,
    )  # fmt: skip


def _perturbed(channel: Any, values: Any, generator: np.random.Generator) -> Any:
    form = arrays(channel)
    return form.draw_many(form.checked_values(values), generator)


def estimate_of(case: Case, counted: Tally | Fused) -> list[Any]:
    """Estimate, compute all that the result says, and return its rows."""
    options = dict(case.options)
    if options.get("method") == "likelihood" and "differ" in inspect.signature(frequencies).parameters:
        options["differ"] = 0  # of a former revision it was the default
    if isinstance(counted, Fused):
        result: Any = estimate_fused(counted, **options)
    elif case.pairs:
        names = case.questions[0]["values"]
        return supports(*baskets_of(counted, "q0"), list(combinations(names, 2))).rows()
    elif len(case.questions) > 1:
        numbers = [name for name in ("q0", "q1") if counted.survey.question(name).kind == "number"]
        result = cross(counted, ("q0", "q1"), ranges=dict.fromkeys(numbers, QUARTERS))
    else:
        result = estimate(counted, "q0", **options)
    result.to_mapping()
    return result.rows()


def estimated(name: str, people: int, runs: int) -> dict[str, Any]:
    """Estimate so many collections; `stopped` says why it was given up."""
    case = CASES_BY_NAME[name]
    signal.signal(signal.SIGPROF, _give_up)
    for small in (Case((choice(3),), 300), Case((number(buckets=16),), 300, hidden=case.hidden)):
        estimate_of(small, draw(small, small.people, 0)[0])
    done: dict[str, list[float]] = {"seconds": [], "peaks": [], "errors": [], "standard_errors": []}
    stopped = ""
    for seed in range(runs):
        if sum(done["seconds"]) > ENOUGH:
            break
        counted, truth = draw(case, people, seed)
        clock, work = Clock(), partial(estimate_of, case, counted)
        try:
            signal.setitimer(signal.ITIMER_PROF, LONGEST)
            rows = clock.time(work, repeats=1)
            rows = clock.time(work, repeats=4) if clock.seconds[0] < SHORT else rows
        except (TimeoutError, MemoryError) as error:
            stopped = f"> {LONGEST:g} s" if isinstance(error, TimeoutError) else f"> {memory_text(LARGEST)}"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        done["peaks"].append(clock.result(people)["peak_bytes"])
        if stopped:
            break
        done["seconds"] += clock.seconds
        wrong = np.array([row.estimate for row in rows]) - truth[: len(rows)]  # of some numbers only the mean is told
        done["errors"].append(float(np.sqrt(np.mean(wrong**2))))
        done["standard_errors"].append(float(np.mean([row.standard_error for row in rows])))
    return {"count": people, **done, "stopped": stopped}


def _give_up(*_: object) -> None:
    raise TimeoutError


# Rows


def run(context: Context) -> Iterator[list[Row]]:
    """Yield the row of one case after the other."""
    with checked_out(context, context.former or FORMER) as former:
        for name, case in CASES_BY_NAME.items():
            yield [_row(context, name, case, former)]


def _row(context: Context, name: str, case: Case, former: Path) -> Row:
    asked = {"name": name, "people": context.people(case.people), "runs": RUNS}
    now = context.ours(MODULE, "estimated", **asked)
    try:
        then = context.ours(MODULE, "estimated", source=former, **asked)
    except ChildError as error:
        then = {"stopped": f"> {LONGEST:g} s" if str(-signal.SIGXCPU) in str(error) else f"failed: {error}"}
    seconds, peak = _best(now), max(now["peaks"])
    before = _best(then) if then.get("seconds") else 0.0  # also what is shorter than a tick of the clock
    return Row(
        what=f"{name}, n={asked['people']:,}",
        ours=_text(now),
        peer=_text(then),
        ratio=seconds / before if before and now["seconds"] else None,
        target=f"≤ {case.seconds:g} s, ≤ 1 GB",
        met=seconds <= case.seconds and peak <= 1e9 and not now["stopped"],
        memory=f"{memory_text(peak)} ({memory_text(max(then.get('peaks', [math.nan])))})",
        raw={"now": now, "former": then},
    )


def _best(measured: Mapping[str, Any]) -> float:
    return min(measured["seconds"], default=math.inf)


def _text(measured: Mapping[str, Any]) -> str:
    """Write time and error, with the error's own standard error."""
    if measured["stopped"]:
        return str(measured["stopped"])
    errors = measured["errors"]
    spread = statistics.stdev(errors) / math.sqrt(len(errors)) if len(errors) > 1 else math.nan
    stated = statistics.fmean(measured["standard_errors"])
    return f"{_best(measured):.2f} s, error {statistics.fmean(errors):.3g} ± {spread:.1g} (stated {stated:.3g})"


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (LARGEST, LARGEST))
    resource.setrlimit(resource.RLIMIT_CPU, (2 * int(LONGEST), 3 * int(LONGEST)))  # a single call cannot be given up
    serve({"estimated": estimated})
