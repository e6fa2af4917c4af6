"""Draw what an observer learns over time under the three rules of `repeat` (docs/images/asking-again.png).

python docs/make_repeat_picture.py
"""

from pathlib import Path

import matplotlib as mpl

from pldp.auditing.sequences import log_probability
from pldp.mechanisms import build_stages

ROUNDS = range(1, 21)
TARGET = Path(__file__).parent / "images" / "asking-again.png"


def draw() -> None:
    """Write the picture: ln of the odds between two stories, for the reports that tell them apart best."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415 - after the choice of a back end

    stages = build_stages("krr", 16, 1_000_000, domain="labels")

    def told(story: tuple[int, ...], other: tuple[int, ...]) -> float:
        return log_probability(stages, story, story) - log_probability(stages, other, story)

    never = [told((0,) * rounds, (1,) * rounds) for rounds in ROUNDS]
    change = [told(((0,) * 5 + (1,) * 15)[:rounds], (0,) * rounds) for rounds in ROUNDS]
    figure, axes = plt.subplots(figsize=(7.2, 4.2), constrained_layout=True)
    for numbers, label, style, color in (
        ([1.0] * len(ROUNDS), "once: nothing after the first report", "-", "#0b6e4f"),
        (list(ROUNDS), "fresh: a new draw in every round", "-", "#b3382c"),
        (never, "tracked: an answer that never changes", "-", "#1f5fa8"),
        (change, "tracked: one change after 5 rounds", "--", "#1f5fa8"),
    ):
        axes.plot(ROUNDS, numbers, style, color=color, linewidth=2)
        axes.annotate(label, (ROUNDS[-1], numbers[-1]), (4, 0), textcoords="offset points", va="center", fontsize=9)
    axes.set_xlim(1, 32)
    axes.set_xticks([1, 5, 10, 15, 20])
    axes.set_xlabel("rounds")
    axes.set_ylabel("ε: ln of the odds")
    axes.set_title("What an observer learns about two life stories (16 values, ε = 1 for one report)", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(TARGET, dpi=144)


if __name__ == "__main__":
    draw()
