"""Pictures of results: intervals, people needed, rounds."""

from math import exp

import numpy as np

from pictures.draw import Frame, text, write
from pldp.estimates import estimate, trend
from pldp.planning import plan
from pldp.simulate import Population, simulate_reports
from pldp.survey import loads
from pldp.tallies import tally


def draw_intervals() -> None:
    """Show 40 surveys of the same people: the 95 % interval of each, and the truth that most of them contain."""
    share, people, truth = 0.3, 5_000, exp(1) / (1 + exp(1))
    generator = np.random.default_rng(2)
    seen = generator.binomial(people, share * truth + (1 - share) * (1 - truth), 40) / people
    estimates = (seen - (1 - truth)) / (2 * truth - 1)
    errors = np.sqrt(seen * (1 - seen) / people) / (2 * truth - 1)
    frame = Frame(60, 50, 640, 200, (0, 41), (0.2, 0.4))
    parts = [text(20, 28, "Forty surveys of 5,000 people at ε = 1: each with its 95 % interval", "ink title")]
    parts += frame.axes({}, {0.2: "20 %", 0.3: "30 %", 0.4: "40 %"}, "")
    missed = 0
    for place, (middle, error) in enumerate(zip(estimates, errors, strict=True), start=1):
        low, high = middle - 1.96 * error, middle + 1.96 * error
        missed += not low < share < high
        parts.append(frame.whisker(place, low, high, "ca" if low < share < high else "cc"))
    parts.append(f'<path class="line" d="M 60 {frame.y(share):.1f} h 640"/>')
    words = f"The line is the truth. {40 - missed} intervals contain it, {missed} (red) do not: about 1 in 20 misses."
    parts.append(text(60, 276, words, "soft"))
    write("intervals", (740, 294), "Forty intervals around one truth", parts)


def draw_people() -> None:
    """Show how many people an interval of ± 1, 2 and 5 percentage points needs, for a question with four answers."""
    frame = Frame(90, 50, 420, 250, (0.25, 4), (100, 3_000_000), logarithmic=True)
    parts = [text(20, 28, "People needed, a question with four answers", "ink title")]
    up = {1_000: "1,000", 10_000: "10,000", 100_000: "100,000", 1_000_000: "1,000,000"}
    parts += frame.axes({1: "1", 2: "2", 3: "3", 4: "4"}, up, "ε of a report")
    planned = {
        epsilon: plan(
            loads(
                f'pldp = 1\ntitle = "t"\nlevels = {{ only = {epsilon} }}\n'
                'questions = [{ name = "q", values = ["a", "b", "c", "d"] }]'
            ),
            1000,
        )
        for epsilon in (0.25, 0.5, 1, 1.5, 2, 3, 4)
    }
    for width, kind, words in ((0.01, "cc", "± 1 point"), (0.02, "ca", "± 2 points"), (0.05, "cb", "± 5 points")):
        points = [(epsilon, float(one.people_for(width)["q"].worst)) for epsilon, one in planned.items()]
        parts += [frame.curve(points, kind), text(520, frame.y(points[-1][1]) + 5, words)]
    write("people", (640, 360), "People needed against epsilon for three widths of interval", parts)


def draw_rounds() -> None:
    """Show the three rounds of the tutorial: shares with intervals that hold for all answers and rounds together."""
    survey = loads(
        'pldp = 1\ntitle = "t"\nlevels = { strict = 1, open = 3 }\n'
        'questions = [{ name = "mode", values = ["car", "bus", "bike", "on foot"] }]'
    )
    counts = ([6000, 3000, 1800, 1200], [5600, 3000, 2200, 1200], [5000, 3000, 2800, 1200])
    found = []
    for seed, each in enumerate(counts, start=1):
        people = Population.of_counts(survey, {"mode": each}, seed=seed)
        found.append(estimate(tally(survey, simulate_reports(survey, people, seed=seed)), "mode"))
    names = ["spring", "autumn", "next spring"]
    joined = trend(found, names=names)
    frame = Frame(60, 50, 480, 230, (0.6, 3.4), (0, 0.6))
    parts = [text(20, 28, "Three rounds of 12,000 people: car and bike", "ink title")]
    up = {0: "0 %", 0.2: "20 %", 0.4: "40 %", 0.6: "60 %"}
    parts += frame.axes(dict(enumerate(names, start=1)), up, "")
    for place, kind, words in ((0, "ca", "car"), (2, "cb", "bike")):
        ends = list(zip(*(side.reshape(3, 4)[:, place] for side in joined.interval()), strict=True))
        middles = [(at, (low + high) / 2) for at, (low, high) in enumerate(ends, start=1)]
        parts.append(frame.curve(middles, kind))
        parts += [frame.whisker(at, low, high, kind) for at, (low, high) in enumerate(ends, start=1)]
        parts.append(text(560, frame.y(middles[-1][1]) + 5, words))
    write("rounds", (640, 320), "Shares of car and bike over three rounds with intervals", parts)
