"""Draw the pictures of the pages that explain concepts (docs/images/concept-*.svg).

Every number in them comes from a formula of a channel or from a seeded simulation; colours follow the reader's light
or dark setting.

python docs/make_concept_pictures.py
"""

from html import escape
from math import exp, sqrt
from pathlib import Path

import numpy as np

from pldp.mechanisms import build
from pldp.mechanisms.arrays import arrays

FOLDER = Path(__file__).parent / "images"

STYLE = """
.ink { fill: #1c2733; } .soft { fill: #5b6b7b; } .line { stroke: #5b6b7b; stroke-width: 1; fill: none; }
.a { fill: #1f5fa8; } .b { fill: #c25b12; } .grid { stroke: #dfe5ea; stroke-width: 1; }
.curve { fill: none; stroke-width: 2.5; } .ca { stroke: #1f5fa8; } .cb { stroke: #0b6e4f; } .cc { stroke: #b3382c; }
text { font: 14px system-ui, sans-serif; } .small { font-size: 12px; } .title { font-weight: 600; font-size: 15px; }
.paper { fill: #ffffff; }
@media (prefers-color-scheme: dark) {
.ink { fill: #e8edf2; } .soft { fill: #a5b2bf; } .line { stroke: #a5b2bf; } .grid { stroke: #33404d; }
.a { fill: #7ab4f5; } .b { fill: #f2a365; } .ca { stroke: #7ab4f5; } .cb { stroke: #5fd0a5; } .cc { stroke: #f08a7d; }
.paper { fill: #131a21; }
}
"""


def text(x: float, y: float, words: str, kind: str = "ink", anchor: str = "start") -> str:
    """Return a line of text."""
    return f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>'


def write(name: str, size: tuple[int, int], about: str, parts: list[str]) -> None:
    """Write a picture with its description for screen readers."""
    width, height = size
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img">'
        f"<title>{escape(about)}</title><style>{STYLE}</style>"
        f'<rect class="paper" width="{width}" height="{height}" rx="8"/>'
    )
    (FOLDER / f"concept-{name}.svg").write_text("\n".join([head, *parts, "</svg>\n"]), encoding="utf-8")


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
                top + height * (1 - after[-1]) + 5,
                f"{prior:.0%} before, {after[-1]:.0%} after ε = 5",
                "ink small",
            )
        )
    write("belief", (740, 370), "Belief after the most telling report, against ε, for three beliefs before it", parts)


def draw_levels() -> None:
    """Show how much reports at three levels count in a pooled share of a yes/no question."""
    parts = [
        text(20, 28, "What a report is worth: 1,000 people at each of three levels, a yes/no question", "ink title")
    ]
    levels = {"strict": 0.5, "standard": 1.0, "open": 2.0}

    def information(epsilon: float) -> float:
        truth_probability = exp(epsilon) / (1 + exp(epsilon))
        return 4 * (2 * truth_probability - 1) ** 2  # of a share of one half, in units of an unperturbed answer's

    total = sum(map(information, levels.values()))
    for place, (name, epsilon) in enumerate(levels.items()):
        y = 54 + 46 * place
        worth = information(epsilon) / 4
        parts += [
            text(20, y + 19, f"{name}, ε = {epsilon:g}"),
            f'<rect class="a" x="170" y="{y}" width="{330 * worth:.1f}" height="28" rx="3"/>',
            text(
                178 + 330 * worth,
                y + 19,
                f"like {1000 * worth:,.0f} plain answers; weight {information(epsilon) / total:.0%}",
                "soft",
            ),
        ]
    parts.append(
        text(
            20,
            214,
            "Every report counts for what it is worth: strict levels do not spoil the result, open ones lift it.",
            "soft",
        )
    )
    write("levels", (760, 232), "The worth of reports at three levels", parts)


def draw_all() -> None:
    """Draw every picture."""
    draw_crowd()
    draw_belief()
    draw_levels()


if __name__ == "__main__":
    draw_all()
