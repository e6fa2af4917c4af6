"""Unbiasedness, covariance and likelihood of every mechanism, exactly, by enumerating its outputs."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.samples import counted, sample, zipf
from pldp.errors import EstimateError
from pldp.mechanisms import Bits, Channel, build, micro_epsilon, names
from pldp.papers.groups import group
from pldp.tallies import OutputCounts

# LH with 2, 3 and 5 buckets, the last with three values on a line.
CASES = [
    (name, size, eps)
    for name in names("labels", per_value=False)
    for size, eps in ((2, "0.3"), (5, "1"), (9, "1.6"), (10, "1.6"))
]


def table(tested: Channel) -> tuple[np.ndarray, np.ndarray]:
    """Q(output | value) and support(output, value) of all outputs."""
    outputs = list(tested.outputs())
    values = range(tested.size)
    probability = np.array([[float(tested.probability(y, x)) for x in values] for y in outputs])
    support = np.array([[tested.supports(y, x) for x in values] for y in outputs], float)
    return probability, support


def every_output_once(tested: Channel):
    """Counts of one report of each output."""
    if isinstance(tested.form, Bits):
        outputs = np.array([list(output) for output in tested.outputs()], np.uint8)
    else:
        outputs = np.arange(tested.form.count)
    return counted(tested, outputs, patterns=True)


@pytest.mark.parametrize(("name", "size", "epsilon"), CASES)
def test_mean_and_covariance_of_shares_are_exact(name: str, size: int, epsilon: str) -> None:
    tested = build(name, size, micro_epsilon(epsilon))
    shares = np.random.default_rng(size).dirichlet(np.ones(size))
    probability, support = table(tested)
    chance = probability @ shares
    p, q = float(tested.truth_support), float(tested.other_support)
    assert np.allclose((chance @ support - q) / (p - q), shares, atol=1e-12)
    mean = chance @ support
    exact = ((support * chance[:, None]).T @ support - np.outer(mean, mean)) / (p - q) ** 2
    found = group(tested, every_output_once(tested))
    assert np.allclose(found.covariance(shares) * found.reports, exact, atol=1e-10 * np.abs(exact).max())
    assert np.allclose(found.variance(shares) * found.reports, np.diag(exact), rtol=1e-9)
    assert np.allclose([tested.variance(share) for share in shares], np.diag(exact), rtol=1e-9)
    chosen = np.array([size - 1, 0])
    assert np.allclose(found.covariance(shares, chosen), found.covariance(shares)[np.ix_(chosen, chosen)])


@pytest.mark.parametrize(("name", "size", "epsilon"), CASES)
def test_products_are_those_of_the_enumerated_likelihood(name: str, size: int, epsilon: str) -> None:
    """Each cell's likelihood must be proportional to Q(output | ·), with one factor per cell that no value changes."""
    tested = build(name, size, micro_epsilon(epsilon))
    found = group(tested, every_output_once(tested))
    built = np.array([found.forward(unit) for unit in np.eye(size)]).T
    probability, _ = table(tested)
    if found.outputs is None:
        order = np.arange(len(probability))
    else:  # distinct rows are stored in an order of their own
        rows = [bytes(row) for row in found.outputs.T]
        places = {output: place for place, output in enumerate(tested.outputs())}
        order = np.array([places[row] for row in rows])
    ratio = built / probability[order]
    assert np.allclose(ratio, ratio[:, :1], rtol=1e-9)
    weights = np.random.default_rng(1).random(len(built))
    assert np.allclose(found.backward(weights), built.T @ weights)
    shares = np.random.default_rng(2).dirichlet(np.ones(size))
    scaled = built / (built @ shares)[:, None] * np.sqrt(found.cells)[:, None]
    assert np.allclose(found.observed_information(shares), scaled.T @ scaled)


@pytest.mark.parametrize("name", names("labels", per_value=False))
def test_support_counts_are_those_of_a_plain_loop(name: str) -> None:
    (found,) = sample([(name, "1", 50)], zipf(11), np.random.default_rng(3), patterns=True)
    tested = found.channel
    if isinstance(tested.form, Bits):
        outputs = [bytes(row) for row in np.repeat(found.outputs.T, found.cells.astype(int), axis=0)]
    else:
        outputs = np.repeat(np.arange(len(found.cells)), found.cells.astype(int)).tolist()
    loop = [sum(tested.supports(output, value) for output in outputs) for value in range(11)]
    assert found.support.tolist() == loop


def test_a_covariance_that_would_not_fit_in_memory_is_refused() -> None:
    tested = build("krr", 5000, 1_000_000)
    found = group(tested, OutputCounts(np.ones(5000, np.int64)))
    with pytest.raises(EstimateError, match="too large to build"):
        found.covariance(zipf(5000))


def test_rows_are_needed_for_the_likelihood_of_unary_reports() -> None:
    (found,) = sample([("oue", "1", 50)], zipf(11), np.random.default_rng(3))
    with pytest.raises(EstimateError, match="tally them with patterns"):
        found.forward(zipf(11))
    with pytest.raises(EstimateError, match="tally them with patterns"):
        _ = found.cells
