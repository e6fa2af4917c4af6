"""Pictures of mechanisms: labels of hidden levels, budgets per value, sets, numbers, and their errors."""

from math import exp, sqrt

import numpy as np

from pictures.draw import Frame, bar, text, write
from pldp.mechanisms import build
from pldp.mechanisms.arrays import arrays


def draw_hidden() -> None:
    """Show how often people of two levels send each label, at a label ε of 1."""
    parts = [text(20, 28, "A hidden level: the report carries a noisy label (ε = 1)", "ink title")]
    truth = float(arrays(build("krr", 2, 1_000_000)).matrix()[0, 0])
    for place, level in enumerate(("strict", "open")):
        y = 62 + 84 * place
        parts.append(text(20, y, f"100 people who chose “{level}” send"))
        for line, label in enumerate(("strict", "open")):
            share = truth if label == level else 1 - truth
            top = y + 10 + 26 * line
            kind = "g" if label == level else "b"
            parts += [bar(130, top, 4 * 100 * share, kind=kind), text(122, top + 16, f"“{label}”", "soft", "end")]
            parts.append(text(138 + 400 * share, top + 16, f"{100 * share:.0f}", "soft"))
    parts.append(
        text(
            20,
            236,
            "One label says little. Over many reports, the mix of levels is fitted together with the shares.",
            "soft",
        )
    )
    write("hidden", (740, 254), "How often people of two levels send each label", parts)


def draw_budgets() -> None:
    """Show the largest odds of reports with a budget per value."""
    parts = [text(20, 28, "A budget per value: how far a report can shift the odds", "ink title")]
    budgets = {"infection with HIV": 0.2, "depression": 0.5, "a cold": 1.0, "a check-up": 1.0}
    for place, (name, epsilon) in enumerate(budgets.items()):
        y = 48 + 34 * place
        parts += [
            text(160, y + 16, name, "ink", "end"),
            bar(172, y, 130 * exp(epsilon)),
            text(182 + 130 * exp(epsilon), y + 16, f"× {exp(epsilon):.2f}   (ε = {epsilon:g})", "soft"),
        ]
    parts.append(text(20, 206, "Sensitive answers get more noise; harmless ones keep their accuracy.", "soft"))
    write("budgets", (720, 224), "Largest change of odds for four answers with budgets of their own", parts)


def draw_sets() -> None:
    """Show a set of ticked boxes and a report of it, drawn with a fixed seed at ε = 2 for each box."""
    items = ("bread", "milk", "vegetables", "fish", "beer", "medicine")
    ticked = np.array([True, True, False, False, True, False])
    truth = exp(1) / (1 + exp(1))  # ε = 2 for a box: half of it for either side
    kept = np.random.default_rng(4).random(len(items)) < truth
    sent = np.where(kept, ticked, ~ticked)
    parts = [text(20, 28, "A set: every box is kept or flipped by itself", "ink title")]
    for place, name in enumerate(items):
        x = 150 + 92 * place
        parts.append(text(x + 11, 62, name, "soft small", "middle"))
        for line, marks in enumerate((ticked, sent)):
            y = 74 + 44 * line
            parts.append(f'<rect class="box" x="{x}" y="{y}" width="22" height="22" rx="3"/>')
            if marks[place]:
                kind = "a" if line == 0 else ("g" if kept[place] else "b")
                parts.append(f'<rect class="{kind}" x="{x + 5}" y="{y + 5}" width="12" height="12" rx="2"/>')
    parts += [text(20, 91, "ticked"), text(20, 135, "reported")]
    flipped = int((~kept).sum())
    parts.append(
        text(
            20,
            178,
            f"Here {flipped} of {len(items)} boxes were flipped; each is kept with {truth:.0%} at ε = 2 per box.",
            "soft",
        )
    )
    write("sets", (720, 196), "Ticked boxes and the boxes that are reported", parts)


