"""Live intervals hold at all looks together; fixed ones, looked at as often, do not.

Reports are not drawn one by one: between two looks the counts grow by draws from their exact law, for all runs at once.
Every claim is about the runs in which an interval *ever* misses: at most 5 % of them, by an exact binomial test with a
false-alarm rate of one in a million, and the twin that looks just as often at fixed intervals must fail it.
"""

import json
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from helpers.claims import FALSE_ALARM, runs
from pldp.errors import EstimateError
from pldp.estimates import change, estimate
from pldp.estimates.results.intervals import fit_reach, linear_reach, normal_reach
from pldp.mechanisms import build
from pldp.mechanisms.arrays import label_arrays, piecewise_arrays
from pldp.survey import Survey, loads
from pldp.tallies import OutputCounts, Tally

CONFIDENCE, PLANNED, FIRST, LAST = 0.95, 4_000, 100, 20_000
GRID = np.unique(np.geomspace(FIRST, LAST, 1_200).astype(int))
LOOKS = len(GRID)
STEPS = np.diff(GRID, prepend=0)
FIXED = normal_reach(CONFIDENCE)
LIVE = linear_reach(CONFIDENCE, GRID / PLANNED)

Errors = np.ndarray  # (estimate − truth) / standard error, runs × looks


def test_there_are_a_thousand_looks() -> None:
    assert LOOKS >= 1_000


def at_most(ever: np.ndarray, rate: float) -> bool:
    """Tell whether runs can miss with at most this probability."""
    test = stats.binomtest(int(ever.sum()), ever.size, rate, alternative="greater")
    return bool(test.pvalue >= FALSE_ALARM)


def share_of(name: str, share: float, epsilon: int = 1_000_000, values: int = 8) -> Callable[..., Errors]:
    """Return what draws errors of one share, from the number of reports that support it."""
    channel = label_arrays(build(name, values, epsilon))
    q = channel.expected_support(np.zeros(values))[0]
    p = channel.expected_support(np.eye(values)[0])[0]
    support = q + share * (p - q)

    def draw(generator: np.random.Generator, number: int) -> Errors:
        counts = generator.binomial(STEPS, support, (number, LOOKS)).cumsum(axis=1)
        found = (counts / GRID - q) / (p - q)
        expected = q + np.clip(found, 0, 1) * (p - q)
        return (found - share) / (np.sqrt(expected * (1 - expected) / GRID) / (p - q))

    return draw


def mean_of_a_number(generator: np.random.Generator, number: int) -> Errors:
    """Draw errors of the mean of numbers that are rounded at random, with the variance of the reports themselves."""
    channel = build("sr", 64, 1_000_000)
    z = piecewise_arrays(channel).unbiased()
    people = np.exp(-np.arange(64) / 12.0)
    people /= people.sum()
    outputs = np.array([[float(channel.probability(output, value)) for output in range(len(z))] for value in range(64)])
    chances = people @ outputs
    counts = generator.multinomial(STEPS, chances / chances.sum(), (number, LOOKS)).cumsum(axis=1)
    found, squares = counts @ z / GRID, counts @ z**2 / GRID
    truth = chances @ z
    return (found - truth) / np.sqrt((squares - found**2) / GRID)


