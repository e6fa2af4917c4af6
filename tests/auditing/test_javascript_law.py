"""The law of the sampler on the JavaScript device: at every threshold it draws what the Python sampler draws."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.claims import runs
from helpers.power import tamper
from pldp import Survey
from pldp.auditing import NAMES, JavaScript, mechanism_survey
from pldp.auditing.audit import LABEL
from pldp.auditing.law import Recorder, sampler_fault
from pldp.auditing.published import read_table

MANY = {"laplace_wide", "minimax"}
"""Those with tens of thousands of thresholds: in the long form only."""


def compared(client: JavaScript, survey: Survey) -> tuple[str | None, int]:
    """Return what the JavaScript sampler does otherwise, and how many draws were compared."""
    (question,) = survey.questions
    (channel,) = question.channels
    recorder, sets = Recorder(channel.draw), channel.domain == "sets"
    table = read_table(channel.mechanism, channel.size, channel.weights())
    assert sampler_fault(recorder, table, sets=sets) is None
    drawn = client.draw(survey, question.name, question.levels[0].name, recorder.fed, sets=sets)
    return recorder.fault(drawn), len(drawn)


@pytest.mark.parametrize("name", [name for name in NAMES if name != LABEL and (runs(0, 1) or name not in MANY)])
def test_javascript_draws_what_the_published_integers_say(name: str, client: JavaScript) -> None:
    fault, draws = compared(client, mechanism_survey(name))
    assert fault is None
    assert draws >= 4


@pytest.mark.parametrize(
    ("name", "place", "old", "new", "words"),
    [
        ("krr", "response.js", "windowed(1n, truth, other)", "windowed(1n, truth - 1n, other)", "is not the one"),
        ("subset", "subset.js", "number(noise) < weight", "number(noise) <= weight", "is not the one"),
        ("oue", "unary.js", "noise.subarray(-4)) < truthOf", "noise.subarray(-4)) <= truthOf", "is not the one"),
        ("krr", "draws.js", "NOISE_BYTES = 7", "NOISE_BYTES = 8", "other numbers of random bytes"),
    ],
)
def test_a_threshold_that_is_one_off_is_seen(
    name: str, place: str, old: str, new: str, words: str, client: JavaScript, tmp_path: Path
) -> None:
    broken = tamper(client, tmp_path / "js", old, new, f"src/mechanisms/{place}")
    fault, _ = compared(broken, mechanism_survey(name))
    assert fault is not None
    assert words in fault


def test_the_label_of_a_hidden_level_is_compared_too(client: JavaScript) -> None:
    survey = Survey.load("clients/js/test/surveys/hidden.toml")
    assert survey.level_channel is not None
    recorder = Recorder(survey.level_channel.draw)
    label = survey.level_channel
    assert sampler_fault(recorder, read_table(label.mechanism, label.size, label.weights())) is None
    assert recorder.fault(client.draw(survey, "", "", recorder.fed)) is None
