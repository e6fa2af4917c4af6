"""Print the coverage that `make test-long` has measured (docs/research/coverage.md).

Counts are kept beside the page (coverage.jsonl, one line per case and shape), so that a part can be measured again.

PYTHONPATH=tests python docs/make_coverage_page.py
"""

import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from helpers.coverage import EPSILONS, KIND_RUNS, PEOPLE, SHAPES, AnyCase, Hits, wrong
from helpers.coverage_fused import EVERY_CASE, FUSED_CASES, GIVES, TESTS

ROOT = Path(__file__).parents[1]
MEASURED = ROOT / "build" / "coverage"
TARGET = ROOT / "docs" / "research" / "coverage.md"
KEPT = TARGET.with_suffix(".jsonl")

Rows = list[list[object]]
"""People, ε, label of the row, whether it is marked conservative, intervals that cover, and all of them."""

HEAD = """# Do the intervals cover?

Made by `make test-long` (`tests/estimates/test_coverage.py`, then `docs/make_coverage_page.py`); the counts are in
`coverage.jsonl` beside this page. Every case goes from a survey file with two levels (ε and 2ε) over simulated reports
and their tally to the result; a run covers if its 95 % interval contains the true value for the population. Runs
are spread evenly over {people} people and ε = {epsilons}, and over the cases of a kind (but tables with a number,
which take long, have fewer runs, and those of choices alone have more): at least {runs:,} for each kind and shape.

A cell shows the lowest and the highest coverage, in per cent, of a row of the result (a label, an item, the mean, a
quantile) over all runs of that case and shape. The test behind it fails where coverage is significantly below 93 %,
or above 97 % in a row that is not marked conservative (exact binomial tests, family-wise error rate 1 %): for each
number of people and ε, for all of them together, and for all cases of a kind together. A star marks a case some of
whose rows are marked conservative: fitted shares beside 0, labels that few reports speak for, quantiles, and ranges of
a number in tables. Quantiles
with shown levels are judged by the profile of the reports alone; the result also reaches to the quantile of the
curve, so it covers at least as often.

In the fused cases every person gives to each of two or three services with probability {gives}, at a level
chosen anew for each service or, in these cases, at the same level for all services: {faithful}.

"""


def main() -> None:
    """Read what the tests left, keep it, and write the page."""
    found = {(part["case"], part["shape"]): part["rows"] for part in _parts()}
    KEPT.write_text("".join(_packed(*key, rows) for key, rows in sorted(found.items())))
    head = HEAD.format(
        people=", ".join(f"{count:,}" for count in PEOPLE),
        epsilons=", ".join(f"{each:g}" for each in EPSILONS),
        runs=KIND_RUNS,
        gives=GIVES,
        faithful="; ".join(case.name for case in FUSED_CASES if case.faithful),
    )
    lines = [f"| case | runs per shape | {' | '.join(SHAPES)} |", f"| --- | --- |{' --- |' * len(SHAPES)}"]
    for kind in dict.fromkeys(case.kind for case in EVERY_CASE):
        alike = [case for case in EVERY_CASE if case.kind == kind]
        lines += [_line(found, case) for case in alike] + [_pooled_line(found, kind, alike)]
    TARGET.write_text(head + "\n".join([*lines, "", _outcome(found)]) + "\n")


def _parts() -> Iterable[dict]:
    """Yield what was kept, then what was measured since."""
    if KEPT.exists():
        for line in KEPT.read_text().splitlines():
            part = json.loads(line)
            part["rows"] = [
                [people, epsilon, label, bool(marked), covered, runs]
                for people, epsilon, *rows in part["cells"]
                for label, marked, covered, runs in zip(part["labels"], *rows, strict=True)
                if runs
            ]
            yield part
    for path in MEASURED.glob("*.json"):
        yield json.loads(path.read_text())


