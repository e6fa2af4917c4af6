"""How close `auto` comes to the least variance that a channel of the same ε can have, and what hides levels best."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.claims import mean_is, mean_is_at_most, runs
from pldp import plan
from pldp.mechanisms import Channel, build, level_leak
from pldp.mechanisms.arrays import arrays
from pldp.mechanisms.subset.channel import spread
from pldp.papers.groups import group
from pldp.planning.assumed import assume_shares
from pldp.planning.levels import Levels
from pldp.simulate import perturb
from pldp.survey import Survey, survey_from_mapping
from pldp.tallies import BitCounts, Counts, OutputCounts

EPSILONS = (0.1, 0.25, 0.35, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
SMALL = (2, 3, 4, 5, 6, 7, 8, 10, 13, 16, 31, 32, 64, 100, 128, 300, 512, 513, 1000, 2048, 4096)
LARGE = (4097, 5000, 10_000, 30_000, 100_000, 1_000_000)


def least_variance(size: int, epsilon: float) -> float:
    """Variance of a share of 1/k by subset selection with the best whole number of chosen values, all of them tried."""
    near = size / (np.exp(epsilon) + 1)
    some = range(1, size) if size <= 64 else range(max(1, int(near) - 2), min(size - 1, int(near) + 4))
    return min(spread(size, chosen, epsilon) for chosen in some)


def excess(size: int, epsilons: tuple[float, ...] = EPSILONS) -> float:
    """The largest ratio of the variance of `auto`, from its integers, to the least one."""
    built = {epsilon: build("auto", size, round(epsilon * 1e6)) for epsilon in epsilons}
    assert all(channel.form.bytes <= 512 for channel in built.values())
    return max(channel.variance(1 / size) / least_variance(size, epsilon) for epsilon, channel in built.items())


@pytest.mark.parametrize("size", SMALL)
def test_auto_is_within_a_percent_of_the_least_variance(size: int) -> None:
    assert excess(size) <= 1.01


@pytest.mark.parametrize("size", LARGE)
def test_auto_is_within_three_percent_for_large_domains(size: int) -> None:
    assert excess(size, (*EPSILONS, 0.2, 0.3, 5.5, 6.5, 6.56, 6.57, 6.6, 7.5)) <= 1.03


def test_the_mechanisms_that_auto_took_before_are_not() -> None:
    """The twin: with k-RR and OUE alone, surveys of 5 to 16 labels need 15 to 43 % more people."""
    for size, epsilon, ratio in ((6, 0.25, 1.43), (10, 1.0, 1.29), (16, 1.5, 1.23)):
        former = min(build(name, size, round(epsilon * 1e6)).variance(1 / size) for name in ("krr", "oue"))
        assert former / least_variance(size, epsilon) == pytest.approx(ratio, abs=0.01)


def counted(channel: Channel, outputs: np.ndarray) -> Counts:
    if outputs.ndim == 2:
        return BitCounts.of_rows(outputs, channel.form, patterns=False)
    return OutputCounts(np.bincount(outputs, minlength=channel.form.count))


def squared_errors(channel: Channel, people: int, repeats: int) -> list[float]:
    """Summed squared errors of the shares over the least expected one, run by run, at equal shares."""
    size, generator = channel.size, np.random.default_rng(7)
    values = np.arange(people) % size
    expected = size * least_variance(size, channel.epsilon) - (1 - 1 / size)  # the people themselves do not vary
    found = []
    for _ in range(repeats):
        shares = group(channel, counted(channel, perturb(channel, values, generator))).shares()
        found.append(float(((shares - 1 / size) ** 2).sum()) * people / expected)
    return found


@pytest.mark.parametrize(("size", "micro"), [(6, 500_000), (16, 1_000_000), (64, 1_000_000), (1000, 1_000_000)])
def test_simulated_errors_of_auto_are_the_least(size: int, micro: int) -> None:
    repeats, people = runs(200 if size > 6 else 1000, 4000), 40 * size if size < 1000 else 2000
    ratios = squared_errors(build("auto", size, micro), people, repeats)
    assert mean_is_at_most(ratios, 1.01)
    if size <= 16:  # where k-RR, the twin, is told apart
        assert not mean_is_at_most(squared_errors(build("krr", size, micro), people, repeats), 1.01)


def test_simulated_errors_are_those_that_the_integers_say() -> None:
    channel = build("auto", 16, 1_000_000)
    exact = 16 * channel.variance(1 / 16) - (1 - 1 / 16)
    ratio = exact / (16 * least_variance(16, 1.0) - (1 - 1 / 16))
    assert mean_is(squared_errors(channel, 640, runs(100, 2000)), ratio)


THREE = (500_000, 1_000_000, 2_000_000)
TEN = tuple(range(100_000, 1_100_000, 100_000))


def hiding(size: int, levels: tuple[int, ...], mechanism: str) -> Survey:
    question = {"name": "q", "values": [str(value) for value in range(size)], "mechanism": mechanism}
    named = {f"level{place}": micro / 1e6 for place, micro in enumerate(levels)}
    document = {"pldp": 1, "title": "t", "levels": named, "hide_level": {"epsilon": 1}, "questions": [question]}
    return survey_from_mapping(document)


def hidden(size: int, levels: tuple[int, ...], mechanism: str) -> tuple[float, int]:
    """Mean squared error of a decoded share of people who are alike, with labels of ε = 1, and the leak of outputs."""
    survey = hiding(size, levels, mechanism)
    asked, reports = survey.question("q"), np.full(len(levels), 1_000_000 / len(levels))
    together = Levels(asked, asked.channels, reports, survey.level_channel, 0.0)
    return float(together.variance(assume_shares(survey, None)["q"].shares).mean()), level_leak(asked.channels)


def test_the_errors_compared_below_are_those_of_a_plan() -> None:
    for mechanism in ("krr", "sue"):
        planned = plan(hiding(4, THREE, mechanism), 1_000_000).questions[0].alike
        assert hidden(4, THREE, mechanism)[0] == pytest.approx((planned.standard_error**2).mean(), rel=1e-12)


@pytest.mark.parametrize("levels", [THREE, TEN])
@pytest.mark.parametrize("size", [4, 16, 64])
def test_hidden_levels_leak_least_and_have_the_least_error(size: int, levels: tuple[int, ...]) -> None:
    """For four values the choice is k-RR itself."""
    error, leak = hidden(size, levels, "auto")
    for former in ("krr", "sue", "oue"):
        other_error, other_leak = hidden(size, levels, former)
        if size == 4 and former == "krr":
            assert (error, leak) == (other_error, other_leak)
            continue
        assert leak < other_leak
        assert error < other_error


def test_every_form_that_auto_takes_can_be_drawn_and_counted() -> None:
    """One answer of each form: an integer, bits, a list of places."""
    generator = np.random.default_rng(1)
    for size, micro, form in ((3, 10**6, "Integers"), (10, 10**6, "Bits"), (5000, 6 * 10**6, "Places")):
        channel = build("auto", size, micro)
        assert type(channel.form).__name__ == form
        outputs = arrays(channel).draw_many(np.zeros(50, np.uint16), generator)
        assert counted(channel, outputs).reports == 50
