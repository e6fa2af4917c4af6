"""Questions beyond one label: budgets per value, sets of labels, numbers; from the file to the estimate."""

from __future__ import annotations

import json
import math
from decimal import Decimal

import numpy as np
import pytest

from helpers.claims import mean_is, rate_is, runs
from helpers.schema import validate
from pldp import Device, Survey, Tally, tally
from pldp.device.kinds import BY_KIND
from pldp.errors import AnswerError, EpsilonError, EstimateError, PlanError, SurveyError, TallyError
from pldp.estimates import baskets_of, density, frequencies, itemsets, mean, supports, two_way
from pldp.mechanisms import level_leak, names
from pldp.planning import plan
from pldp.reports import read_report
from pldp.simulate import Population, simulate_reports
from pldp.survey import loads, survey_from_mapping
from pldp.tallies import fused_of
from pldp.tallies.kernel import tally_batch

LEVELS = {"strict": "0.5", "open": 2}
ITEMS = ["HIV", "flu", "cold", "none"]
ITEM = {"name": "q", "values": ITEMS, "fractions": {"HIV": "1/4", "flu": "0.5"}, "unprotected": ["none"]}
SEVERAL = {"name": "q", "kind": "choices", "values": ITEMS, "fractions": {"HIV": "1/4"}}
NUMBER = {"name": "q", "kind": "number", "low": -10, "high": "90.5", "buckets": 64, "unit": "m"}
SHARES = np.array([0.1, 0.2, 0.3, 0.4])


def form(question: dict, **keys: object) -> dict:
    return {"pldp": 1, "title": "t", "levels": LEVELS, "questions": [question], **keys}


def survey_of(question: dict, **keys: object) -> Survey:
    return survey_from_mapping(form(question, **keys))


ANSWERS = {"item": (ITEM, "flu"), "several": (SEVERAL, ["HIV", "cold"]), "number": (NUMBER, 42.25)}
MECHANISMS = [
    *((ITEM | {"mechanism": name}, "flu") for name in ("iprr",)),
    ({key: ITEM[key] for key in ("name", "values", "fractions")} | {"mechanism": "idue"}, "flu"),
    (SEVERAL | {"mechanism": "item_set"}, []),
    *((NUMBER | {"mechanism": name}, -10) for name in ("laplace", "sr", "pm", "hm", "sw")),
]


@pytest.mark.parametrize(("question", "value"), [*ANSWERS.values(), *MECHANISMS])
def test_every_kind_goes_from_file_to_report_and_back(question: dict, value: object) -> None:
    survey = survey_of(question)
    assert loads(survey.canonical.decode()) == survey
    validate(form(question))
    validate(json.loads(survey.canonical))
    device = Device(survey)
    for level in ("strict", "open"):
        report = device.answer("q", value, level)
        assert read_report(survey, report.to_json()) == report
        assert device.answer("q", value, level).answers == report.answers
        assert tally(survey, [report, report]).reports == 2
        assert f'Level "{level}", question "q":' in device.explain(level, "q")


def test_budgets_per_value_are_fractions_of_the_levels_epsilon() -> None:
    question = survey_of(ITEM).question("q")
    assert question.budgets == ((125_000, 250_000, 500_000, math.inf), (500_000, 1_000_000, 2_000_000, math.inf))
    for budgets, channel in zip(question.budgets, question.channels, strict=True):
        assert [channel.promised(value) for value in range(4)] == list(budgets)
        assert channel.micro_epsilon == math.inf
    device = Device(survey_of(ITEM))
    device.answer("q", "HIV", "open")
    assert device.ledger.total == 2_000_000
    words = device.explain("open", "q")
    assert 'A report "HIV" changes the odds between any two values at most 1.65 times (ε = 0.5)' in words
    assert 'A report "none" proves the value "none" (ε infinite).' in words


def test_a_set_of_labels_costs_the_sum_of_its_labels() -> None:
    question = survey_of(SEVERAL).question("q")
    assert [question.charge(level) for level in (0, 1)] == [1_625_000, 6_500_000]
    device = Device(survey_of(SEVERAL, total_epsilon=7))
    device.answer("q", ["HIV"], "open")
    assert device.remaining() == "0.5"
    assert "All boxes together cost ε = 6.5." in device.explain("open", "q")
    open_item = survey_of({**SEVERAL, "unprotected": ["none"]}).question("q")
    assert open_item.charge(1) == 4_500_000


