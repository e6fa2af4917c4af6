"""Decoded shares of labels, exactly by enumeration: for every mechanism, with levels shown or hidden."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from helpers.claims import FALSE_ALARM, mean_is, runs
from helpers.enumerated import chances, numbers_of
from helpers.samples import counts_of, label_reports, law
from pldp.estimates import expected_reports
from pldp.estimates.linear.homogeneity import least_difference
from pldp.estimates.linear.labels import LabelReports, label_covariance
from pldp.estimates.linear.pooling import Linear, decode
from pldp.estimates.linear.small_counts import SmallCounts, interval_around
from pldp.mechanisms import RandomizedResponse, family, hideable, micro_epsilon, names
from pldp.mechanisms.arrays import LabelArrays, label_arrays

SHARES, MIX = np.array([0.45, 0.3, 0.15, 0.1]), np.array([0.6, 0.4])
EPSILONS, PARTS = ("0.7", "2"), (0.6, 1, 1, 1)  # parts of ε where a mechanism takes one per value
HIDING = label_arrays(RandomizedResponse.of(2, 1_000_000)).matrix()
CASES = [(name, chance) for name in names("labels") for chance in ("shown", "hidden")]
EVERY = pytest.mark.parametrize(("mechanism", "levels"), CASES)


def forms_of(mechanism: str, epsilons: tuple[str, ...] = EPSILONS) -> list[LabelArrays]:
    budgets = [micro_epsilon(each) for each in epsilons]
    if not family(mechanism).per_value:
        return list(map(label_arrays, next(hideable(mechanism, 4, budgets))))
    own = [tuple(int(micro * part) for part in PARTS) for micro in budgets]
    return list(map(label_arrays, next(hideable(mechanism, 4, own, per_value=True))))


@dataclass(frozen=True)
class Expected:
    """What is decoded from the reports that are expected, and all reports that there can be."""

    forms: list[LabelArrays]
    fitted: Linear

    @classmethod
    def of(cls, mechanism: str, levels: str, shares: np.ndarray = SHARES) -> Expected:
        forms, visible = forms_of(mechanism), levels == "shown"
        chance = np.eye(2) if visible else HIDING
        return cls(forms, expected_reports(forms, chance, MIX, shares, visible=visible, summed=True))

    def numbers(self, fitted: Linear, table: np.ndarray) -> np.ndarray:
        return numbers_of(fitted, self.forms[0], table)

    def chances(self, mix: np.ndarray) -> np.ndarray:
        return chances(self.fitted, self.forms, mix)


@EVERY
def test_laws_sum_to_one_and_are_undone(mechanism: str, levels: str) -> None:
    evidence = Expected.of(mechanism, levels).fitted.evidence
    law_of, weights = evidence.patterns.law, evidence.patterns.weights
    assert np.allclose(law_of.sum(axis=3), 1, atol=1e-12)
    assert np.allclose(evidence.chance.sum(axis=0), 1, atol=1e-12)
    assert np.allclose(evidence.undo @ evidence.chance, np.eye(2), atol=1e-12)
    undone = np.einsum("tixc,tyic->tixy", law_of, weights)
    this_one = np.eye(law_of.shape[2])[-1]
    assert np.allclose(undone, np.stack([1 - this_one, this_one], axis=-1), atol=1e-9)


@EVERY
def test_patterns_have_the_stated_law_of_outputs(mechanism: str, levels: str) -> None:
    """The law of patterns is that of all outputs, whoever the others are."""
    shown = Expected.of(mechanism, levels)
    for form in shown.forms:
        outputs = list(form.channel.outputs())
        rows = np.array(outputs) if isinstance(outputs[0], int) else np.array([list(y) for y in outputs], np.uint8)
        patterns = np.array([form.pattern_counts(support, 1.0) for support in form.supported(rows).astype(float)])
        exact = np.einsum("yx,yic->ixc", law(form.channel), patterns)  # label, value of the person, pattern
        states = np.array([form.pattern_states(np.eye(4)[value]) for value in range(4)])  # value, label, state
        stated = np.broadcast_to(form.pattern_law(), (4, *form.pattern_law().shape[1:]))
        assert np.allclose(exact, np.einsum("xis,isc->ixc", states, stated), atol=1e-12)


@EVERY
def test_every_report_counts_for_the_value_on_average(mechanism: str, levels: str) -> None:
    """By size whatever levels people choose; by precision with the mix that there is, which the twin is not."""
    made = Expected.of(mechanism, levels)
    by_size = decode(made.fitted.evidence, None)
    mixes = {"right": MIX, "other": np.array([0.3, 0.7])}
    found = {
        (fitted.differ, name): np.einsum("syx,syi->xi", made.chances(mix), made.numbers(fitted, fitted.counted))
        for fitted in (made.fitted, by_size)
        for name, mix in mixes.items()
    }
    for case in ((None, "right"), (None, "other"), (0, "right")):
        assert np.allclose(found[case], np.eye(4), atol=1e-9), case
    assert not np.allclose(found[0, "other"], np.eye(4), atol=1e-2)


@EVERY
@pytest.mark.parametrize("differ", [0, None])
def test_variance_and_covariance_are_the_enumerated_ones(mechanism: str, levels: str, differ: float | None) -> None:
    """The twin, at other shares, has another covariance."""
    made, exact = Expected.of(mechanism, levels), []
    fitted = made.fitted if differ == 0 else decode(made.fitted.evidence, None)
    psi = made.numbers(fitted, fitted.psi)
    for shares in (SHARES, SHARES[::-1]):
        chance = made.chances(MIX) @ shares
        exact.append(np.einsum("sy,syi,syj->ij", chance, psi, psi))
    assert np.allclose(fitted.variance() * fitted.reports, np.diag(exact[0]), rtol=1e-6)
    found = label_covariance(fitted, made.forms) * fitted.reports
    assert np.allclose(found, exact[0], atol=1e-6 * exact[0].max())
    assert not np.allclose(found, exact[1], atol=1e-2 * exact[0].max())


@EVERY
def test_no_report_counts_for_more_people_than_stated(mechanism: str, levels: str) -> None:
    made = Expected.of(mechanism, levels)
    most = np.abs(made.numbers(made.fitted, made.fitted.counted)).max()
    assert most <= made.fitted.manipulation * (1 + 1e-9)
    assert most > 0.6 * made.fitted.manipulation
    twin = made.fitted.counted * 2
    assert np.abs(made.numbers(made.fitted, twin)).max() > made.fitted.manipulation


def drawn(
    mechanism: str, levels: str, joint: np.ndarray, people: int, seed: int, epsilons: tuple[str, ...] = EPSILONS
) -> LabelReports:
    """Reports of people whose levels and values have these shares (level × value)."""
    forms = forms_of(mechanism, epsilons)
    chance = np.eye(2) if levels == "shown" else HIDING
    outputs = np.array([law(form.channel) @ own for form, own in zip(forms, joint, strict=True)])
    together = chance @ outputs
    counts = np.random.default_rng(seed).multinomial(people, together.ravel()).reshape(together.shape)
    channels = [form.channel for form in forms]
    rows = [counts_of(channel, own) for channel, own in zip(channels, counts, strict=True)]
    return label_reports(channels, rows, None if levels == "shown" else HIDING)


@pytest.mark.parametrize("mechanism", ["krr", "oue", "lh", "subset_items"])
@pytest.mark.parametrize("levels", ["shown", "hidden"])
def test_p_values_are_even_where_levels_do_not_matter_and_small_where_they_do(mechanism: str, levels: str) -> None:
    """Mean of p-values with a false alarm of 1e-6, and at most 1 % below .01; the twin's levels depend on values."""
    same = np.outer(MIX, SHARES)
    moved = same + np.outer([1, -1], [0.06, -0.02, -0.02, -0.02])
    found = [drawn(mechanism, levels, same, 3000, seed).homogeneity() for seed in range(runs(60, 3000))]
    assert mean_is([each.p_value for each in found], 0.5)
    alarms = sum(each.p_value < 0.01 for each in found)
    assert stats.binom.sf(alarms - 1, len(found), 0.01) > FALSE_ALARM
    twin = [drawn(mechanism, levels, moved, 60_000, seed).homogeneity().p_value for seed in range(10)]
    assert np.median(twin) < 0.01


