"""Labels with one budget for being ticked and another for not being ticked: exact both ways, estimated, audited."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from helpers.claims import mean_is, runs
from helpers.schema import validate
from pldp import Device, Survey, audit, plan, tally
from pldp.auditing.surveys import audit_document
from pldp.errors import SurveyError
from pldp.estimates import baskets_of, estimate, supports
from pldp.mechanisms import ItemSet
from pldp.simulate import Population, simulate_reports
from pldp.survey import loads

VALUES = ["HIV", "flu", "cold", "none"]
TABLE: dict[str, Any] = {
    "name": "ill",
    "kind": "choices",
    "values": VALUES,
    "ticked": {"HIV": "1/4", "flu": "1/2"},
    "unticked": {"cold": "1/2"},
    "unprotected": ["none"],
}


def survey_of(levels: dict[str, Any] | None = None, top: dict[str, Any] | None = None, **changes: Any) -> Survey:
    question = {key: entry for key, entry in {**TABLE, **changes}.items() if entry is not ...}
    document = {"pldp": 1, "title": "t", "levels": levels or {"strict": 0.5, "open": 2}, "questions": [question]}
    return loads(json.dumps({**document, **(top or {})}))


def test_the_channel_keeps_both_promises_of_every_label_exactly() -> None:
    question = survey_of().questions[0]
    for level, epsilon in enumerate((500_000, 2_000_000)):
        channel = question.channels[level]
        expected = [(epsilon // 4, epsilon), (epsilon // 2, epsilon), (epsilon, epsilon // 2), (math.inf, math.inf)]
        assert list(question.side_promises(level)) == expected
        assert [channel.item_evidence(item) for item in range(4)] == expected
        assert question.charge(level) == 3 * epsilon  # the dearer side of each label with protection
        for item, (ticked, unticked) in enumerate(expected[:3]):
            p, q = channel.item_chances(item)
            assert p / q <= Fraction(math.exp(ticked / 1e6)) * (1 + Fraction(1, 10**9))
            assert (1 - q) / (1 - p) <= Fraction(math.exp(unticked / 1e6)) * (1 + Fraction(1, 10**9))


def test_the_spelled_out_document_is_the_same_survey_and_follows_the_schema() -> None:
    survey = survey_of()
    again = loads(survey.canonical.decode())
    assert again == survey
    assert again.hash == survey.hash
    validate(json.loads(survey.canonical))
    validate({"pldp": 1, "title": "t", "levels": {"a": 1}, "questions": [TABLE]})


def test_weights_that_tell_more_for_one_side_are_refused_and_refuted() -> None:
    document = json.loads(survey_of().canonical)
    question = document["questions"][0]
    # The twin: the sides of one label changed places. Each label's larger budget is kept, and its smaller one is not.
    kept, raised = (question["weights"]["open"][name] for name in ("kept", "raised"))
    kept[0], raised[0] = 2**32 - raised[0], 2**32 - kept[0]
    with pytest.raises(SurveyError, match="both sides of every label; those of label 1 do not"):
        loads(json.dumps(document))
    (broken,) = [row for row in audit_document(document) if row.level == "open"]
    assert broken.refutations == ("a report tells 2 for the presence of item number 0, above the claimed 0.5",)
    honest = audit(survey_of(), samples=0)
    assert all(not row.refutations for row in honest.rows)


def test_supports_and_pairs_of_labels_are_estimated_without_bias() -> None:
    survey = survey_of({"strict": 1, "open": 3}, unprotected=...)
    people, repeats = 2000, runs(60, 1000)
    generator = np.random.default_rng(3)
    sets = (generator.random((people, 4)) < [0.1, 0.4, 0.6, 0.5]).astype(int)
    sets[:, 1] |= sets[:, 0]  # whoever has the first has the second
    answers = [[VALUES[place] for place in np.flatnonzero(row)] for row in sets]
    truth, both = sets.mean(axis=0), float((sets[:, 0] & sets[:, 1]).mean())
    errors, pairs = [], []
    for run in range(repeats):
        population = Population.of_values(survey, {"ill": answers}, seed=run)
        counted = tally(survey, simulate_reports(survey, population, seed=run))
        rows = estimate(counted, "ill", target="respondents").rows()
        errors.append([(row.estimate - share) / row.standard_error for row, share in zip(rows, truth, strict=True)])
        pair = supports(*baskets_of(counted, "ill"), [["HIV", "flu"]], target="respondents")
        pairs.append((pair.support[0] - both) / pair.standard_error[0])
    for column in (*np.transpose(errors), pairs):
        assert mean_is(column, 0.0)
        assert 0.5 < np.std(column) < 1.6


def test_a_plan_knows_that_sides_differ() -> None:
    sided = plan(survey_of({"only": 2}, unprotected=...), 10_000).questions[0]
    alike = plan(survey_of({"only": 2}, unprotected=..., ticked=..., unticked=...), 10_000).questions[0]
    assert (sided.standard_error[:3] > alike.standard_error[:3]).all()
    assert sided.standard_error[3] == pytest.approx(alike.standard_error[3])
    channel = ItemSet.of_pairs([(500_000, 2_000_000)])
    p, q = map(float, channel.item_chances(0))
    said = q + 0.5 * (p - q)
    assert sided.standard_error[0] == pytest.approx(math.sqrt(said * (1 - said) / 10_000) / (p - q), rel=1e-6)


def test_a_total_is_split_over_sides_and_a_plan_can_redesign_them() -> None:
    survey = survey_of({"low": {"fraction": "1/2"}, "high": {"fraction": 1}}, {"total_epsilon": 6})
    question = survey.questions[0]
    assert 6_000_000 - 4 <= question.charge(1) <= 6_000_000
    assert question.side_promises(1)[0] == (500_000, 2_000_000)
    assert plan(survey, 1000).no_designs is None


def test_a_device_explains_both_sides() -> None:
    words = Device(survey_of()).explain("open", "ill")
    assert "a report with the tick speaks for it at most 1.65 times (ε = 0.5)" in words
    assert "one without it against it at most 7.39 times (ε = 2)" in words


@pytest.mark.parametrize(
    ("changes", "top", "words"),
    [
        ({"budget": "set"}, {}, "labels cannot have budgets of their own where one protects the whole set"),
        ({}, {"repeat": "tracked"}, "labels with a budget for each side cannot be tracked"),
        ({"ticked": {"none": "1/2"}}, {}, "ticked: must not name labels that are unprotected, not 'none'"),
        ({"ticked": {"Flu": "1/2"}}, {}, "is not a known key"),
        ({"ticked": {"flu": 2}}, {}, "ticked.flu: must be above 0 and at most 1"),
        ({"sides": {}}, {}, "must give either sides, or fractions of the level's ε"),
        (
            {
                "ticked": ...,
                "unticked": ...,
                "unprotected": ...,
                "sides": {"strict": [["1", "infinite"]] * 4, "open": []},
            },
            {},
            "sides.strict: must give both sides of a label an epsilon, or none",
        ),
        (
            {"unprotected": ..., "budgets": {"strict": ["0.5"] * 4, "open": ["2"] * 4}},
            {},
            "ticked: must come with fractions, not with budgets that are spelled out",
        ),
    ],
)
def test_one_clear_line(changes: dict[str, Any], top: dict[str, Any], words: str) -> None:
    with pytest.raises(SurveyError) as error:
        survey_of(None, top, **changes)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