def test_weights_that_do_not_keep_a_budget_are_refused() -> None:
    for question, place in ((ITEM, "other"), (SEVERAL, "raised")):
        document = json.loads(survey_of(question).canonical)
        weights = document["questions"][0]["weights"]["strict"][place]
        weights[0] = weights[0] // 2
        with pytest.raises(SurveyError, match=r"level strict: weights must keep the promised epsilon 0\.125"):
            survey_from_mapping(document)


def test_aprr_with_different_budgets_does_not_keep_them() -> None:
    with pytest.raises(SurveyError, match="weights must keep the promised epsilon"):
        survey_of({**ITEM, "unprotected": [], "mechanism": "aprr"})


BROKEN = {
    "questions[0] (q).fractions.HIV: must be above 0 and at most 1": {**ITEM, "fractions": {"HIV": 2}},
    "questions[0] (q).fractions.x: is not a known key": {**ITEM, "fractions": {"x": 1}},
    "questions[0] (q).fractions.HIV: must leave the value at least a millionth": {
        **ITEM,
        "fractions": {"HIV": "1/1000000"},
    },
    "questions[0] (q).unprotected: must be a list of labels": {**ITEM, "unprotected": ["x"]},
    "questions[0] (q).unprotected: must not name labels that have a fraction": {**ITEM, "unprotected": ["HIV"]},
    "questions[0] (q), level strict: budgets must protect at least one value": {
        "name": "q",
        "values": ITEMS,
        "unprotected": ITEMS,
    },
    "questions[0] (q): must give either budgets, or fractions": {**ITEM, "budgets": {}},
    "questions[0] (q).budgets: open is missing": {"name": "q", "values": ITEMS, "budgets": {"strict": ["0.1"] * 4}},
    "questions[0] (q).budgets.strict: must be a list with one epsilon per value (4)": {
        "name": "q",
        "values": ITEMS,
        "budgets": {"strict": ["0.1"], "open": ["0.1"]},
    },
    "questions[0] (q).budgets.strict: must not be above the level's epsilon": {
        "name": "q",
        "values": ITEMS,
        "budgets": {"strict": ["0.6"] * 4, "open": ["0.6"] * 4},
    },
    "questions[0] (q), level strict: mechanism must be one of iprr": {**ITEM, "mechanism": "krr"},
    "questions[0] (q), level strict: mechanism must be one of item_set or auto": {**SEVERAL, "mechanism": "krr"},
    "questions[0] (q), level strict: weights of item_set must be exactly kept, raised": {
        **SEVERAL,
        "mechanism": "item_set",
        "weights": {"strict": {"kept": [1, 1, 1, 1]}},
    },
    "questions[0] (q), level strict: weights of item_set must be lists of 4 integers": {
        **SEVERAL,
        "mechanism": "item_set",
        "weights": {"strict": {"kept": 1, "raised": 1}},
    },
    "questions[0] (q), level strict: weights of iprr must be lists of 4 integers": {
        **ITEM,
        "mechanism": "iprr",
        "weights": {"strict": {"other": [1, 2, 3]}},
    },
    "questions[0] (q), level strict: weights of krr must be integers": {
        "name": "q",
        "values": ITEMS,
        "mechanism": "krr",
        "weights": {"strict": {"other": [1, 2, 3]}},
    },
    "questions[0] (q), level strict: weights of sr must be integers": {
        **NUMBER,
        "mechanism": "sr",
        "weights": {"strict": {"first": [3], "step": 1}},
    },
    "questions[0]: low is missing": {"name": "q", "kind": "number", "high": 3},
    "questions[0].values: is not a known key": {**NUMBER, "values": ["a", "b"]},
    "questions[0].low: is not a known key": {**ITEM, "low": 3},
    "questions[0] (q).low: must be a number": {**NUMBER, "low": "ten"},
    "questions[0] (q).high: must be a finite number": {**NUMBER, "high": "1e300"},
    "questions[0] (q): bounds must be two finite numbers": {**NUMBER, "high": -10},
    "questions[0] (q).buckets: must be a whole number from 2": {**NUMBER, "buckets": 1},
    "questions[0] (q).outside: must be one of refuse, clip": {**NUMBER, "outside": "ignore"},
    "questions[0] (q), level strict: mechanism must be one of laplace": {**NUMBER, "mechanism": "krr"},
}


