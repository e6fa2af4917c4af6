"""Twelve of twelve planted violations are caught, and nothing else is."""

from __future__ import annotations

import math

import numpy as np
import pytest

from helpers.claims import runs
from helpers.planted import PLANTED
from pldp.auditing import NAMES, audit, mechanism_survey
from pldp.auditing.audit import LABEL
from pldp.simulate import perturb

CLEAN_AUDITS = 100


def test_there_are_twelve() -> None:
    assert len(PLANTED) == 12


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_violation_is_caught(name: str) -> None:
    found = PLANTED[name](True)
    assert found.refuted
    assert found.rows[0].refutations


@pytest.mark.parametrize("name", PLANTED)
def test_the_same_without_the_violation_is_not(name: str) -> None:
    found = PLANTED[name](False)
    assert not found.refuted, found.rows[0].refutations


def test_no_false_alarm_in_audits_of_correct_mechanisms() -> None:
    """A hundred audits: exact, law of the sampler, and samples. The chance of any false alarm is 1e-4.

    The short form samples each mechanism once; `test_surveys.py` has the exact rows of all.
    """
    generator = np.random.default_rng(7)
    mechanisms = [name for name in NAMES if name != LABEL]
    settings = [(name, epsilon) for epsilon in ("0.3", "0.7", "1", "1.3", "2", "2.5", "3", "4") for name in mechanisms]
    for name, epsilon in settings[: runs(len(mechanisms), CLEAN_AUDITS)]:
        (channel,) = mechanism_survey(name, epsilon).questions[0].channels
        values = [0, 1] if channel.domain == "sets" else [0, channel.size - 1]
        claimed = channel.epsilon
        if runs(0, 1):
            row, _ = audit(mechanism_survey(name, epsilon), samples=0).rows
            assert not row.refuted, (name, epsilon, row.refutations)
            assert row.exact == claimed
        assert math.isfinite(claimed)

        def many(places, channel=channel, values=values):
            own = np.array(values)[places]
            if channel.domain == "sets":
                return perturb(channel, own.astype(np.uint8)[:, None], generator)
            return perturb(channel, own, generator)

        samples = runs(2_000, 1_000_000)
        (sampled,) = audit(many, values, epsilon=claimed, samples=samples, vectorised=True).rows
        assert not sampled.refuted, (name, epsilon, sampled.refutations)


def test_the_bound_is_close_to_the_truth_for_two_values() -> None:
    """At most ε, and at least .98 ε from a million samples of each value."""
    (channel,) = mechanism_survey("krr").questions[0].channels
    channel = type(channel).of(2, 1_000_000)
    generator = np.random.default_rng(8)
    samples = runs(10**6, 10**7)
    found = audit(lambda own: perturb(channel, own, generator), [0, 1], epsilon=1, samples=samples, vectorised=True)
    (row,) = found.rows
    assert 0.98 <= row.sampled.epsilon <= 1
    assert row.verdict == "not refuted"