@pytest.mark.parametrize("mechanism", ["krr", "oue", "subset_items"])
@pytest.mark.parametrize("levels", ["shown", "hidden"])
def test_intervals_of_few_reports_cover(mechanism: str, levels: str) -> None:
    """95 % intervals of a label that 1 of 500 people have cover in 95 % or more; a third as wide ones do not."""
    shares, people = np.array([0.6, 0.3, 0.098, 0.002]), 400
    covered, narrow, marked = 0, 0, 0
    times = runs(60, 3000)
    for seed in range(times):
        fitted = decode(drawn(mechanism, levels, np.outer(MIX, shares), people, seed, ("4", "8")).evidence)
        rare = SmallCounts.of(fitted)
        marked += bool(rare is not None and rare.marks(4)[3])
        low, high = interval_around(fitted.estimates, np.sqrt(fitted.variance()), 1.96, rare=rare)
        covered += bool(low[3] <= shares[3] <= high[3])
        centre, third = (low[3] + high[3]) / 2, (high[3] - low[3]) / 6
        narrow += bool(abs(centre - shares[3]) <= third)
    assert stats.binom.cdf(covered, times, 0.95) > FALSE_ALARM
    assert stats.binom.cdf(narrow, times, 0.95) <= FALSE_ALARM
    assert levels == "hidden" or marked > times / 2


@pytest.mark.parametrize("levels", ["shown", "hidden"])
def test_a_bound_on_differences_lies_between_no_assumption_and_that_of_precision(levels: str) -> None:
    evidence = drawn("krr", levels, np.outer(MIX, SHARES), 4000, 1).evidence
    none, some, far = (decode(evidence, bound) for bound in (0.0, 0.05, 10.0))
    by_size, errors = decode(evidence, None).estimates, np.sqrt(far.variance())
    assert far.estimates == pytest.approx(by_size, abs=errors.min() / 1000)  # the length of intervals is flat there
    assert (none.variance() <= some.variance() * (1 + 1e-9)).all()
    assert (some.variance() <= far.variance() * (1 + 1e-9)).all()
    assert none.bias == pytest.approx(0, abs=1e-12)
    assert (some.bias > 0).all()
    assert (some.bias < 0.05).all()


@pytest.mark.parametrize("levels", ["shown", "hidden"])
def test_the_least_difference_of_levels_is_sure(
    levels: str,
) -> None:
    apart = np.outer(MIX, SHARES) + 0.15 * np.outer([1, -1], [1, -1, 0, 0])
    largest = float(np.abs(np.subtract(*(apart / MIX[:, None]))).max())
    alike, unlike = (drawn("krr", levels, joint, 20_000, 1).evidence for joint in (np.outer(MIX, SHARES), apart))
    assert least_difference(alike) == 0
    assert 0.2 < least_difference(unlike) < largest
