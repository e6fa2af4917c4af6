"""What the paper on many attributes claims, with the rules that judge it."""

from functools import partial
from typing import Final

from pldp.papers.claim import Claim, all_of, at_least, at_most, between
from pldp.papers.mpldp import rules
from pldp.papers.mpldp.elements import ELEMENTS
from pldp.papers.mpldp.exhibits import EXHIBITS
from pldp.papers.mpldp.experiment import run
from pldp.papers.paper import Paper

_BUDGETS: Final = {
    "printed": "the budgets that Table 2 prints, which spend half of ε",
    "whole": "the optimal budgets that spend all of ε",
}
_SETTING: Final = (
    "five attributes with 5, 10, 15, 20 and 25 equally frequent values, 10,000 and 1,000 people, ε = 1, 1.5, …, 6; "
    "levels high, mid, low with probability 1/3 each (the paper does not print the shares); at least 200 runs of each, "
    "where the paper seems to have one"
)
_EXACT: Final = "formulas of the paper at all its settings, nothing is sampled"
_SMALL: Final = (
    "10,000 and 1,000 people, ε = 1 and 6, budgets of Table 2, at least 20 collections of each of the five attributes"
)


_OPTIMAL: Final = "This section uses the optimal privacy budget allocation scheme … The allocation results are shown in"
_SIXTY: Final = "OC method is superior to BRR method [24], with the overall error decreasing by about 60%"
_RISE: Final = (
    "Compared with the minimum mean square error, the mean square error of frequency estimation obtained by "
    "perturbation method will rise slightly"
)
_HIGHER: Final = "the OP algorithm results in a slightly higher overall mean square error than the OC method"
_BETTER: Final = "but it is still better than BRR method shown in the figure on the whole"
_LS: Final = (
    "The results obtained by the above least square method are consistent with the results obtained in the Theorem 2"
)
_NEVER_UP: Final = "If constant perturbation δ₁ satisfies (26) then we have max d_j⁽¹⁾ ≤ max d_j⁽⁰⁾"
_DECREASING: Final = "d⁽ⁿ⁾ is a monotonically decreasing sequence"
_MINIMISES: Final = "OP, based on perturbation theory, which minimizes maximum error"
_SLIGHTLY: Final = "at least as large, and at most half the way to BRR on the figure's logarithmic scale"
_TRUTH: Final = "true squared errors, OP given the true histogram as in Algorithm 3"
_WEIGHTS: Final = "“through the weight parameters”: (8) with OP's weights as they are fitted"
_SCALED: Final = "“through the weight parameters”: (8) with OP's weights scaled to sum 1"

