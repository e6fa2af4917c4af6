"""Print the coverage that `make test-long` has measured (docs/research/coverage.md).

python docs/make_coverage_page.py
"""

import json
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "build" / "coverage"
TARGET = ROOT / "docs" / "research" / "coverage.md"

HEAD = """# Do the intervals cover?

Made by `make test-long` (`tests/estimates/test_coverage.py`, then `docs/make_coverage_page.py`). Every case goes from a
survey file with two levels (ε and 2ε) over simulated reports and their tally to the result; a run covers if its 95 %
interval holds the truth about the population. Each case and shape has {runs:,} runs, spread over {people} people and
ε = {epsilons}.

A cell shows the lowest and the highest coverage, in per cent, of a row of the result (a label, an item, the mean, a
quantile) over all runs of that case and shape. The test behind it fails where coverage is significantly below 93 %, or
above 97 % in a row that is not marked conservative (exact binomial tests, family-wise error rate 1 %), for all cells
together and for each number of people and ε. A star marks a case whose rows are marked conservative.

"""


def main() -> None:
    """Read what the tests left and write the page."""
    paths = sorted(RESULTS.glob("*.json"), key=lambda path: [int(part) for part in path.stem.split("-")])
    parts = [json.loads(path.read_text()) for path in paths]
    cases, shapes = (list(dict.fromkeys(part[key] for part in parts)) for key in ("case", "shape"))
    found = {(part["case"], part["shape"]): part["rows"] for part in parts}
    rows = next(iter(found.values()))
    people = ", ".join(f"{count:,}" for count in sorted({row[0] for row in rows}))
    epsilons = ", ".join(f"{epsilon:g}" for epsilon in sorted({row[1] for row in rows}))
    runs = sum(row[5] for row in rows if row[2] == rows[0][2])
    lines = [f"| case | {' | '.join(shapes)} |", f"| --- |{' --- |' * len(shapes)}"]
    lines += [f"| {case} | {' | '.join(_cell(found.get((case, shape), [])) for shape in shapes)} |" for case in cases]
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(HEAD.format(runs=runs, people=people, epsilons=epsilons) + "\n".join(lines) + "\n")


def _cell(rows: list[list[object]]) -> str:
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