@pytest.mark.parametrize("words", BROKEN)
def test_one_clear_line(words: str) -> None:
    with pytest.raises(SurveyError) as error:
        survey_of(BROKEN[words])
    assert str(error.value).startswith(words)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("question", "value", "words"),
    [
        (SEVERAL, "HIV", "value must be several labels"),
        (SEVERAL, 3, "value must be several labels"),
        (SEVERAL, ["HIV", "HIV"], "value must be different labels"),
        (SEVERAL, ["secret"], "value must be different labels"),
        (SEVERAL, [["secret"]], "value must be different labels"),
        (NUMBER, "12", "value must be a number"),
        (NUMBER, True, "value must be a number"),
        (NUMBER, float("nan"), "value must be a number"),
        (NUMBER, 10**400, "value must be a number"),
        (NUMBER, Decimal("sNaN"), "value must be a number"),
        (NUMBER, 91, "a number must lie between -10 and 90.5"),
    ],
)
def test_answers_that_do_not_fit_are_refused_without_being_repeated(question, value, words) -> None:
    device = Device(survey_of(question))
    with pytest.raises(AnswerError, match=words) as error:
        device.answer("q", value)
    assert "secret" not in str(error.value)
    assert device.ledger.total == 0


def test_a_set_may_have_more_labels_than_an_integer_may_have_digits() -> None:
    labels = [str(label) for label in range(15_000)]
    survey = survey_of({"name": "q", "kind": "choices", "values": labels, "levels": {"strict": "0.001"}})
    device = Device(survey)
    report = device.answer("q", ["14999"])
    assert device.answer("q", ["14999"]).answers == report.answers


def test_numbers_outside_are_clipped_where_the_survey_says_so() -> None:
    question = survey_of({**NUMBER, "outside": "clip"}).question("q")
    encode = BY_KIND[question.kind].encode
    assert [encode(question, number) for number in (-1e9, -10, 90.5, 1e9)] == [0, 0, 63, 63]


@pytest.mark.parametrize("purpose", ["distribution", "mean"])
@pytest.mark.parametrize("mechanism", ["auto", "sw", "pm", "sr", "hm", "laplace"])
def test_numbers_hide_levels_behind_one_output_grid(mechanism: str, purpose: str) -> None:
    question = {**NUMBER, "mechanism": mechanism, "purpose": purpose}
    survey = survey_of(question, hide_level={"epsilon": 1})
    channels = survey.question("q").channels
    assert len({channel.form for channel in channels}) == 1
    assert survey.level_leak() == 1_000_000 + level_leak(channels)
    built = Survey.read(survey.document)
    assert (built.hash, built.question("q").channels) == (survey.hash, channels)
    capped = survey_of(question, hide_level={"leak_cap": 3})
    assert capped.level_leak() <= 3_000_000


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"mechanism": "minimax", "purpose": "mean"}, "minimax has other outputs at every level.*; name hm, pm or sr"),
        ({"mechanism": {"strict": "sr", "open": "pm"}}, "must give reports of one form at every level"),
        ({"mechanism": {"strict": "sw"}, "purpose": "mean"}, "must give reports of one form at every level"),
    ],
)
def test_numbers_whose_form_would_show_the_level_are_refused(changes: dict, reason: str) -> None:
    with pytest.raises(SurveyError, match=reason):
        survey_of({**NUMBER, "buckets": 16, **changes}, hide_level={"epsilon": 1})


def test_windows_of_different_widths_are_refused_where_levels_are_hidden() -> None:
    shown = survey_of({**NUMBER, "mechanism": "sw"}).document["questions"][0]
    with pytest.raises(SurveyError, match="must give reports of one form at every level"):
        survey_of(shown, hide_level={"epsilon": 1})


def test_channels_with_budgets_per_value_are_not_pure() -> None:
    with pytest.raises(EpsilonError, match="treat values differently"):
        _ = survey_of(ITEM).question("q").pure_channels


