"""At the limit: the accuracy of `auto` beside theory and a peer, and the speed of subset selection and large domains.

The upper half runs in fresh child processes, the lower half starts them and makes rows of what they return. Theory for
labels is subset selection with the best whole number d of chosen values (Ye, Barg, "Optimal Schemes for Discrete
Distribution Estimation under Locally Differential Privacy"); for means it is the linear program over all channels whose
results the tests keep. Of the peers only multi-freq-ldpy has subset selection.
"""

from __future__ import annotations

import math
import os
import runpy
import shutil
import statistics
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.measure import ROOT, Clock, Context, Row, cost_text, join, memory_text, rate, rate_text, serve
from pldp import Survey, tally
from pldp.mechanisms import Bits, Channel, build
from pldp.papers.groups import group
from pldp.simulate import Population, perturb, perturb_personal, simulate_reports
from pldp.tallies import BitCounts, OutputCounts

TITLE = "At the limit: accuracy beside theory and a peer, speed of the mechanisms that reach it"

MODULES = ("benchmarks.limit", "benchmarks.peers_core")
PEER = "multi-freq-ldpy"
SEED = 20
NOISE_SEED = 21
"""Another one for reports: from the numbers that made the people their noise would not be independent of them."""

MICRO = 1_000_000
MILLION = 1_000_000

SIZES = sorted({*range(2, 257), *np.geomspace(257, 4096, 60).astype(int).tolist(), 512, 1000, 1024, 2048})
LARGE_SIZES = sorted({*np.geomspace(5000, MILLION, 40).round().astype(int).tolist(), 10_000, 100_000})

SIMULATED = (
    ("Zipf 1.1", 8, 1.0),
    ("Zipf 1.1", 8, 2.0),
    ("Zipf 1.1", 16, 1.0),
    ("Zipf 1.1", 16, 2.0),
    ("spike", 1024, 5.0),
)
"""What people answer, number of values, ε."""

RUNS = 300

DRAWS_IN_NODE = """
import { systemRandom } from "./clients/js/src/bytes.js";
import { loadMechanisms } from "./clients/js/src/mechanisms/registry.js";
const [size, chosen, truth, draws, repeats] = process.argv.slice(1).map(Number);
const build = await loadMechanisms(["subset"]);
const channel = build("", "label", "subset", size, new Map([["chosen", chosen], ["truth", truth]]), [20e6]);
const work = () => { for (let draw = 0; draw < draws; draw += 1) channel.draw(draw % size, systemRandom); };
work();
const seconds = [];
for (let repeat = 0; repeat < repeats; repeat += 1) {
	const start = process.cpuUsage();
	work();
	const used = process.cpuUsage(start);
	seconds.push((used.user + used.system) / 1e6);
}
console.log(JSON.stringify(seconds));
"""


# Cases: each runs in a process of its own


def labels(sizes: Sequence[int], step: int, most: int) -> dict[str, Any]:
    """Variance at equal shares of what `auto` builds over that of subset selection; for each size the worst ε.

    Tried is every ε from .1 to the most, in steps; both in hundredths.
    """
    clock, worst = Clock(), []
    epsilons = [hundredths / 100 for hundredths in range(10, most + 1, step)]
    for size in sizes:
        found = []
        for epsilon in epsilons:
            channel = build("auto", size, round(epsilon * MICRO))
            found.append((channel.equal_variance / _least_variance(size, epsilon), epsilon, channel.mechanism))
        worst.append([size, *max(found)])
    return clock.result(len(sizes) * len(epsilons), worst=worst)


def means() -> dict[str, Any]:
    """Worst-case variance of `auto` for means over the optimum for each ε, and the CPU time that building it takes."""
    tests = runpy.run_path(str(ROOT / "tests" / "helpers" / "means.py"))
    build("minimax", 3, MICRO)
    clock, ratios = Clock(), {}
    for epsilon, optimum in sorted(tests["OPTIMUM"].items()):
        channel = clock.time(lambda epsilon=epsilon: _channel_for_means(epsilon), repeats=1)
        ratios[epsilon] = tests["worst_with_rounding"](channel) / optimum
    return clock.result(len(ratios), ratios=ratios)


def accuracy(values: str, size: int, epsilon: float, repeats: int) -> dict[str, Any]:
    """Squared errors, summed over the values, of unbiased shares by `auto`, as they are and clipped like the peer's."""
    channel, generator = build("auto", size, round(epsilon * MICRO)), np.random.default_rng(NOISE_SEED)
    truth = np.load(values)
    shares = np.bincount(truth, minlength=size) / len(truth)
    clock, errors, clipped = Clock(), [], []
    for _ in range(repeats):
        found = _shares(channel, perturb(channel, truth, generator))
        possible = found.clip(0)
        errors.append(float(((found - shares) ** 2).sum()))
        clipped.append(float(((possible / possible.sum() - shares) ** 2).sum()))
    return clock.result(len(truth), squared_errors=errors, clipped=clipped, mechanism=channel.mechanism)


