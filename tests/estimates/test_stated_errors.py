"""The judgement of stated errors errs as rarely as it says, and notices what it says it would notice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from helpers.claims import mean_is, rate_is_at_most, runs
from helpers.coverage import FAMILY
from helpers.stated_errors import ALLOWED, Runs, complaints, judge, wrong_size

ROWS, RUNS = 5, 20
REACH = stats.norm.ppf(0.975)


def made_up(seed: int, cells: int = 4, *, factor: float = 1.0) -> list[Runs]:
    """Runs whose real errors are so many times the stated ones; their rows depend on each other, as shares do."""
    generator = np.random.default_rng([seed, cells])
    made = []
    for cell in range(cells):
        own, common = generator.standard_normal((RUNS, ROWS)), generator.standard_normal((RUNS, 1))
        z = factor * (0.8 * own + 0.6 * common)
        made.append(
            Runs(f"cell {cell}", f"family {cell % 2}", tuple("abcde"), z, np.abs(z) / REACH, generator.random(RUNS))
        )
    return made


@pytest.mark.parametrize("factor", [1.0, ALLOWED["pool"], 1 / ALLOWED["pool"]])
def test_right_errors_are_rarely_accused(factor: float) -> None:
    """Also those that are wrong by as much as is allowed in the pool."""
    assert rate_is_at_most(
        [bool(complaints(judge(made_up(seed, factor=factor)))) for seed in range(runs(80, 5000))], FAMILY
    )


def test_the_claim_notices_a_judgement_that_errs_in_a_tenth_of_cases() -> None:
    assert not rate_is_at_most(np.random.default_rng(1).random(200) < 0.1, FAMILY)


@pytest.mark.parametrize("group", ["pool", "family 0", "cell 3"])
def test_a_group_notices_the_factor_that_it_states(group: str) -> None:
    """19 times in 20, and a little less often where its standard deviation comes from few runs."""
    missed = []
    for seed in range(runs(40, 2000)):
        every = made_up(seed)
        factor = judge(every)[group].notices
        verdict = judge([each.with_errors(factor) for each in every])[group]
        missed.append(not verdict.complaints)
    assert rate_is_at_most(missed, 0.08)


def test_a_group_does_not_say_that_it_notices_everything() -> None:
    """Half as far from 1 it would miss most."""
    noticed = []
    for seed in range(30):
        every = made_up(seed)
        factor = (1 + judge(every)["pool"].notices) / 2
        noticed.append(bool(judge([each.with_errors(factor) for each in every])["pool"].complaints))
    assert np.mean(noticed) < 0.5


def test_errors_that_are_too_large_are_noticed_as_well() -> None:
    assert complaints(judge(made_up(1, factor=0.7)))


def test_a_family_alone_is_noticed_and_named() -> None:
    every = [each.with_errors(0.7) if each.family == "family 1" else each for each in made_up(1, cells=16)]
    verdicts = judge(every)
    assert verdicts["family 1"].complaints
    assert not verdicts["family 0"].complaints


def test_intervals_alone_are_noticed() -> None:
    """Right errors, ends of intervals at 1.2 standard errors."""
    every = [replace(each, need=each.need * REACH / 1.2) for each in made_up(1)]
    assert complaints(judge(every))


def test_the_worth_of_runs_is_that_of_their_law() -> None:
    """With covariance C of its rows, q has the relative variance 2 tr C² / (tr C)², so a run is worth (tr C)²/tr C²."""
    covariance = 0.64 * np.eye(ROWS) + 0.36
    expected = RUNS * 4 * np.trace(covariance) ** 2 / np.trace(covariance @ covariance)
    found = [1 / judge(made_up(seed))["pool"].worth for seed in range(40)]
    assert 0.8 < 1 / np.mean(found) / expected < 1.3


def test_a_test_of_another_size_is_noticed() -> None:
    uniform = np.random.default_rng(1).random(2000)
    assert wrong_size(uniform) == ""
    assert wrong_size(uniform / 2)
    assert wrong_size(np.sqrt(uniform))
    assert mean_is(uniform, 0.5)
