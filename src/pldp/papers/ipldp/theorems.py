"""What the paper on a budget per item proves or says of its promises, with the rules that judge it."""

from functools import partial
from typing import Final

from pldp.papers import ipldp
from pldp.papers.claim import Claim, all_of, at_least, at_most
from pldp.papers.ipldp import rules
from pldp.papers.ipldp.rules import SMALL, UNEVEN

EXACT: Final = "computed from the exact channel or from the paper's formulas; nothing is sampled"

PROMISES: Final = (
    Claim(
        "Section 4.1",
        "for ∀x ∈ D_S, it should satisfy ε_x-LDP",
        EXACT,
        "no report of a sensitive item costs more than its budget, in all settings of Table 2",
        lambda _: rules.one_side(),
        reading="the report: what “x” says about any two items",
    ),
    Claim(
        "Section 4.1",
        "for ∀x ∈ D_S, it should satisfy ε_x-LDP",
        f"{EXACT}; eight items, two of them open, budgets from .3 to 2",
        "two items keep the smaller of their budgets",
        lambda _: rules.both_sides(),
        reading="the item: what any report says about x and another item",
    ),
    Claim(
        "Section 1, contribution 2",
        "We propose IPRR mechanism to provide equivalent protection for inputs and outputs simultaneously",
        f"{EXACT}; eight items, two of them open, budgets from .3 to 2",
        "two items keep the smaller of their budgets, as two reports do",
        lambda _: rules.both_sides(),
    ),
    Claim(
        "Theorem 2, Section 5.2",
        "(D_S, D_N, E)-IPRR satisfies (D_S, E)-IPLDP",
        EXACT,
        "(3) holds for all reports in all settings of Table 2; (4), which asks for Q(x|x') > 0 and = 0 at once, is "
        "read as its text: an open item is only ever reported by people who have it",
        lambda _: all_of([rules.one_side(), rules.open_items_are_not_reported_falsely()]),
    ),
    Claim(
        "Section 4.2",
        "if a mechanism satisfies (D, E)-IPLDP, it also satisfies max{E}-LDP",
        f"{EXACT}; 20 items, budgets .1 to 10, none open",
        "plain ε of IPRR is its largest budget",
        lambda _: rules.largest_budget_is_plain(),
    ),
    Claim(
        "Section 4.3",
        "E-MinID-LDP relaxes LDP in ε = 2 min{E} at most",
        f"{EXACT}; 20 items, budgets .1 to 10",
        "plain ε of the three IDUE models is at most .2",
        lambda _: rules.idue_relaxes_to_twice_the_least(),
    ),
    Claim(
        "Definition 4, Section 5.1",
        "when all the elements in E are identical, IPRR becomes KRR",
        EXACT,
        "all probabilities are the same within 1e-9",
        lambda _: rules.equal_budgets_give("krr"),
    ),
    Claim(
        "Definition 5, Section 5.2",
        "when all the elements in E are identical (denoted as ε), it is equivalent to the (D_S, ε)-URR",
        EXACT,
        "all probabilities are the same within 1e-9",
        lambda _: rules.equal_budgets_give("urr"),
    ),
    Claim(
        "Figure 1, Section 5.2",
        "as the privacy budget decreases, users with sensitive items are more honest",
        "the example of Figure 1: budgets .1, .5, 1 and two open items",
        "the smaller the budget, the larger the probability of an honest answer",
        lambda _: rules.honest_where_sensitive(),
    ),
)

_LEMMA_1: Final = "L(E₁; p, p̂, D) ≤ L(E₂; p, p̂, D), if E₁ ≤ E₂"

