"""PLDP-FEBSF and its rivals: each does what its paper says, and the joint likelihood beats them."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.claims import mean_is, mean_is_at_most, runs
from pldp.errors import EstimateError, UsageError
from pldp.estimates import norm_sub
from pldp.mechanisms import SymmetricUnaryEncoding, build
from pldp.papers import febsf, reproduce
from pldp.papers.febsf import _downgrade
from pldp.papers.febsf.experiment import count_outputs, hide
from pldp.papers.febsf.setting import BUDGETS, DATASETS, Setting
from pldp.papers.groups import group, information_given_levels, joint_likelihood, maximum_likelihood
from pldp.papers.shrinkage import shrink_fit
from pldp.simulate import perturb
from pldp.tallies import BitCounts

SHARES = np.array([0.4, 0.3, 0.2, 0.1])
MIX = np.array([0.5, 0.3, 0.2])
MICROS = (300_000, 1_000_000, 2_000_000)


def collected(seed: int, people: int = 6000):
    """Values, levels, outputs of symmetric unary encoding and their generator."""
    generator = np.random.default_rng(seed)
    values, level = generator.choice(4, people, p=SHARES), generator.choice(3, people, p=MIX)
    channels = [SymmetricUnaryEncoding.of(4, micro) for micro in MICROS]
    return channels, values, level, perturb(channels, values, generator, level=level), generator


def exposed(seed: int):
    channels, _, level, outputs, generator = collected(seed)
    return [group(each, count_outputs(each, outputs[level == place])) for place, each in enumerate(channels)], generator


@pytest.mark.parametrize("recycle", [False, True])
def test_rcf_is_unbiased(recycle: bool) -> None:
    found = []
    for seed in range(runs(150, 1500)):
        groups, generator = exposed(seed)
        found.append(febsf.rcf(groups, recycle=generator if recycle else None))
    for place, share in enumerate(SHARES):
        assert mean_is(np.array(found)[:, place], share)


def test_recycled_reports_follow_the_stricter_channel() -> None:
    channels, _, level, outputs, generator = collected(1, people=200_000)
    open_group = group(channels[2], count_outputs(channels[2], outputs[level == 2]))
    rows = _downgrade(open_group, channels[0], generator)
    rates = BitCounts.of_rows(rows, 4, patterns=False).ones / len(rows)
    expected = float(channels[0].other_support) + SHARES * float(channels[0].truth_support - channels[0].other_support)
    assert (np.abs(rates - expected) <= 4.9 * np.sqrt(0.25 / len(rows))).all()
    before = BitCounts.of_rows(outputs[level == 2], 4, patterns=False).ones / len(rows)
    assert (np.abs(before - expected) > 4.9 * np.sqrt(0.25 / len(rows))).any()


def test_recycling_needs_symmetric_unary_reports() -> None:
    tested = build("krr", 4, 10**6)
    krr = group(tested, count_outputs(tested, np.array([0, 1, 2, 3])))
    with pytest.raises(EstimateError, match="symmetric unary"):
        febsf.rcf([krr], recycle=np.random.default_rng(1))


def test_ppda_estimates_q_from_the_extra_bits() -> None:
    found = []
    for seed in range(runs(150, 1500)):
        generator = np.random.default_rng(seed)
        values, level = generator.choice(4, 6000, p=SHARES), generator.choice(3, 6000, p=MIX)
        longer = [SymmetricUnaryEncoding.of(4 + 16, micro) for micro in MICROS]
        counts = BitCounts.of_rows(perturb(longer, values, generator, level=level), 20, patterns=False)
        found.append(febsf.ppda(counts.ones, counts.reports, 4))
    # A ratio of two estimates: biased by less than its standard error / 20.
    spread = np.std(found, axis=0)
    assert (np.abs(np.mean(found, axis=0) - SHARES) < 0.05 * spread + 4.9 * spread / np.sqrt(len(found))).all()
    with pytest.raises(EstimateError, match="extra bits"):
        febsf.ppda(np.array([1, 2, 3, 4]), 10, 4)


def test_pbp_is_right_only_with_the_right_levels() -> None:
    found, wrong = [], []
    for seed in range(100):
        channels, _, level, outputs, generator = collected(seed)
        hidden = hide(channels, outputs, level, 1_000_000, generator)
        found.append(febsf.pbp(hidden, MIX))
        wrong.append(febsf.pbp(hidden, MIX[::-1]))
    assert mean_is(np.array(found)[:, 0], SHARES[0])
    assert not mean_is(np.array(wrong)[:, 0], SHARES[0])
    with pytest.raises(EstimateError, match="3 shares that sum to 1"):
        febsf.pbp(hidden, np.array([0.5, 0.2, 0.1]))


def test_apldp_takes_the_better_mechanism_of_each_level() -> None:
    assert febsf.apldp_channel(4, 3_000_000).mechanism == "krr"
    assert febsf.apldp_channel(40, 300_000).mechanism == "sue"


def test_emoa_as_printed_returns_equal_shares_and_warns() -> None:
    channels, _, level, outputs, generator = collected(1)
    hidden = hide(channels, outputs, level, 1_000_000, generator)
    with pytest.warns(UserWarning, match="converges to equal shares"):
        shares = febsf.emoa(hidden)
    assert np.ptp(shares) < 0.03
    assert np.ptp(SHARES) == pytest.approx(0.3)


def squared_errors(setting: Setting, seed: int) -> dict[str, float]:
    """Return the mean squared errors of one run of an experiment, of the methods that are compared below only."""
    counts, channels = setting.counts, list(setting.channels)
    generator = np.random.default_rng([seed, len(counts)])
    values = np.repeat(np.arange(len(counts)), counts)
    level = generator.choice(len(setting.budgets), len(values), p=setting.mix)
    outputs = perturb(channels, values, generator, level=level)
    shown = [group(each, count_outputs(each, outputs[level == place])) for place, each in enumerate(channels)]
    hidden = hide(channels, outputs, level, setting.label_budgets[0], generator)
    fitted = joint_likelihood(hidden, starts=1)
    found = {
        "exact_likelihood": maximum_likelihood(shown).shares,
        "auem": febsf.auem(hidden),
        "auem_projected": norm_sub(febsf.auem(hidden)),
        "joint": fitted.fit.shares,
        "joint_shrunk": shrink_fit(fitted.fit, information_given_levels(fitted)),
    }
    return {name: float(((shares - counts / counts.sum()) ** 2).mean()) for name, shares in found.items()}


CELLS = [("job", "power_law")]
EVERY_CELL = [(dataset, levels) for dataset in DATASETS for levels in ("uniform", "power_law")]


@pytest.mark.parametrize(("dataset", "levels"), runs(CELLS, EVERY_CELL))
def test_hiding_budgets_costs_little_and_beats_auem(dataset: str, levels: str) -> None:
    """At ε_p = .3, the MSE of the joint fit is ≤ 1.8 × that of the likelihood that sees budgets, and < AUEM / 2."""
    against_exact, against_auem, far = [], [], []
    for seed in range(runs(8, 200)):
        mse = squared_errors(Setting(dataset, levels, (300_000,)), seed)
        against_exact.append(mse["joint"] - 1.8 * mse["exact_likelihood"])
        far.append(mse["auem"] - mse["exact_likelihood"])
        against_auem.append(mse["joint"] - mse["auem"] / 2)
    assert mean_is_at_most(against_exact, 0.0)
    assert np.mean(against_auem) < 0
    assert np.mean(far) > 0


def test_the_shrunk_fit_beats_projected_auem_with_two_budgets() -> None:
    """The setting of PBP on Country: the geometric mean of the ratio of squared errors is above 1."""
    setting = Setting("country", "uniform_two", (100_000,))
    found = [squared_errors(setting, seed) for seed in range(runs(6, 100))]
    for rival in ("auem_projected", "joint"):
        assert not mean_is_at_most(np.log([mse[rival] / mse["joint_shrunk"] for mse in found]), 0.0)


def test_an_unknown_paper_gets_the_list_of_known_ones() -> None:
    with pytest.raises(UsageError, match="unknown paper 'magic'; choose one of febsf, mpldp, "):
        reproduce("magic")


def test_budgets_are_those_of_the_paper() -> None:
    assert [micro / 10**6 for micro in BUDGETS] == pytest.approx(np.arange(0.1, 1.05, 0.1))
    assert Setting("job", "power_law", ()).mix[0] > Setting("job", "power_law", ()).mix[9]
