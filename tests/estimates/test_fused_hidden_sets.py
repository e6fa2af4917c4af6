"""Sets of services that hide levels, joined: errors that hold though the levels of a person go together."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from helpers.claims import Z, runs
from pldp.errors import EstimateError
from pldp.estimates import estimate_fused
from pldp.estimates.fused.combine import common_drawing
from pldp.estimates.fused.services import Subsets
from pldp.estimates.fused.sets import FusedItems
from pldp.mechanisms import build
from pldp.mechanisms.arrays import arrays
from pldp.tallies import Asked, Fused, Service, fuse

ITEMS = ("bread", "milk", "beer", "nuts")
SUPPORTS = np.array([0.6, 0.4, 0.2, 0.1])
TRUTH = np.array([0.6, 0.6 * 0.4 + 0.4 * 0.4 / 2, 0.2, 0.1])
"""Who has no bread has milk half as often."""

NAMES = ("strict", "open")


def services(
    seed: int,
    hide: tuple[bool, ...] = (True, True),
    *,
    count: int = 2000,
    faithful: bool = True,
    depends: float = 0.0,
    gives: float = 0.8,
) -> tuple[Fused, Any]:
    """Return services about the same people and what these have; faithful people have one level everywhere.

    Who has bread is more often open by `depends`.
    """
    generator = np.random.default_rng(seed)
    have = generator.random((count, len(ITEMS))) < SUPPORTS
    have[:, 1] &= have[:, 0] | (generator.random(count) < 0.5)
    rows = np.packbits(have, axis=1, bitorder="little")
    chance = 0.4 + depends * (have[:, 0] - 0.6)
    everywhere = generator.random(count) < chance
    channels = tuple(build("item_set", len(ITEMS), [budget] * len(ITEMS)) for budget in (500_000, 4_000_000))
    label, made = build("krr", 2, 2_000_000), []
    for place, hides in enumerate(hide):
        here = np.flatnonzero(generator.random(count) < gives)
        level = (everywhere if faithful else generator.random(count) < chance)[here].astype(np.uint8)
        outputs = np.where(level[:, None] == 0, *(arrays(each).draw_many(rows[here], generator) for each in channels))
        shown = arrays(label).draw_many(level, generator) if hides else level
        about: dict[str, Any] = {"level": np.array(NAMES)[shown], "levels": NAMES, "channels": channels}
        about |= {"asked": Asked("basket", values=ITEMS), "label_channel": label if hides else None}
        made.append(Service(f"s{place}", channels[0], here, outputs, **about))
    return fuse(made), have


@cache
def scores(hide: tuple[bool, ...]) -> dict[str, Any]:
    """Return standardised errors of many collections, by kind of result."""
    found: dict[str, list[Any]] = {"together": [], "free": []}
    for seed in range(runs(12, 20)):
        fused, _ = services(100 + seed, hide)
        result = estimate_fused(fused, largest=1)
        for each, own in (("together", result.alike), ("free", result)):
            assert own is not None
            found[each].append((own.estimates - TRUTH) / own.standard_error)
    return {kind: np.array(each) for kind, each in found.items()}


@pytest.mark.parametrize("hide", [(True, True), (True, False)])
@pytest.mark.parametrize("kind", ["together", "free"])
def test_errors_are_those_of_many_collections(hide: tuple[bool, ...], kind: str) -> None:
    """The root mean square of standardised errors is within Z·√(1/2n) of 1, were items independent."""
    found = scores(hide)[kind]
    assert abs(np.sqrt(np.mean(np.square(found))) - 1) < Z / np.sqrt(2 * found.size)


def test_errors_that_are_too_small_would_be_found() -> None:
    """By a third; in the short form by two thirds."""
    found = scores((True, True))["together"] * runs(6, 3) / 2
    assert abs(np.sqrt(np.mean(np.square(found))) - 1) > Z / np.sqrt(2 * found.size)


def services_of(fused: Fused) -> FusedItems:
    """Return the reports of every service."""
    return FusedItems.by_service(fused, FusedItems.of(fused, Subsets.of(fused), None, "population"))


def test_levels_that_go_together_make_errors_larger_and_are_seen_in_the_labels() -> None:
    """What services add up to for a person is larger by 1 + Cov(κ, κ′), κ the relative clearness of each level."""
    fused, _ = services(1, count=20_000, gives=1.0)
    together = services_of(fused)
    (both,) = together.shared
    share = np.array([0.6, 0.4])
    assert both.people == 20_000
    assert abs(both.levels - np.diag(share)).max() < 0.05
    singles = np.arange(len(ITEMS))[:, None]
    apart = replace(together, shared=(both._replace(levels=np.outer(share, share)),))
    errors = [each.expected_error(singles) for each in (together, apart)]
    assert (errors[0] > 1.03 * errors[1])[:2].all()  # frequent items; of rare ones little is common


def test_with_levels_that_have_nothing_to_do_with_each_other_services_share_only_who_was_drawn() -> None:
    """The covariance of two services is then n/(n n′)·f(1 − f), whatever the levels are."""
    together = services_of(services(2, count=5000, gives=1.0)[0])
    (both,) = together.shared
    mixes = [part.mix.shares for part in together.parts.values()]
    singles = np.arange(len(ITEMS))[:, None]
    contrasts = {place: part.expect_part(singles)[1] for place, part in together.parts.items()}
    found = common_drawing([both._replace(levels=np.outer(*mixes))], np.array([[5000.0, 5000.0]]), contrasts, contrasts)
    assert found[0, 0, 1] == pytest.approx(np.full(len(ITEMS), 1 / 5000), rel=0.02)


@pytest.mark.parametrize("target", ["population", "respondents"])
def test_sets_and_rules_of_hidden_levels_are_near_the_truth(target: Any) -> None:
    fused, have = services(3, (True, True, False), count=6000, gives=1.0)
    result = estimate_fused(fused, min_support=0.1, largest=2, target=target)
    found: Any = result.alike
    truth = have.mean(axis=0) if target == "respondents" else TRUTH
    for each in (result, found):
        assert (abs(each.estimates - truth) <= Z * each.standard_error).all()
    place = found.sets.sets.index(("bread", "milk"))
    both = (have[:, 0] & have[:, 1]).mean() if target == "respondents" else 0.24
    assert abs(found.sets.support[place] - both) <= Z * found.sets.standard_error[place]
    (rule,) = (each for each in found.rules(0.1) if (each.antecedent, each.consequent) == (("bread",), ("milk",)))
    assert abs(rule.confidence - 0.4) <= Z * rule.confidence_error
    assert sum(group.weight for group in result.groups) == pytest.approx(1)
    assert [level.level for level in result.levels] == ["s0, strict", "s0, open", "s1, strict", "s1, open"]
    assert abs(result.levels[1].share - 0.4) < 0.1
    assert result.notes[-1].code == "joined"


def test_levels_that_depend_on_an_item_are_noticed_and_the_free_supports_hold() -> None:
    result = estimate_fused(services(4, count=6000, depends=0.5)[0], largest=1)
    alike = result.alike
    assert alike is not None
    assert abs(alike.estimates - TRUTH)[0] > Z * alike.standard_error[0]
    assert (abs(result.estimates - TRUTH) <= Z * result.standard_error).all()
    warned = [note.text for note in alike.notes if (note.code, note.severity) == ("levels-disagree", "warning")]
    assert len(warned) == 2
    assert all(f"levels of 's{place}'" in text for place, text in enumerate(warned))
    assert not [note for note in result.notes if (note.code, note.severity) == ("levels-disagree", "warning")]


def test_one_service_alone_has_the_supports_that_its_own_estimate_has() -> None:
    """Without common people the formulas are those of one service."""
    fused, _ = services(5)
    alone = services_of(fused.only("s0"))
    (part,) = alone.parts.values()
    singles = np.arange(len(ITEMS))[:, None]
    assert alone.expected_error(singles) == pytest.approx(part.expected_error(singles), rel=1e-12)
    assert alone.item_weights == pytest.approx(1)
    assert alone.facts.manipulation == pytest.approx(part.facts.manipulation, rel=1e-12)


def test_alike_is_what_it_would_be_if_asked_for_and_a_method_of_shares_is_refused() -> None:
    fused, _ = services(6)
    beside = estimate_fused(fused, largest=1).alike
    asked = estimate_fused(fused, largest=1, differ=0)
    assert beside is not None
    assert (asked.estimates == beside.estimates).all()
    assert (asked.standard_error == beside.standard_error).all()
    assert asked.alike is None
    with pytest.raises(EstimateError, match="joined services take no bound on differences of levels but 0"):
        estimate_fused(fused, differ=0.05)
    with pytest.raises(EstimateError, match="method must be"):
        estimate_fused(fused, method="likelihood", differ=0)


def test_a_result_holds_no_reports() -> None:
    found: Any = estimate_fused(services(7, (True, False))[0], largest=2, min_support=0.1)
    for each in (found, found.alike):
        assert not any(isinstance(own, FusedItems) for own in vars(each.sets).values())
        assert len(pickle.dumps(each.sets)) < 20_000
