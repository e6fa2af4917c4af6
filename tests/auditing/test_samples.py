"""Bounds from samples: right where they should be, with the power that is stated; bad input gets one clear line."""

from __future__ import annotations

import math
import os
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import pldp
from helpers.claims import FALSE_ALARM, runs
from pldp.auditing import AuditSettings, audit, call, compare_times, ratio_bound, smallest_detectable
from pldp.auditing.columns import columns_of, columns_of_arrays
from pldp.errors import AuditError
from pldp.mechanisms import build
from pldp.simulate import perturb, perturb_continuously

UNTIMED = AuditSettings(timed=False)


def response(epsilon: float):
    built, generator = build("krr", 2, round(epsilon * 1e6)), np.random.default_rng(11)
    return lambda own: perturb(built, own, generator)


def test_the_bound_on_a_ratio_is_right_as_often_as_it_says() -> None:
    """True shares .6 and .2: the bound is above ln 3 in at most 5 % of the runs, by the binomial law itself."""
    size, error = 30, 0.05
    often, seldom = np.arange(size + 1), np.arange(size + 1)
    chances = np.outer(stats.binom.pmf(often, size, 0.6), stats.binom.pmf(seldom, size, 0.2))
    wrong = [[ratio_bound(a, b, error) > math.log(3) for b in seldom] for a in often]
    assert float((chances * np.array(wrong)).sum()) <= error


def test_the_smallest_detectable_epsilon_is_detected_nine_times_in_ten() -> None:
    samples, claimed, repeats = 4_000, 1.0, runs(200, 2_000)
    generator = np.random.default_rng(12)
    for share in (0.7, 0.1, 0.02):
        found = smallest_detectable(share, samples, claimed, 1e-6)

        def seen(epsilon: float, share: float = share) -> int:
            counts = [generator.binomial(samples, each, repeats) for each in (share, share * math.exp(-epsilon))]
            return sum(ratio_bound(int(a), int(b), 1e-6) > claimed for a, b in zip(*counts, strict=True))

        assert stats.binom.cdf(seen(found), repeats, 0.85) > FALSE_ALARM
        assert seen(claimed + (found - claimed) / 2) < repeats / 2


def test_too_few_samples_are_said_to_be_too_few() -> None:
    (row,) = audit(lambda value: value, [0, 0], epsilon=3, samples=100, settings=UNTIMED).rows
    assert row.verdict == "not refuted"
    assert row.reach == "200 people are too few to refute anything here"
    assert row.to_mapping()["detectable"] == {"power": 0.9, "curve": [], "rarest_event": None}
    assert row.to_mapping()["detectable_epsilon"] == "infinite"
    with pytest.raises(AuditError, match=r"^samples must be a whole number of at least 100, not 99$"):
        audit(lambda value: value, [0, 1], epsilon=1, samples=99)


def raises(value: object) -> object:
    raise ZeroDivisionError(value)


def never(value: object) -> object:
    threading.Event().wait()


@pytest.mark.parametrize(
    ("mechanism", "arguments", "message"),
    [
        (raises, {}, "the mechanism raised ZeroDivisionError for value number [01]"),
        (never, {}, "the mechanism did not return within 0.3 seconds; 0 calls before did"),
        (lambda _: object(), {}, "an output must be a number, text, bytes, or lists and tables of these, not object"),
        (lambda _: "x" * 5_000, {}, "an output must have at most 4,096 characters or bytes, not 5,000"),
        (lambda _: [0] * 5_000, {}, "an output must have at most 4,096 parts, not 5,000"),
        (
            lambda _: [os.urandom(2100)] * 2,
            {"samples": 100},
            "an output must have at most 4,096 parts, and some have more",
        ),
        (int, {"epsilon": None}, "epsilon and values must be given for a function: .+"),
        (int, {"epsilon": math.inf}, "epsilon must be a finite number of at least 0, not inf"),
        (int, {"values": [1]}, "values must be at least 2, not 1"),
        (int, {"samples": "many"}, "samples must be a whole number of at least 100, not 'many'"),
        (raises, {"vectorised": True}, "the vectorised mechanism raised ZeroDivisionError"),
        (lambda own: own[:3], {"vectorised": True}, "a vectorised mechanism must return 400 outputs for as many .+"),
        (
            lambda own: own.astype("U1"),
            {"vectorised": True},
            "outputs must be integers, floats or rows of bytes, not .+",
        ),
        (lambda own: own[:, None, None], {"vectorised": True}, "a vectorised mechanism must return one flat array, .+"),
        (lambda own: own[:, None], {"vectorised": True}, "rows must be of 1 to 4,096 bytes .+"),
    ],
)
def test_bad_mechanisms_get_one_clear_line(mechanism, arguments, message) -> None:
    given = {
        "values": [0, 1],
        "epsilon": 1,
        "samples": 200,
        "settings": AuditSettings(timed=False, timeout=0.3),
    } | arguments
    with pytest.raises(AuditError, match=f"^{message}$"):
        audit(mechanism, given.pop("values"), **given)


