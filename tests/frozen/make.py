"""Make the frozen numbers. Made with the version at commit 92f7e50, before the redesign, and never made again.

Run it only to add cases, against that version and with `api.py` as it was when this file was added:

    PYTHONPATH=OLD/src:tests python tests/frozen/make.py

What is in the files stays: a case whose numbers would change is refused, so that another version cannot slip in. Where
an estimate became better on purpose, `make.py --again FILE` makes exactly the cases of a file again that changed,
leaves all other lines as they are, and prints the names for the changelog.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

from frozen.cases import FILES, arithmetic
from frozen.counts import FOLDER, SURVEYS, Cases, frozen_reports, simulated


def plain(found: Any) -> Any:
    """Arrays and NumPy's numbers as lists and numbers."""
    if isinstance(found, dict):
        return {name: plain(part) for name, part in found.items()}
    if isinstance(found, list | tuple):
        return [plain(part) for part in found]
    return found.tolist() if isinstance(found, np.ndarray | np.generic) else found


def make_reports() -> None:
    """Add the reports of surveys that have none."""
    path = FOLDER / "reports.npz"
    arrays = dict(np.load(path)) if path.exists() else {}
    for survey in SURVEYS:
        for name, array in simulated(survey).items():
            narrow = np.min_scalar_type(-1 if array.min() < 0 else 0)
            arrays.setdefault(
                f"{survey} {name}", array.astype(np.promote_types(narrow, np.min_scalar_type(array.max())))
            )
    np.savez_compressed(path, **arrays)
    frozen_reports.cache_clear()


def make_file(name: str, cases: Cases) -> None:
    """Write one line per case."""
    path = FOLDER / f"{name}.json"
    old = json.loads(path.read_text()) if path.exists() else {}
    new = {case: plain(compute()) for case, compute in cases.items()}
    changed = [case for case in old if json.dumps(old[case]) != json.dumps(new.get(case))]
    if changed:
        sys.exit(
            f"{path}: {len(changed)} cases would change, such as {changed[0]!r}; is this the version of the files?"
        )
    lines = (f"{json.dumps(case, ensure_ascii=False)}: {json.dumps(found)}" for case, found in new.items())
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def make_again(name: str, cases: Cases) -> None:
    """Replace the lines of the cases whose numbers changed; name them."""
    from frozen.test_frozen import ROUNDING, TOLERANCE, differences  # noqa: PLC0415 - it needs this module

    path = FOLDER / f"{name}.json"
    lines = path.read_text().splitlines()
    for place, (case, compute) in enumerate(cases.items(), 1):
        key, comma = f"{json.dumps(case, ensure_ascii=False)}: ", "," if place < len(cases) else ""
        old, new = json.loads(lines[place].removeprefix(key).removesuffix(",")), plain(compute())
        if any(differences(new, old, TOLERANCE.get(name, ROUNDING))):
            lines[place] = f"{key}{json.dumps(new)}{comma}"
            sys.stdout.write(f"{name}: {case}\n")
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__" and sys.argv[1:2] == ["--again"]:
    for file in sys.argv[2:]:
        make_again(file, FILES[file])
elif __name__ == "__main__":
    make_reports()
    (FOLDER / "arithmetic.txt").write_text(f"{arithmetic()}\n")
    for file, own_cases in FILES.items():
        make_file(file, own_cases)