@pytest.mark.parametrize(
    "question", [{**ITEM, "mechanism": "iprr"}, {**ITEM, "mechanism": "idue", "unprotected": []}], ids=["iprr", "idue"]
)
def test_shares_with_budgets_per_value_are_unbiased_and_covered(question: dict) -> None:
    survey = survey_of(question)
    repeats, people = runs(150, 2000), 3000
    population = Population.of_shares(survey, repeats * people, {"q": SHARES.tolist()}, seed=1)
    found = [
        frequencies(tally_batch(survey, batch), "q", differ=0)
        for batch in simulate_reports(survey, population, seed=1, rows=people)
    ]
    for value, share in enumerate(SHARES):
        assert mean_is([estimate.shares[value] for estimate in found], share)
    covered = [((low <= SHARES) & (high >= SHARES)).mean() for low, high in (each.interval() for each in found)]
    assert mean_is(covered, 0.95)
    narrow = [(np.abs(each.shares - SHARES) < 1.5 * each.standard_error).mean() for each in found]
    assert not mean_is(narrow, 0.95)


def test_planned_errors_of_budgets_per_value_are_those_of_simulation() -> None:
    survey = survey_of(ITEM)
    people, repeats = 3000, runs(150, 2000)
    (planned,) = plan(survey, people, shares={"q": SHARES.tolist()}).questions
    population = Population.of_shares(survey, repeats * people, {"q": SHARES.tolist()}, seed=2)
    ratios = [
        ((frequencies(tally_batch(survey, batch), "q").shares - SHARES) ** 2).sum() / (planned.standard_error**2).sum()
        for batch in simulate_reports(survey, population, seed=2, rows=people)
    ]
    assert mean_is(ratios, 1.0)
    assert plan(survey, people).designs[0].split == "given"  # of one question with one total there is no better


def test_labels_with_other_fractions_at_other_levels_have_no_designs() -> None:
    budgets = {"budgets": {"a": ["0.5", "0.5"], "b": ["1", "2"]}, "levels": {"a": 0.5, "b": 2}}
    survey = survey_of({"name": "q", "values": ["x", "y"], **budgets}, levels={"a": 0.5, "b": 2})
    with pytest.raises(
        PlanError, match="there is no best design: .*q.* gives its labels other fractions of ε at other"
    ):
        plan(survey, 100).best_survey()


def test_sets_are_found_from_a_tally(tmp_path) -> None:
    survey = survey_of(SEVERAL)
    baskets = [["flu", "cold"]] * 4000 + [["none"]] * 5000 + [["HIV", "none"]] * 1000
    people = Population.of_values(survey, {"q": baskets}, seed=3)
    np.testing.assert_allclose(people.shares(survey.question("q")), [0.1, 0.4, 0.4, 0.6])
    counted = tally(survey, simulate_reports(survey, people, seed=3))
    counted.save(tmp_path / "sets.tally")
    again = Tally.load(tmp_path / "sets.tally")
    assert again == counted
    groups, items = baskets_of(again, "q")
    found = itemsets(groups, items, 0.3, target="respondents", differ=0)
    assert ("flu", "cold") in found.sets
    assert found.rows()[0].label == ("flu",)
    known = supports(groups, items, [["flu", "cold"], ["HIV", "flu"]], target="respondents", differ=0)
    low, high = known.interval(0.9999)
    assert all(low < [0.4, 0.0])
    assert all(high > [0.4, 0.0])
    with pytest.raises(EstimateError, match="must be a choice of one label to have shares, not choices"):
        frequencies(counted, "q")
    with pytest.raises(EstimateError, match="must be of kind choices to have sets of items, not number"):
        baskets_of(tally(survey_of(NUMBER), []), "q")
    with pytest.raises(EstimateError, match="no reports"):
        baskets_of(Tally.empty(survey), "q")


