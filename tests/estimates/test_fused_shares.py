"""Shares of joined reports: errors are exact, derivatives are right, and hidden levels are undone whatever they are."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from helpers.claims import Z, runs
from helpers.enumerated import numbers_of
from pldp.errors import EstimateError, TallyError
from pldp.estimates import estimate_fused
from pldp.estimates.fused.shares import spread
from pldp.estimates.likelihood.solver import TupleMixture
from pldp.estimates.linear.labels import expected_reports
from pldp.mechanisms import Channel, build, hideable
from pldp.mechanisms.arrays import arrays, label_arrays
from pldp.tallies import Asked, Fused, Service, fuse

LABELS = ("bus", "bike", "car")
SHARES = np.array([0.5, 0.3, 0.2])
ASKED = Asked("mode", values=LABELS)
LEVELS = ("strict", "open")


def drawn(channel: Channel, values: Any, generator: np.random.Generator) -> Any:
    form = arrays(channel)
    return form.draw_many(form.checked_values(values), generator)


def service(name: str, mechanism: str, values: Any, keys: Any, seed: int, *, label: int | None = 1_000_000) -> Service:
    """Return a service with two levels of different ε, hidden behind a label unless there is none."""
    generator = np.random.default_rng(seed)
    channels = tuple(next(iter(hideable(mechanism, len(LABELS), (500_000, 2_000_000)))))
    level = generator.integers(0, 2, len(values))
    outputs = [drawn(channel, values, generator) for channel in channels]
    first = level == 0 if outputs[0].ndim == 1 else (level == 0)[:, None]
    shown = level if label is None else drawn(build("krr", 2, label), level, generator)
    return Service(
        name,
        channels[0],
        keys,
        np.where(first, *outputs),
        asked=ASKED,
        level=np.array(LEVELS)[shown],
        levels=LEVELS,
        channels=channels,
        label_channel=None if label is None else build("krr", 2, label),
    )


def people(seed: int, count: int = 20_000) -> tuple[Any, Any]:
    generator = np.random.default_rng(seed)
    return generator.choice(len(SHARES), count, p=SHARES), generator


def services(seed: int, hidden: tuple[str, ...] = (), count: int = 20_000) -> list[Service]:
    """Return three services that each person gives to with probability 0.7."""
    values, generator = people(seed, count)
    found = []
    for place, mechanism in enumerate(("krr", "oue", "subset")):
        here = np.flatnonzero(generator.random(count) < 0.7)
        label = 1_000_000 if mechanism in hidden else None
        found.append(service(mechanism, mechanism, values[here], here, 10 * seed + place, label=label))
    return found


def outputs(channel: Channel) -> list[Any]:
    return list(channel.outputs())


@pytest.mark.parametrize("mechanisms", [("krr", "krr"), ("krr", "oue"), ("subset", "sue")])
def test_the_covariance_of_a_person_in_two_services_is_the_enumerated_one(mechanisms: tuple[str, str]) -> None:
    channels = [build(name, 3, budget) for name, budget in zip(mechanisms, (1_000_000, 1_500_000), strict=True)]
    values, generator = people(1, 500)
    fused = fuse(
        [
            Service(str(place), channel, np.arange(500), drawn(channel, values, generator), asked=ASKED)
            for place, channel in enumerate(channels)
        ]
    )
    found = estimate_fused(fused)
    weights = [each.weight for each in found.groups]  # type: ignore[attr-defined]
    truth, numbers = found.consistent(), []  # type: ignore[attr-defined]
    for channel in channels:
        form = label_arrays(channel)
        alone = expected_reports([form], np.eye(1), np.ones(1), truth, visible=True, summed=True)
        numbers.append(numbers_of(alone, form, alone.counted)[0])
    second, mean, apart = np.zeros((3, 3)), np.zeros(3), np.zeros((3, 3))
    for value, *seen in product(range(3), *(enumerate(outputs(channel)) for channel in channels)):
        chance = truth[value]
        parts = []
        for channel, own, weight, (place, output) in zip(channels, numbers, weights, seen, strict=True):
            chance *= float(channel.probability(output, value))
            parts.append(weight * own[place])
        second += chance * np.outer(sum(parts), sum(parts))
        mean += chance * sum(parts)
        apart += chance * sum(np.outer(part - weight * truth, part - weight * truth)
                              for part, weight in zip(parts, weights, strict=True))  # fmt: skip
    assert mean == pytest.approx(truth, abs=1e-9)
    exact = second - np.outer(mean, mean)
    stated = found.covariance * 500  # type: ignore[attr-defined]
    assert abs(stated - exact).max() < 0.02 * abs(exact).max()
    assert abs(apart - exact).max() > 0.05 * abs(exact).max()  # as if the services had asked different people


@pytest.mark.parametrize("hidden", [(), ("krr",), ("krr", "oue")])
def test_derivatives_of_the_likelihood_are_those_of_differences(hidden: tuple[str, ...]) -> None:
    model = TupleMixture(fuse(services(1, hidden, 300)))
    sizes = [block.stop - block.start for block in model.blocks]
    point = np.concatenate([np.random.default_rng(1).dirichlet(np.full(size, 5.0)) for size in sizes])
    step = 1e-5
    for place in range(len(point)):
        move = step * np.eye(len(point))[place]
        slope = (model.objective(point - move) - model.objective(point + move)) / (2 * step)
        assert model.scores(point)[place] == pytest.approx(slope, rel=1e-5, abs=1e-6)
        bend = (model.scores(point - move) - model.scores(point + move)) / (2 * step)
        assert model.hessian(point)[place] == pytest.approx(bend, rel=1e-4, abs=1e-4)  # type: ignore[index]


@pytest.mark.parametrize(("method", "differ"), [("unbiased", None), ("unbiased", 0), ("likelihood", 0)])
@pytest.mark.parametrize("hidden", [(), ("oue",), ("krr", "subset")])
def test_shares_are_near_the_truth(hidden: tuple[str, ...], method: Any, differ: float | None) -> None:
    found = estimate_fused(fuse(services(3, hidden)), method=method, differ=differ)
    assert (abs(found.estimates - SHARES) <= Z * found.standard_error).all()
    assert (found.standard_error < 0.02).all()
    assert found.labels == LABELS
    assert found.homogeneity is not None
    assert not found.homogeneity.rejected
    assert (found.levels != ()) is bool(hidden)
    assert [note.code for note in found.notes] == ["joined"]


def test_fusing_is_better_than_the_best_service_alone() -> None:
    fused = fuse(services(4))
    together = estimate_fused(fused, differ=0).standard_error
    alone = [
        estimate_fused(fused.only(*_of(fused, name)), differ=0).standard_error for name in ("krr", "oue", "subset")
    ]
    assert (together < 0.8 * np.min(alone, axis=0)).all()


def _of(fused: Fused, service_name: str) -> list[str]:
    return [source.name for source in fused.sources if source.owner == service_name]


def test_people_of_one_service_who_differ_are_noticed_and_what_assumes_nothing_is_right() -> None:
    values, generator = people(5)
    others = generator.choice(3, len(values), p=[0.2, 0.3, 0.5])
    strict, open_channel = build("krr", 3, 1_000_000), build("krr", 3, 4_000_000)
    made = fuse(
        [
            Service("a", strict, np.arange(20_000), drawn(strict, values, generator), asked=ASKED),
            Service("b", open_channel, 10**6 + np.arange(20_000), drawn(open_channel, others, generator), asked=ASKED),
        ]
    )
    found = estimate_fused(made)
    truth = np.mean([SHARES, (0.2, 0.3, 0.5)], axis=0)
    assert found.homogeneity is not None
    assert found.homogeneity.rejected
    alike = found.alike
    assert alike is not None
    assert [each.notes[0].code for each in (found, alike)] == ["levels-disagree"] * 2
    assert [each.notes[0].severity for each in (found, alike)] == ["info", "warning"]
    assert (abs(found.estimates - truth) <= Z * found.standard_error).all()
    assert (abs(alike.estimates - truth) > Z * alike.standard_error).any()
    assert estimate_fused(made, differ=0).estimates == pytest.approx(alike.estimates)


def test_respondents_have_smaller_errors_than_the_population() -> None:
    fused = fuse(services(6))
    for method, differ in (("unbiased", None), ("unbiased", 0), ("likelihood", 0)):
        errors = [
            estimate_fused(fused, method=method, differ=differ, target=target).standard_error
            for target in ("respondents", "population")
        ]  # type: ignore[arg-type]
        assert (errors[0] < errors[1]).all()


def test_parts_of_different_people_add_up_to_the_whole_with_rows_of_bits() -> None:
    every = services(7, ("subset",), 2000)
    whole = estimate_fused(fuse(every))
    halves = []
    for side in (0, 1):
        part = []
        for each in every:
            rows = np.flatnonzero(np.asarray(each.keys) % 2 == side)
            part.append(replace(each, keys=each.keys[rows], outputs=each.outputs[rows], level=each.level[rows]))
        halves.append(fuse(part))
    added = halves[0] + halves[1]
    assert added.people == halves[0].people + halves[1].people
    assert estimate_fused(added).estimates == pytest.approx(whole.estimates, abs=1e-6)
    assert estimate_fused(added).alike.estimates == pytest.approx(whole.alike.estimates, abs=1e-6)
    assert added.subsets == fuse(every).subsets


def test_the_price_of_the_join_is_the_largest_sum_over_a_person() -> None:
    channels = [build("krr", 3, budget) for budget in (1_000_000, 2_000_000, 4_000_000)]
    made = [
        Service("a", channels[0], [1, 2], [0, 1], asked=ASKED),
        Service("b", channels[1], [2, 3], [0, 1], asked=ASKED),
        Service("c", channels[2], [4], [0], asked=ASKED),
    ]
    fused = fuse(made)
    assert (fused.micro_epsilon, fused.epsilon) == (4_000_000, 4.0)  # person 4; person 2 has 1 + 2
    assert fuse(made[:2], accept_epsilon=3).micro_epsilon == 3_000_000
    with pytest.raises(TallyError, match=r"up to epsilon 3, .* gave to; 2.9 is accepted. .* pass accept_epsilon=3"):
        fuse(made[:2], accept_epsilon="2.9")
    shown = fuse(services(8, (), 50))
    assert 500_000 <= shown.micro_epsilon <= 6_000_000
    assert fuse(services(8, ("krr", "oue", "subset"), 2000)).micro_epsilon == 6_000_000  # nobody sees who chose less


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"asked": Asked("mode", values=("bus", "bike", "train"))}, "it lacks 'car' and it has 'train' beyond them"),
        (
            {"asked": Asked("mode", values=("bike", "bus", "car"))},
            "labels must be in the order of 'krr': bus, bike, car",
        ),
        ({"level": np.array(["open", "opn"])}, "1 of 2 reports have another level: unknown level 'opn'; did you mean"),
        ({"level": np.array(["open"])}, "need one level per key"),
        ({"channels": ()}, "levels and channels must be as many"),
        ({"outputs": [0, 7]}, "outputs must be below 6; 1 impossible of 2"),
    ],
)
def test_services_that_do_not_fit_are_refused_in_one_line(change: dict[str, Any], message: str) -> None:
    channels = tuple(build("krr", 3, budget) for budget in (500_000, 2_000_000))
    good = Service("krr", build("krr", 3, 1_000_000), [1, 2], [0, 1], asked=ASKED)
    named = {"level": np.array(["open", "strict"]), "levels": LEVELS, "channels": channels}
    bad = replace(Service("b", channels[0], [1, 2], [0, 1], asked=ASKED, **named), **change)
    with pytest.raises(TallyError, match=message) as error:
        fuse([good, bad])
    assert "\n" not in str(error.value)


def test_copies_are_found_among_rows_of_bits_too() -> None:
    values, generator = people(9, 400)
    channel = build("oue", 3, 1_000_000)
    rows = drawn(channel, values, generator)
    with pytest.raises(TallyError, match="the same output for 400 of 400 people"):
        fuse([Service(name, channel, np.arange(400), rows, asked=ASKED) for name in "ab"])
    again = drawn(channel, values, generator)
    assert (
        fuse([Service(name, channel, np.arange(400), own) for name, own in (("a", rows), ("b", again))]).people == 400
    )


def test_services_with_hidden_levels_are_no_copies_because_the_open_level_agrees_often() -> None:
    values, _ = people(10, 5000)
    values[:] = 0
    made = [service(name, "krr", values, np.arange(5000), seed) for seed, name in enumerate("ab")]
    assert fuse(made).people == 5000
    with pytest.raises(TallyError, match="the same output for 5,000 of 5,000 people"):
        fuse([made[0], replace(made[0], name="b")])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "ua"}, "method must be one of unbiased, likelihood for this kind"),
        ({"method": "likelihood"}, "a likelihood takes people of all levels to be alike: add differ=0"),
        ({"pool": "size"}, "pool is no option any more: .*differ=0"),
        ({"largest": 2}, "largest does not apply to 'mode', which asks for labels"),
        ({"known": {}}, "known does not apply"),
        ({"colour": 2}, "colour is not an option"),
    ],
)
def test_options_that_do_not_apply_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(EstimateError, match=message):
        estimate_fused(fuse(services(1, (), 300)), **options)


def test_the_spread_of_one_person_is_that_of_an_indicator() -> None:
    assert spread(SHARES).sum() == pytest.approx(0)
    assert np.diag(spread(SHARES)) == pytest.approx(SHARES * (1 - SHARES))


@pytest.mark.parametrize("hide", [(True, True), (True, False)])
def test_levels_that_a_person_has_everywhere_do_not_bias_fitted_shares(hide: tuple[bool, bool]) -> None:
    """Standardised errors of n × 3 shares have a root mean square within Z·√(1/2n) of 1, were values independent.

    With levels that have nothing to do with each other it was 2 to 3.
    """
    label, names = build("krr", 2, 2_000_000), ("strict", "open")
    channels = tuple(build("krr", 3, budget) for budget in (500_000, 4_000_000))
    scores: dict[bool, list[np.ndarray]] = {False: [], True: []}
    for seed in range(runs(20, 30)):
        generator = np.random.default_rng(300 + seed)
        values = generator.choice(3, 3000, p=SHARES).astype(np.uint8)
        level = (generator.random(3000) < 0.4).astype(np.uint8)
        made = []
        for place, hides in enumerate(hide):
            outputs = np.where(level == 0, *(arrays(each).draw_many(values, generator) for each in channels))
            shown = arrays(label).draw_many(level, generator) if hides else level
            about: dict[str, Any] = {"level": np.array(names)[shown], "levels": names, "channels": channels}
            about |= {"asked": Asked("q", values=LABELS), "label_channel": label if hides else None}
            made.append(Service(f"s{place}", channels[0], np.arange(3000), outputs, **about))
        fused = fuse(made)
        found, free = estimate_fused(fused, method="likelihood", differ=0), estimate_fused(fused)
        assert found.method.startswith("maximum likelihood")
        for each, own in scores.items():
            result = free if each else found
            own.append((result.estimates - SHARES) / result.standard_error)
    for own in scores.values():
        assert abs(np.sqrt(np.mean(np.square(own))) - 1) < Z / np.sqrt(2 * np.size(own))


def test_too_many_levels_to_mix_are_left_to_the_unbiased_method(monkeypatch: pytest.MonkeyPatch) -> None:
    fused = fuse(services(1, ("krr", "oue"), 300))
    monkeypatch.setattr("pldp.estimates.fused.shares.LARGEST_JOINT", 3)
    assert estimate_fused(fused).method.startswith("unbiased")
    with pytest.raises(EstimateError, match="at most 3 combinations of hidden levels"):
        estimate_fused(fused, method="likelihood", differ=0)