def client(mechanism: str, values: str, epsilons: str, size: int, repeats: int) -> dict[str, Any]:
    """Draw a report of each person with their own ε."""
    generator = np.random.default_rng(NOISE_SEED)
    perturb_personal(mechanism, np.arange(size), size, np.ones(size), generator)
    clock = Clock()
    own, budgets = np.load(values), np.load(epsilons)
    clock.time(lambda: perturb_personal(mechanism, own, size, budgets, generator), repeats=repeats)
    return clock.result(len(own))


def draw(size: int, draws: int, repeats: int) -> dict[str, Any]:
    """Draw single reports as a device does, from the system's random bytes."""
    channel = build("subset", size, MICRO)
    clock = Clock()
    clock.time(lambda: [channel.draw(number % size, os.urandom) for number in range(draws)], repeats=repeats)
    return clock.result(draws)


def draw_in_node(size: int, draws: int, repeats: int) -> dict[str, Any]:
    """Draw the same on the JavaScript device, by the CPU time of Node; no draws without Node."""
    node, clock = shutil.which("node"), Clock()
    if node is None:
        return clock.result(0)
    channel = build("subset", size, MICRO)
    weights = channel.weights()
    numbers = map(str, (size, weights["chosen"], weights["truth"], draws, repeats))
    command = [node, "--input-type=module", "--eval", DRAWS_IN_NODE, *numbers]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    clock.seconds = [float(second) for second in done.stdout.strip("[]\n").split(",")]
    return clock.result(draws)


def whole(mechanism: str, size: int, people: int, epsilon: float) -> dict[str, Any]:
    """Draw the reports of all people at once, count them and find the shares of all values."""
    generator = np.random.default_rng(SEED)
    small = build(mechanism, 100, MICRO)
    _shares(small, perturb(small, np.arange(100), generator))
    channel = build(mechanism, size, round(epsilon * MICRO))
    clock = Clock()
    own = generator.integers(0, size, people)
    clock.time(lambda: _shares(channel, perturb(channel, own, generator)), repeats=1)
    return clock.result(people, mechanism=channel.mechanism, bytes=channel.form.bytes)


def tallied(size: int, people: int) -> dict[str, Any]:
    """Draw the reports of all people as Arrow batches, keep them all, check and count them."""
    question = {"name": "value", "values": [f"value {number}" for number in range(size)], "mechanism": "subset"}
    survey = Survey.read({"pldp": 1, "title": "Memory", "levels": {"one": 1}, "questions": [question]})
    tally(survey, simulate_reports(survey, Population.of_shares(survey, 1000, seed=SEED), seed=NOISE_SEED))
    clock = Clock()
    population = Population.of_shares(survey, people, seed=SEED)
    batches = clock.time(lambda: list(simulate_reports(survey, population, seed=NOISE_SEED)), repeats=1)
    drawn = clock.seconds.pop()
    counted = clock.time(lambda: tally(survey, iter(batches)), repeats=1)
    return clock.result(counted.reports, seconds_to_draw=drawn)


def _supports(size: int, chosen: int, epsilon: float) -> tuple[float, float]:
    """How often a set of subset selection contains the true value, and any other one."""
    p = chosen * math.exp(epsilon) / (chosen * math.exp(epsilon) + size - chosen)
    return p, (chosen - p) / (size - 1)


def _variance(size: int, chosen: int, epsilon: float) -> float:
    p, q = _supports(size, chosen, epsilon)
    support = chosen / size
    return support * (1 - support) / (p - q) ** 2


def _best_chosen(size: int, epsilon: float) -> int:
    near = int(size / (math.exp(epsilon) + 1))
    some = {min(max(1, near + more), size - 1) for more in range(-2, 4)}
    return min(some, key=lambda chosen: _variance(size, chosen, epsilon))


def _least_variance(size: int, epsilon: float) -> float:
    """Variance of a share of 1/k from one report of subset selection: d of k values are in every set."""
    return _variance(size, _best_chosen(size, epsilon), epsilon)


def summed_variance(size: int, epsilon: float, people: int) -> float:
    """Variances of all shares of given people added up: a value is in p of its people's sets and in q of all others."""
    p, q = _supports(size, _best_chosen(size, epsilon), epsilon)
    return (p * (1 - p) + (size - 1) * q * (1 - q)) / (people * (p - q) ** 2)


