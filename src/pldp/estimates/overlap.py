"""What people who answer in two rounds do to the error of a difference.

A linear result is F = Σ_i a_i z_i over people i, with E[z_i | x_i] = x_i: x_i is 1 if the person has the value (or the
number itself), z_i − x_i is the noise of the device. Only people of both rounds make F₁ and F₂ depend on each other:

    Var(F₂ − F₁) = V₁ + V₂ − 2 Σ_both a_i b_i (Cov(x₁, x₂) + N),    N = E[Cov(z₁, z₂ | x₁, x₂)]

N ≥ 0, so noise never hurts. *Fresh* noise is independent given the values: N = 0. *Tracked* noise starts from a
permanent draw B of the value, and given B the reports are independent. While the value stays, both have the same mean
g(B), so N = Var(g(B)) ≥ 0; another value has a draw of its own, and N = 0. Where one hash function is kept, that two
values fall into a label's bucket are independent events or one event, as it is linear: N ≥ 0 again.

The values can hurt: Cov(x₁, x₂) < 0 where people move. It is bounded by the margins alone,

    f₁ + f₂ − 1 or 0, whichever is larger, ≤ E[x₁x₂] ≤ f₁ or f₂, whichever is smaller      (shares: Fréchet)
    |Cov(x₁, x₂)| ≤ √((m₁ − low)(high − m₁)(m₂ − low)(high − m₂))                          (means: Bhatia–Davis)

and Σ_both a_i b_i is largest if those with the most weight in one round have the most weight in the other. Where all
people have the same weight it is min(n₁, n₂)/(n₁n₂); pooling by precision gives some people more.

About the *respondents*, the error of F is Σ (a_i − 1/n) x_i + Σ a_i (z_i − x_i): with equal weights only noise is left,
and overlap can only help. The weights |a_i − 1/n| of unequal ones take the place of a_i, and as the signs of the
products are unknown, covariances of both signs count. The change is then that of the mean of those who answered,
no matter who they were.

What is no weighted mean over people, such as a fit, has Cov(F₁, F₂) ≥ −√(V₁V₂), which always holds.
"""

import numpy as np

from pldp.estimates.results.facts import PersonWeights
from pldp.estimates.results.result import Result
from pldp.mechanisms.arrays import FloatArray
from pldp.survey import ONCE, Survey


def distinct_people(survey: Survey) -> str:
    """Return the survey's hash where its rounds hold different people; empty where people may answer in several."""
    return survey.hash if survey.repeat == ONCE else ""


def shared_people(one: Result, other: Result, known: int | None) -> int:
    """Return how many people are in both rounds at most: what is known, or what the rule of the survey allows."""
    most = min(one.reports, other.reports)
    if known is not None:
        return min(known, most)
    return 0 if one.distinct and one.distinct == other.distinct else most


def worst_overlap(later: Result, earlier: Result, people: int) -> FloatArray:
    """Return the most that so many people of both rounds can add to the variance of each difference."""
    if not people:
        return np.zeros(later.estimates.size)
    # Whatever the estimates are, their covariance is at most the product of their errors.
    limit = np.ravel(later.standard_error * earlier.standard_error)
    one, two = later.person_weights(), earlier.person_weights()
    if one is None or two is None:
        return 2 * limit
    low, high = (np.ravel(ends) for ends in later.covariance_of_values(earlier))
    against = -low
    if later.target == "respondents":
        one, two = (each._replace(weights=abs(each.weights - 1 / each.people.sum())) for each in (one, two))
        against = np.maximum(-low, high)
    bound = np.minimum(limit, shared_weight(one, two, people) * against)
    return 2 * np.where(later.has_normal_error, bound, limit)


def shared_weight(first: PersonWeights, second: PersonWeights, people: int) -> FloatArray:
    """Return the largest Σ a_i b_i over so many people of both rounds, for each number.

    It is reached if the heaviest people of one round are the heaviest of the other.

    >>> ten, four = (PersonWeights(np.array([n]), np.array([[1 / n]])) for n in (10, 4))
    >>> shared_weight(ten, four, 4), shared_weight(ten, four, 1)  # 1/10 and 1/40
    (array([0.1]), array([0.025]))
    """
    numbers = max(first.weights.shape[1], second.weights.shape[1])
    both = [np.broadcast_to(each.weights, (len(each.people), numbers)).T for each in (first, second)]
    return np.array([_shared(first.people, a, second.people, b, people) for a, b in zip(*both, strict=True)])


def _shared(
    first: FloatArray, first_weights: FloatArray, second: FloatArray, second_weights: FloatArray, people: int
) -> float:
    steps = [_falling(first, first_weights), _falling(second, second_weights)]
    cuts = np.unique(np.minimum(np.concatenate([ends for ends, _ in steps]), people))
    products = np.prod([weights[np.searchsorted(ends, cuts)] for ends, weights in steps], axis=0)
    return float(np.diff(cuts, prepend=0) @ products)


def _falling(people: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return how many people have at least each weight, and the weights, heaviest first."""
    order = np.argsort(-weights)
    return np.cumsum(people[order]), weights[order]
