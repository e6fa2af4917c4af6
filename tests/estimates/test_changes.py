"""Differences of rounds: their errors hold whoever answered in both, for every way in which people can move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from helpers.claims import FALSE_ALARM, rate_is, runs
from pldp import Result, Survey, Tally, change, estimate
from pldp.estimates import NumberResult, frequencies
from pldp.estimates.results.facts import PersonWeights
from pldp.estimates.rounds import shared_weight
from pldp.mechanisms import build_stages
from pldp.mechanisms.arrays import label_arrays
from pldp.survey import loads
from pldp.tallies import OutputCounts

K = 3
LEVELS = {"strict": 1, "open": 5}
SURVEY = Survey.read(
    {
        "pldp": 1,
        "title": "t",
        "levels": LEVELS,
        "questions": [{"name": "q", "values": ["a", "b", "c"], "mechanism": "krr"}],
    }
)
ROWS = {
    level.name: np.array([[float(channel.probability(y, x)) for y in range(K)] for x in range(K)])
    for level, channel in zip(SURVEY.questions[0].levels, SURVEY.questions[0].channels, strict=True)
}
"""Q(report | value) of each level."""

SIZES = {"strict": 1000, "open": 1000}
MANY = 1e9
Error = Callable[[Result, Result], np.ndarray]
MOVING = np.array([[0, 0.5, 0], [0.5, 0, 0], [0, 0, 0.0]])
"""Everybody is at another value in the second round: the worst that can happen at these shares."""
STAYING = np.diag([0.5, 0.5, 0.0])


def result(outputs: dict[str, np.ndarray], **options) -> Result:
    """The result of a round, given the counts of each level; without the notes of `estimate`, which take long."""
    return frequencies(counted(outputs), "q", **options)


def counted(outputs: dict[str, np.ndarray]) -> Tally:
    counts = {("q", name): OutputCounts(np.asarray(own, np.int64)) for name, own in outputs.items()}
    empty = {("q", name): OutputCounts(np.zeros(K, np.int64)) for name in LEVELS}
    return Tally(SURVEY, empty | counts, reports=sum(int(own.sum()) for own in outputs.values()))


def overlapping(found: Result) -> Result:
    """The same from a survey that people may answer again."""
    return replace(found, distinct="")


def expected(shares: np.ndarray, sizes: dict[str, int], **options) -> Result:
    """A result whose estimates are the truth: every output comes as often as expected in many times as many people."""
    return overlapping(
        result({name: np.round(MANY * size * shares @ ROWS[name]) for name, size in sizes.items()}, **options)
    )


def draw(generator: np.random.Generator, joint: np.ndarray, sizes: dict[str, int], **options) -> tuple[Result, Result]:
    """Two rounds of the same people, drawn from a joint distribution of their values, with fresh noise."""
    outputs: list[dict[str, np.ndarray]] = [{}, {}]
    for name, size in sizes.items():
        people = generator.multinomial(size, joint.ravel()).reshape(K, K)
        for side, values in enumerate((people.sum(axis=1), people.sum(axis=0))):
            outputs[side][name] = np.sum(
                [generator.multinomial(n, ROWS[name][x]) for x, n in enumerate(values)], axis=0
            )
    first, second = (overlapping(result(own, **options)) for own in outputs)
    return first, second


def exact_covariance(joint: np.ndarray, rounds: list[Result], kept: float, *, switch: bool) -> np.ndarray:
    """Covariance of the errors of two rounds of the same people, of each value with itself, by enumeration.

    A person of level g has the weight a_g = w_g/n_g in a round. With the probability `kept` the draw of the first round
    is used again while value and level stay, which is noise that rounds share; with `switch` everybody takes the other
    level.
    """
    weights = [{group.level: group.weight / SIZES[group.level] for group in each.groups} for each in rounds]
    shared = 1 / sum(SIZES.values()) if rounds[0].target == "respondents" else 0.0
    values = np.diag(joint) - joint.sum(axis=1) * joint.sum(axis=0)
    total = np.zeros(K)
    for name, other in zip(SIZES, reversed(SIZES) if switch else SIZES, strict=True):
        one, two = weights[0][name], weights[1][other]
        p, q = ROWS[name][0, 0], ROWS[name][0, 1]
        numbers = (np.eye(K) - q) / (p - q)
        noise = kept * np.diag(joint) @ (ROWS[name] @ numbers**2 - (ROWS[name] @ numbers) ** 2)
        total += SIZES[name] * ((one - shared) * (two - shared) * values + (0.0 if switch else one * two * noise))
    return total


def opposing_noise(size: int, micro_epsilon: int, *, summed: bool) -> np.ndarray:
    """The covariance of what two rounds of one person count for a label given both values, by enumeration.

    One hash function is kept for ever; a permanent output while the value stays in its bucket.
    """
    stages = build_stages("lh", size, micro_epsilon, domain="labels")
    permanent, instant = (np.array(table, float) for table in next(stages.parts()))
    form, equal = label_arrays(stages.channel), np.full(size, 1 / size)
    along = form.sum_covariance(equal) if summed else None
    parts = np.zeros(size) if along is None else along / along.sum()
    hashing = stages.permanent
    functions = range(hashing.buckets**hashing.digits)
    place = np.array([[hashing.bucket(index, value) for value in range(size)] for index in functions])
    both, alone = np.zeros((size, size, size)), np.zeros((size, size))
    for own in place:
        supports = (own == np.arange(hashing.buckets)[:, None]).astype(float)
        alike = np.array([form.shares(row) for row in supports])
        numbers = instant @ (alike + parts * (1 - alike.sum(axis=1, keepdims=True)))  # permanent bucket × label
        means = (permanent @ numbers)[own]  # value × label
        kept = (permanent @ numbers**2)[own]
        moved = own[:, None] != own[None, :]
        both += np.where(moved[..., None], means[:, None] * means[None, :], kept[:, None])
        alone += means
    return both / len(place) - alone[:, None] * alone[None, :] / len(place) ** 2


@pytest.mark.parametrize(("size", "micro_epsilon"), [(4, 200_000), (8, 200_000), (5, 1_000_000), (9, 1_000_000)])
def test_noise_of_tracked_answers_that_are_hashed_never_opposes(size: int, micro_epsilon: int) -> None:
    """Exact: a hash function that is kept makes rounds depend on each other, but only for good."""
    covariances = opposing_noise(size, micro_epsilon, summed=False)
    assert covariances.min() >= -1e-12
    assert covariances.max() > 0.01


def test_tracked_answers_that_are_hashed_do_not_use_the_sum() -> None:
    """The twin: with the sum, the noise of two rounds can oppose; so `frequencies` leaves it out."""
    assert opposing_noise(5, 1_000_000, summed=True).min() < -0.01
    survey = loads(
        'pldp=1\ntitle="t"\nlevels={a=1}\nrepeat="tracked"\n'
        'questions=[{name="q",values=["v","w","x","y","z"],mechanism="lh"}]'
    )
    (channel,) = survey.question("q").channels
    counts = OutputCounts(
        np.random.default_rng(1).multinomial(5000, np.full(channel.form.count, 1 / channel.form.count))
    )
    found = frequencies(Tally(survey, {("q", "a"): counts}, 5000), "q")
    assert np.allclose(found.shares, label_arrays(channel).shares(label_arrays(channel).support(counts.tallied) / 5000))
    assert abs(found.shares.sum() - 1) > 1e-3


def joints(count: int, seed: int) -> list[np.ndarray]:
    """Ways of moving: some everyday ones, some in which most people are in few cells."""
    generator = np.random.default_rng(seed)
    return [MOVING, STAYING, *(generator.dirichlet(np.full(K * K, 0.3)).reshape(K, K) for _ in range(count))]


@cache
def expected_rounds(target: str, differ: float | None) -> list[tuple[np.ndarray, Result, Result]]:
    """Every way of moving with the results of both rounds."""
    ways, options = joints(40, seed=1), {"target": target, "differ": differ}
    return [(joint, *(expected(joint.sum(axis=axis), SIZES, **options) for axis in (1, 0))) for joint in ways]


@pytest.mark.parametrize("switch", [False, True], ids=["levels stay", "levels switch"])
@pytest.mark.parametrize("kept", [0.0, 0.6], ids=["fresh", "tracked"])
@pytest.mark.parametrize("differ", [0, None])
@pytest.mark.parametrize("target", ["population", "respondents"])
def test_no_way_of_moving_has_a_larger_error_than_stated(
    target: str, differ: float | None, kept: float, switch: bool
) -> None:
    """Exact: V₁ + V₂ − 2 Cov by enumeration is at most the stated variance."""
    for joint, earlier, later in expected_rounds(target, differ):
        covariance = exact_covariance(joint, [earlier, later], kept, switch=switch)
        truth = MANY * (later.standard_error**2 + earlier.standard_error**2) - 2 * covariance
        assert (truth <= MANY * change(later, earlier).standard_error ** 2 * (1 + 1e-6) + 1e-12).all()


@pytest.mark.parametrize(
    ("target", "joint", "switch"), [("population", MOVING, False), ("respondents", STAYING, True)], ids=str
)
def test_the_worst_way_of_moving_has_the_stated_error(target: str, joint: np.ndarray, switch: bool) -> None:
    """The twins: independent rounds, or people of equal weight, would be stated too sure."""
    earlier, later = (expected(joint.sum(axis=axis), SIZES, target=target, differ=0) for axis in (1, 0))
    covariance = exact_covariance(joint, [earlier, later], 0.0, switch=switch)
    truth = MANY * (later.standard_error**2 + earlier.standard_error**2) - 2 * covariance
    stated = MANY * change(later, earlier).standard_error ** 2
    assert truth[:2] == pytest.approx(stated[:2], rel=1e-6)
    assert (MANY * independent(earlier, later)[:2] ** 2 < 0.97 * truth[:2]).all()
    assert (MANY * of_equal_weights(earlier, later)[:2] ** 2 < 0.97 * truth[:2]).all()


def test_covariances_of_shares_and_of_numbers_are_within_their_bounds() -> None:
    """Exact, for laws with few and with many values; people who all go from one end to the other reach the bounds."""
    generator = np.random.default_rng(5)
    low, high, numbers = -3.0, 7.0, np.linspace(-3, 7, 6)
    ends = np.zeros((6, 6))
    ends[0, -1], ends[-1, 0] = 0.3, 0.7
    laws = [ends, ends[:, ::-1], *(generator.dirichlet(np.full(36, shape)).reshape(6, 6) for shape in [0.02, 0.3] * 40)]
    for place, law in enumerate(laws):
        one, two = law.sum(axis=1), law.sum(axis=0)
        means = [SimpleNamespace(estimates=np.array([own @ numbers]), bounds=(low, high)) for own in (one, two)]
        bounds = NumberResult.covariance_of_values(*means)
        covariance = numbers @ law @ numbers - (one @ numbers) * (two @ numbers)
        assert bounds.low[0] - 1e-9 <= covariance <= bounds.high[0] + 1e-9
        if place < 2:
            assert covariance == pytest.approx(bounds[place][0])
        shares = Result.covariance_of_values(SimpleNamespace(estimates=one), SimpleNamespace(estimates=two))
        values = np.diag(law) - one * two
        assert ((shares.low - 1e-12 <= values) & (values <= shares.high + 1e-12)).all()


def test_people_with_much_weight_count_as_often_as_they_weigh() -> None:
    """Brute force: no pairing of people has a larger sum than the stated one; equal weights give min(n, m)/(nm)."""
    generator = np.random.default_rng(3)
    for _ in range(20):
        sizes = generator.integers(1, 4, (2, 3))
        weights = [generator.dirichlet(np.ones(3)) / own for own in sizes]
        people = int(generator.integers(0, sizes.sum(axis=1).min() + 1))
        own = [np.repeat(w, n) for w, n in zip(weights, sizes, strict=True)]
        found = [
            float(generator.permutation(own[0])[:people] @ generator.permutation(own[1])[:people]) for _ in range(300)
        ]
        best = float(np.sort(own[0])[::-1][:people] @ np.sort(own[1])[::-1][:people])
        stated = shared_weight(*(PersonWeights(n, w[:, None]) for n, w in zip(sizes, weights, strict=True)), people)
        assert stated == pytest.approx([best])
        assert max(found) <= best * (1 + 1e-12)
    equal = [PersonWeights(np.array([n]), np.array([[1 / n]])) for n in (50, 80)]
    assert shared_weight(*equal, 50) == pytest.approx([1 / 80])


RUNS = {"all move": runs(500, 20_000), "all stay": runs(200, 20_000), "some move": runs(200, 20_000)}
"""As many as the twin needs where everybody moves: its intervals cover 83 % of the time."""
OPEN = {"open": 1000}
JOINTS = {"all move": MOVING, "all stay": STAYING, "some move": np.array([[0.3, 0.2, 0], [0, 0.3, 0], [0.0, 0, 0.2]])}


@cache
def drawn(name: str) -> list[tuple[Result, Result]]:
    generator = np.random.default_rng(11)
    return [draw(generator, JOINTS[name], OPEN) for _ in range(RUNS[name])]


def coverage(name: str, error: Error | None = None, *, apart: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Whether the 95 % interval of the first value's change holds, and whether the test rejects, in every run.

    With `apart` rounds are of different people, and known to be.
    """
    truth = JOINTS[name].sum(axis=0) - JOINTS[name].sum(axis=1)
    covered, rejected = [], []
    for place, (earlier, later) in enumerate(drawn(name)):
        found = change(later, drawn(name)[place - 1][0], overlap=0) if apart else change(later, earlier)
        if error is not None:
            found = replace(found, standard_error=error(earlier, later))
        low, high = found.interval()
        covered.append(low[0] <= truth[0] <= high[0])
        rejected.append(found.test().rejected)
    return np.array(covered), np.array(rejected)


