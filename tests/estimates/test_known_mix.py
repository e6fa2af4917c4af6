"""A known or bounded mix of hidden levels: errors without that of the mix, bounds kept, bad input refused."""

import numpy as np
import pytest
from scipy import stats

import pldp
from helpers.claims import mean_is, rate_is_at_most, runs
from helpers.refusals import refused
from helpers.samples import hidden_counts
from pldp.errors import EstimateError, UsageError
from pldp.estimates.likelihood.solver import label_mixture
from pldp.estimates.linear.mix import LevelMix, MixBounds
from pldp.known import parse_mix
from pldp.mechanisms import RandomizedResponse, build
from pldp.papers.groups import HiddenReports, joint_likelihood, moments
from pldp.simulate import Population, simulate_reports

SHARES = np.array([0.5, 0.3, 0.15, 0.05])
LEVELS = np.array([0.5, 0.2, 0.3])
NAMES = ("strict", "middle", "open")
QUESTION = {"name": "q", "values": ["a", "b"]}
LABEL = RandomizedResponse.of(3, 300_000)


def sample(seed: int, bounds: MixBounds, mechanism: str = "krr", people: int = 8_000) -> HiddenReports:
    channels = [build(mechanism, 4, micro) for micro in (500_000, 1_000_000, 2_000_000)]
    counts = hidden_counts(channels, LABEL, SHARES, LEVELS, people, np.random.default_rng(seed))
    return HiddenReports.of(channels, LABEL, counts, bounds)


@pytest.mark.parametrize(
    "given",
    [{"strict": (0.3, 0.5)}, {"strict": (0.3, 0.5), "middle": (0.2, 0.4)}, {"strict": 0.4, "open": (0.1, 0.2)}],
)
def test_corners_span_the_mixes_within_the_bounds(given: dict) -> None:
    bounds = MixBounds.read(given, NAMES)
    corners = bounds.corners
    assert np.allclose(corners.sum(axis=0), 1)
    assert (corners >= bounds.low[:, None] - 1e-9).all()
    assert (corners <= bounds.high[:, None] + 1e-9).all()
    generator = np.random.default_rng(1)
    for far in generator.normal(size=(runs(8, 20), 3)):
        # A linear function has its maximum over the mixes at a corner: no mix within the bounds is left out.
        tried = np.array([bounds.nearest(far * 1e3 + move) for move in generator.normal(size=(runs(8, 20), 3))])
        assert (tried @ far).max() <= (corners.T @ far).max() + 1e-6
    inverse = np.linalg.pinv(bounds.spread, hermitian=True, rcond=1e-9)
    apart = corners - bounds.middle[:, None]
    assert np.einsum("ic,ij,jc->c", apart, inverse, apart).max() <= 1 + 1e-9


def test_pseudo_reports_have_their_maximum_in_the_middle_and_the_stated_information() -> None:
    bounds = MixBounds.read({"strict": (0.3, 0.5), "middle": (0.2, 0.4)}, NAMES)
    chances, counts = bounds.pseudo_reports
    corners = np.vstack([bounds.corners, np.ones(bounds.corners.shape[1])])
    weights = np.linalg.lstsq(corners, [*bounds.middle, 1], rcond=None)[0]
    scaled = chances / (chances @ weights)[:, None]
    information = (scaled * counts[:, None]).T @ scaled
    inverse = np.linalg.pinv(bounds.spread, hermitian=True, rcond=1e-9)
    apart = bounds.corners - bounds.middle[:, None]
    along = (counts @ scaled) - counts.sum()
    assert np.allclose(along, 0, atol=1e-9)
    assert np.allclose(information - counts.sum(), apart.T @ inverse @ apart, atol=1e-6)


def test_scores_and_hessian_with_bounds_are_the_derivatives() -> None:
    model = label_mixture(sample(1, MixBounds.read({"strict": (0.3, 0.6)}, NAMES), "oue", 500).label_reports)
    corners = model.bounds[0].corners.shape[1]
    point = np.concatenate([SHARES, np.full(corners, 1 / corners)])
    steps = np.eye(len(point)) * 1e-6
    slope = [(model.objective(point + step) - model.objective(point - step)) / 2e-6 for step in steps]
    assert np.allclose(model.scores(point), -np.array(slope), atol=1e-6)


@pytest.mark.parametrize("mechanism", ["krr", "oue"])
def test_with_a_known_mix_errors_are_smaller_and_still_cover(mechanism: str) -> None:
    bounds, free = MixBounds.read(dict(zip(NAMES, LEVELS.tolist(), strict=True)), NAMES), MixBounds.free(3)
    found: dict[str, list[np.ndarray]] = {"moments": [], "joint": []}
    for seed in range(runs(40, 1000)):
        hidden = sample(seed, bounds, mechanism)
        for name, each in (("moments", moments(hidden)), ("joint", joint_likelihood(hidden, starts=1))):
            assert np.allclose(each.levels, LEVELS)
            found[name].append((each.shares - SHARES) / np.sqrt(np.diag(each.covariance)))
    for each in found.values():
        assert mean_is((np.array(each) ** 2).mean(axis=1), 1.0)
    known, unknown = (joint_likelihood(sample(1, each, mechanism), starts=1) for each in (bounds, free))
    saved = {"krr": 0.9, "oue": 1.05}  # the number of ones tells the mix about as well as labels do
    assert known.covariance[0, 0] < saved[mechanism] * unknown.covariance[0, 0]


