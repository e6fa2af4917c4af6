"""The paper's methods under their own names, its settings, and its experiment as a command."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.claims import Z
from pldp.errors import EstimateError
from pldp.estimates import mean
from pldp.mechanisms import build
from pldp.papers import reproduce
from pldp.papers.multiservice import (
    GROUPS,
    ems,
    experiment,
    give_to_groups,
    js,
    split_dimensions,
    ua,
    ule,
    uwa,
    uwa_printed,
)
from pldp.simulate import perturb_numbers
from pldp.simulate.sampling import perturb
from pldp.tallies import Fused, Service, fuse

FOUR = ("sr", "laplace", "pm", "sw")


def collected(names: tuple[str, ...], people: int, seed: int, *, groups: bool = False) -> tuple[Fused, np.ndarray]:
    generator = np.random.default_rng([seed, 9])
    values = generator.binomial(31, 0.3, people)
    gave = give_to_groups(people, generator) if groups else np.ones((people, 4), bool)
    services = []
    for place, name in enumerate(names):
        made, here = build(name, 32, 1_000_000), gave[:, place]
        services.append(
            Service(name, made, np.flatnonzero(here), perturb_numbers(made, values[here], generator), (0, 32))
        )
    return fuse(services), values


@pytest.mark.parametrize("groups", [False, True])
def test_ua_and_both_uwa_find_the_mean_of_any_subset_of_services(groups: bool) -> None:
    fused, values = collected(FOUR, 20_000, 1, groups=groups)
    reach = Z * mean(fused, method="average", target="respondents").standard_error
    assert abs(ua(fused) - mean(fused, method="average").value) < 1e-9
    assert abs(uwa(fused) - mean(fused, method="posterior").value) < 1e-9
    for found in (ua(fused), uwa(fused), uwa_printed(fused)):
        assert abs(found - values.mean() - 0.5) <= reach
    assert abs(ua(fused) - values.mean() - 3) > reach


def test_without_laplace_the_printed_posterior_is_the_right_one() -> None:
    fused, _ = collected(("sr", "pm", "sw"), 500, 2)
    assert uwa_printed(fused) == pytest.approx(uwa(fused))


def test_biased_outputs_are_not_averaged() -> None:
    fused, _ = collected(("sr", "pm"), 500, 3)
    assert ua(fused, unbias=False) == pytest.approx(ua(fused))
    biased, _ = collected(("sr", "sw"), 500, 3)
    with pytest.raises(EstimateError, match="those of sw are not"):
        ua(biased, unbias=False)
    made = build("krr", 32, 1_000_000)
    krr = fuse([Service("k", made, np.arange(9), perturb(made, np.arange(9), np.random.default_rng(1)))])
    with pytest.raises(EstimateError, match="those of k are not"):
        ua(krr, unbias=False)
    assert np.isfinite(ua(krr))


def test_distributions_are_distributions_and_smoothing_smooths() -> None:
    fused, values = collected(("sr", "pm", "sw"), 3000, 4)
    truth = np.bincount(values, minlength=32) / len(values)
    rough, smooth = ule(fused), ems(fused)
    for fit in (rough, smooth):
        assert fit.shares.sum() == pytest.approx(1)
        assert fit.shares.min() >= 0
    assert rough.log_likelihood > smooth.log_likelihood
    assert js(truth, smooth.shares) < js(truth, rough.shares)
    assert js(truth, truth) == 0
    assert not ule(fused, most_steps=2).converged


def test_groups_and_dimensions_split_the_users_evenly() -> None:
    generator = np.random.default_rng(1)
    assert len(GROUPS) == 11
    gave = give_to_groups(1100, generator)
    assert sorted(map(tuple, np.unique(gave, axis=0).tolist())) == sorted(
        tuple(place in subset for place in range(4)) for subset in GROUPS
    )
    assert np.bincount(split_dimensions(1000, 7, generator)).tolist() == [143] * 6 + [142]


def test_experiment_names_missing_data_and_judges_every_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    small = [
        experiment.Setting("4 mean", "beta", 400, FOUR, (0.5,) * 4, 32),
        experiment.Setting("5 mean", "beta_sin", 400, FOUR, (0.4, 0.3, 0.2, 0.1), 32),
        experiment.Setting("6 mean", "beta", 400, FOUR, (0.5,) * 4, 32, dimensions=2),
        experiment.Setting("8 mean", "beta", 440, FOUR, (0.5,) * 4, 32, groups=True),
        experiment.Setting("4 distribution", "beta", 400, ("pm", "sw"), (2.0, 2.0), 64),
    ]
    monkeypatch.setattr(experiment, "_quick", lambda: small)
    monkeypatch.setattr(experiment, "in_parallel", map)
    told: list[int] = []
    result = reproduce("multiservice", quick=True, seed=1, progress=lambda done, total: told.append(done))
    assert result["missing"] == ["taobao (clicks of Figures 6c and 6d)"]
    assert {"weights", "ua", "uwa", "fitted_mean", "ule", "ems", "default"} <= {row["method"] for row in result["rows"]}
    assert all(("mse" in row) != ("js" in row) for row in result["rows"])
    assert len(result["verdicts"]) == 8
    assert told[-1] == 4 * 4 + 2


def test_real_numbers_are_scaled_and_thinned() -> None:
    generator = np.random.default_rng(1)
    everybody = experiment.numbers("taxi", 10**6, generator)
    assert len(everybody) == 577_935
    assert 0 < everybody.min() < everybody.max() < 1
    assert len(experiment.numbers("retirement", 2, generator)) == 2


def test_settings_are_those_of_the_paper() -> None:
    quick, full = list(experiment._quick()), list(experiment._full())
    assert {setting.figure.split()[0] for setting in full} == {"4", "5", "6", "7", "8"}
    assert len(quick) < len(full)
    assert max(len(setting.services) for setting in full) == 16