@pytest.mark.parametrize("mechanism", names("numbers"))
def test_numbers_are_simulated_from_the_channel(mechanism: str) -> None:
    """The unbiased reading of every level's outputs has the true mean."""
    survey = survey_of({**NUMBER, "buckets": 32, "mechanism": mechanism})
    question = survey.question("q")
    numbers = np.random.default_rng(1).normal(30, 10, 20_000).clip(-10, 90)
    people = Population.of_values(survey, {"q": numbers}, seed=4)
    counted = tally(survey, simulate_reports(survey, people, seed=4))
    for place, (level, channel) in enumerate(zip(question.levels, question.channels, strict=True)):
        outputs = np.repeat(np.arange(channel.form.count), counted.counts["q", level.name].counts)
        read = np.array([float(channel.unbiased(output)) for output in range(channel.form.count)])[outputs]
        chosen = people.levels["q"] == place
        centres = (2 * people.values["q"][chosen] + 1 - 32) / 32
        assert mean_is(read - centres.mean(), 0.0)
        assert not mean_is(read - centres.mean() - 8 * read.std() / np.sqrt(len(read)), 0.0)


def test_two_way_tables_know_budgets_per_value() -> None:
    questions = [{**ITEM, "name": "a"}, {"name": "b", "values": ["x", "y"]}]
    survey = survey_from_mapping({"pldp": 1, "title": "t", "levels": {"l": 2}, "questions": questions})
    truth = np.outer(SHARES, [0.3, 0.7])
    repeats = runs(150, 1500)
    shares = {"a": SHARES.tolist(), "b": [0.3, 0.7]}
    population = Population.of_shares(survey, 3000 * repeats, shares, seed=5)
    found = [
        two_way(tally_batch(survey, batch, pairs=[("a", "b")]), "a", "b")
        for batch in simulate_reports(survey, population, seed=5, rows=3000)
    ]
    covered = [((low <= truth) & (truth <= high)).mean() for low, high in (each.interval() for each in found)]
    assert mean_is(covered, 0.95)


LIKE_OTHERS = () if runs(0, 1) else ("laplace_wide", "minimax")
"""Left to the long form: laplace with more outputs, and what `tests/planning/test_skewed.py` takes means of."""


@pytest.mark.parametrize("mechanism", [name for name in names("numbers") if name not in LIKE_OTHERS])
def test_mean_and_density_of_a_number_from_a_tally(mechanism: str) -> None:
    """Errors of many collections: the mean is unbiased, and its interval covers as often as it says."""
    survey = survey_of({**NUMBER, "buckets": runs(32, 64), "mechanism": mechanism})
    numbers = np.random.default_rng(2).normal(40, 12, 4000).clip(-10, 90)
    grid, errors, covered, wrongly = survey.question("q").grid, [], [], []
    centres = np.array([grid.centre(bucket) for bucket in range(grid.size)])
    for seed in range(runs(25, 600)):
        people = Population.of_values(survey, {"q": numbers}, seed=seed)
        counted = tally(survey, simulate_reports(survey, people, seed=seed))
        truth = centres[people.values["q"]].mean()
        found = mean(fused_of(counted, "q"), target="respondents")
        low, high = found.interval()
        errors.append(found.value - truth)
        covered.append(low <= truth <= high)
        wrongly.append(low <= truth + 10 <= high)
    assert mean_is(errors, 0.0)
    assert rate_is(covered, 0.95)
    assert not rate_is(wrongly, 0.95)


def test_the_density_of_two_levels_converges() -> None:
    """The smoothness and the steps used to chase each other for ever."""
    survey = survey_of({**NUMBER, "buckets": 256, "low": 0, "high": 300}, levels={"strict": "0.5", "open": "1.5"})
    numbers = np.random.default_rng(1).gamma(4, 20, 20_000).clip(0, 300)
    people = Population.of_values(survey, {"q": numbers}, seed=2)
    fitted = density(fused_of(tally(survey, simulate_reports(survey, people, seed=2)), "q"))
    assert fitted.converged
    assert fitted.steps < 100
    value, low, high = fitted.quantile(0.5, 0.999)
    assert low < np.median(numbers) < high
    assert abs(value - np.median(numbers)) < 15


def test_only_numbers_have_means() -> None:
    with pytest.raises(TallyError, match="must be a number to have a mean, not of kind choices"):
        fused_of(tally(survey_of(SEVERAL), []), "q")
    with pytest.raises(TallyError, match="no reports"):
        fused_of(tally(survey_of(NUMBER), []), "q")