def _packed(case: str, shape: str, rows: Rows) -> str:
    """Return the counts of a case and shape as one line."""
    labels = list(dict.fromkeys(row[2] for row in rows))
    cells: dict[tuple[object, object], dict] = defaultdict(dict)
    for people, epsilon, label, marked, covered, runs in rows:
        cells[people, epsilon][label] = (int(bool(marked)), covered, runs)
    packed = [
        [*cell, *map(list, zip(*(own.get(label, (0, 0, 0)) for label in labels), strict=True))]
        for cell, own in cells.items()
    ]
    return json.dumps({"case": case, "shape": shape, "labels": labels, "cells": packed}, separators=(",", ":")) + "\n"


def _totals(rows: Rows) -> dict[object, tuple[int, int]]:
    """Return how many intervals of each row of the result cover, and how many there are."""
    totals: dict[object, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for _, _, label, _, covered, runs in rows:
        totals[label] = totals[label][0] + int(covered), totals[label][1] + int(runs)
    return totals


def _line(found: dict[tuple[str, str], Rows], case: AnyCase) -> str:
    every = [found.get((case.name, shape), []) for shape in SHAPES]
    runs = max((runs for rows in every for _, runs in _totals(rows).values()), default=0)
    return f"| {' | '.join([case.name, f'{runs:,}', *map(_cell, every)])} |"


def _pooled_line(found: dict[tuple[str, str], Rows], kind: str, alike: list[AnyCase]) -> str:
    """Return the coverage of all rows of all cases of a kind."""
    cells, fewest = [], []
    for shape in SHAPES:
        every = [_totals(found.get((case.name, shape), [])) for case in alike]
        covered, runs = (sum(pair[place] for own in every for pair in own.values()) for place in (0, 1))
        fewest.append(sum(max((pair[1] for pair in own.values()), default=0) for own in every))
        cells.append(f"**{100 * covered / runs:.1f}**" if runs else "not run")
    return f"| **{kind}, all rows** | **{min(fewest):,}** | {' | '.join(cells)} |"


def _outcome(found: dict[tuple[str, str], Rows]) -> str:
    """Say which cells are wrong, and which were not run."""
    absent = {case.name: [shape for shape in SHAPES if (case.name, shape) not in found] for case in EVERY_CASE}
    missing = [
        name if len(shapes) == len(SHAPES) else f"{name} ({', '.join(shapes)})"
        for name, shapes in absent.items()
        if shapes
    ]
    outside = [f"- {name}, {shape}: {line}" for (name, shape), rows in found.items() for line in _wrong(rows)]
    for kind in dict.fromkeys(case.kind for case in EVERY_CASE):
        for shape in SHAPES:
            rows = [row for case in EVERY_CASE if case.kind == kind for row in found.get((case.name, shape), [])]
            outside += [f"- {kind}, {shape}: {line}" for line in wrong(_hits(rows), TESTS)]
    said = "No cell is significantly outside." if not outside else "Significantly outside are:\n\n" + "\n".join(outside)
    if missing:
        said += f"\n\nNot run yet in this table: {'; '.join(missing)}. "
        said += "What earlier versions had is in [earlier runs](coverage-earlier.md)."
    return said


def _hits(rows: Rows) -> Hits:
    """Return the intervals that cover, by label and mark."""
    hits: Hits = {}
    for _, _, label, marked, covered, runs in rows:
        hits.setdefault((str(label), bool(marked)), []).extend(
            [True] * int(covered) + [False] * (int(runs) - int(covered))
        )
    return hits


def _wrong(rows: Rows) -> list[str]:
    """Return what is outside in the cells of a case and shape, and in all together."""
    by_cell: dict[str, Rows] = defaultdict(list)
    for row in rows:
        by_cell[f"{row[0]:,} people, ε {row[1]:g}"].append(row)
    by_cell["all cells"] = rows
    return [f"{cell}: {line}" for cell, own in by_cell.items() for line in wrong(_hits(own), TESTS)]


def _cell(rows: Rows) -> str:
    """Return the least and the largest coverage of a row, and a star where some are conservative."""
    if not rows:
        return "not run"
    shares = sorted(100 * covered / runs for covered, runs in _totals(rows).values())
    ends = f"{shares[0]:.1f}" if len(shares) == 1 else f"{shares[0]:.1f}–{shares[-1]:.1f}"
    return ends + ("*" if any(row[3] for row in rows) else "")


if __name__ == "__main__":
    main()