def test_bad_targets_get_one_clear_line() -> None:
    with pytest.raises(AuditError, match=r"^mechanism must be one of krr, .+ not 'nonsense'; a survey file is audited"):
        audit("nonsense")
    with pytest.raises(AuditError, match=r"^target must be a survey, .+ not int$"):
        audit(3)
    with pytest.raises(AuditError, match=r"^samples must be 0 or at least 100"):
        audit("krr", samples=7)
    with pytest.raises(AuditError, match="must be spelled out with weights"):
        audit({"questions": [{"name": "q"}]})
    question = {"name": "q", "values": ["a", "b"], "weights": {"one": {}}, "levels": {"one": []}}
    with pytest.raises(AuditError, match="an epsilon of the survey must be a number, not list"):
        audit({"questions": [question]})


def test_outputs_without_end_are_judged_by_their_parts() -> None:
    """Every output is new; the leak is in one digit of it."""

    def digits(value: int) -> int:
        return 2 * int.from_bytes(os.urandom(7)) + value

    (row,) = audit(digits, [0, 1], epsilon=1, samples=4_000, settings=UNTIMED).rows
    assert row.refuted
    assert row.sampled.event in {"last digit of output = 0", "last digit of output = 1"}
    assert "never" in str(row.sampled)


def test_outputs_of_any_form_are_taken_apart() -> None:
    outputs = [
        1,
        1.5,
        float("nan"),
        float("inf"),
        "text",
        b"\x01\x02",
        None,
        True,
        [1, "x"],
        (2,),
        {"a": {"b": [1]}, "c": 2},
        np.float64(0.25),
        np.arange(3),
        {},
    ]
    names = [column.name for column in columns_of([{"output": output} for output in outputs])]
    assert {"type of output", "keys of output", "length of output", "output.a.b[0]", "output[1]"} <= set(names)
    assert [column.name for column in columns_of([{"output": 1}] * 3)] == ["output"]
    assert [column.name for column in columns_of_arrays(np.arange(10_000))] == ["output"]
    assert "exact output" in [column.name for column in columns_of_arrays(np.repeat([0.0, 1.0], 5))]


@pytest.mark.parametrize("pair", [(0.0, 1.0), (-1.0, 0.5)])
def test_the_continuous_laplace_of_the_papers_shows_its_value_in_the_last_digits(pair) -> None:
    """It keeps ε on paper. In floating point the sums from one value are numbers that those from another never are."""
    generator = np.random.default_rng(13)

    def many(own):
        return perturb_continuously("laplace", 1.0, np.array(pair)[own], generator)

    (row,) = audit(many, pair, epsilon=1, samples=50_000, vectorised=True).rows
    assert row.refuted
    assert "last binary digit" in row.sampled.event
    assert row.sampled.epsilon > 3


def test_a_million_samples_find_nearly_the_whole_epsilon() -> None:
    (row,) = audit(response(1), [0, 1], epsilon=1, samples=runs(10**6, 10**7), vectorised=True).rows
    assert 0.98 <= row.sampled.epsilon <= 1


def test_the_audit_rejects_a_five_percent_weaker_mechanism() -> None:
    (row,) = audit(response(1.05), [0, 1], epsilon=1, samples=10**6, vectorised=True).rows
    assert row.refuted
    assert row.verdict == "refuted"
    assert 1 < row.sampled.epsilon <= 1.05


def test_calls_are_interleaved_and_watched() -> None:
    order, told = [], []

    def mechanism(value: int) -> int:
        order.append(value)
        time.sleep(0.003)
        return value

    called = call(mechanism, [0, 1], 100, progress=lambda *done: told.append(done))
    assert called.outputs == called.who == tuple(order[-200:])
    assert len(order) == 220  # with the warm-up
    assert 10 < sum(order[-200:-100]) < 90
    assert len(called.of(0)) + len(called.times_of(1)) == 200
    assert told
    assert told[-1][1] == 200


def test_an_error_of_the_package_passes_as_it_is() -> None:
    def mechanism(value: int) -> int:
        raise pldp.PldpError("as it is")

    with pytest.raises(pldp.PldpError, match="^as it is$"):
        call(mechanism, [0, 1], 100)


def test_times_that_differ_are_seen_and_equal_ones_are_not() -> None:
    generator = np.random.default_rng(14)
    equal = [generator.gamma(3, 100, 5_000).astype(int) for _ in range(3)]
    assert not compare_times(equal).refutes
    slower = [equal[0], equal[1], equal[2] + 40]
    found = compare_times(slower)
    assert found.refutes
    assert 2 in (found.one, found.two)
    assert "z = " in str(found)
    assert found.detectable < 40
    assert not compare_times(slower, allowed=100).refutes
    assert compare_times([[5, 5, 5], [5, 5, 5]]).statistic == 0


def test_a_real_difference_in_time_is_seen() -> None:
    built = build("krr", 4, 1_000_000)

    def draw(value: int) -> int:
        if value == 3:
            sum(range(3_000))
        return built.draw(value, os.urandom)

    (row,) = audit(draw, [0, 3], epsilon=1, samples=2_000).rows
    assert row.refuted
    assert row.timing.refutes
    assert any("longer" in words or "less" in words for words in row.refutations)


def test_audit_is_a_public_name() -> None:
    assert pldp.audit is audit
    assert isinstance(audit("krr", samples=0), pldp.Audit)
    assert SimpleNamespace(**audit("krr", samples=0).versions).pldp == pldp.__version__
