"""Sets and numbers of joined reports, and the methods of the paper on several services by name."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from helpers.claims import Z, runs
from pldp.errors import EstimateError
from pldp.estimates import Result, estimate_fused
from pldp.estimates.fused.numbers import JoinedNumbers, one_report_each
from pldp.mechanisms import SampledBoxes, build
from pldp.mechanisms.arrays import arrays
from pldp.tallies import ABSENT, Asked, Fused, Service, fuse

ITEMS = ("bread", "milk", "beer", "nuts")
SUPPORTS = np.array([0.6, 0.4, 0.2, 0.1])
BUCKETS = 32


def baskets(seed: int, count: int = 10_000) -> tuple[Fused, Any, Any]:
    """Return services with item sets of several ε, what people have, and who gave to any of them."""
    generator = np.random.default_rng(seed)
    have = generator.random((count, len(ITEMS))) < SUPPORTS
    have[:, 1] = np.where(have[:, 0], have[:, 1], have[:, 1] & (generator.random(count) < 0.5))
    rows = np.packbits(have, axis=1, bitorder="little")
    made, given = [], np.zeros(count, bool)
    for place, budget in enumerate((500_000, 1_000_000, 1_500_000)):
        channel = build("item_set", len(ITEMS), [budget] * len(ITEMS))
        here = np.flatnonzero(generator.random(count) < 0.7)
        given[here] = True
        outputs = arrays(channel).draw_many(rows[here], generator)
        made.append(Service(f"s{place}", channel, here, outputs, asked=Asked("basket", values=ITEMS)))
    return fuse(made), have, given


def numbers(seed: int, *mechanisms: str, hidden: bool = False, count: int = 10_000) -> tuple[Fused, Any, Any]:
    """Return services with numbers, two levels hidden behind a label where asked for, the numbers and who gave."""
    generator = np.random.default_rng(seed)
    values = (generator.beta(2, 5, count) * BUCKETS).astype(int)
    made, given = [], np.zeros(count, bool)
    for place, mechanism in enumerate(mechanisms):
        here = np.flatnonzero(generator.random(count) < 0.7)
        given[here] = True
        channels = tuple(build(mechanism, BUCKETS, budget) for budget in (1_000_000, 2_000_000))
        # People with large numbers choose the open level more often.
        level = (generator.random(len(here)) < 0.3 + values[here] / BUCKETS / 2).astype(np.uint8)
        outputs = np.where(level == 0, *(arrays(each).draw_many(values[here], generator) for each in channels))
        about: dict[str, Any] = {"bounds": (0.0, 1.0), "asked": Asked("hours", limits=(0.0, 1.0), unit="h")}
        name = f"{mechanism} {place}"
        if not hidden:
            made.append(Service(name, channels[0], here[level == 0], outputs[level == 0], **about))
            continue
        label = build("krr", 2, 1_000_000)
        shown = np.array(["strict", "open"])[arrays(label).draw_many(level, generator)]
        about |= {"level": shown, "levels": ("strict", "open"), "channels": channels, "label_channel": label}
        made.append(Service(name, channels[0], here, outputs, **about))
    return fuse(made), (values + 0.5) / BUCKETS, given


@pytest.mark.parametrize("target", ["population", "respondents"])
def test_supports_of_items_are_near_the_truth(target: Any) -> None:
    fused, have, given = baskets(1)
    found = estimate_fused(fused, target=target, min_support=0.25)
    truth = have[given].mean(axis=0) if target == "respondents" else have.mean(axis=0)
    for each in (found, found.alike):
        assert isinstance(each, Result)
        assert (abs(each.estimates - truth) <= Z * each.standard_error).all()
        assert {("bread",), ("milk",)} <= set(each.sets.sets)  # type: ignore[attr-defined]
        assert sum(group.weight for group in each.groups) == pytest.approx(1)
        assert each.notes[-1].code == "joined"


def test_errors_of_items_are_those_of_many_collections() -> None:
    """The root mean square of n × 4 standardised errors is within Z·√(1/2·4n) of 1, were items independent."""
    scores = []
    for seed in range(runs(18, 30)):
        fused, _, _ = baskets(100 + seed, 2000)
        found = estimate_fused(fused, largest=1)
        truth = np.array([0.6, 0.4 * 0.6 + 0.4 * 0.5 * 0.4, 0.2, 0.1])
        scores.append([(each.estimates - truth) / each.standard_error for each in (found, found.alike)])
    for own in zip(*scores, strict=True):
        assert abs(np.sqrt(np.mean(np.square(own))) - 1) < Z / np.sqrt(2 * np.size(own))


def test_people_in_several_services_make_errors_larger_than_different_people_would() -> None:
    fused, _, _ = baskets(2)
    common = estimate_fused(fused, largest=1, differ=0).standard_error
    together = [estimate_fused(fused.only(f"s{place}"), largest=1, differ=0).standard_error for place in range(3)]
    independent = np.sum([error**-2.0 for error in together], axis=0) ** -0.5
    assert (common > 1.02 * independent)[0]  # the most frequent item, where drawing people matters most
    assert (common < np.min(together, axis=0)).all()


@pytest.mark.parametrize("apart", [0, 4])
def test_items_that_no_report_of_a_service_tells_about_are_estimated_from_the_others(apart: int) -> None:
    """Eight reports of one or two of twelve items each: those of a service leave some items out."""
    generator, items = np.random.default_rng(1), tuple(map(str, range(12)))
    rows = np.packbits(generator.random((8, 12)) < 0.3, axis=1, bitorder="little")
    made = []
    for place, boxes in enumerate((1, 2)):
        weight = build("krr", 1 << boxes, 2_000_000).other_weight
        channel = SampledBoxes(12, boxes, weight, math.comb(12, boxes))
        outputs = arrays(channel).draw_many(rows, generator)
        asked = Asked("basket", values=items)
        made.append(Service(f"s{place}", channel, np.arange(8) + apart * place, outputs, asked=asked))
    result = estimate_fused(fuse(made, accept_epsilon=math.inf))
    for each in (result, result.alike or result):
        assert "those of some level say nothing about" in " ".join(note.text for note in each.notes)
        assert np.isfinite(each.estimates).all()
        assert (each.standard_error > 0.1).all()
        assert each.manipulation > 1


def test_names_of_the_paper_are_names_of_methods() -> None:
    fused, truth, _ = numbers(3, "sw", "pm", "sr")
    for paper, own in (("ua", "average"), ("uwa", "posterior"), ("ule", "fitted")):
        differ = 0 if own == "fitted" else None
        found = estimate_fused(fused, method=paper, differ=differ)
        assert found.estimates[0] == estimate_fused(fused, method=own, differ=differ).estimates[0]
        assert abs(found.estimates[0] - truth.mean()) < 0.1
    with pytest.raises(EstimateError, match="method must be one of weights, average, posterior, fitted, ua, uwa, ule"):
        estimate_fused(fused, method="unbiased")


def test_numbers_have_quantiles_whose_intervals_use_one_report_each() -> None:
    fused, values, given = numbers(4, "sw", "pm")
    found = estimate_fused(fused, target="respondents")
    assert found.labels == ("mean", "5 %", "25 %", "50 %", "75 %", "95 %")
    median = np.quantile(values[given], 0.5)
    for each in (found, found.alike):
        assert isinstance(each, Result)
        low, high = each.interval(0.999)
        assert low[3] - 1 / BUCKETS <= median <= high[3] + 1 / BUCKETS
        assert "one-report-each" in [note.code for note in each.notes]
    single = one_report_each(fused)
    assert ((single.cells != ABSENT).sum(axis=1) == 1).all()
    assert single.people == fused.people
    assert one_report_each(single) is single


@pytest.mark.parametrize("target", ["population", "respondents"])
def test_the_mean_of_hidden_levels_is_right_though_they_depend_on_the_number(target: Any) -> None:
    fused, values, given = numbers(5, "laplace", "sr", hidden=True)
    truth = values[given].mean() if target == "respondents" else 2 / 7
    for method in (None, "ua"):
        found = estimate_fused(fused, target=target, method=method)
        for each in (found, found.alike):
            assert isinstance(each, Result)
            reach = Z * each.standard_error[0] + 0.5 / BUCKETS * (target == "population")
            assert abs(each.estimates[0] - truth) <= reach
            assert each.labels == ("mean",)
            assert "mean-only" in [note.code for note in found.notes]
    for differ in (None, 0):
        with pytest.raises(EstimateError, match="method must be weights or average"):
            estimate_fused(fused, method="ule", differ=differ)


def test_noise_beyond_the_bounds_makes_averages_worse_and_fits_alike() -> None:
    """Cut and wide Laplace noise tell as much about a value; as plain averages the wide one has the larger error."""
    cut, _, _ = numbers(6, "laplace")
    wide, _, _ = numbers(6, "laplace_wide")
    errors = [estimate_fused(each, method="ua").standard_error[0] for each in (cut, wide)]
    assert errors[1] > 1.2 * errors[0]
    channels = [build(name, 8, 1_000_000) for name in ("laplace", "laplace_wide")]
    tables = [arrays(each).pieces().table()[:-1] for each in channels]
    rank = [np.linalg.matrix_rank(table / table.max(axis=1, keepdims=True), tol=1e-5) for table in tables]
    patterns = [{tuple(row) for row in np.round(table / table.max(axis=1, keepdims=True), 6)} for table in tables]
    assert patterns[1] >= {row for row in patterns[0] if 1.0 not in {row[0], row[-1]}}
    assert rank[0] == rank[1] == 8


def test_the_error_of_a_mean_by_size_is_that_of_people_though_their_levels_go_together() -> None:
    """By size the mean is that of people's numbers, so its variance is theirs over their number.

    One service shows the level that people hide at the other; with the noise of all people in every subset it was a
    quarter too small.
    """
    generator, names = np.random.default_rng(8), ("strict", "open")
    values = (generator.beta(2, 5, 20_000) * BUCKETS).astype(int)
    level = (generator.random(20_000) < 0.4).astype(np.uint8)
    channels, label = tuple(build("laplace", BUCKETS, own) for own in (500_000, 4_000_000)), build("krr", 2, 2_000_000)
    made = []
    for name in ("shows", "hides"):
        outputs = np.where(level == 0, *(arrays(each).draw_many(values, generator) for each in channels))
        shown = level if name == "shows" else arrays(label).draw_many(level, generator)
        about: dict[str, Any] = {"bounds": (-1.0, 1.0), "asked": Asked("hours", limits=(-1.0, 1.0)), "levels": names}
        about |= {"level": np.array(names)[shown], "label_channel": None if name == "shows" else label}
        made.append(Service(name, channels[0], np.arange(20_000), outputs, channels=channels, **about))
    fused = replace(fuse(made), mean_only=True)
    joined = JoinedNumbers(fused, "weights", "population", None)
    found = joined.result.mean
    numbers = np.zeros(len(fused.counts))
    for source, counted, cells in zip(fused.sources, joined.numbers, fused.cells.T, strict=True):
        here = cells != ABSENT
        numbers[here] += found.weights[source.name] * counted[cells[here]]
    numbers /= (fused.cells != ABSENT) @ np.array([*found.weights.values()])
    spread = fused.counts @ (numbers - fused.counts @ numbers / 20_000) ** 2 / 20_000
    assert found.standard_error**2 == pytest.approx(spread / 20_000, rel=0.02)


@pytest.mark.parametrize("differ", [0, None])
def test_a_forged_report_moves_the_mean_by_as_much_as_stated(differ: float | None) -> None:
    """By the weights that people of each set of services really have; others were up to 5 % too small."""
    fused, _, _ = numbers(9, "laplace", "sr", hidden=True, count=3000)
    joined, moved = JoinedNumbers(fused, "weights", "population", differ), []
    for subset, source in joined.counts:
        place = int(np.flatnonzero(joined.subsets.of_tuple == subset)[0])
        ends = []
        for cell in (joined.numbers[source].argmin(), joined.numbers[source].argmax()):
            row, one = fused.cells[[place]].copy(), np.eye(1, len(fused.counts), place, dtype=np.int64)[0]
            row[0, source] = cell
            forged = replace(fused, cells=np.concatenate([fused.cells, row]), counts=np.append(fused.counts - one, 1))
            ends.append(estimate_fused(forged, differ=differ).estimates[0])
        moved.append(ends[1] - ends[0])
    assert joined.result.moves == pytest.approx(max(moved), rel=0.02)