def mixed_levels(generator: np.random.Generator, number: int, drift: float = 0.0) -> Errors:
    """Draw errors of a share that is pooled over three levels of randomised response by weights of a first estimate.

    With a drift, more and more people choose open levels as reports come.
    """
    shares, epsilons = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.5, 1.0, 3.0])
    p = np.exp(epsilons) / (np.exp(epsilons) + 3)
    q = (1 - p) / 3
    late = np.linspace(-1, 1, LOOKS)[:, None] * drift * np.array([-1.0, 0.0, 1.0])
    mix = np.exp(late) / np.exp(late).sum(axis=1, keepdims=True)
    people = np.stack([generator.multinomial(step, own, number) for step, own in zip(STEPS, mix, strict=True)], axis=1)
    chances = q[:, None] + shares * (p - q)[:, None]
    counts = generator.multinomial(people, chances).cumsum(axis=1)
    sizes = np.maximum(people.cumsum(axis=1), 1)
    own = (counts / sizes[..., None] - q[:, None]) / (p - q)[:, None]

    def variances(at: np.ndarray) -> np.ndarray:
        expected = q[:, None] + np.clip(at, 0, 1)[..., None, :] * (p - q)[:, None]
        return expected * (1 - expected) / (p - q)[:, None] ** 2 / sizes[..., None]

    def pooled(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        precision = 1 / variances(at).mean(axis=-1)
        weights = precision / precision.sum(axis=-1, keepdims=True)
        return weights, (weights[..., None] * own).sum(axis=-2)

    _, first = pooled(np.full((number, LOOKS, 4), 0.25))
    weights, found = pooled(first)
    variance = (weights[..., None] ** 2 * variances(found)).sum(axis=-2)
    return ((found - shares) / np.sqrt(variance))[..., 1]


LINEAR: dict[str, Callable[..., Errors]] = {
    "randomised response": share_of("krr", 0.2),
    "a rare value": share_of("krr", 0.02, 2_000_000),
    "unary": share_of("oue", 0.2),
    "subset": share_of("subset", 0.1, 2_000_000),
    "an item of a set": share_of("sue", 0.4),
    "mean of a number": mean_of_a_number,
    "mixed levels": mixed_levels,
}


@pytest.mark.parametrize("case", LINEAR)
def test_a_live_interval_ever_misses_in_at_most_five_of_a_hundred_runs(case: str) -> None:
    number = runs(150, 2_000)
    generator = np.random.default_rng(13)
    errors = np.concatenate([np.abs(LINEAR[case](generator, min(250, number))) for _ in range(0, number, 250)])
    assert at_most((errors > LIVE).any(axis=1), 0.05)
    assert not at_most((errors > FIXED).any(axis=1), 0.05), "the fixed twin must miss far more often"


def test_levels_that_drift_cost_little() -> None:
    """From one in twenty with the open level to nineteen in twenty: information comes thirty times as fast at the end.

    The plan counts reports, not information, so that this goes beyond what the mixture promises; docs/estimates.md says
    so. It stays below one in twelve.
    """
    ever = (np.abs(mixed_levels(np.random.default_rng(17), runs(100, 1_000), drift=1.5)) > LIVE).any(axis=1)
    assert at_most(ever, 1 / 12)


def test_the_interval_of_a_fit_holds_from_a_hundredth_of_the_plan_to_a_hundred_times_it() -> None:
    number, looks = runs(600, 20_000), 1_000
    time = np.geomspace(0.01, 100, looks)
    reach = np.array([fit_reach(CONFIDENCE, float(part)) for part in time])
    generator = np.random.default_rng(14)
    errors = np.abs(generator.normal(0, np.sqrt(np.diff(time, prepend=0)), (number, looks)).cumsum(axis=1)) / np.sqrt(
        time
    )
    assert at_most((errors > reach).any(axis=1), 0.05)
    assert at_most((errors > linear_reach(CONFIDENCE, time)).any(axis=1), 0.05)
    assert not at_most((errors > FIXED).any(axis=1), 0.05)
    assert not at_most((errors > 0.8 * reach).any(axis=1), 0.05), "a reach that is a fifth too small must be noticed"


@pytest.mark.parametrize("part", [1.0, 1.5, 2.0, 3.0, 4.0, 4.999, 5.0])
def test_from_the_plan_to_five_times_it_live_intervals_are_at_most_1_65_times_as_wide(part: float) -> None:
    assert linear_reach(CONFIDENCE, part) <= 1.65 * FIXED
    assert fit_reach(CONFIDENCE, part) <= 1.65 * FIXED


SHARES, LEVELS = np.array([0.55, 0.3, 0.15]), np.array([0.6, 0.4])


def survey(*, hidden: bool = False) -> Survey:
    question = {"name": "q", "kind": "choice", "values": ["a", "b", "c"], "mechanism": "krr"}
    own = {"hide_level": {"epsilon": 2.0}} if hidden else {}
    document = {"pldp": 1, "title": "t", "levels": {"strict": 0.7, "open": 2.0}, "questions": [question], **own}
    return loads(json.dumps(document))


def law(asked: Survey) -> np.ndarray:
    """Return the probability of every level or label (rows) and output."""
    question = asked.question("q")
    outputs = np.array(
        [
            [sum(SHARES[v] * float(channel.probability(z, v)) for v in range(3)) for z in range(3)]
            for channel in question.channels
        ]
    )
    chosen = LEVELS[:, None] * outputs
    if asked.level_channel is None:
        return chosen
    labels = np.array([[float(asked.level_channel.probability(s, i)) for i in range(2)] for s in range(2)])
    return labels @ chosen


def tally_of(asked: Survey, counts: np.ndarray) -> Tally:
    levels = asked.question("q").levels
    own = {("q", level.name): OutputCounts(row.copy()) for level, row in zip(levels, counts, strict=True)}
    return Tally(asked, own, int(counts.sum()))


def tallied(asked: Survey, people: int, seed: int = 1) -> Tally:
    chances = law(asked)
    return tally_of(asked, np.random.default_rng(seed).multinomial(people, chances.ravel()).reshape(chances.shape))


@pytest.mark.parametrize(("hidden", "method"), [(False, None), (True, None), (True, "likelihood")])
def test_the_verb_gives_live_intervals_and_says_what_they_cost(hidden: bool, method: str | None) -> None:
    counted = tallied(survey(hidden=hidden), 4_000)
    asked = {} if method is None else {"method": method, "differ": 0}
    once, live = (estimate(counted, "q", live=planned, **asked) for planned in (None, 2_000))
    reach = float(linear_reach(0.95, 2.0)) if method is None else fit_reach(0.95, 2.0)
    np.testing.assert_array_equal(live.estimates, once.estimates)
    np.testing.assert_allclose(live.interval().high - live.estimates, reach * live.standard_error)
    np.testing.assert_allclose(once.interval().high - once.estimates, FIXED * once.standard_error)
    assert live.to_mapping()["live"] == 2_000
    (note,) = (note for note in live.notes if note.code == "live-intervals")
    assert f"{reach / FIXED:.1f} times as wide" in note.text
    assert not any(note.code == "live-intervals" for note in once.notes)


@pytest.mark.parametrize("planned", [0, -5, 1.5, True, "1000"])
def test_a_plan_is_a_number_of_reports(planned: object) -> None:
    with pytest.raises(EstimateError, match="live must be the planned number of reports"):
        estimate(tallied(survey(), 500), live=planned)


def test_the_interval_of_hidden_levels_holds_at_every_look() -> None:
    """Reports are decoded at each look."""
    asked, number, looks = survey(hidden=True), runs(10, 60), runs(8, 40)
    grid = np.round(np.geomspace(800, 20_000, looks)).astype(int)
    chances, generator = law(asked), np.random.default_rng(15)
    ever = {"live": [], "once": []}
    for _ in range(number):
        steps = generator.multinomial(np.diff(grid, prepend=0), chances.ravel()).cumsum(axis=0)
        found = [estimate(tally_of(asked, counts.reshape(chances.shape)), "q", live=4_000) for counts in steps]
        errors = np.array([abs(each.estimates[0] - SHARES[0]) / each.standard_error[0] for each in found])
        ever["live"].append(bool((errors > [each.reach() for each in found]).any()))
        ever["once"].append(bool((errors > FIXED).any()))
    assert at_most(np.array(ever["live"]), 0.05)
    if number >= 60:
        assert not at_most(np.array(ever["once"]), 0.05)


def test_a_change_to_a_growing_round_holds_at_every_look() -> None:
    """The earlier round is closed, the later one grows; the same truth in both: the test must hardly ever alarm."""
    number, share = runs(150, 2_000), 0.3
    p, q = 0.6, 0.2
    support = q + share * (p - q)
    generator = np.random.default_rng(16)
    earlier = (generator.binomial(6_000, support, (number, 1)) / 6_000 - q) / (p - q)
    later = (generator.binomial(STEPS, support, (number, LOOKS)).cumsum(axis=1) / GRID - q) / (p - q)
    own = support * (1 - support) / (p - q) ** 2 / GRID
    variance = own + support * (1 - support) / (p - q) ** 2 / 6_000
    errors = np.abs(later - earlier) / np.sqrt(variance)
    reach = linear_reach(CONFIDENCE, 1 + (GRID / PLANNED - 1) * own / variance)  # as `Change` has it
    assert at_most((errors > reach).any(axis=1), 0.05)
    assert not at_most((errors > FIXED).any(axis=1), 0.05)


def test_changes_and_their_test_are_live_where_the_later_round_is() -> None:
    asked = survey()
    earlier, later = estimate(tallied(asked, 6_000, 1), "q"), tallied(asked, 3_000, 2)
    once, live = (change(estimate(later, "q", live=planned), earlier, overlap=0) for planned in (None, 2_000))
    assert (np.diff(live.interval(), axis=0) > np.diff(once.interval(), axis=0)).all()
    assert live.test().p_value >= once.test().p_value
    for found in (once, live):
        low, high = found.interval(simultaneous=True)
        assert found.test().rejected == bool(((low > 0) | (high < 0)).any())
    # A round that is large beside the other adds little information as it grows: nearly one look only.
    assert live._reach(0.95).max() < float(linear_reach(0.95, 0.01))
