"""Channels with a budget per value: unbiasedness, covariance, likelihood and fits, exactly by enumeration."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from helpers.claims import follows, mean_is, runs
from helpers.item_channels import CHANNELS
from helpers.samples import counted, label_reports, zipf
from pldp.errors import EstimateError
from pldp.estimates import norm_sub
from pldp.estimates.likelihood.mixture import minus_log
from pldp.estimates.likelihood.solver import label_mixture, maximise
from pldp.mechanisms import (
    Bits,
    CategoricalChannel,
    ItemResponse,
    ItemUnaryEncoding,
    RandomizedResponse,
    SupportChannel,
)
from pldp.mechanisms.arrays import label_arrays
from pldp.papers.groups import group, maximum_likelihood, precision_weights, shown
from pldp.simulate import perturb, perturb_counts
from pldp.tallies import BitCounts, OutputCounts
from pldp.tallies.counts import no_counts

ALL = pytest.mark.parametrize("tested", CHANNELS.values(), ids=CHANNELS)


def every_output_once(tested: CategoricalChannel):
    if isinstance(tested.form, Bits):
        outputs = np.array([list(output) for output in tested.outputs()], np.uint8)
    else:
        outputs = np.arange(tested.size)
    return counted(tested, outputs, patterns=True)


def probabilities(tested: CategoricalChannel) -> np.ndarray:
    values = range(tested.size)
    return np.array([[float(tested.probability(y, x)) for x in values] for y in tested.outputs()])


def single_output(tested: CategoricalChannel, output):
    if isinstance(tested.form, Bits):
        return BitCounts.of_rows(np.frombuffer(output, np.uint8)[None, :], tested.size, patterns=False)
    return OutputCounts(np.eye(tested.size, dtype=np.int64)[output])


@ALL
def test_mean_and_covariance_of_shares_are_exact(tested: CategoricalChannel) -> None:
    """The shares of every single report, weighted by its probability, have the stated mean and covariance."""
    size = tested.size
    truth = np.random.default_rng(size).dirichlet(np.ones(size))
    chance = probabilities(tested) @ truth
    found = np.array([group(tested, single_output(tested, y)).shares() for y in tested.outputs()])
    assert np.allclose(chance @ found, truth, atol=1e-12 * np.abs(found).max())
    exact = (found * chance[:, None]).T @ found - np.outer(truth, truth)
    counts = group(tested, every_output_once(tested))
    assert np.allclose(counts.covariance(truth) * counts.reports, exact, atol=1e-10 * np.abs(exact).max())
    assert np.allclose(counts.variance(truth) * counts.reports, np.diag(exact), atol=1e-10 * np.abs(exact).max())
    chosen = np.array([size - 1, 0])
    assert np.allclose(counts.covariance(truth, chosen), counts.covariance(truth)[np.ix_(chosen, chosen)])
    equal = np.full(size, 1 / size)
    assert counts.mean_variance() == pytest.approx(counts.variance(equal).mean())


@ALL
def test_squares_and_expected_supports_are_exact(tested: CategoricalChannel) -> None:
    """What tables are made of: for every single report the squares of its shares; for any shares, the supports."""
    form, outputs = label_arrays(tested), list(tested.outputs())
    support = np.array([[tested.supports(y, value) for y in outputs] for value in range(tested.size)], float)
    one = np.ones(len(outputs))
    shares = form.shares(support, one)
    assert np.allclose(form.squares(support, one), shares**2, atol=1e-10 * np.abs(shares).max() ** 2)
    for column, output in enumerate(outputs):
        assert np.allclose(shares[:, column], group(tested, single_output(tested, output)).shares())
    truth = np.random.default_rng(1).dirichlet(np.ones(tested.size), 3).T * [1, 0.5, 2]
    expected = support @ probabilities(tested) @ truth
    assert np.allclose(form.expected_support(truth, truth.sum(axis=0)), expected)
    assert np.allclose(form.expected_support(truth[:, 0]), expected[:, 0])


@ALL
def test_products_are_those_of_the_enumerated_likelihood(tested: CategoricalChannel) -> None:
    found = group(tested, every_output_once(tested))
    built = np.array([found.forward(unit) for unit in np.eye(tested.size)]).T
    table = probabilities(tested)
    if isinstance(tested.form, Bits):  # distinct rows are stored in an order of their own
        places = {output: place for place, output in enumerate(tested.outputs())}
        table = table[[places[bytes(row)] for row in found.outputs.T]]
    factor = built.sum(axis=1) / table.sum(axis=1)
    assert np.allclose(built, factor[:, None] * table, rtol=1e-9)
    weights = np.random.default_rng(1).random(len(built))
    assert np.allclose(found.backward(weights), built.T @ weights)
    shares = np.random.default_rng(2).dirichlet(np.ones(tested.size))
    scaled = built / (built @ shares)[:, None] * np.sqrt(found.cells)[:, None]
    assert np.allclose(found.observed_information(shares), scaled.T @ scaled)


@ALL
def test_samplers_follow_the_channel_and_a_wrong_one_is_noticed(tested: CategoricalChannel) -> None:
    generator = np.random.default_rng(3)
    value = 1
    outputs = perturb(tested, np.full(40_000, value), generator)
    seen = Counter(outputs.tolist() if outputs.ndim == 1 else map(bytes, outputs))
    chance = probabilities(tested)[:, value]
    counts = np.array([seen.pop(output, 0) for output in tested.outputs()])
    assert not seen
    assert not counts[chance == 0].any()
    assert follows(counts[chance > 0], chance[chance > 0])
    if (chance > 0).sum() > 1:
        wrong = chance[chance > 0] + 0.05 * np.eye((chance > 0).sum())[-1]
        assert not follows(counts[chance > 0], wrong / wrong.sum())


COUNTABLE = {name: each for name, each in CHANNELS.items() if isinstance(each, SupportChannel)}


@pytest.mark.parametrize("tested", COUNTABLE.values(), ids=COUNTABLE)
def test_drawn_counts_have_the_mean_and_variance_of_counted_reports(tested: CategoricalChannel) -> None:
    people = np.arange(1, tested.size + 1) * 200
    groups = [
        group(tested, perturb_counts(tested, people, np.random.default_rng(seed))) for seed in range(runs(400, 4000))
    ]
    total = int(people.sum())
    assert {each.reports for each in groups} == {total}
    shares = people / total
    exact = groups[0].variance(shares) - shares * (1 - shares) / total  # the people are fixed
    for place in range(tested.size):
        found = np.array([each.shares()[place] for each in groups]) - shares[place]
        assert mean_is(found, 0.0)
        assert mean_is(found**2, exact[place])
        assert not mean_is(found**2, 2 * exact[place] + 1e-9)


def test_standard_errors_of_a_whole_population_are_right() -> None:
    """Squared errors of drawn samples of people, for APRR, whose covariance has a form of its own."""
    tested, truth, people = CHANNELS["aprr"], zipf(5), 3000
    squares = []
    for seed in range(runs(300, 3000)):
        generator = np.random.default_rng(seed)
        outputs = perturb(tested, generator.choice(5, people, p=truth), generator)
        squares.append((group(tested, counted(tested, outputs)).shares() - truth) ** 2)
    exact = group(tested, OutputCounts(np.full(5, people // 5))).variance(truth)
    assert all(mean_is(np.array(squares)[:, place], exact[place]) for place in range(5))
    assert not mean_is(np.array(squares)[:, 0], 1.5 * exact[0])


@ALL
def test_the_fit_is_certified_and_no_worse_than_norm_sub(tested: CategoricalChannel) -> None:
    generator = np.random.default_rng(5)
    outputs = perturb(tested, generator.choice(tested.size, 4000, p=zipf(tested.size, 2)), generator)
    found = group(tested, counted(tested, outputs, patterns=True))
    fit = maximum_likelihood([found])
    assert fit.converged
    assert fit.shares.sum() == pytest.approx(1)
    near = -minus_log(found.cells, found.forward(norm_sub(found.shares()) + 1e-12))
    assert fit.log_likelihood >= near - 1e-4 * found.reports


def direct_groups(seed: int, size: int):
    generator = np.random.default_rng(seed)
    people = np.rint(3000 * zipf(size)).astype(int)
    channels = [
        ItemResponse.of([100_000, 1_000_000, *[math.inf] * (size - 2)]),
        RandomizedResponse.of(size, 700_000),
        ItemResponse.of([2_000_000] * size),
    ]
    return [group(each, perturb_counts(each, people, generator)) for each in channels]


@pytest.mark.parametrize("several", [1, 3])
def test_the_formula_for_direct_encodings_is_the_maximum(several: int) -> None:
    for seed in range(20):
        groups = direct_groups(seed, 12)[:several]
        fit = maximum_likelihood(groups, gap=1e-11)
        assert (fit.converged, fit.steps) == (True, 0)
        slow = maximise(label_mixture(shown(groups)), np.full(12, 1 / 12), 1e-11)
        assert np.allclose(fit.shares, slow.shares, atol=1e-5)


def test_one_value_that_everybody_names_is_certain() -> None:
    built = ItemResponse.of([1_000_000, math.inf, math.inf])
    assert maximum_likelihood([group(built, OutputCounts(np.array([0, 50, 0])))]).shares.tolist() == [0, 1, 0]
    assert maximum_likelihood([group(built, OutputCounts(np.array([50, 0, 0])))]).shares.tolist() == [1, 0, 0]


def test_ten_thousand_items_and_a_million_people_need_no_search() -> None:
    generator = np.random.default_rng(1)
    size, people = 10_000, 1_000_000
    built = ItemResponse.of([math.inf] * 5000 + [1_000_000] * 2500 + [100_000] * 2500)
    values = generator.choice(size, people, p=zipf(size))
    found = group(built, counted(built, perturb(built, values, generator)))
    fit = maximum_likelihood([found])
    assert (fit.converged, fit.steps) == (True, 0)
    assert found.shares().sum() == pytest.approx(1)
    assert np.isfinite(found.variance(found.shares())).all()


def test_an_open_value_that_never_came_is_no_certainty() -> None:
    built = ItemResponse.of([1_000_000, 1_000_000, math.inf])
    found = group(built, OutputCounts(np.array([60, 40, 0])))
    assert not label_reports([built], [found.counts]).enough.any()
    assert np.isfinite(label_mixture(shown([found])).information(np.array([0.7, 0.3, 0.0]))).all()
    assert label_reports([built], [OutputCounts(np.array([60, 40, 9]))]).enough.all()


def test_groups_with_budgets_per_value_pool_and_are_tested() -> None:
    groups = direct_groups(1, 6)
    assert precision_weights(groups).sum() == pytest.approx(1)
    test = label_reports([each.channel for each in groups], [each.counts for each in groups]).homogeneity()
    assert test is not None
    assert not test.rejected
    responses = label_reports([CHANNELS["aprr"]] * 2, [OutputCounts(np.array([900, 700, 500, 300, 100]))] * 2)
    assert responses.enough.all()
    assert responses.homogeneity().p_value == pytest.approx(1)


def test_what_a_group_cannot_give_is_said() -> None:
    empty = group(CHANNELS["aprr"], no_counts(CHANNELS["aprr"]))
    with pytest.raises(EstimateError, match="has no shares"):
        empty.shares()
    with pytest.raises(EstimateError, match="supports of aprr depend on the true value"):
        _ = empty.arrays.truth_support
    rows = BitCounts.of_rows(np.zeros((3, 1), np.uint8), 5, patterns=False)
    unary = group(CHANNELS["idue opt0"], rows)
    assert isinstance(unary.channel, ItemUnaryEncoding)
    with pytest.raises(EstimateError, match="tally them with patterns"):
        unary.forward(zipf(5))