LOSSES: Final = (
    *(
        Claim(
            "Theorem 3, Section 6",
            f"the expected l2 and l1 losses of the (D_S, D_N, E)-IPRR are given by {label}",
            "eight items, two of them open, budgets from .3 to 2, 20,000 people, 2,000 runs",
            "the mean loss is within 3 % of the stated one",
            partial(rules.theorem_3, place=place),
        )
        for place, label in enumerate(("(13)", "(14), for large n"))
    ),
    Claim(
        "Lemma 1, Section 6",
        _LEMMA_1,
        f"{EXACT}; eight items, two of them open, budgets from .3 to 2, and twice these",
        "the loss with the smaller budgets is at most that with the larger ones",
        lambda _: rules.lemma_1(reverse=False),
        reading="as printed",
    ),
    Claim(
        "Lemma 1, Section 6",
        _LEMMA_1,
        f"{EXACT}; eight items, two of them open, budgets from .3 to 2, and twice these",
        "the loss with the larger budgets is at most that with the smaller ones",
        lambda _: rules.lemma_1(reverse=True),
        reading="the other way round, as its proof has it and as it is used",
    ),
    Claim(
        "Section 6, after Lemma 1",
        "both two losses of IPRR also lower than that of URR in the same setting",
        f"{EXACT}; worst cases of all settings of Table 2",
        "(19) and (20) of IPRR are at most those of URR",
        lambda _: rules.bounds_below("urr"),
    ),
    Claim(
        "Theorem 4, Section 6",
        "Eq. (13) and (14) can be maximized by p*",
        f"{EXACT}; all settings of Table 2",
        "(19) and (20) are the losses at p* of Lemma 2, and 20 random distributions lose less",
        lambda _: rules.worst_case_is_reached(),
    ),
    Claim(
        "Theorem 5, Section 6, (21)",
        "When ε_max is close to 0 … the worst case of l2 … ≈ (21)",
        f"{EXACT}; ten open items and ten with budgets .0001 to .001 in four levels",
        "(21) over (19) is between .95 and 1.05",
        lambda _: rules.approximates(ipldp.high_privacy_l2(SMALL, 1), ipldp.l2_bound(SMALL, 1), "(21) / (19)"),
    ),
    Claim(
        "Theorem 5, Section 6, (22)",
        "When ε_max is close to 0 … the worst case of l1 … ≈ (22)",
        f"{EXACT}; ten open items and ten with budgets .0001 to .001 in four levels",
        "(22) over (20) is between .95 and 1.05",
        lambda _: rules.approximates(rules.theorem_5_typeset(1), ipldp.l1_bound(SMALL, 1), "(22) / (20)"),
        reading="as typeset, the root over the constants only",
    ),
    Claim(
        "Theorem 5, Section 6, (22)",
        "When ε_max is close to 0 … the worst case of l1 … ≈ (22)",
        f"{EXACT}; ten open items and ten with budgets .0001 to .001 in four levels",
        "(22) over (20) is between .95 and 1.05",
        lambda _: rules.approximates(ipldp.high_privacy_l1(SMALL, 1), ipldp.l1_bound(SMALL, 1), "(22) / (20)"),
        reading="the root over everything, as an approximation",
    ),
    Claim(
        "Theorem 5, Section 6, (22)",
        "E[l1(p, p̂)] ≲ … (22)",
        f"{EXACT}; ten open items and ten with budgets .0001 to .001 in four levels",
        "(22) is at least (20)",
        lambda _: at_least(ipldp.high_privacy_l1(SMALL, 1) / ipldp.l1_bound(SMALL, 1), 0.0, 1.0),
        reading="the root over everything, as a bound",
    ),
    Claim(
        "Section 6, after Theorem 5",
        "the losses of our method is much smaller than that of URR in current setting",
        f"{EXACT}; (21) and (22) for the budgets of experiment #1",
        "at most half of URR's",
        lambda _: all_of([rules.much_below_urr(kind, 1) for kind in (ipldp.high_privacy_l2, ipldp.high_privacy_l1)]),
    ),
    *(
        Claim(
            "Theorem 6, Section 6, (23) and (24)",
            "When ε_min > ln(|D_N| + 1), for all x ∈ D, the worst case of l2 and l1 losses are (23) and (24)",
            f"{EXACT}; budgets .1, 10, 10, none open, so that ε_min = .1 > ln 1",
            rule,
            decide,
            reading=reading,
        )
        for reading, rule, decide in (
            (
                "(23) as printed, without 1/n; 1,000 people",
                "(19) over (23) is between .95 and 1.05",
                lambda _: rules.approximates(
                    ipldp.l2_bound(UNEVEN, 1000), ipldp.low_privacy_l2(UNEVEN, 1), "(19) / (23)"
                ),
            ),
            (
                "(23) with its missing 1/n, as an equation",
                "(19) over (23) is between .95 and 1.05",
                lambda _: rules.approximates(ipldp.l2_bound(UNEVEN, 1), ipldp.low_privacy_l2(UNEVEN, 1), "(19) / (23)"),
            ),
            (
                "(23) with its missing 1/n and (24), as bounds",
                "(19) and (20) are at most (23) and (24)",
                lambda _: all_of(
                    [
                        at_most(ipldp.l2_bound(UNEVEN, 1) / ipldp.low_privacy_l2(UNEVEN, 1), 0.0, 1.0),
                        at_most(ipldp.l1_bound(UNEVEN, 1) / ipldp.low_privacy_l1(UNEVEN, 1), 0.0, 1.0),
                    ]
                ),
            ),
        )
    ),
    Claim(
        "Section 6, after Theorem 6",
        "the losses of our method is much smaller than that of URR in current setting",
        f"{EXACT}; (23) and (24) for the budgets of experiment #2",
        "at most half of URR's",
        lambda _: all_of([rules.much_below_urr(kind, 2) for kind in (ipldp.low_privacy_l2, ipldp.low_privacy_l1)]),
    ),
    Claim(
        "Section 1, contribution 3",
        "our method has tighter upper bounds than that of existing direct encoding mechanisms",
        f"{EXACT}; (19) and (20) in all settings of Table 2",
        "the bounds of IPRR are at most those of URR and of k-RR",
        lambda _: all_of([rules.bounds_below("urr"), rules.bounds_below("krr")]),
    ),
)
