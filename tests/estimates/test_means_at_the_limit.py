"""Means of numbers that were asked for their mean only: intervals cover, levels are pooled, nothing else is claimed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

import pldp
from helpers.claims import rate_is, runs
from pldp.errors import EstimateError, SurveyError
from pldp.estimates import MeanResult, NumberResult, density
from pldp.estimates.results.facts import TEST_LEVEL
from pldp.mechanisms import Channel
from pldp.mechanisms.arrays import arrays
from pldp.simulate import Population, simulate_reports
from pldp.tallies import OutputCounts, Tally, fused_of

LONG = runs(0, 1)
RUNS = runs(80, 2000)
PEOPLE = 2000


@cache
def asked(*levels: float, mechanism: str = "auto") -> pldp.Survey:
    question: dict[str, Any] = {"name": "q", "kind": "number", "low": 0, "high": 100, "purpose": "mean"}
    question |= {"mechanism": mechanism, "buckets": points(levels)}
    named = {"levels": {f"level {epsilon}": epsilon for epsilon in levels}}
    return pldp.Survey.read({"pldp": 1, "title": "t", **named, "questions": [question]})


def points(levels: tuple[float, ...]) -> int:
    """Few enough to be built fast; a long run takes as many as a survey would."""
    return 17 if max(levels) <= 2.5 or not LONG else 33 if max(levels) <= 4 else 65


def population(shape: str, size: int) -> np.ndarray:
    """Shares of the points: nearly all people near the lower bound, or 90 % at one and 10 % at the other."""
    if shape == "skewed":
        weights = np.exp(-np.arange(size) / (size / 12))
        return weights / weights.sum()
    shares = np.zeros(size)
    shares[[0, -1]] = 0.9, 0.1
    return shares


@dataclass
class Collector:
    """Counts of reports of so many people per level, drawn from a population of points."""

    survey: pldp.Survey
    shares: np.ndarray
    seed: int = 1

    def __post_init__(self) -> None:
        self.question = self.survey.question("q")
        self.numbers = np.linspace(0, 100, self.question.size)
        self.tables = [arrays(channel).matrix().T for channel in self.question.channels]
        self.generator = np.random.default_rng(self.seed)

    def draw(self, people: int) -> tuple[Tally, float]:
        """Return a tally and the mean of the people in it."""
        counts, total = {}, 0.0
        for level, table in zip(self.question.levels, self.tables, strict=True):
            values = self.generator.multinomial(people, self.shares)
            total += float(values @ self.numbers)
            chances = table / table.sum(axis=1, keepdims=True)
            drawn = np.sum([self.generator.multinomial(*pair) for pair in zip(values, chances, strict=True)], axis=0)
            counts["q", level.name] = OutputCounts(drawn)
        everybody = people * len(self.tables)
        return Tally(self.survey, counts, reports=everybody), total / everybody


def covers(collector: Collector, target: str, people: int, **options: Any) -> list[bool]:
    """Whether each interval holds the truth: of the population, or of the very people who reported."""
    truth = float(collector.shares @ collector.numbers)
    hits = []
    for _ in range(RUNS):
        tally, own = collector.draw(people)
        low, high = pldp.estimate(tally, "q", target=target, **options).interval()
        hits.append(bool(low[0] <= (truth if target == "population" else own) <= high[0]))
    return hits


CASES = [
    ("skewed", "population", (1.0,), "auto"),
    ("two points", "respondents", (2.5,), "auto"),
    ("two points", "population", (0.5, 1.0, 2.5), "auto"),
]
CASES += [
    (shape, target, (epsilon,), "auto")
    for shape in ("skewed", "two points")
    for target in ("population", "respondents")
    for epsilon in (0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
] * LONG
CASES += [(shape, "population", (1.0, 3.0), name) for shape in ("skewed", "two points") for name in ("hm", "sr")] * LONG


@pytest.mark.parametrize(("shape", "target", "levels", "mechanism"), CASES)
def test_intervals_of_95_per_cent_cover(shape: str, target: str, levels: tuple[float, ...], mechanism: str) -> None:
    survey = asked(*levels, mechanism=mechanism)
    hits = covers(Collector(survey, population(shape, survey.question("q").size)), target, PEOPLE)
    assert rate_is(hits, 0.95)
    assert not LONG or 0.935 <= np.mean(hits) <= 0.965


def test_the_test_rejects_the_numbers_of_a_five_percent_weaker_channel() -> None:
    collector = Collector(asked(1.0), population("skewed", 17))
    own = arrays(asked(1.0).question("q").channels[0]).matrix().T
    collector.tables = [0.95 * own + 0.05 / own.shape[1]]  # one report in twenty is random
    assert not rate_is(covers(collector, "population", 20_000), 0.95)


@pytest.mark.parametrize("differ", [0, None])
def test_levels_that_agree_are_said_to_disagree_as_often_as_stated(differ: float | None) -> None:
    """However the mean is pooled: the mean pooled by size is not the one that the χ² is around."""
    collector = Collector(asked(0.5, 1.0, 2.5), population("skewed", 17), seed=2)
    found = [pldp.estimate(collector.draw(PEOPLE)[0], "q", differ=differ) for _ in range(RUNS)]
    assert rate_is([each.homogeneity.rejected for each in found], TEST_LEVEL)


def test_levels_that_disagree_are_found_and_the_mean_holds_nevertheless() -> None:
    survey = asked(1.0, 2.5)
    low, high = (Collector(survey, population("skewed", 17)[::step]).draw(20_000)[0] for step in (1, -1))
    tally = Tally(survey, {**low.counts, ("q", "level 2.5"): high.counts["q", "level 2.5"]}, reports=40_000)
    found = pldp.estimate(tally, "q")
    assert [note.code for note in found.notes] == ["levels-disagree", "mean-only"]
    assert abs(found.mean.value - 50) < 4 * found.mean.standard_error
    assert abs(found.alike.mean.value - 50) > 4 * found.alike.mean.standard_error


def small() -> tuple[pldp.Survey, Tally]:
    survey = asked(1.0, 2.5)
    numbers = np.random.default_rng(3).uniform(0, 100, 4000)
    people = Population.of_values(survey, {"q": numbers}, seed=1)
    return survey, pldp.tally(survey, simulate_reports(survey, people, seed=1))


def test_a_result_is_the_mean_and_asking_for_more_gets_one_clear_line() -> None:
    _, tally = small()
    found = pldp.estimate(tally, "q")
    assert isinstance(found, MeanResult)
    assert not isinstance(found, NumberResult)
    assert [row.label for row in found.rows()] == ["mean"]
    assert "density" not in found.to_mapping()
    assert "mean-only" in {note.code for note in found.notes}
    line = 'a distribution needs a question with purpose = "distribution"; this one is asked for its mean only'
    for ask in (
        lambda: found.quantile(0.5),
        lambda: found.density,
        lambda: density(fused_of(tally, "q")),
        lambda: pldp.estimate(tally, "q", method="fitted", differ=0),
        lambda: pldp.estimate(tally, "q", method="posterior"),
    ):
        with pytest.raises(EstimateError) as error:
            ask()
        assert str(error.value).endswith(line)
        assert "\n" not in str(error.value)
    assert str(pldp.estimate(tally, method="fitted", differ=0)).endswith(
        line
    )  # the whole survey: a missing result with a reason
    assert found.plot().get_title(loc="left").startswith("q: 4,000 reports")


def test_numbers_between_points_have_no_shift() -> None:
    """Everybody has a number a quarter of the way between two points: rounded down, the mean would be 1.6 too small."""
    survey = asked(2.5)
    step = 100 / 16
    people = Population.of_values(survey, {"q": np.full(200_000, 8.25 * step)}, seed=1)
    assert set(np.unique(people.values["q"]).tolist()) == {8, 9}
    found = pldp.estimate(pldp.tally(survey, simulate_reports(survey, people, seed=1)), "q").mean
    assert abs(found.value - 8.25 * step) < 5 * found.standard_error < 8.25 * step - 8 * step


def document(**extra: Any) -> dict[str, Any]:
    question = {"name": "age", "kind": "number", "low": 18, "high": 90, **extra.pop("question", {})}
    return {"pldp": 1, "title": "t", "levels": {"strict": 0.5, "open": 2}, "questions": [question], **extra}


def test_the_purpose_is_the_distribution_unless_the_file_says_otherwise() -> None:
    plain, spelled, mean = (
        pldp.Survey.read(document(question=each)).question("age")
        for each in ({}, {"purpose": "distribution"}, {"purpose": "mean"})
    )
    assert plain.identity == spelled.identity != mean.identity
    assert "purpose" not in plain.document()
    assert {channel.mechanism for channel in plain.channels} == {"sw"}
    assert {channel.mechanism for channel in mean.channels} == {"minimax"}
    assert (plain.size, mean.size) == (256, 17)
    assert mean.scale != plain.scale
    assert [mean.grid.centre(place) for place in (0, 8, 16)] == [18, 54, 90]
    built = mean.document()
    again = pldp.Survey.read(document() | {"questions": [built]}).question("age")
    assert again.identity == mean.identity


@pytest.mark.parametrize("mechanism", ["hm", "sr", "pm", "sw", "laplace"])
def test_every_mechanism_serves_a_mean(mechanism: str) -> None:
    survey = pldp.Survey.read(document(question={"purpose": "mean", "mechanism": mechanism, "buckets": 33}))
    numbers = np.random.default_rng(1).uniform(18, 40, 20_000)
    people = Population.of_values(survey, {"age": numbers}, seed=2)
    found = pldp.estimate(pldp.tally(survey, simulate_reports(survey, people, seed=2)), "age").mean
    assert abs(found.value - numbers.mean()) < 5 * found.standard_error


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({"question": {"purpose": "median"}}, "purpose: must be one of distribution, mean"),
        ({"question": {"purpose": "mean"}, "repeat": "tracked"}, 'cannot be tracked; ask with repeat = "fresh"'),
        ({"question": {"purpose": "mean", "buckets": 100}}, "2 to 65 points, not 100; name hm"),
        ({"question": {"purpose": "mean", "weights": {"strict": {}}}}, "weights: must come with a named mechanism"),
    ],
)
def test_what_a_mean_cannot_be_is_refused_in_one_line(extra: dict[str, Any], words: str) -> None:
    with pytest.raises(SurveyError, match=words) as error:
        pldp.Survey.read(document(**extra))
    assert "\n" not in str(error.value)


def test_a_channel_with_biased_numbers_is_refused_with_its_survey() -> None:
    survey = pldp.Survey.read(document(question={"purpose": "mean", "buckets": 9}))
    question = survey.question("age").document()
    question["weights"]["strict"]["value"][0] += 2**10
    with pytest.raises(SurveyError, match="level strict: .*these numbers are biased"):
        pldp.Survey.read(document() | {"questions": [question]})


def test_a_device_draws_fourteen_bytes_whatever_the_number() -> None:
    survey = pldp.Survey.read(document(question={"purpose": "mean", "buckets": 9}))
    channel: Channel = survey.question("age").channels[0]
    for number in (18, 18.0000001, 54, 60.3, 90):
        sizes: list[int] = []

        def random(count: int, sizes: list[int] = sizes) -> bytes:
            sizes.append(count)
            return bytes(count)

        report = pldp.Device(survey, random=random).answer("age", number)
        assert 0 <= report.answers[0].output < channel.form.count
        assert [size for size in sizes if size == 7] == [7, 7]


def test_the_plan_tells_the_error_of_an_even_population_and_at_worst() -> None:
    survey = asked(1.0)
    collector = Collector(survey, np.full(17, 1 / 17), seed=5)
    planned = pldp.plan(survey, PEOPLE).questions[0]
    assert list(planned.rows) == ["mean"]
    even, worst = float(planned.standard_error[0]), planned.worst.standard_error
    found = pldp.estimate(collector.draw(200_000)[0], "q").mean.standard_error * 10  # of 2,000 people
    assert even == pytest.approx(found, rel=0.01)
    ends = Collector(survey, np.array([0.5, *[0] * 15, 0.5]), seed=6)
    at_ends = pldp.estimate(ends.draw(200_000)[0], "q").mean.standard_error * 10
    assert even < at_ends <= 1.01 * worst
