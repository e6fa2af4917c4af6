"""Claims of the theory: Table 1, the theorems, what is protected, and the optimisation."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from pldp.mechanisms import RandomizedResponse, SymmetricUnaryEncoding
from pldp.papers.claim import Claim, at_least, between
from pldp.papers.febsf import rules

FULL: Final = (
    "Education, Job and Country with all values and people; budgets .1 to 1.0, basic RAPPOR, k-RR of ε_p for the "
    "budget. The paper gives no number of runs: counts are drawn 10,000 times (4,000 if quick), whole reports 100 "
    "times as in the authors' code (10 if quick)."
)
_COMPUTED: Final = "Computed from the channels and the datasets, budgets .1 to 1.0; nothing is sampled."


def theorems() -> Iterator[Claim]:
    """Yield the claims on Table 1 and of Section 5."""
    yield Claim(
        "Table 1, Section 7.2",
        "Education 16 32,561; Job 9 45,211; Country 42 48,842",
        "UCI Adult (training part; all people for Country, where ? is a value) and UCI Bank Marketing.",
        "Values and people are those of the public datasets. Nine of the twelve jobs would be fewer people.",
        rules.table_1,
    )
    yield Claim(
        "Theorem 5.1, Section 5.2",
        "In PLDP, p̂_i is an unbiased estimate of the original frequency p_i of the data item x_i when the local "
        "perturbation satisfies the Pure LDP protocol.",
        _COMPUTED,
        "The expectation of equation (3) is the share, but for rounding.",
        rules.theorem_5_1,
    )
    for epsilon_p, figures in ((0.3, "Figures 3, 4, 7 and 8"), (0.1, "the start of Figure 2")):
        yield Claim(
            "Theorem 5.2, Section 5.2",
            "p̃_i is an approximately unbiased estimate of the original frequency p_i of the data item x_i.",
            f"Uniform budgets. {FULL}",
            "The bias of the sum of all shares makes up at most 5 % of its mean squared error, in all three datasets. "
            "The limit is ours.",
            partial(rules.theorem_5_2, epsilon_p=epsilon_p),
            reading=f"at ε_p = {epsilon_p:g}, as in {figures}",
        )
    close = partial(between, low=0.8, high=1.25)
    readings = (
        ("as printed", "printed", close, "within 0.8 and 1.25 of the variance seen"),
        ("with the factors 1/N² that V1 and V2 lack", "restored", close, "within 0.8 and 1.25 of the variance seen"),
        ("with these factors, an upper bound, which is what the proof derives", "restored", None, "at least that seen"),
    )
    for reading, formula, judge, rule in readings:
        yield Claim(
            "Theorem 5.3, Section 5.3",
            "Let the approximate variance of the frequency estimation value p̃_i be given by "
            "Var*(p̃_i) = V_1 + V_2 + V_3 + V_4",
            f"Uniform budgets, ε_p = .3 and 1.0. {FULL}",
            f"The mean of the formula over values is {rule} over many runs.",
            partial(rules.theorem_5_3, formula=formula, judge=judge or partial(at_least, limit=1.0)),
            reading=reading,
        )
    yield Claim(
        "Theorem 5.3, Section 5.3",
        "V_1 is independent of the size of the privacy budget ε_p",
        _COMPUTED,
        "V1 is the same at every ε_p.",
        rules.v1,
    )
    yield Claim(
        "Theorem 5.3, Section 5.3",
        "the privacy budget ε_p tends to 0. … In this case, the value of V_2, V_3, V_4 tends to infinity",
        _COMPUTED,
        "Each is a thousand times as large at ε_p = .001 as at .1, or more.",
        rules.others_grow,
    )
    yield Claim(
        "Theorem 5.3, Section 5.3",
        "The user's perturbation for his privacy budget becomes the main source of error.",
        f"Uniform budgets, ε_p = .1, the smallest of the paper. {FULL}",
        "More than half of the mean squared error of AUEM goes away if the distribution of budgets is known.",
        partial(rules.labels_matter, steps=(0.1,), measure="mse", judge=at_least),
    )


def protection() -> Iterator[Claim]:
    """Yield the claims on what is protected, and those of Section 6."""
    yield Claim(
        "Section 5.1, step (5)",
        "This process satisfies ε_p-LDP.",
        _COMPUTED,
        "The exact ε of k-RR over ten budgets is at most ε_p, for ε_p = .1, .2, …, 1.0.",
        rules.label_epsilon,
        reading="the perturbed budget by itself",
    )
    yield Claim(
        "Section 1",
        "PLDP-Frequency Estimation with Budget Security Framework which simultaneously protects users'true privacy "
        "budgets and allows personalized data perturbation, ensuring user privacy",
        _COMPUTED,
        "All that is sent, perturbed data and perturbed budget, is ε_p-LDP for the budget of a person whose value is "
        "known: exact ε of the pair at most ε_p, at ε_p = 1.0, the weakest protection that the paper tries.",
        rules.pair_epsilon,
        reading="the pair that is sent",
    )
    yield Claim(
        "Section 1",
        "This approach not only increases additional communication overhead but may also indirectly leak privacy "
        "budgets.",
        _COMPUTED,
        "The output of PPDA with 16 extra bits tells something about the budget (exact ε above 0).",
        rules.ppda_leak,
    )
    for name, mechanism in (
        ("k-RR", RandomizedResponse),
        ("basic RAPPOR, which the paper uses", SymmetricUnaryEncoding),
    ):
        yield Claim(
            "Equation (5), Section 6.1",
            "from the Perturb data step, we have Pr(Z_u|x_i, ε_i) = I_support(Z_u)(x_i) p_ε_i + "
            "(1 − I_support(Z_u)(x_i)) q_ε_i",
            _COMPUTED,
            "The probabilities of all outputs sum to 1.",
            partial(rules.equation_5, mechanism=mechanism.of),
            reading=name,
        )
    yield Claim(
        "Algorithm 1, Section 6.2",
        "such that the objective function increases gradually",
        f"ε_p = .3, uniform budgets. {FULL} Five runs; the "
        "objective is log ℒ of equation (6) with equation (5), from the start to the end.",
        "The last step of EMOA as printed has a larger objective than its start.",
        rules.objective,
    )
