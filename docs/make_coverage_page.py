"""Print the coverage that `make test-long` has measured (docs/research/coverage.md).

PYTHONPATH=tests python docs/make_coverage_page.py
"""

import json
from collections import defaultdict
from pathlib import Path

from helpers.coverage import CASES, CELL_RUNS, EPSILONS, PEOPLE, SHAPES, Hits, cells, wrong
from helpers.coverage_fused import FUSED_CASES, GIVES, TESTS

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

FUSED = """

## Several services

Every person gives to each of two or three services with probability {gives}, at another level everywhere or, in these
cases, at the same one: {faithful}. Runs are those of a case over all shapes.

"""


def main() -> None:
    """Read what the tests left and write the page."""
    parts = [json.loads(path.read_text()) for path in RESULTS.glob("*.json")]
    found = {(part["case"], part["shape"]): part["rows"] for part in parts}
    names, joined = ([case.name for case in cases] for cases in (CASES, FUSED_CASES))
    people, epsilons = ", ".join(f"{count:,}" for count in PEOPLE), ", ".join(f"{each:g}" for each in EPSILONS)
    lines = [f"| case | {' | '.join(SHAPES)} |", f"| --- |{' --- |' * len(SHAPES)}", *_lines(found, names)]
    further = [f"| case | runs | {' | '.join(SHAPES)} |", f"| --- | --- |{' --- |' * len(SHAPES)}"]
    further += _lines(found, joined, runs=True)
    runs = CELL_RUNS * len(cells(CASES[0], "uniform"))
    head = HEAD.format(runs=runs, people=people, epsilons=epsilons)
    TARGET.parent.mkdir(exist_ok=True)
    same = "; ".join(case.name for case in FUSED_CASES if case.faithful)
    fused = FUSED.format(gives=GIVES, faithful=same) + "\n".join([*further, "", _outcome(found, joined)])
    TARGET.write_text(head + "\n".join([*lines, "", _outcome(found, names)]) + fused + "\n")


def _lines(found: dict[tuple[str, str], Rows], names: list[str], *, runs: bool = False) -> list[str]:
    """Return a line per case, where asked for with its runs."""
    lines = []
    for name in names:
        every = [found.get((name, shape), []) for shape in SHAPES]
        count = [f"{sum(max(_totals(rows), default=0) for rows in every):,}"] if runs else []
        lines.append(f"| {' | '.join([name, *count, *map(_cell, every)])} |")
    return lines


def _totals(rows: Rows) -> list[int]:
    """Return how many runs each row of a result has."""
    totals: dict[object, int] = defaultdict(int)
    for row in rows:
        totals[row[2]] += int(row[5])
    return list(totals.values())


def _outcome(found: dict[tuple[str, str], Rows], names: list[str]) -> str:
    """Say which cells are wrong, and which were not run."""
    absent = {name: [shape for shape in SHAPES if (name, shape) not in found] for name in names}
    missing = [
        name if len(shapes) == len(SHAPES) else f"{name} ({', '.join(shapes)})"
        for name, shapes in absent.items()
        if shapes
    ]
    outside = [
        f"- {name}, {shape}: {line}" for (name, shape), rows in found.items() if name in names for line in _wrong(rows)
    ]
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
