"""Print the coverage that `make test-long` has measured (docs/research/coverage.md).

PYTHONPATH=tests python docs/make_coverage_page.py
"""

import json
from collections import defaultdict
from pathlib import Path

from helpers.coverage import CASES, CELL_RUNS, EPSILONS, PEOPLE, SHAPES, TESTS, Hits, cells, wrong

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "build" / "coverage"
TARGET = ROOT / "docs" / "research" / "coverage.md"

Rows = list[list[object]]

HEAD = """# Do the intervals cover?

Made by `make test-long` (`tests/estimates/test_coverage.py`, then `docs/make_coverage_page.py`). Every case goes from a
survey file with two levels (ε and 2ε) over simulated reports and their tally to the result; a run covers if its 95 %
interval holds the truth about the population. Each case and shape has {runs:,} runs, spread over {people} people and
ε = {epsilons}.

A cell shows the lowest and the highest coverage, in per cent, of a row of the result (a label, an item, the mean, a
quantile) over all runs of that case and shape. The test behind it fails where coverage is significantly below 93 %, or
above 97 % in a row that is not marked conservative (exact binomial tests, family-wise error rate 1 %), for all cells
together and for each number of people and ε. A star marks a case some of whose rows are marked conservative: fitted
shares beside 0, labels that few reports speak for, quantiles. Quantiles are judged by the profile of the reports alone;
the result also reaches to the quantile of the curve, so it covers at least as often.

"""


def main() -> None:
    """Read what the tests left and write the page."""
    parts = [json.loads(path.read_text()) for path in RESULTS.glob("*.json")]
    found = {(part["case"], part["shape"]): part["rows"] for part in parts}
    names = [case.name for case in CASES]
    people, epsilons = ", ".join(f"{count:,}" for count in PEOPLE), ", ".join(f"{each:g}" for each in EPSILONS)
    lines = [f"| case | {' | '.join(SHAPES)} |", f"| --- |{' --- |' * len(SHAPES)}"]
    lines += [f"| {name} | {' | '.join(_cell(found.get((name, shape), [])) for shape in SHAPES)} |" for name in names]
    runs = CELL_RUNS * len(cells(CASES[0], "uniform"))
    head = HEAD.format(runs=runs, people=people, epsilons=epsilons)
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(head + "\n".join([*lines, "", _outcome(found, names)]) + "\n")


def _outcome(found: dict[tuple[str, str], Rows], names: list[str]) -> str:
    """Say which cells are wrong, and which were not run."""
    absent = {name: [shape for shape in SHAPES if (name, shape) not in found] for name in names}
    missing = [f"{name} ({', '.join(shapes)})" for name, shapes in absent.items() if shapes]
    outside = [f"- {name}, {shape}: {line}" for (name, shape), rows in found.items() for line in _wrong(rows)]
    said = "No cell is significantly outside." if not outside else "Significantly outside are:\n\n" + "\n".join(outside)
    return said + (f"\n\nNot run: {'; '.join(missing)}." if missing else "")


def _wrong(rows: Rows) -> list[str]:
    """Return what is outside in the cells of a case and shape, and in all together."""
    by_cell: dict[str, Hits] = defaultdict(dict)
    for people, epsilon, label, conservative, count, total in rows:
        hits = [True] * count + [False] * (total - count)
        by_cell[f"{people:,} people, ε {epsilon:g}"][label, conservative] = hits
        by_cell["all cells"].setdefault((label, conservative), []).extend(hits)
    return [f"{cell}: {line}" for cell, hits in by_cell.items() for line in wrong(hits, TESTS)]


def _cell(rows: Rows) -> str:
    """Return the least and the largest coverage of a row, and a star where some are conservative."""
    covered: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for _, _, label, _, count, total in rows:
        covered[label][0] += count
        covered[label][1] += total
    if not covered:
        return "not run"
    shares = sorted(100 * count / total for count, total in covered.values())
    ends = f"{shares[0]:.1f}" if len(shares) == 1 else f"{shares[0]:.1f}–{shares[-1]:.1f}"
    return ends + ("*" if any(row[3] for row in rows) else "")


if __name__ == "__main__":
    main()