_THEORY: Final = (
    Claim(
        "Theorem 1, Section III-A",
        "If the privacy budget ε meets ε = 2 log(max{p/(1−p), (1−p)/p}) then the binary randomized response mechanism "
        "satisfies the ε-local differential privacy guarantee",
        "one attribute; ε of the channel is computed exactly from its integers",
        "the exact ε is not above the stated one by more than the rounding to millionths",
        lambda result: at_most(max(each["true"] - each["stated"] for each in result["theory"]["theorem_1"]), 0.0, 1e-6),
    ),
    Claim(
        "Lemma 1, Section IV-A",
        "Ĥ_i is the unbiased estimation result of real statistical data H_i",
        _SETTING,
        "the mean error of OC's counts is within 2 % of their root mean squared error",
        rules.on_average("bias of oc", between, -0.02, 0.02),
    ),
    Claim(
        "Theorem 2, Section IV-A, (11)",
        "equation (9) can get minimum value, and have MSE(Ĥ_i) = k_i n² / Σ D_τ",
        _SETTING,
        "OC's squared error over (11), mean of all cells, is between .97 and 1.03 ((11) leaves out that the people of "
        "a level are a sample of all)",
        rules.on_average("oc / (11)", between, 0.97, 1.03),
    ),
    Claim(
        "Section IV-A, (4)",
        "the optimal weight obtained by the least square method is consistent with the weight obtained by minimizing "
        "the mean square error",
        _EXACT,
        "the weights that minimise the expected residual sum of squares with Σ ω = 1 are those of Theorem 2: no other "
        "weights have a smaller (8)",
        lambda _: at_least(rules.least_by_search(), 0.0, 1 - 1e-9, "least (8) found by search over (11): 1 or above"),
        reading="the expected residual, weights that sum to 1",
    ),
    Claim(
        "Section IV-B, (24)",
        _LS,
        _SETTING,
        "the weights of (24) sum to 1 within 5 %, as those of Theorem 2 do",
        rules.on_average("sum of weights", between, 0.95, 1.05),
        reading="the regression of (24) on one collection",
    ),
    Claim(
        "Lemma 2, Section IV-B",
        "the premise is K₂(A)ε < 1, then have ‖x − y‖/‖x‖ ≤ (20)",
        f"{_SMALL}; random changes and such as are aligned with the weakest direction",
        "no change of the solution is above the bound",
        lambda result: at_most(
            result["theory"]["lemma_2"], 0.0, 1.0, f"largest change over the bound: {result['theory']['lemma_2']:.2f}"
        ),
    ),
    Claim(
        "Theorem 3, Section IV-B",
        _NEVER_UP,
        _SMALL,
        "the maximum error never grows in the first step",
        partial(rules.grows, form="theorem"),
        reading="(26) as printed: the bound for j divides by the leverage of j with itself",
    ),
    Claim(
        "Theorem 3, Section IV-B",
        _NEVER_UP,
        _SMALL,
        "the maximum error never grows in 20 iterations",
        partial(rules.grows, form="mended"),
        reading="(35) as its proof has it: the bound for j divides by that of j with k, the place of the maximum",
    ),
    Claim(
        "Section IV-B, (42)",
        _DECREASING,
        _SMALL,
        "the maximum error against the true histogram never grows in 20 iterations",
        partial(rules.grows, form="algorithm"),
        reading="Algorithm 3 as printed, errors against the true histogram",
    ),
    Claim(
        "Section IV-B, (42)",
        _DECREASING,
        _SMALL,
        "the maximum residual of the regression never grows in 20 iterations",
        partial(rules.grows, form="residual"),
        reading="Algorithm 3 as printed, the residual r that it computes, against the target that it moves",
    ),
    Claim(
        "Definition 3, Section IV-B",
        "C = lim d⁽ⁿ⁾ is the error limit of frequency estimation of personalized local differential privacy model, "
        "actually C > 0",
        f"{_SMALL}; 1,000 iterations of the mended method for the limit, which exists as the errors do not grow",
        "the least C is above rounding, a millionth of its mean (attributes have more values than levels)",
        rules.limit,
    ),
    Claim(
        "Theorem 4, Section IV-B",
        "If H_ij > C > 0, Then for sufficiently large iterations n, we have Ĥ_ij⁽ⁿ⁾ > 0",
        _SMALL,
        "no count above C has an estimate that is not positive",
        partial(rules.count, name="not_positive", words="estimates of counts above C are not positive"),
    ),
    Claim(
        "Theorem 4, Section IV-B, after the proof",
        "as long as H_ij > C > 0 is met, it can be ensured that the weight parameters obtained are non-negative",
        _SMALL,
        "no attribute whose counts are all above C has a negative weight",
        partial(
            rules.count,
            name="all_above_with_a_negative_weight",
            words="collections with all counts above C have a negative weight",
            of="all_above",
        ),
    ),
    Claim(
        "Theorem 5, Section V-A",
        "the output results of OC and OP optimization methods satisfy ε_τi-Local differential privacy guarantee on the "
        "i-th attribute",
        "reports of the same people, all the same, one person with another value",
        "the released counts depend on the reports only",
        lambda result: at_most(
            result["theory"]["op_change"],
            0.0,
            1e-9,
            "with the same reports and one person's value changed OP's counts move by "
            f"{result['theory']['op_change']:.2f}",
        ),
        reading="OP, whose input is the “Real statistical results of users”",
    ),
    Claim(
        "Theorem 5, Section V-A",
        "the output results of OC and OP optimization methods satisfy ε_τi-Local differential privacy guarantee on the "
        "i-th attribute",
        "ε of the channel is computed exactly from its integers; OC is a function of the reports",
        "the exact ε of every level is not above the stated one by more than the rounding to millionths",
        lambda result: at_most(max(each["true"] - each["stated"] for each in result["theory"]["theorem_1"]), 0.0, 1e-6),
        reading="OC",
    ),
    Claim(
        "Section V-B, (56)",
        "in any case, the method proposed in this section has an error upper bound, which is (56)",
        _SETTING,
        "OC's squared error is at most (56) in every cell",
        rules.everywhere("oc / (56)", at_most, 1.0),
    ),
    Claim(
        "Section V-B",
        "the mean square estimate error is inversely proportional to the privacy budget",
        _SETTING,
        "the error falls",
        partial(rules.falls, methods=("oc",), column="log10_nse"),
        reading="the larger the one, the smaller the other",
    ),
    Claim(
        "Section V-B",
        "the mean square estimate error is inversely proportional to the privacy budget",
        f"{_SETTING}; {_BUDGETS['whole']}",
        "the error goes with ε to a power between −1.1 and −.9",
        partial(rules.slope, low=-1.1, high=-0.9),
        reading="proportional to 1/ε",
    ),
)


