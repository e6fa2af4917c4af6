"""Both bounds of a shuffled report over mechanisms, ε and people; `python -m helpers.shuffled_grid` writes the page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from pldp.mechanisms import build
from pldp.shuffling import Bounds, Group, amplified

PAGE = Path(__file__).parent.parent.parent / "docs" / "research" / "shuffling-bounds.md"
DELTA = 1e-6
LIMITS = {"krr": 1.02, "subset": 1.12, "oue": 1.12, "sue": 1.17}
SIZES = {"krr": (2, 3, 4, 16, 64), "subset": (4, 16, 64), "oue": (4, 16, 64), "sue": (4, 16, 64)}
EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0)
PEOPLE = (10**3, 10**4, 10**5, 10**6)


class Cell(NamedTuple):
    """One report of a mechanism at ε among so many people, its own included."""

    mechanism: str
    size: int
    epsilon: float
    people: int

    @property
    def limit(self) -> float:
        """What the upper bound may be of the lower one."""
        return LIMITS[self.mechanism]

    def bounds(self, delta: float = DELTA) -> Bounds:
        channel = (build(self.mechanism, self.size, round(self.epsilon * 1e6)),)
        return amplified(Group(0, channel), [Group(self.people - 1, channel)], delta)


CELLS = [
    Cell(mechanism, size, epsilon, people)
    for mechanism, sizes in SIZES.items()
    for size in sizes
    for epsilon in EPSILONS
    for people in PEOPLE
]

_HEAD = f"""# Both bounds of a shuffled report

The ε of one report among so many people in random order, at δ = 10⁻⁶: a lower bound, a certified upper bound, and their
ratio. Everybody has the same mechanism and ε. Ratios may be up to {LIMITS["krr"]} for `krr`, {LIMITS["subset"]} for
`subset` and `oue`, {LIMITS["sue"]} for `sue`. The long form of `tests/shuffling/test_shuffled_figures.py` computes all
{len(CELLS)} cells, checks them and writes this page; the short form computes some of them again and compares.

"""


def page_of(found: dict[Cell, Bounds]) -> str:
    """Return the page: what is largest first, then every cell."""
    lines = [_HEAD + "| mechanism | largest ratio | at |\n| --- | ---: | --- |"]
    for mechanism in SIZES:
        ratio, cell = max((high / low, cell) for cell, (high, low) in found.items() if cell.mechanism == mechanism)
        where = f"{cell.size} values, ε = {cell.epsilon:g}, {cell.people:,} people"
        lines.append(f"| `{mechanism}` | {ratio:.4f} | {where} |")
    lines += ["", "| mechanism | values | ε | " + " | ".join(f"{people:,} people" for people in PEOPLE) + " |"]
    lines.append("| --- | ---: | ---: |" + " --- |" * len(PEOPLE))
    for start in range(0, len(CELLS), len(PEOPLE)):
        mechanism, size, epsilon, _ = CELLS[start]
        shown = (found[cell] for cell in CELLS[start : start + len(PEOPLE)])
        cells = " | ".join(f"{low:.6g} to {high:.6g} ({high / low:.4f})" for high, low in shown)
        lines.append(f"| {mechanism} | {size} | {epsilon:g} | {cells} |")
    return "\n".join(lines) + "\n"


def read_page(text: str) -> dict[Cell, Bounds]:
    """Return the cells of a page, as far as its digits go."""
    found = {}
    for line in text.splitlines():
        cells = re.findall(r"([\d.e-]+) to ([\d.e-]+) \(", line)
        if cells:
            mechanism, size, epsilon = (part.strip() for part in line.split("|")[1:4])
            for people, (low, high) in zip(PEOPLE, cells, strict=True):
                found[Cell(mechanism, int(size), float(epsilon), people)] = Bounds(float(high), float(low))
    return found


def compute(cells: Iterable[Cell] = CELLS, said: Callable[[str], object] = print) -> dict[Cell, Bounds]:
    """Compute cells, and say how far it is."""
    found = {}
    for cell in cells:
        found[cell] = cell.bounds()
        said(f"{cell}: {found[cell].high / found[cell].low:.4f}")
    return found


if __name__ == "__main__":
    PAGE.write_text(page_of(compute()), encoding="utf-8")