def draw_numbers() -> None:
    """Show how the square wave spreads two numbers over outputs, at ε = 2."""
    size, micro = 64, 2_000_000
    matrix = arrays(build("sw", size, micro)).matrix()
    count = matrix.shape[0]
    frame = Frame(60, 50, 600, 190, (0, count), (0, float(matrix.max()) * 1.1))
    parts = [text(20, 28, "A number: outputs near the answer are more likely (square wave, ε = 2)", "ink title")]
    parts += frame.axes({0: "low", count / 2: "output", count: "high"}, {}, "")
    for value, kind in ((15, "ca"), (45, "cb")):
        steps = [(y + side, float(matrix[y, value])) for y in range(count) for side in (0, 1)]
        parts.append(frame.curve(steps, kind))
    ratio = float(matrix.max() / matrix.min())
    parts.append(
        text(
            20,
            292,
            f"Two answers, two curves. No output is more than {ratio:.2f} times as likely under one as the other.",
            "soft",
        )
    )
    write("numbers", (720, 310), "Probability of outputs under two numbers", parts)


def draw_mechanisms() -> None:
    """Show the error of a share for three mechanisms, 16 values and 10,000 people, over ε."""
    frame = Frame(70, 50, 440, 250, (0.25, 5), (0.003, 0.3), logarithmic=True)
    parts = [text(20, 28, "Error of a share: 16 values, 10,000 people", "ink title")]
    ticks = {0.01: "1 %", 0.03: "3 %", 0.1: "10 %", 0.3: "30 %"}
    parts += frame.axes({e: f"{e:g}" for e in range(1, 6)}, ticks, "ε of a report")
    for name, kind in (("krr", "ca"), ("oue", "cc"), ("subset", "cb")):
        points = []
        for step in range(20):
            epsilon = 0.25 + 0.25 * step
            channel = build(name, 16, int(epsilon * 1_000_000))
            right, wrong = float(channel.truth_support), float(channel.other_support)
            share = 1 / 16
            seen = share * right + (1 - share) * wrong
            points.append((epsilon, sqrt(seen * (1 - seen) / 10_000) / (right - wrong)))
        parts.append(frame.curve(points, kind))
    for line, (words, kind) in enumerate((("k-RR", "a"), ("OUE", "r"), ("subset selection", "g"))):
        parts += [bar(540, 80 + 30 * line, 18, 14, kind), text(568, 92 + 30 * line, words)]
    parts.append(text(540, 200, "auto takes the best", "soft"))
    write("mechanisms", (720, 360), "Error of a share against ε for three mechanisms", parts)


def draw_fusing() -> None:
    """Show the error of a mean from one to six services, each at ε = 1, and the ε that joining costs."""
    frame = Frame(70, 50, 440, 230, (0.5, 6.5), (0, 0.026))
    parts = [text(20, 28, "Joining services: smaller errors, and a larger ε", "ink title")]
    parts += frame.axes(
        {n: str(n) for n in range(1, 7)},
        {0: "0", 0.01: "1 %", 0.02: "2 %"},
        "services that a person gave to, each at ε = 1",
    )
    variance = ((exp(1) + 1) / (exp(1) - 1)) ** 2  # the largest of stochastic rounding on [−1, 1]
    for count in range(1, 7):
        error = sqrt(variance / count / 10_000)
        height = frame.y(0) - frame.y(error)
        parts.append(
            f'<rect class="a" x="{frame.x(count) - 22:.1f}" y="{frame.y(error):.1f}" width="44" height="{height:.1f}"/>'
        )
        parts.append(text(frame.x(count), frame.y(error) - 8, f"ε = {count}", "soft small", "middle"))
    parts += [
        text(540, 90, "Bars: error of the mean,"),
        text(540, 110, "10,000 people, bounds ± 1."),
        text(540, 140, "Above: what the joined"),
        text(540, 160, "reports reveal."),
    ]
    write("fusing", (740, 340), "Error of a mean and epsilon of the join, against the number of services", parts)