_EXPERIMENTS: Final = (
    Claim(
        "Table 2, Section VI-A",
        f"{_OPTIMAL} Table 2",
        "the 22 printed rows; ε = ε₁ + … + ε_l (Section III-C)",
        "every row spends ε within 1 %",
        partial(rules.table_2, half=False),
        reading="the optimal allocation of ε",
    ),
    Claim(
        "Table 2, Section VI-A",
        f"{_OPTIMAL} Table 2",
        "the 22 printed rows",
        "no row costs over .1 % more than the optimum of what it spends",
        partial(rules.table_2, half=True),
        reading="the optimal allocation of what each row spends, half of ε in all but one",
    ),
    Claim(
        "Figure 3, Section VI-A",
        "In general, with the increase of privacy budget, the error gradually decreases",
        f"{_SETTING}; both readings of Table 2",
        "the errors of BRR and OC at ε = 6 are below those at ε = 1",
        partial(rules.falls, methods=("brr_sum", "oc"), column="log10_nse"),
    ),
    Claim(
        "Figure 3, Section VI-A",
        "OC method is superior to BRR method [24]",
        f"{_SETTING}; both readings of Table 2",
        "OC's squared error is below that of adding the levels up in every cell",
        rules.everywhere("oc / brr_sum", at_most, 1.0),
    ),
    *(
        Claim(
            "Figure 3, Section VI-A",
            _SIXTY,
            f"{_SETTING}; {words}",
            "“about 60 %”: the error falls by 55 to 65 %, mean of all cells",
            partial(rules.sixty, budgets=budgets),
            reading=f"levels equally often; {words}",
        )
        for budgets, words in _BUDGETS.items()
    ),
    Claim(
        "Figure 3, Section VI-A",
        _SIXTY,
        _EXACT,
        "some shares of the three levels, which the paper does not print, give 55 % or more",
        rules.sixty_at_best,
        reading="levels as often as suits the method best",
    ),
    Claim(
        "Figure 4, Section VI-B",
        _RISE,
        _SETTING,
        "on average over all cells at least as large, and at most 1.46 times as large: half the way to BRR on the "
        "figure's logarithmic scale",
        rules.on_average("op_truth / least_squares", between, 1.0, 1.46),
        reading="true squared errors, OP against the least squares fit to the true histogram",
    ),
    *(
        Claim("Figure 4, Section VII", _HIGHER, _SETTING, rule, decide, reading=reading)
        for reading, rule, decide in (
            (_TRUTH, f"in every cell {_SLIGHTLY}", rules.everywhere("op_truth / oc", between, 1.0, 1.46)),
            (_WEIGHTS, f"in at least half of all collections {_SLIGHTLY}", rules.half("weights slightly above (11)")),
            (
                _SCALED,
                f"in at least half of all collections {_SLIGHTLY}",
                rules.half("scaled_weights slightly above (11)"),
            ),
        )
    ),
    *(
        Claim("Figure 4, Section VI-B", _BETTER, _SETTING, rule, decide, reading=reading)
        for reading, rule, decide in (
            (_TRUTH, "below BRR in every cell", rules.everywhere("op_truth / brr_sum", at_most, 1.0)),
            (_WEIGHTS, "below BRR in at least half of all collections", rules.half("weights below (56)")),
            (_SCALED, "below BRR in at least half of all collections", rules.half("scaled_weights below (56)")),
        )
    ),
    Claim(
        "Figure 4, Section VI-B",
        "OC and the optimization algorithm OP based on perturbation theory proposed in this paper have obvious "
        "improvement compared with BRR",
        f"{_SETTING}; OP given the true histogram",
        "the squared errors of both are at most .75 of BRR's in every cell",
        lambda result: all_of(
            [
                rules.everywhere("oc / brr_sum", at_most, 0.75)(result),
                rules.everywhere("op_truth / brr_sum", at_most, 0.75)(result),
            ]
        ),
    ),
    Claim(
        "Table 3, Section VI-B",
        "It is evident from the table that the maximum estimation error decreases as ε increases",
        f"{_SETTING}; OP given the true histogram, both readings of Table 2",
        "the maximum errors of least squares and of OP at ε = 6 are below those at ε = 1, for both n",
        partial(rules.falls, methods=("least_squares", "op_truth"), column="log10_max_error"),
    ),
    Claim(
        "Table 3, Section VI-B",
        "and the maximum iteration error continues to decrease",
        f"{_SETTING}; OP given the true histogram, both readings of Table 2, mended method",
        "the mean of the five attributes' maximum errors after the tenth iteration is below that after the first one, "
        "in every cell",
        rules.iterations,
    ),
    Claim(
        "Table 3, Section VI-B",
        "The rate of error reduction is influenced by the selected perturbation δ",
        _SMALL,
        "with half the step, the error after ten iterations differs by 1 % or more for some attribute",
        rules.pace,
    ),
    Claim(
        "Table 3, Section VI-B",
        "The table clearly demonstrates a rapid convergence rate",
        _SMALL,
        "at least half of the way from the least squares fit to the limit is done in ten iterations",
        rules.rapid,
    ),
    *(
        Claim(
            "Table 3, Abstract",
            _MINIMISES,
            f"{_SMALL}; OP given the true histogram, mended method",
            "the maximum error is at most 1 % above the least that any weights have",
            partial(rules.minimises, name=name),
            reading=reading,
        )
        for name, reading in (("twentieth", "after the paper's 20 iterations"), ("limit", "after 1,000 iterations"))
    ),
)

