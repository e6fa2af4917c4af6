"""APRR, GR-PPFM and MASK: the published numbers that follow, those that do not, and the experiment that judges them."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from helpers.claims import mean_is
from pldp.cli import main
from pldp.errors import EstimateError
from pldp.estimates import supports
from pldp.mechanisms import ItemSet, epsilon_text
from pldp.papers import aprr, load_paper
from pldp.papers.aprr.experiment import SUPPORTS, perturb_baskets, simulate_baskets
from pldp.simulate import perturb_item_sets

SHARES = [count / 11 for count in (4, 2, 2, 2, 1)]
SUPPORT = 0.2708


def test_the_privacy_of_aprr_is_the_published_one() -> None:
    found = aprr.privacy_measures([1, 0.77, 0.71, 0.65, 0.57], SHARES, SUPPORT, 0.84)
    assert found == pytest.approx((0, 0.7179, 0.4017, 0.4342), abs=5e-5)


def test_the_published_average_of_gr_ppfm_does_not_follow_from_its_own_numbers() -> None:
    found = aprr.privacy_measures([1, 0.9, 0.8, 0.7, 0.6], SHARES, SUPPORT, 0.84)
    assert found == pytest.approx((0, 0.7060, 0.3264, 0.4342), abs=5e-5)
    assert abs(found.average - 0.359) > 0.03


def test_with_the_q_of_its_own_channel_aprr_hides_a_one_less_than_gr_ppfm() -> None:
    raised = [0, 0.08, 0.14, 0.23, 0.35]
    own = aprr.privacy_measures([1, 0.77, 0.71, 0.65, 0.57], SHARES, SUPPORT, 0.84, raised)
    assert own.maximum == pytest.approx(0.7004, abs=5e-5)
    assert own.maximum < aprr.privacy(0.6, SUPPORT)


@pytest.mark.parametrize(("kept", "raised"), [(0.7, 0.3), (0.57, 0.35), (1.0, 0.0), (1.0, 0.4), (0.8, 0.0)])
def test_a_rebuilt_one_is_what_bayes_rule_gives(kept: float, raised: float) -> None:
    """Pr(1 is guessed | 1) when the guess is drawn from the posterior of the report."""
    joint = np.array([[SUPPORT * kept, (1 - SUPPORT) * raised], [SUPPORT * (1 - kept), (1 - SUPPORT) * (1 - raised)]])
    posterior = np.divide(joint[:, 0], joint.sum(axis=1), out=np.zeros(2), where=joint.sum(axis=1) > 0)
    expected = kept * posterior[0] + (1 - kept) * posterior[1]
    assert aprr.privacy(kept, SUPPORT, raised) == pytest.approx(1 - expected)


def test_the_published_channel_breaks_the_budgets_and_the_safe_one_uses_them_up() -> None:
    levels = [0, 1, 2, 3, 4]
    theirs, safe = aprr.aprr(levels, 9_000_000), aprr.aprr_safe(levels, 9_000_000)
    open_ = (math.inf, math.inf)
    promised = [open_, (1_200_000, 2_400_000), (900_000, 1_800_000), (600_000, 1_200_000), (300_000, 600_000)]
    assert [safe.item_micro_epsilon(item) for item in levels] == promised
    assert all(theirs.item_micro_epsilon(item).present > promised[item][0] for item in levels[1:])
    assert theirs.micro_epsilon == math.inf
    assert epsilon_text(aprr.aprr([1, 1, 2, 2, 3, 3, 4], 9_000_000).micro_epsilon) == "10.205477"


def test_every_method_rebuilds_supports_without_bias() -> None:
    bits = simulate_baskets(np.random.default_rng(1))
    rows = np.packbits(bits, axis=1, bitorder="little")
    names = [str(place) for place in range(11)]
    truth = (bits[:, 5] & bits[:, 10]).mean()
    for method in ("aprr", "aprr_safe", "gr_ppfm", "mask"):
        found = [
            supports(
                perturb_baskets(method, rows, np.random.default_rng(run)), names, [["5", "10"]], pool="size"
            ).support[0]
            for run in range(200)
        ]
        assert mean_is(found, truth), method
        assert not mean_is(found, truth + 0.05), method


def test_plain_mining_of_unperturbed_baskets_makes_no_identity_error() -> None:
    rows = np.packbits(simulate_baskets(np.random.default_rng(1)), axis=1, bitorder="little")
    names = [str(place) for place in range(11)]
    truth = aprr.frequent_sets([(ItemSet.of([math.inf] * 11), rows)], names, 0.1)
    parts = np.array_split(rows, 3)
    groups = [(channel, part) for channel, part in zip(aprr.gr_ppfm(11, [1.0] * 3), parts, strict=True)]
    assert aprr.identity_error(truth, aprr.frequent_sets(groups, names, 0.1)) == (0, 0)
    noisy = aprr.mask(11, 0.6)
    found = aprr.frequent_sets([(noisy, perturb_item_sets(noisy, rows, np.random.default_rng(1)))], names, 0.1)
    assert max(aprr.identity_error(truth, found)) > 10
    with pytest.raises(EstimateError, match="at least one frequent set"):
        aprr.identity_error([], found)


@pytest.mark.parametrize("with_data", [True, False])
def test_reproduce_prints_rows_and_verdicts(with_data: bool, capsys, monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    if not with_data:
        monkeypatch.setenv("PLDP_DATA", str(tmp_path))
    monkeypatch.setattr("pldp.papers.aprr.experiment.QUICK_RUNS", 4)
    assert main(["reproduce", "aprr", "--quick", "--json", "-"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert {"min_support", "method", "theta_minus", "theta_plus"} <= result["rows"][0].keys()
    assert {(row["min_support"], row["method"]) for row in result["rows"]} == {
        (least, method) for least in SUPPORTS for method in ("aprr", "aprr_safe", "gr_ppfm", "mask")
    }
    judged = {each["claim"]: (each["holds"], each["measured"]) for each in result["verdicts"]}
    assert load_paper("aprr").judge(result) == judged
    verdicts = {verdict["claim"]: verdict["holds"] for verdict in result["verdicts"]}
    assert not verdicts["LDP-APRR satisfies ε-LDP: value i keeps its budget ε_i (Lemma 1)"]
    assert not verdicts["avgPrivacy of GR-PPFM is 35.9 %"]
    assert verdicts["Table 2 follows from Equations (2) and (3)"]
    assert with_data or result["baskets"].startswith("simulated")
