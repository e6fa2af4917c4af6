"""Try every way to ask with every verb and write what works, and why the rest does not, to docs/combinations.md.

python docs/make_combinations_page.py
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
TARGET = ROOT / "docs" / "combinations.md"

HEAD = """# What works with what

A question is asked in one of these ways: a kind with what the survey file says about it, levels that reports show or
hide (`hide_level`), and an ε that comes from its own levels, from a fraction of a total, or from a total of which
each person is asked some questions only (`ask`). Each cell was tried, from the survey file over simulated people to a
result whose intervals hold the truth. A number stands for the reason below, which is what the software says.

This page is made by `docs/make_combinations_page.py`, and a test fails where it is no longer true: `make test` tries a
third of the ways (every question, with levels that show and with levels that are hidden), `make test-long` all of them.
"""


def main() -> None:
    """Write the page."""
    from helpers.combinations import page  # noqa: PLC0415 - found in the tests

    TARGET.write_text(HEAD + page(), encoding="utf-8")


if __name__ == "__main__":
    main()
