"""Pictures of what privacy is: a crowd, a belief, levels, who sees what."""

from math import exp, sqrt

import numpy as np

from pictures.draw import arrow, box, text, write
from pldp.mechanisms import build
from pldp.mechanisms.arrays import arrays


def draw_crowd() -> None:
    """Show 200 true answers, the 200 reports that k-RR at ε = 1 makes of them, and what the reports still tell."""
    people, yes = 200, 60
    truth_probability = float(arrays(build("krr", 2, 1_000_000)).matrix()[0, 0])
    generator = np.random.default_rng(1)
    answers = generator.permutation(np.arange(people) < yes)
    kept = generator.random(people) < truth_probability
    reports = np.where(kept, answers, ~answers)
    share = (reports.mean() - (1 - truth_probability)) / (2 * truth_probability - 1)
    error = sqrt(reports.mean() * (1 - reports.mean()) / people) / (2 * truth_probability - 1)
    parts = []
    for left, title, shown in (
        (20, "answers: they stay on the devices", answers),
        (390, "reports: this is all that leaves", reports),
    ):
        parts.append(text(left, 30, title, "ink title"))
        for place, one in enumerate(shown):
            x, y = left + 8 + 15 * (place % 20), 52 + 15 * (place // 20)
            parts.append(f'<circle cx="{x}" cy="{y}" r="5.5" class="{"b" if one else "a"}"/>')
        parts.append(text(left, 218, f"{int(shown.sum())} of {people} are “yes” (orange)", "soft"))
    changed = int((answers != reports).sum())
    parts.append(
        f'<path class="line" d="M 330 120 h 40 m -9 -6 l 9 6 l -9 6"/>{text(350, 108, "noise", "soft small", "middle")}'
    )
    low, high = share - 1.96 * error, share + 1.96 * error
    for line, words in enumerate(
        (
            f"{changed} of {people} reports say the opposite of the truth, and nobody can tell which ones.",
            "How often that happens is known exactly, so it can be taken out of the total:",
            f"{share:.0%} estimated, {low:.0%} to {high:.0%} with 95 % confidence ({yes / people:.0%} is true). "
            "More people narrow it.",
        )
    ):
        parts.append(text(20, 250 + 22 * line, words))
    write("crowd", (720, 312), "Two hundred answers, and the perturbed reports made of them", parts)


def draw_belief() -> None:
    """Show what the most telling report can do to three beliefs, for ε from 0 to 5."""
    left, top, width, height = 60, 50, 440, 260
    parts = [text(20, 28, "The most that one report can change what an observer believes", "ink title")]
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = top + height * (1 - share)
        parts += [
            f'<path class="grid" d="M {left} {y:g} h {width}"/>',
            text(left - 8, y + 5, f"{share:.0%}", "soft small", "end"),
        ]
    for epsilon in range(6):
        x = left + width * epsilon / 5
        parts.append(text(x, top + height + 20, str(epsilon), "soft small", "middle"))
    parts.append(text(left + width / 2, top + height + 42, "ε of the report", "soft", "middle"))
    for prior, kind in ((0.5, "ca"), (0.1, "cb"), (0.01, "cc")):
        after = [prior * exp(step / 20) / (1 - prior + prior * exp(step / 20)) for step in range(101)]
        points = " L ".join(
            f"{left + width * step / 100:.1f} {top + height * (1 - share):.1f}" for step, share in enumerate(after)
        )
        parts.append(f'<path class="curve {kind}" d="M {points}"/>')
        parts.append(
            text(
                left + width + 10,
                top + height * (1 - after[-1]) + (0 if prior == 0.5 else 9),
                f"{prior:.0%} before, {after[-1]:.0%} after ε = 5",
                "ink small",
            )
        )
    write("belief", (740, 370), "Belief after the most telling report, against ε, for three beliefs before it", parts)


def draw_levels() -> None:
    """Show how much reports at three levels tell about a share of a yes/no question."""
    parts = [
        text(20, 28, "What a report is worth: 1,000 people at each of three levels, a yes/no question", "ink title")
    ]
    levels = {"strict": 0.5, "standard": 1.0, "open": 2.0}

    def information(epsilon: float) -> float:
        truth_probability = exp(epsilon) / (1 + exp(epsilon))
        return (2 * truth_probability - 1) ** 2  # of a share of one half, in units of an unperturbed answer's

    for place, (name, epsilon) in enumerate(levels.items()):
        y = 54 + 46 * place
        worth = information(epsilon)
        parts += [
            text(20, y + 19, f"{name}, ε = {epsilon:g}"),
            f'<rect class="a" x="170" y="{y}" width="{330 * worth:.1f}" height="28" rx="3"/>',
            text(178 + 330 * worth, y + 19, f"like {1000 * worth:,.0f} plain answers", "soft"),
        ]
    parts.append(
        text(
            20,
            214,
            "Everybody counts alike: strict reports set the width, unless people of all levels are alike.",
            "soft",
        )
    )
    write("levels", (760, 232), "The worth of reports at three levels", parts)


def draw_pipeline() -> None:
    """Show the way from an answer to a result, and who sees what of it."""
    parts = [text(20, 28, "From an answer to a result, and who sees it", "ink title")]
    steps = (
        ("device", ["value", "“bike”", "the person only"]),
        ("device", ["report", "“bus” or the truth", "the collector"]),
        ("box", ["tally", "how often each", "the collector"]),
        ("box", ["result", "24 % ± 2 %", "everyone"]),
    )
    for place, (kind, lines) in enumerate(steps):
        parts.append(box(20 + 200 * place, 60, 124, lines, kind))
    for place, words in enumerate(("perturb", "count", "undo noise")):
        parts.append(arrow(148 + 200 * place, 101, 68, words))
    parts.append(text(20, 178, "Green runs on the person's device. The true answer never leaves it.", "soft"))
    write("pipeline", (760, 196), "Value, report, tally and result, and who sees each", parts)


def draw_trust() -> None:
    """Show who holds true answers under four ways to collect them."""
    parts = [text(20, 28, "Who holds your true answer?", "ink title")]
    ways = (
        ("remove the names", "the collector, and anyone who copies, buys or subpoenas the data", "r"),
        ("central privacy", "the collector; only published results are noisy", "r"),
        ("Prio, DAP", "nobody, as long as two servers do not collude", "b"),
        ("local privacy", "nobody but you: noise is added before it is sent", "g"),
    )
    for place, (name, words, kind) in enumerate(ways):
        y = 64 + 38 * place
        parts += [
            f'<circle class="{kind}" cx="30" cy="{y - 5}" r="8"/>',
            text(50, y, name),
            text(200, y, words, "soft"),
        ]
    parts.append(
        text(20, 222, "The less you must trust, the more people it takes: local privacy needs thousands.", "soft")
    )
    write("trust", (760, 240), "Who holds the true answer under four ways to collect", parts)


def draw_threats() -> None:
    """Show each observer with what protects against it."""
    parts = [text(20, 28, "Who can look, and what stands in the way", "ink title")]
    rows = (
        ("the network", "TLS; every report of a survey has one length"),
        ("the collector", "ε of the level, in every single report"),
        ("a reader of results", "results change in steps of 50 reports"),
        ("a thief of the database", "the same noisy reports, and nothing else"),
        ("who serves the page", "nothing, unless the script comes from elsewhere"),
        ("your own device", "nothing: it must see the answer"),
    )
    for place, (who, what) in enumerate(rows):
        y = 46 + 34 * place
        kind = "device" if place < len(rows) - 2 else "box"
        parts += [
            f'<rect class="{kind}" x="20" y="{y}" width="200" height="26" rx="4"/>',
            text(32, y + 18, who),
            text(240, y + 18, what, "soft"),
        ]
    write("threats", (760, 262), "Observers and what protects against each", parts)


def draw_app() -> None:
    """Show what stays in the browser and what leaves it."""
    parts = [text(20, 28, "What stays in the browser, and what leaves it", "ink title")]
    parts += [
        box(
            20, 56, 250, ["your page + pldp-device", "answer, level, ledger, receipt", "stay in this browser"], "device"
        ),
        arrow(276, 97, 170, "report: id, level, output"),
        box(454, 56, 250, ["pldp serve", "checks and counts the report", "never sees the answer"]),
    ]
    parts.append(text(20, 170, "Without a network the report waits in the queue, and is sent once.", "soft"))
    write("app", (730, 190), "The device in a page and the collector", parts)
