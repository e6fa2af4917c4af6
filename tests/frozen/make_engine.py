"""Keep the numbers of `engine_cases` in `engine.json`: made before one engine decoded all estimates.

Rows that are not kept yet are added; what is kept stays. Where an estimate became better on purpose, name its rows
(`*` stands for anything): exactly those are made again, and what changed is printed for the changelog.

    python tests/frozen/make_engine.py                             # add rows
    python tests/frozen/make_engine.py "sue shown, *" "mean *"     # make these again
    python tests/frozen/make_engine.py --compare "table *"         # only print how far today's numbers are
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from frozen.engine_cases import ROWS, Numbers
from helpers.agreement import gap_of

KEPT = Path(__file__).parent / "engine.json"


def kept() -> dict[str, Numbers]:
    """Return the frozen numbers by the names of their rows."""
    return json.loads(KEPT.read_text()) if KEPT.exists() else {}


def write(rows: dict[str, Numbers]) -> None:
    """Write one line per row, in the order of the cases."""
    lines = (f"{json.dumps(name, ensure_ascii=False)}: {json.dumps(rows[name], ensure_ascii=False)}" for name in ROWS)
    KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def compare(name: str, new: Numbers, old: Numbers) -> None:
    """Print how far a row is from the frozen one."""
    reports = "" if new["reports"] == old["reports"] else "OTHER REPORTS "
    sys.stdout.write(f"{name}: {reports}{gap_of(new, old)}\n")


def main(arguments: Sequence[str]) -> None:
    """Add rows, make them again, or compare them."""
    rows, only = kept(), arguments[:1] == ["--compare"]
    wanted = arguments[1:] or ["*"] if only else arguments
    for name, compute in ROWS.items():
        chosen = any(fnmatchcase(name, pattern) for pattern in wanted)
        if name in rows and not chosen:
            continue
        new = compute()
        if name in rows:
            compare(name, new, rows[name])
        rows[name] = new
    if not only:
        write(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
