"""Twelve violations, each beside the same mechanism without it. An audit must catch the one and not the other."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pldp import Device, Survey
from pldp.auditing import Audit, AuditSettings, Row, audit, mechanism_survey, read_table, sampler_fault
from pldp.mechanisms import RandomizedResponse, build
from pldp.mechanisms.response.channel import draw_53_bits
from pldp.reports import Report

UNTIMED = AuditSettings(timed=False)


class Noise:
    """A generator for tests, in the form that channels take."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311

    def __call__(self, count: int) -> bytes:
        return self.random.randbytes(count)


def wrong_p(planted: bool) -> Audit:
    """The truth is kept as if ε were 1.3."""
    response, noise = build("krr", 4, 1_300_000 if planted else 1_000_000), Noise(1)
    return audit(lambda value: response.draw(value, noise), [0, 3], epsilon=1, settings=UNTIMED)


class OffByOne(RandomizedResponse):
    """`>` where `>=` belongs: one number of 2⁵³ says the truth too often."""

    def draw(self, value: int, random: Callable[[int], bytes]) -> int:
        rest = draw_53_bits(random) - self.truth_weight
        other = max(rest, 0) // self.other_weight
        return (value, other + (other >= value))[rest > 0]


def off_by_one(planted: bool) -> Audit:
    """A threshold that is one too high: no sample of any size sees it, the law of the sampler does."""
    response = build("krr", 4, 1_000_000)
    fault = sampler_fault((OffByOne(4, response.other_weight) if planted else response).draw, table_of(response))
    return Audit("krr", "", (Row("krr", "", "", "python", 1.0, 1.0, refutations=(fault,) if fault else ()),))


def table_of(response: Any) -> Any:
    return read_table(response.mechanism, response.size, response.weights())


def reused_randomness(planted: bool) -> Audit:
    """Two answers of one person drawn from the same random bytes: either both are true or none is."""
    response, noise = build("krr", 4, 1_000_000), Noise(2)

    def answers(values: tuple[int, int]) -> list[int]:
        first = noise(7)
        second = first if planted else noise(7)
        return [
            response.draw(value, lambda _, own=own: own) for value, own in zip(values, (first, second), strict=True)
        ]

    return audit(answers, [(0, 0), (0, 1), (1, 1)], epsilon=2, samples=4_000, settings=UNTIMED)


def float_laplace(planted: bool) -> Audit:
    """Noise added in floating point: the last digits of a sum show what was added to what."""
    draws = random.Random(3)  # noqa: S311
    fair = build("krr", 2, 1_000_000)
    noise = Noise(3)

    def number(value: float) -> float:
        if not planted:
            return float(fair.draw(int(value), noise))
        return value + draws.expovariate(0.5) - draws.expovariate(0.5)

    return audit(number, [0.0, 1.0], epsilon=1, samples=10_000, settings=UNTIMED)


def forgotten_memo(planted: bool) -> Audit:
    """The answer is drawn anew in every round."""
    survey = mechanism_survey("krr")

    def person() -> Callable[[str], Any]:
        device = Device(survey)

        def answer(value: str) -> Any:
            own = Device(survey) if planted else device
            return own.answer("krr", value).answers[0].output

        return answer

    return audit(person, ["a", "b"], epsilon=1, samples=600, rounds=10, settings=UNTIMED)


def hidden_device(show: Callable[[Report, str], Any]) -> Audit:
    """People of two levels and one value, of a survey that hides levels."""
    survey = mechanism_survey("label")
    stated = (survey.level_leak() or 0) / 1e6
    return audit(
        lambda level: show(Device(survey).answer("label", "a", level), level),
        ["strict", "one"],
        epsilon=stated,
        samples=3_000,
        settings=UNTIMED,
    )


def unperturbed_label(planted: bool) -> Audit:
    """The report shows the level that was chosen, though the survey hides it."""

    def show(report: Report, level: str) -> Any:
        (answer,) = report.answers
        return replace(report, answers=(replace(answer, level=level),) if planted else (answer,)).to_mapping()

    return hidden_device(show)


def length_leak(planted: bool) -> Audit:
    """A report that is longer for a long answer, whatever the output."""
    survey = mechanism_survey("krr")

    def send(value: str) -> str:
        text = Device(survey).answer("krr", value).to_json()
        return text + " " * (ord(value) - ord("a")) if planted else text

    return audit(send, ["a", "d"], epsilon=1, samples=800, settings=UNTIMED)


class Clock:
    """Time passes only by work, and by chance."""

    def __init__(self) -> None:
        self.now, self.random = 0, random.Random(4)  # noqa: S311

    def __call__(self) -> int:
        self.now += self.random.randrange(40, 60)
        return self.now


def timing_leak(planted: bool) -> Audit:
    """The place of the answer is searched from the first label on."""
    response, noise, clock = build("krr", 4, 1_000_000), Noise(4), Clock()

    def draw(value: int) -> int:
        clock.now += 1_000 + (2 * value if planted else 0)
        return response.draw(value, noise)

    return audit(draw, [0, 3], epsilon=1, samples=4_000, settings=AuditSettings(clock=clock))


def modulo_bias(planted: bool) -> Audit:
    """Another value is picked by a remainder: of eight numbers, five remainders are not equally frequent."""
    response, draws = build("krr", 6, 1_000_000), random.Random(5)  # noqa: S311
    truth = float(response.truth_support)

    def draw(value: int) -> int:
        if draws.random() < truth:
            return value
        other = draws.getrandbits(3) % 5 if planted else draws.randrange(5)
        return other + (other >= value)

    return audit(draw, [0, 1, 5], epsilon=1, settings=UNTIMED)


def rounded_down(planted: bool) -> Audit:
    """The weight of a wrong answer rounded down, towards less noise: ε is above the promise in the 17th digit."""
    survey = mechanism_survey("krr", "1.5")
    document = dict(survey.document)
    (question,) = document["questions"]
    weights = {"one": {"other": question["weights"]["one"]["other"] - planted}}
    return audit({**document, "questions": [{**question, "weights": weights}]})


def bounds_of_the_data(planted: bool) -> Audit:
    """Noise is cut at bounds that a person's own number sets."""
    built, noise = build("krr", 32, 1_000_000), Noise(6)

    def number(value: int) -> int:
        drawn = built.draw(value, noise)
        return min(drawn, 2 * value) if planted else drawn

    return audit(number, [4, 15], epsilon=1, settings=UNTIMED)


def telling_id(planted: bool) -> Audit:
    """The random id of a report is even for one answer and odd for the other."""
    survey: Survey = mechanism_survey("krr")

    def send(value: str) -> Any:
        report = Device(survey).answer("krr", value).to_mapping()
        if planted:
            report["id"] = report["id"][:-1] + "02468ace13579bdf"[int(report["id"][-1], 16) // 2 + 8 * (value == "d")]
        return report

    return audit(send, ["a", "d"], epsilon=1, samples=1_000, settings=UNTIMED)


PLANTED: dict[str, Callable[[bool], Audit]] = {
    make.__name__: make
    for make in (
        wrong_p,
        off_by_one,
        reused_randomness,
        float_laplace,
        forgotten_memo,
        unperturbed_label,
        length_leak,
        timing_leak,
        modulo_bias,
        rounded_down,
        bounds_of_the_data,
        telling_id,
    )
}
