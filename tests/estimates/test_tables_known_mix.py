"""Tables of hidden levels with a given mix: smaller errors where labels say little, that still hold."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import pldp
from helpers.claims import mean_is, runs
from pldp.errors import EstimateError
from pldp.estimates.kinds.association import Spread
from pldp.simulate import Population, simulate_reports

PLACES = ("late", "bag")
TRUTH = np.outer([0.3, 0.7], [0.5, 0.2])
SURVEY = pldp.Survey.read(
    {
        "pldp": 1,
        "title": "Work",
        "levels": {"strict": 0.5, "open": 4},
        "hide_level": {"epsilon": 0.3},
        "questions": [
            {"name": "late", "values": ["yes", "no"]},
            {"name": "bag", "kind": "choices", "values": ["a", "b"]},
            {"name": "way", "values": ["bus", "car", "bike"]},
        ],
    }
)
KNOWN = {"strict": 0.5}


@cache
def collected(seed: int, people: int = 3000, pair: tuple[str, ...] = PLACES) -> pldp.Tally:
    """Return reports of people half of whom are strict."""
    shares = {"late": [0.3, 0.7], "bag": [0.5, 0.2], "way": [0.5, 0.3, 0.2]}
    drawn = Population.of_shares(SURVEY, people, shares, seed=seed)
    return pldp.tally(SURVEY, simulate_reports(SURVEY, drawn, seed=seed), pairs=[pair])


@cache
def squares(mix: tuple[tuple[str, Any], ...]) -> np.ndarray:
    """Return the mean squared standardised error of the cells of many tables."""
    found, truth = [], np.outer([0.3, 0.7], [0.5, 0.3, 0.2])
    for seed in range(runs(25, 1000)):
        table = pldp.two_way(collected(seed, 6000, ("late", "way")), "late", "way", mix=dict(mix), differ=0)
        found.append((((table.shares - truth) / table.standard_error) ** 2).mean())
    return np.array(found)


def test_errors_with_a_known_mix_are_those_of_many_collections() -> None:
    assert mean_is(squares((("strict", 0.5),)), 1.0)


@pytest.mark.parametrize("ends", [(0.4, 0.5), (0.5, 0.6)][: runs(1, 2)])
def test_errors_hold_where_the_mix_is_at_an_end_of_its_bounds(ends: tuple[float, float]) -> None:
    found = squares((("strict", ends),))
    assert found.mean() <= 1 + 4.9 * found.std() / np.sqrt(len(found))  # one in a million


def test_a_wrong_mix_gives_a_wrong_table_and_the_labels_say_so() -> None:
    """The twin of the tests above; what assumes nothing about levels does without the mix."""
    tally = collected(1, 100_000)
    free = pldp.two_way(tally, *PLACES, mix={"strict": 0.1})
    right, wrong = pldp.two_way(tally, *PLACES, mix=KNOWN, differ=0), free.alike
    assert (abs(right.shares - TRUTH) < 5 * right.standard_error).all()
    assert (abs(wrong.shares - TRUTH) > 6 * wrong.standard_error).any()
    assert "mix-contradicted" in {note.code for note in wrong.notes}
    assert "mix-contradicted" not in {note.code for note in right.notes}
    assert "mix-contradicted" not in {note.code for note in free.notes}
    assert (free.shares == pldp.two_way(tally, *PLACES).shares).all()


def test_a_known_mix_makes_errors_smaller_and_no_mix_changes_nothing() -> None:
    tally = collected(2, 20_000)
    plain, known = (pldp.two_way(tally, *PLACES, mix=mix, differ=0) for mix in (None, KNOWN))
    assert (known.standard_error < plain.standard_error).all()
    assert (known.standard_error**2).mean() < 0.93 * (plain.standard_error**2).mean()
    free = pldp.two_way(tally, *PLACES, mix={"strict": (0.0, 1.0)}, differ=0)
    assert (free.shares == plain.shares).all()
    assert (free.standard_error == plain.standard_error).all()


def test_the_covariance_of_an_association_shrinks_as_errors_of_cells_do(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, make = [], Spread.of

    def keep(shares: Any, covariance: Any, reports: int) -> Spread:
        seen.append(np.diag(covariance))
        return make(shares, covariance, reports)

    monkeypatch.setattr(Spread, "of", keep)
    tally = collected(3, 50_000, ("late", "way"))
    _, known = (pldp.two_way(tally, "late", "way", mix=mix, differ=0) for mix in (None, KNOWN))
    unaware, aware = seen
    assert aware == pytest.approx(known.standard_error.ravel() ** 2, rel=0.1)
    assert aware.mean() < 0.95 * unaware.mean()


def test_the_table_says_what_was_given_however_it_is_asked_for() -> None:
    tally = collected(4)
    table = pldp.estimate(tally, mix=KNOWN).tables[0]
    given = "the shares of the levels are the given ones: strict 0.5, open 0.5"
    assert given in table.alike.assumptions
    assert given not in table.assumptions
    assert any("not used" in each for each in table.assumptions)
    assert (table.shares == pldp.two_way(tally, *PLACES, mix=KNOWN).shares).all()
    assert (table.alike.shares == pldp.two_way(tally, *PLACES, mix=KNOWN, differ=0).shares).all()
    assert (pldp.estimate(tally, mix=KNOWN, differ=0).tables[0].shares == table.alike.shares).all()


def test_a_mix_that_does_not_apply_is_refused() -> None:
    with pytest.raises(EstimateError, match="unknown level"):
        pldp.two_way(collected(4), *PLACES, mix={"strikt": 0.5})