def test_a_wrong_mix_gives_wrong_shares_and_the_labels_say_so() -> None:
    """The twin of the test above: what is given counts, and is checked against the labels."""
    hidden = sample(1, MixBounds.read({"strict": 0.05, "middle": 0.05, "open": 0.9}, NAMES), people=40_000)
    found = joint_likelihood(hidden, starts=1)
    assert np.abs((found.shares - SHARES) / np.sqrt(np.diag(found.covariance))).max() > 6
    assert hidden.mix.contradicts(1e-6)


@pytest.mark.parametrize("place", [0.0, 1.0])
def test_bounds_hold_in_the_fit_and_errors_cover_at_their_ends(place: float) -> None:
    """Standardised errors of a share whose true mix lies at an end of the bounds have mean squares of at most 1."""
    width = 0.15
    low = LEVELS[0] - place * width
    bounds = MixBounds.read({"strict": (low, low + width), "middle": 0.2}, NAMES)
    squares = []
    for seed in range(runs(40, 1000)):
        hidden = sample(seed, bounds)
        fitted, by_moments = joint_likelihood(hidden, starts=1), moments(hidden)
        for each in (fitted, by_moments):
            assert low - 1e-9 <= each.levels[0] <= low + width + 1e-9
        squares.append(np.mean((fitted.shares - SHARES) ** 2 / np.diag(fitted.covariance)))
    assert np.mean(squares) <= 1 + 4.9 * np.std(squares) / np.sqrt(len(squares))  # one in a million


def test_weighing_the_middle_of_bounds_covers_at_their_ends_and_cutting_at_them_does_not() -> None:
    """In numbers: one free share, an end of the bounds at 1, labels with errors σ, intervals of both kinds as wide."""
    least = {"weighed": 1.0, "cut": 1.0}
    for spread in np.geomspace(0.1, 10, 60):
        gain, reach = 1 / (1 + spread**2), 1.96 * spread / np.sqrt(1 + spread**2)
        middle, error = gain - 1, gain * spread
        weighed = stats.norm.cdf((reach - middle) / error) - stats.norm.cdf((-reach - middle) / error)
        cut = 1 - stats.norm.cdf(-reach / spread) if reach < 2 else 1.0  # only errors below count: it is cut at 1
        least = {"weighed": min(least["weighed"], weighed), "cut": min(least["cut"], cut)}
    assert least["weighed"] >= 0.9499
    assert least["cut"] < 0.93


def test_labels_contradict_a_true_mix_no_more_often_than_stated() -> None:
    generator = np.random.default_rng(5)
    matrix = np.array([[float(LABEL.probability(s, t)) for t in range(3)] for s in range(3)])
    bounds = MixBounds.read(dict(zip(NAMES, LEVELS.tolist(), strict=True)), NAMES)
    drawn = generator.multinomial(2000, matrix @ LEVELS, runs(200, 400))
    assert rate_is_at_most([LevelMix(matrix, each, bounds).contradicts(0.05) for each in drawn], 0.05)


def collect(hide: bool = True) -> pldp.Tally:
    survey = pldp.Survey.read(
        {
            "pldp": 1,
            "title": "W",
            "levels": {"strict": 0.5, "open": 2},
            "questions": [{"name": "q", "values": ["a", "b"]}],
        }
        | ({"hide_level": {"epsilon": 1}} if hide else {})
    )
    people = Population.of_counts(survey, {"q": [1000, 500]}, seed=1)
    return pldp.tally(survey, simulate_reports(survey, people, seed=1))


def test_the_result_says_what_was_given() -> None:
    found = pldp.estimate(collect(), "q", mix={"strict": (0.4, 0.6)}, differ=0)
    assert (
        "the shares of the levels lie within the given bounds: strict 0.4 to 0.6, open 0.4 to 0.6" in found.assumptions
    )
    found = pldp.estimate(collect(), mix={"strict": 0.5})["q"]
    assert "the shares of the levels are the given ones: strict 0.5, open 0.5" in found.alike.assumptions
    assert any("not used" in each for each in found.assumptions)
    assert not any("not used" in each for each in found.alike.assumptions)


def test_what_assumes_nothing_does_without_the_mix() -> None:
    """A mix that labels contradict moves what takes people to be alike, and nothing else."""
    reports = collect()
    plain, given = (pldp.estimate(reports, "q", mix=mix) for mix in (None, {"strict": 0.05}))
    assert (given.shares == plain.shares).all()
    assert (given.standard_error == plain.standard_error).all()
    assert abs(given.alike.shares - plain.alike.shares).max() > 0.01
    assert "mix-contradicted" in {note.code for note in given.alike.notes}
    assert "mix-contradicted" not in {note.code for note in given.notes}


@pytest.mark.parametrize(
    ("mix", "words"),
    [
        ({"strikt": 0.5}, "unknown level"),
        ({"strict": 0.7, "open": 0.7}, "sum to at least 1.4"),
        ({"strict": 0.1, "open": 0.1}, "sum to at most 0.2"),
        ({"strict": (0.6, 0.4)}, "the smaller first"),
        ({"strict": -0.1}, "from 0 to 1"),
        ({"strict": float("nan")}, "from 0 to 1"),
        ({"strict": True}, "from 0 to 1"),
        ({}, "share of some levels"),
    ],
)
def test_what_is_no_mix_is_refused_in_one_line(mix: dict, words: str) -> None:
    with refused(EstimateError, words):
        pldp.estimate(collect(), "q", mix=mix)


def test_shown_levels_take_no_mix() -> None:
    for asked in ("q", None):
        with pytest.raises(EstimateError, match="show the level"):
            pldp.estimate(collect(hide=False), asked, mix={"strict": 0.5})
    with pytest.raises(UsageError, match="must look like"):
        parse_mix("strict")