def test_changes_of_results_with_their_notes_are_the_same() -> None:
    outputs = [{name: np.round(size * shares @ ROWS[name]) for name, size in SIZES.items()} for shares in np.eye(K)[:2]]
    quick, whole = (
        change(*(overlapping(make(counted(own), "q")) for own in outputs)) for make in (frequencies, estimate)
    )
    assert quick.rows() == whole.rows()
    assert quick.test() == whole.test()


def at_least(hits: np.ndarray, rate: float) -> bool:
    return bool(stats.binomtest(int(hits.sum()), hits.size, rate, "less").pvalue >= FALSE_ALARM)


def independent(earlier: Result, later: Result) -> np.ndarray:
    return np.sqrt(earlier.standard_error**2 + later.standard_error**2)


def of_equal_weights(earlier: Result, later: Result) -> np.ndarray:
    """People of both rounds as if levels had no weights, which is what min(n, m)/(nm) would say."""
    one, two = (np.clip(each.shares, 0, 1) for each in (earlier, later))
    shared = (one * two - np.maximum(0, one + two - 1)) / earlier.reports
    population = earlier.target == "population"
    return np.sqrt(independent(earlier, later) ** 2 + (2 * shared if population else 0))


def test_intervals_hold_where_everybody_moves_and_are_no_wider_than_needed() -> None:
    covered, rejected = coverage("all move")
    assert rate_is(covered, 0.95)
    assert at_least(~rejected, 0.95)


@pytest.mark.parametrize("error", [independent, lambda one, two: abs(one.standard_error - two.standard_error)])
def test_errors_of_independent_rounds_and_differences_of_errors_fail_there(error: Error) -> None:
    covered, rejected = coverage("all move", error)
    assert not at_least(covered, 0.95)
    assert not at_least(~rejected, 0.95)


@pytest.mark.parametrize("name", JOINTS)
def test_intervals_of_rounds_of_different_people_hold_exactly(name: str) -> None:
    covered, rejected = coverage(name, apart=True)
    assert rate_is(covered, 0.95)
    if name != "some move":
        assert at_least(~rejected, 0.95)


def test_intervals_hold_where_people_stay_and_real_changes_are_found() -> None:
    covered, rejected = coverage("all stay")
    assert at_least(covered, 0.95)
    assert at_least(~rejected, 0.95)
    covered, rejected = coverage("some move")
    assert at_least(covered, 0.95)
    assert rejected.mean() > 0.99