def _channel_for_means(epsilon: float) -> Channel:
    question = {"name": "x", "kind": "number", "low": -1, "high": 1, "purpose": "mean"}
    survey = Survey.read({"pldp": 1, "title": "Means", "levels": {"one": epsilon}, "questions": [question]})
    return survey.questions[0].channels[0]


def _shares(channel: Channel, outputs: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    if isinstance(channel.form, Bits):
        return group(channel, BitCounts.of_rows(outputs, channel.form, patterns=False)).shares()
    return group(channel, OutputCounts(np.bincount(outputs, minlength=channel.form.count))).shares()


CASES = (labels, means, accuracy, client, draw, draw_in_node, whole, tallied)


# Rows


def run(context: Context) -> Iterator[list[Row]]:
    """Yield the rows of one section after the other."""
    yield _label_rows(context)
    yield [_accuracy_row(context, *each) for each in SIMULATED]
    yield _mean_rows(context)
    yield [row for size, target in ((16, 50), (128, 15)) for row in _client_rows(context, size, target)]
    yield _device_rows(context)
    yield _whole_rows(context)


def _label_rows(context: Context) -> list[Row]:
    """Computed from the integers of the built channels."""
    rows = []
    for sizes, step, target in ((SIZES, 10, 1.01), (LARGE_SIZES, 2, 1.03)):
        measured = context.ours(MODULES[0], "labels", sizes=sizes, step=step, most=800)
        size, ratio, epsilon, mechanism = max(measured["worst"], key=lambda each: each[1])
        rows.append(
            Row(
                what=f"auto for labels: variance over subset selection with the best d, worst of {len(sizes)} sizes "
                f"k={sizes[0]:,} … {sizes[-1]:,} and ε=.1 … 8 in steps of {step / 100:g}",
                ours=f"{ratio:.4f} ({mechanism} at k={size:,}, ε={epsilon:g})",
                target=f"≤ {target}",
                met=ratio <= target,
                raw=measured,
            )
        )
    return rows


def _accuracy_row(context: Context, people: str, size: int, epsilon: float) -> Row:
    """Simulated; the peer and we have the same people and the same number of runs."""
    values = _save_people(context, people, size)
    shared = {"values": values, "size": size, "epsilon": epsilon, "repeats": context.people(RUNS)}
    measured = context.ours(MODULES[0], "accuracy", **shared)
    beside = context.peer(MODULES[1], "subset_accuracy", PEER, **shared)
    least = summed_variance(size, epsilon, measured["count"])
    own, error = mean_over(measured["squared_errors"], least)
    alike, alike_error = mean_over(measured["clipped"], least)
    text, ratio = "–", None
    if beside is not None:
        found, found_error = mean_over(beside["squared_errors"], least)
        text, ratio = f"{found:.3f} ± {found_error:.3f} (multi-freq-ldpy, clipped and renormalised)", found / alike
    return Row(
        what=f"{people}, n={measured['count']:,}, k={size:,}, ε={epsilon:g}: squared error of unbiased shares over "
        f"subset selection in theory, {shared['repeats']} runs; ratio: both clipped and renormalised",
        ours=f"{own:.3f} ± {error:.3f} ({measured['mechanism']}); clipped and renormalised {alike:.3f} ± "
        f"{alike_error:.3f}",
        peer=text,
        ratio=ratio,
        target="≤ 1.01 + 3 standard errors, at most 1.11",
        met=own <= 1.01 + min(3 * error, 0.1),
        raw={"pldp": measured, PEER: beside, "theory": least},
    )


def mean_over(squared_errors: Sequence[float], least: float) -> tuple[float, float]:
    """Return the mean of error/variance over the runs, and its standard error."""
    relative = [error / least for error in squared_errors]
    return statistics.fmean(relative), statistics.stdev(relative) / math.sqrt(len(relative))


def _save_people(context: Context, people: str, size: int) -> str:
    """Write everybody's values to a file: shares that fall as 1/rank^1.1, or all people at one value."""
    path = context.folder / f"{people}-{size}.npy"
    shares = np.arange(1, size + 1) ** -1.1
    drawn = np.random.default_rng(SEED).choice(size, 20_000, p=shares / shares.sum())
    np.save(path, np.full(1000, size // 2) if people == "spike" else drawn)
    return str(path)


def _mean_rows(context: Context) -> list[Row]:
    measured = context.ours(MODULES[0], "means")
    epsilon, ratio = max(measured["ratios"].items(), key=lambda each: each[1])
    slowest, total = max(measured["seconds"]), sum(measured["seconds"])
    low, *_, high = measured["ratios"]
    return [
        Row(
            what=f"auto for means: worst-case variance over the optimum of all channels, worst of {measured['count']} "
            f"ε={low} … {high}",
            ours=f"{ratio:.4f} (ε={epsilon})",
            target="≤ 1.02",
            met=ratio <= 1.02,
            raw=measured,
        ),
        Row(
            what="its linear program, once per level of a survey; all these levels together",
            ours=f"{slowest:.2f} s; {total:.2f} s",
            target="≤ 10 s together",
            met=total <= 10,
            memory=memory_text(measured["peak_bytes"]),
            raw=measured,
        ),
    ]


def _client_rows(context: Context, size: int, target: float) -> list[Row]:
    """Take turns: subset selection and OUE here, subset selection at the peer, which gets a tenth of the people."""
    people = context.people(MILLION)
    generator = np.random.default_rng(SEED)
    files = {name: str(context.folder / f"{name}-{size}.npy") for name in ("values", "epsilons")}
    np.save(files["values"], generator.integers(0, size, people))
    np.save(files["epsilons"], generator.uniform(0.5, 2.0, people))
    shared = {**files, "size": size, "repeats": 3}
    found: dict[str, list[dict[str, Any]]] = {"subset": [], "oue": [], PEER: []}
    for _ in range(2):
        for mechanism in ("subset", "oue"):
            found[mechanism].append(context.ours(MODULES[0], "client", mechanism=mechanism, **shared))
        beside = context.peer(MODULES[1], "subset", PEER, people=people // 10, **shared)
        found[PEER] += [] if beside is None else [beside]
    sides = {side: join(parts) for side, parts in found.items() if parts}
    name = f"Subset client, an ε per person, k={size}, {people:,} people"
    rows = []
    for side, least, words in ((PEER, target, f" ({PEER}, n={people // 10:,})"), ("oue", 1, " (our OUE, the same ε)")):
        ratio = rate(sides["subset"]) / rate(sides[side]) if side in sides else None
        rows.append(
            Row(
                what=name,
                ours=rate_text(sides["subset"], "people"),
                peer="–" if ratio is None else rate_text(sides[side], "people") + words,
                ratio=ratio,
                target=f"≥ {least:g} ×",
                met=None if ratio is None else ratio >= least,
                memory=memory_text(sides["subset"]["peak_bytes"]),
                raw=sides,
            )
        )
    return rows


def _device_rows(context: Context) -> list[Row]:
    size, rows = 128, []
    shared = {"size": size, "repeats": 3}
    report = {"mechanism": "subset", "people": context.people(10_000), **shared}
    for module, case, arguments, what, limit in (
        (MODULES[0], "draw", {"draws": 10_000, **shared}, "One draw on a device, Python", 60),
        ("benchmarks.core", "device", report, "One report of a new device, Python", 60),
        (MODULES[0], "draw_in_node", {"draws": 20_000, **shared}, "One draw on a device, JavaScript", 20),
    ):
        (measured,) = context.rounds(module, case, [arguments])
        if measured["count"]:
            micros = 1e6 / rate(measured)
            name = f"{what}, subset, k={size}, ε=1"
            rows.append(Row(name, f"{micros:.1f} µs", target=f"≤ {limit} µs", met=micros <= limit, raw=measured))
    return rows


def _whole_rows(context: Context) -> list[Row]:
    """A million reports in memory, and a million values."""
    people = context.people(MILLION)
    kept = context.ours(MODULES[0], "whole", mechanism="subset", size=1024, people=people, epsilon=1)
    batches = context.ours(MODULES[0], "tallied", size=1024, people=people)
    large = context.ours(MODULES[0], "whole", mechanism="auto", size=MILLION, people=people, epsilon=4)
    limit, seconds = 250 * MILLION, large["seconds"][0]
    return [
        *(
            Row(
                what=f"{people:,} subset reports of k=1,024, ε=1, drawn, held {words}",
                ours=f"{memory_text(measured['peak_bytes'])}; {cost_text(measured, 'report')} {timed}",
                target=f"≤ {memory_text(limit)}",
                met=measured["peak_bytes"] <= limit,
                memory=memory_text(measured["peak_bytes"]),
                raw=measured,
            )
            for measured, words, timed in (
                (kept, "as one array and counted", "to draw and count"),
                (batches, "as Arrow batches and tallied", "to check and count"),
            )
        ),
        Row(
            what=f"{people:,} people, a million values, ε=4: draw, count, shares of all values",
            ours=f"{seconds:.2f} s ({large['mechanism']}, {large['bytes']} bytes a report)",
            target="≤ 10 s",
            met=seconds <= 10,
            memory=memory_text(large["peak_bytes"]),
            raw=large,
        ),
    ]


if __name__ == "__main__":
    serve({case.__name__: case for case in CASES})
