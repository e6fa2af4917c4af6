"""Every verdict "does not hold" of the shipped report is computed a second time by a test, marked with `again`."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from pathlib import Path

from helpers.shipped import judged


def computed_again() -> Counter[str]:
    """Return the anchors of claims by how many tests compute them again."""
    found: Counter[str] = Counter()
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        module = import_module(path.stem) if __package__ in (None, "") else import_module(f"{__package__}.{path.stem}")
        for test in vars(module).values():
            found.update(getattr(test, "again", ()) if callable(test) else ())
    return found


def missing(again: Counter[str]) -> list[str]:
    return [claim.anchor for claim in judged().values() if claim.verdict == "fails" and claim.anchor not in again]


def test_every_claim_that_does_not_hold_has_a_second_computation() -> None:
    again = computed_again()
    assert missing(again) == []
    assert [anchor for anchor in again if judged()[anchor].verdict != "fails"] == []
    assert sum(claim.verdict == "fails" for claim in judged().values()) == len(again)


def test_a_lost_second_computation_is_noticed() -> None:
    again = computed_again()
    for anchor in ("aprr-26", "febsf-16", "mpldp-9"):
        assert missing(again - Counter({anchor: again[anchor]})) == [anchor]
