"""Shares that few reports speak for have intervals that hold, whatever was asked and however it was protected."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import pldp
from helpers.claims import FALSE_ALARM, runs
from pldp.estimates import Interval, Result, baskets_of, supports, two_way
from pldp.estimates.linear.small_counts import ENOUGH, SmallCounts, interval_around
from pldp.mechanisms import ItemSet
from pldp.mechanisms.arrays import arrays
from pldp.simulate import Population, pack_baskets, simulate_reports
from pldp.survey import loads

NORMAL = float(stats.norm.ppf(0.975))
LEAST = 0.93
"""Coverage of 95 % intervals that is allowed."""


def small_counts(
    counts: np.ndarray, reports: np.ndarray, absent: np.ndarray, present: np.ndarray, weights: np.ndarray,
    sampled: float = 1.0,
) -> SmallCounts | None:  # fmt: skip
    """The numbers that too few reports support, from supports of groups (groups × numbers) pooled by weights."""
    people = reports.sum(axis=0)
    parts, contrast = (reports / people).T, (present - absent).T
    gain = weights.T / parts
    bits = np.stack([-absent.T, 1 - absent.T], axis=2) / contrast[..., None] * gain[..., None]
    whole = np.broadcast_to(gain[..., None], bits.shape)
    laws = [np.stack([1 - each.T, each.T], axis=2) for each in (absent, present)]
    came = (counts / reports).T
    counted = (parts * gain * (came - absent.T) / contrast).sum(axis=1)
    size = counts.shape[1]
    every = SmallCounts(
        np.arange(size), bits, whole, *laws, counted, np.ones(size), parts, people, np.full(size, sampled)
    )
    few = every.few()
    return every.only(few) if few.any() else None


def exact_coverage(reports: list[int], absent: list[float], present: list[float], share: float, *, rare: bool) -> float:
    """Return how often intervals cover a share: the sum over all supports of groups pooled by precision."""
    chance = np.array(absent) + share * (np.array(present) - np.array(absent))
    contrast, people = np.array(present) - np.array(absent), np.array(reports, float)
    weights = people * contrast**2 / (np.array(absent) * (1 - np.array(absent)))
    weights /= weights.sum()
    ends = [stats.binom.ppf([1e-5, 1 - 1e-5], *each).astype(int) for each in zip(reports, chance, strict=True)]
    grid = np.meshgrid(*(np.arange(low, high + 1) for low, high in ends))
    counts = np.array([each.ravel() for each in grid], float)
    chances = np.prod([stats.binom.pmf(own, *each) for own, *each in zip(counts, reports, chance, strict=True)], axis=0)
    every = [np.repeat(np.array(each, float)[:, None], counts.shape[1], axis=1) for each in (reports, absent, present)]
    shown = counts / people[:, None]
    estimates = weights @ ((shown - every[1]) / contrast[:, None])
    errors = np.sqrt((weights**2 / people / contrast**2) @ (shown * (1 - shown)))
    found = small_counts(counts, *every, np.repeat(weights[:, None], counts.shape[1], axis=1))
    low, high = interval_around(estimates, errors, NORMAL, rare=found if rare else None)
    return float(chances[(low <= share) & (share <= high)].sum())


ONE = ([1000], [1 / (1 + np.exp(8))], [0.5])
TWO = ([1000, 1000], [1 / (1 + np.exp(4)), 1 / (1 + np.exp(8))], [0.5, 0.5])
NEARLY_SURE = ([1000], [1 / (1 + np.exp(8))], [1 - 1 / (1 + np.exp(8))])


@pytest.mark.parametrize("groups", [ONE, TWO, NEARLY_SURE], ids=["one level", "two levels", "a fair bit"])
def test_intervals_of_rare_shares_hold_exactly(groups: Any) -> None:
    shares = np.concatenate([[0.0], np.geomspace(3e-4, 0.12, runs(5, 25))])
    assert min(exact_coverage(*groups, share, rare=True) for share in shares) >= LEAST


def test_normal_intervals_of_rare_shares_do_not_hold() -> None:
    assert exact_coverage(*ONE, 0.0, rare=False) < 0.75
    assert exact_coverage(*ONE, 0.003, rare=False) < 0.85


def test_shares_near_one_are_treated_like_those_near_zero() -> None:
    reports, absent, present = NEARLY_SURE
    for share in (0.0, 0.0005, 0.003):
        assert exact_coverage(reports, absent, present, 1 - share, rare=True) >= LEAST


def test_ends_are_where_chernoffs_bound_allows_no_more() -> None:
    """For one group Λ is n times the relative entropy of what came and what was expected."""
    few = np.arange(int(ENOUGH) // 2)
    places = np.ones((1, len(few)))
    found = small_counts(few[None, :] * 1.0, 1000 * places, 0.002 * places, 0.9 * places, places)
    assert found is not None
    assert found.places.tolist() == few.tolist()
    for end in found.ends(NORMAL):
        chance, came = 0.002 + end * (0.9 - 0.002), few / 1000
        inside = chance > 1e-12
        entropy = 1000 * (stats.entropy([came, 1 - came], [chance, 1 - chance]))
        assert entropy[inside] == pytest.approx(np.log(40), abs=1e-3)


def test_many_supporting_reports_have_normal_intervals() -> None:
    assert small_counts(*(np.array([[each]]) for each in (60.0, 1000.0, 0.02, 0.9)), np.ones((1, 1))) is None


def test_respondents_are_known_exactly_without_noise_and_better_than_a_population_with_little() -> None:
    def find(noise: float, sampled: float) -> SmallCounts | None:
        counted = (np.array([[each]]) for each in (5.0, 1000.0, noise, 1 - noise))
        return small_counts(*counted, np.ones((1, 1)), sampled)

    assert find(0.0, 0.0) is None
    people, population = find(1e-4, 0.0), find(1e-4, 1.0)
    assert people is not None
    assert population is not None
    assert np.diff(people.ends(NORMAL), axis=0) < np.diff(population.ends(NORMAL), axis=0)


LABELS = [f"label {place}" for place in range(5)]
PEOPLE = 1000
FEW = 1.2 / PEOPLE


def _ask(epsilon: float = 8.0, hide: float | None = None, **question: Any) -> pldp.Survey:
    asked = {"name": "q", "values": LABELS, **question}
    content = {"pldp": 1, "title": "t", "levels": {"open": epsilon}, "questions": [asked]}
    if hide is not None:
        content |= {"levels": {"open": epsilon, "wide": 1 + epsilon}, "hide_level": {"epsilon": hide}}
    return pldp.Survey.read(content)


ASKED = {
    "krr": _ask(mechanism="krr"),
    "oue": _ask(mechanism="oue"),
    "sue": _ask(16.0, mechanism="sue"),
    "subset": _ask(mechanism="subset"),
    "budgets per value": _ask(fractions={"label 0": "1/2"}),
    "hidden levels": _ask(hide=2.0),
    "hidden levels, oue": _ask(hide=2.0, mechanism="oue"),
    "a budget per box": _ask(kind="choices"),
    "one budget": _ask(kind="choices", budget="set"),
    "one budget, at most two": _ask(kind="choices", budget="set", at_most=2),
}

Find = Callable[[pldp.Tally], tuple[Interval, Interval, bool]]
"""From a tally to the interval, the normal one, and whether it is marked."""


def of_result(tally: pldp.Tally) -> tuple[Interval, Interval, bool]:
    quick = {"largest": 1} if tally.survey.questions[0].kind == "choices" else {}
    result: Result = pldp.estimate(tally, "q", **quick)
    assert (result.standard_error > 0).all()
    plain = interval_around(result.estimates, result.standard_error, NORMAL, rare=None)
    return result.interval(), plain, bool(result.conservative[-1])


def of_pair(tally: pldp.Tally) -> tuple[Interval, Interval, bool]:
    found = supports(*baskets_of(tally, "q"), [LABELS[-2:]])
    plain = interval_around(found.support, found.standard_error, NORMAL, rare=None)
    return found.interval(), plain, found.rare is not None


def covered(survey: pldp.Survey, true: float, shares: np.ndarray, find: Find, times: int) -> tuple[int, int, int]:
    """Return how often the last interval covers, how often a normal one does, and how often it is marked."""
    total = np.zeros(3, int)
    for run in range(times):
        people = Population.of_shares(survey, PEOPLE, {"q": shares}, seed=run)
        counted = pldp.tally(survey, simulate_reports(survey, people, seed=run), patterns=True)
        own, plain, marked = find(counted)
        total += [*(bool(low[-1] <= true <= high[-1]) for low, high in (own, plain)), marked]
    return tuple(total.tolist())


def holds(count: int, times: int) -> bool:
    return bool(stats.binom.cdf(count, times, LEAST) > FALSE_ALARM)


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("true", [0.0, FEW])
def test_labels_that_hardly_anybody_has_are_covered_and_marked(asked: str, true: float) -> None:
    times, survey = runs(8, 1000), ASKED[asked]
    sets = survey.questions[0].kind == "choices"
    shares = np.array([0.3, 0.2, 0.1, 0.1, true]) if sets else np.array([0.4, 0.3, 0.2, 0.1 - true, true])
    if "at_most" in asked or "two" in asked:
        shares = np.array([0.3, 0.0, 0.0, 0.0, true])  # nobody has more than two, so nobody leaves one out
    count, _, marked = covered(survey, true, shares, of_result, times)
    assert holds(count, times)
    assert marked > times / 2


@pytest.mark.parametrize("true", [0.0, FEW])
def test_pairs_that_hardly_anybody_has_are_covered_and_marked(true: float) -> None:
    times, survey = runs(20, 1000), _ask(kind="choices")
    root = np.sqrt(true)
    count, _, marked = covered(survey, true, np.array([0.3, 0.2, 0.1, root, root]), of_pair, times)
    assert holds(count, times)
    assert marked > times / 2


PAIRED = """
pldp = 1
title = "t"
levels = { open = 8 }
questions = [
    { name = "a", values = ["x", "y", "z"], mechanism = "%s" },
    { name = "b", values = ["u", "v"], mechanism = "%s" },
]
"""


@pytest.mark.parametrize("mechanisms", [("krr", "krr"), ("oue", "krr"), ("subset", "oue")], ids=str)
@pytest.mark.parametrize("turned", [False, True])
def test_cells_of_a_table_that_hardly_anybody_is_in_are_covered_and_marked(
    mechanisms: tuple[str, str], *, turned: bool
) -> None:
    """Normal intervals of these cells cover 56 to 81 % (1,000 people, 300 runs)."""
    survey, times, hits = loads(PAIRED % mechanisms), runs(8, 1000), []
    true = np.array([[0.4, 0.1], [0.3, 0.197], [0.0015, 0.0015]])
    for run in range(times):
        people = np.random.default_rng(run).multinomial(PEOPLE, true.ravel())
        answers = {"a": np.repeat(["x", "x", "y", "y", "z", "z"], people), "b": np.repeat(["u", "v"] * 3, people)}
        reports = simulate_reports(survey, Population.of_values(survey, answers, seed=run), seed=run)
        counted = pldp.tally(survey, reports, pairs=[("a", "b")])
        table = two_way(counted, "b", "a") if turned else two_way(counted, "a", "b")
        ends = [end.T if turned else end for end in table.interval()]
        rare = [table.labels[place] for place in table.rare.places]
        assert set(rare) == ({("u", "z"), ("v", "z")} if turned else {("z", "u"), ("z", "v")})
        hits.append((ends[0] <= true) & (true <= ends[1]))
    assert all(holds(count, times) for count in np.sum(hits, axis=0).ravel().tolist())


def test_results_name_the_labels_that_few_reports_speak_for() -> None:
    survey = _ask(kind="choices")
    people = Population.of_shares(survey, PEOPLE, {"q": np.array([0.3, 0.2, 0.1, 0.1, 0.0])}, seed=1)
    result = pldp.estimate(pldp.tally(survey, simulate_reports(survey, people, seed=1)), "q", largest=1)
    assert [(note.code, note.severity) for note in result.notes] == [("rare-labels", "info")]
    assert "label 4:" in result.notes[0].text
    assert [row["conservative"] for row in result.to_mapping()["rows"]] == [False] * 4 + [True]
    assert pickle.loads(pickle.dumps(result)) == result  # noqa: S301 - our own bytes
    wide, wider = result.interval(0.95), result.interval(0.95, simultaneous=True)
    assert wider.high[-1] > wide.high[-1] > result.interval(0.8).high[-1]


def test_intervals_with_the_variance_of_what_came_are_found_wanting() -> None:
    """Those are normal, with the variance (f − a)(b − f)/n of bits that count a and b."""

    def of_what_came(tally: pldp.Tally) -> tuple[Interval, Interval, bool]:
        support = pldp.estimate(tally, "q", largest=1).estimates
        ends = arrays(tally.survey.questions[0].channels[0]).bit_weights.T
        error = np.sqrt(np.maximum((support - ends[0]) * (ends[1] - support), 0) / PEOPLE)
        found = interval_around(support, error, NORMAL, rare=None)
        return found, found, False

    count, *_ = covered(_ask(kind="choices"), 0.0, np.array([0.3, 0.2, 0.1, 0.1, 0.0]), of_what_came, 80)
    assert not holds(count, 80)


def test_errors_are_not_zero_where_nobody_reported_an_item_without_protection() -> None:
    rows = pack_baskets([["a", "b"]] * 500, ["a", "b", "c"])
    found = supports([(ItemSet.of([math.inf] * 3), rows)], ["a", "b", "c"], [["a"], ["c"], ["a", "b"], ["a", "c"]])
    low, high = found.interval()
    nobody = 1 - 40 ** (-1 / 500)  # 0.025 = (1 − f)^500
    assert found.standard_error.min() > 0
    assert high[[1, 3]] == pytest.approx(nobody, abs=1e-6)
    assert low[[0, 2]] == pytest.approx(1 - nobody, abs=1e-6)
