"""The planner against simulation where shares are far from equal: every kind, through the estimate that users call.

Predicted standard errors agree with those of simulated collections within three sampling errors (a sound planner fails
one claim in 370; seeds are fixed), and in long runs within 5 %, too. Twins plan for people who are alike where nothing
is assumed, or for equal shares, and fail.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from scipy.linalg import block_diag, null_space

from helpers.claims import runs
from helpers.samples import hidden_counts
from pldp import Survey, estimate, plan, tally
from pldp.estimates import baskets_of, frequencies, supports
from pldp.estimates.linear.numbers import NumberCounts
from pldp.estimates.linear.pooling import decode
from pldp.mechanisms import CategoricalChannel, names
from pldp.mechanisms.arrays import label_arrays
from pldp.simulate import Population, simulate_reports
from pldp.survey import Choice, loads
from pldp.tallies import Tally

SKEWED = [0.7, 0.1, 0.05, 0.04, 0.03, 0.02, *[0.01] * 6]
VALUES = 'values = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"]'
FAR_FROM_ZERO = [0.7, 0.1, 0.08, 0.07, 0.05]
"""Of hidden levels: a likelihood keeps shares at or above 0, and does better than planned where that matters."""
FIVE = 'values = ["a", "b", "c", "d", "e"]'
TICKED = [0.9, 0.3, 0.1, 0.05, 0.03, 0.02]
FEW_TICKED = [0.75, 0.2, 0.1, 0.05, 0.03, 0.02]
ITEMS = 'values = ["a", "b", "c", "d", "e", "f"]'
LATE = (np.arange(32) < 6) + 0.02
"""Weights of the buckets of a number that is small for most people."""


def shares_of(tally: Tally, differ: float | None) -> np.ndarray:
    return frequencies(tally, "q", differ=differ).shares


def supports_of(tally: Tally, differ: float | None) -> np.ndarray:
    assert differ is None
    groups, items = baskets_of(tally, "q")
    return supports(groups, items, [(item,) for item in items]).support


def mean_of(tally: Tally, differ: float | None) -> np.ndarray:
    found = estimate(tally, "q", differ=differ)
    return np.array([getattr(found, "mean", found).value])


def rows_of(tally: Tally, differ: float | None) -> np.ndarray:
    return np.array([row.estimate for row in estimate(tally, "q", largest=1, differ=differ).rows()])


def hidden_mean_of(tally: Tally, differ: float | None) -> np.ndarray:
    question = tally.survey.question("q")
    counts = [tally.counts["q", level.name].counts for level in question.levels]
    chance = label_arrays(tally.survey.level_channel).matrix()
    equal = np.full(question.grid.size, 1 / question.grid.size)
    return (
        decode(NumberCounts(question.channels, chance, counts).hidden_mean(equal), differ).estimates * 50
    )  # of 0 to 100, from [−1, 1]


@dataclass(frozen=True)
class Case:
    question: str
    shares: list[float] | np.ndarray
    estimate: Callable[[Tally, float | None], np.ndarray] = shares_of
    head: str = "levels = { strict = 1, open = 4 }"
    short: int = 60
    long: int = 3000

    @property
    def survey(self) -> Survey:
        return loads(f'pldp = 1\ntitle = "t"\n{self.head}\n[[questions]]\nname = "q"\n{self.question}\n')


NUMBER = 'kind = "number"\nlow = 0\nhigh = 100\nbuckets = 32'
FRACTIONS = 'total_epsilon = 4\nask = 1\nlevels = { high = { fraction = "1/3" }, low = { fraction = 1 } }'
HIDE = "levels = { strict = 1, open = 3 }\nhide_level = { epsilon = 2 }"
OTHER = '\n[[questions]]\nname = "r"\nvalues = ["x", "y"]'
CASES = {
    **{f"choice, {name}": Case(f'{VALUES}\nmechanism = "{name}"', SKEWED) for name in names("labels", per_value=False)},
    "choice, lh": Case(f'{VALUES}\nmechanism = "lh"', SKEWED, short=25),  # takes longest
    "budgets per value": Case(f'{VALUES}\nfractions = {{ b = "1/2" }}', SKEWED),
    "budgets per value, one unprotected": Case(f'{VALUES}\nfractions = {{ b = "1/2" }}\nunprotected = ["a"]', SKEWED),
    "budgets per value, bits": Case(f'{VALUES}\nfractions = {{ b = "1/2" }}\nmechanism = "idue"', SKEWED),
    "fractions of a total, one of two questions asked": Case(VALUES + OTHER, SKEWED, head=FRACTIONS),
    "set, a budget per label": Case(f'kind = "choices"\n{ITEMS}', TICKED, supports_of),
    "set, one budget": Case(f'kind = "choices"\nbudget = "set"\n{ITEMS}', TICKED, supports_of),
    "set, at most two": Case(f'kind = "choices"\nbudget = "set"\nat_most = 2\n{ITEMS}', FEW_TICKED, supports_of),
    "number": Case(NUMBER, LATE, mean_of, short=8, long=2000),
    "number for its mean": Case(
        'kind = "number"\nlow = 0\nhigh = 100\nbuckets = 17\npurpose = "mean"', LATE[:17], mean_of, short=80
    ),
    "hidden levels, integers": Case(
        f'{FIVE}\nmechanism = "krr"',
        FAR_FROM_ZERO,
        head=HIDE,
    ),
    "hidden levels, bits": Case(
        f'{FIVE}\nmechanism = "oue"',
        FAR_FROM_ZERO,
        head="levels = { strict = 1, open = 2 }\nhide_level = { epsilon = 2 }",
        short=25,
        long=1500,
    ),
    "hidden levels, budgets per value": Case(
        f'{FIVE}\nfractions = {{ b = "1/2" }}', FAR_FROM_ZERO, head=HIDE, short=20, long=1500
    ),
    "hidden levels, set, a budget per label": Case(
        f'kind = "choices"\n{ITEMS}', TICKED, rows_of, head=HIDE, short=6, long=1500
    ),
    "hidden levels, set, one budget": Case(
        f'kind = "choices"\nbudget = "set"\n{ITEMS}', TICKED, rows_of, head=HIDE, short=6, long=1500
    ),
    "hidden levels, number for its mean": Case(
        'kind = "number"\nlow = 0\nhigh = 100\nbuckets = 17\npurpose = "mean"',
        LATE[:17],
        hidden_mean_of,
        head=HIDE,
        short=10,
        long=1500,
    ),
}
UNMOVED = (
    "budgets per value, bits",
    "number",
    *(name for name, case in CASES.items() if case.short <= 25 and (name != "choice, lh" or not runs(0, 1))),
)
"""Cases whose errors are so near to those at equal shares that short runs cannot tell."""

ALIKE = (
    "choice, krr",
    "choice, subset",
    "budgets per value, one unprotected",
    "number for its mean",
    "hidden levels, integers",
    "hidden levels, bits",
    "hidden levels, number for its mean",
)
"""Cases that are also estimated as if people of all levels are alike."""

PEOPLE = 3000
HIDDEN_PEOPLE = 40_000


def people_of(survey: Survey) -> int:
    return PEOPLE if survey.level_channel is None else HIDDEN_PEOPLE


@cache
def collections(name: str, differ: float | None) -> np.ndarray:
    """What the estimate says of so many simulated collections, runs × rows."""
    case, survey = CASES[name], CASES[name].survey
    people, repeats = people_of(survey), runs(case.short, case.long)
    if survey.level_channel is not None and case.estimate is shares_of:
        question, generator = survey.question("q"), np.random.default_rng(4)
        found = []
        for _ in range(repeats):
            halves = np.full(len(question.levels), 1 / len(question.levels))
            counts = hidden_counts(
                question.channels, survey.level_channel, np.array(case.shares), halves, people, generator
            )
            named = {("q", level.name): own for level, own in zip(question.levels, counts, strict=True)}
            found.append(case.estimate(Tally(survey, named, people), differ))
        return np.array(found)
    population = Population.of_shares(survey, people * repeats, {"q": list(case.shares)}, seed=3)
    batches = simulate_reports(survey, population, seed=3, rows=people)
    patterns = survey.level_channel is not None
    return np.array([case.estimate(tally(survey, batch, patterns=patterns), differ) for batch in batches])


def compare(
    name: str, shares: object, differ: float | None = None, *, alike: bool = False
) -> list[tuple[float, float]]:
    """The standard errors of simulation over the planned ones, with sampling errors: of all rows, and of the widest."""
    survey = CASES[name].survey
    planned = next(each for each in plan(survey, people_of(survey), shares=shares).questions if each.question == "q")
    planned = planned.alike if alike else planned
    found = collections(name, differ)
    squares = (found - found.mean(axis=0)) ** 2 * len(found) / (len(found) - 1)
    relative = squares / planned.standard_error**2
    ratios = []
    for samples in (relative.mean(axis=1), relative[:, int(np.argmax(squares.mean(axis=0)))]):
        ratio = float(np.sqrt(samples.mean()))
        ratios.append((ratio, float(samples.std(ddof=1) / np.sqrt(len(samples)) / (2 * ratio))))
    return ratios


def agree(ratios: list[tuple[float, float]]) -> bool:
    most = 0.05 if os.environ.get("PLDP_LONG") else 1.0
    return all(abs(ratio - 1) <= min(3 * error, most) for ratio, error in ratios)


@pytest.mark.parametrize("name", CASES)
def test_planned_errors_are_those_of_simulation_at_skewed_shares(name: str) -> None:
    ratios = compare(name, {"q": list(CASES[name].shares)})
    assert agree(ratios), ratios


@pytest.mark.parametrize("name", ALIKE)
def test_planned_errors_of_people_who_are_alike_are_those_of_simulation(name: str) -> None:
    ratios = compare(name, {"q": list(CASES[name].shares)}, 0.0, alike=True)
    assert agree(ratios), ratios


@pytest.mark.parametrize("name", [name for name in CASES if name not in UNMOVED])
def test_a_plan_for_people_who_are_alike_fails_where_nothing_is_assumed(name: str) -> None:
    assert not agree(compare(name, {"q": list(CASES[name].shares)}, alike=True))


@pytest.mark.parametrize("name", [name for name in ALIKE if name not in UNMOVED])
def test_a_plan_for_equal_shares_fails_there(name: str) -> None:
    """If people are alike: with nothing assumed, errors are nearly those of the strictest level at any shares."""
    assert not agree(compare(name, "equal", 0.0, alike=True))


@pytest.mark.parametrize("name", ["hidden levels, integers", "hidden levels, budgets per value"])
def test_planned_errors_of_hidden_levels_are_hardly_above_those_of_the_exact_information(name: str) -> None:
    """No unbiased estimate is below Σ ∇P∇Pᵀ/P over all labels and outputs, inverted along both simplices."""
    survey, shares = CASES[name].survey, np.array(CASES[name].shares)
    question, label = survey.question("q"), survey.level_channel
    assert isinstance(question, Choice)
    assert label is not None
    matrices = [table_of(channel) for channel in question.channels]
    told, mix = table_of(label), np.full(2, 0.5)
    by_share = np.einsum("t,lt,tyv->lyv", mix, told, matrices).reshape(-1, len(shares))
    by_level = np.einsum("lt,tyv,v->lyt", told, matrices, shares).reshape(-1, len(mix))
    slopes, chances = np.concatenate([by_share, by_level], axis=1), by_share @ shares
    information = HIDDEN_PEOPLE * slopes.T @ (slopes / chances[:, None])
    basis = block_diag(null_space(np.ones((1, len(shares)))), null_space(np.ones((1, 2))))
    exact = basis @ np.linalg.inv(basis.T @ information @ basis) @ basis.T
    planned = plan(survey, HIDDEN_PEOPLE, shares={"q": shares.tolist()}).questions[0].alike
    above = planned.standard_error / np.sqrt(np.diag(exact))[: len(shares)] - 1
    assert (above > 0).all()
    assert (above < 0.01).all()


def table_of(channel: CategoricalChannel) -> np.ndarray:
    """Return the probability of every output given every value."""
    return np.array([[float(channel.probability(own, v)) for v in range(channel.size)] for own in channel.outputs()])