_OURS: Final = (
    Claim(
        "Table 3, Section VI-B",
        "A collector who has an earlier estimate does better to make OC consistent, which needs none, than to use OP",
        f"{_SETTING}; OP's reference is OC of an earlier collection of the same people; consistent by norm-sub",
        "OP's squared and maximum errors are above those of consistent OC in every cell",
        lambda result: all_of(
            [
                rules.everywhere("largest op_reference / oc_consistent", at_least, 1.0)(result),
                rules.everywhere("op_reference / oc_consistent", at_least, 1.0)(result),
            ]
        ),
        ours=True,
    ),
    Claim(
        "Table 3, Section VI-B",
        "With 1,000 people and the budgets of Table 2 OP, which knows the truth, lowers the maximum error by less than "
        "15 % against an estimate of 0 for every count",
        "1,000 people, ε = 1, …, 6, budgets of Table 2",
        "OP's maximum error is at least .85 of that of zeros in every cell",
        rules.near_zeros,
        ours=True,
    ),
    Claim(
        "Section VI",
        "Intervals of all categorical columns of Adult under one total cover",
        "48,842 people, nine columns with 104 values, total ε = 9, a level per column",
        "95 % intervals cover 93.5 to 96.5 %",
        rules.adult,
        ours=True,
    ),
)

PAPER: Final = Paper(
    name="mpldp",
    citation="Feng, Zhang. MPLDP: Multi-Level Personalized Local Differential Privacy Method",
    datasets=("adult",),
    run=run,
    claims=(*_THEORY, *_EXPERIMENTS, *_OURS),
    exhibits=EXHIBITS,
    elements=ELEMENTS,
    notes=lambda result: [f"Adult: {result['adult']}"] if isinstance(result["adult"], str) else [],
)
