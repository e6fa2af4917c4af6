"""Everything in the paper on scores and levels, and where it is here."""

from typing import Final

from pldp.papers.paper import Element

ELEMENTS: Final = (
    Element(
        "Definition 1",
        "ε-local differential privacy",
        "pldp.mechanisms.Channel.micro_epsilon",
        "budgets/test_sensitivity.py::test_the_published_channel_does_not_satisfy_its_epsilon",
    ),
    Element(
        "Theorem 1",
        "sequential composition: the items of a report add up",
        "pldp.mechanisms.ItemSet.micro_epsilon",
        "papers/test_aprr.py::test_a_report_of_mask_has_a_finite_epsilon_and_one_of_aprr_has_none",
    ),
    Element(
        "Theorem 2",
        "parallel composition",
        reason="groups of different people: nobody reports twice, so the largest ε counts, and nothing is computed",
    ),
    Element(
        "Section 3.2.1",
        "randomized response",
        "pldp.papers.aprr.mask",
        "papers/test_aprr.py::test_every_method_rebuilds_supports_without_bias",
    ),
    Element(
        "Section 3.2.2",
        "generalised randomized response",
        "pldp.mechanisms.build",
        "mechanisms/test_epsilon_is_exact.py::test_enumerated_epsilon_is_the_stated_one_and_within_the_promise",
    ),
    Element(
        "Section 3.2.3",
        "personalised randomized response",
        "pldp.mechanisms.build",
        "mechanisms/test_item_budgets.py::test_budgets_of_aprr_are_not_what_reports_cost",
    ),
    Element(
        "Equation (1)",
        "LDP-APRR",
        "pldp.papers.aprr.aprr",
        "papers/test_aprr.py::test_a_report_of_mask_has_a_finite_epsilon_and_one_of_aprr_has_none",
    ),
    Element(
        "Section 4.1.2, Step 1",
        "levels from users' scores, without outliers",
        "pldp.budgets.sensitivity_levels",
        "budgets/test_sensitivity.py::test_scores_become_levels_without_outliers",
    ),
    Element(
        "Equation (2)",
        "weights of levels",
        "pldp.budgets.sensitivity.level_weight",
        "budgets/test_sensitivity.py::test_weights_and_budgets_of_levels_sum_to_the_whole",
    ),
    Element(
        "Equation (3)",
        "budgets of levels",
        "pldp.budgets.level_budget",
        "budgets/test_sensitivity.py::test_weights_and_budgets_of_levels_sum_to_the_whole",
    ),
    Element(
        "Section 6.1",
        "the second split, over 0 and 1",
        "pldp.budgets.split_budget",
        "budgets/test_sensitivity.py::test_table_2_is_a_total_of_nine_split_two_to_one",
    ),
    Element(
        "Table 1",
        "the algorithm",
        "pldp.papers.aprr.aprr",
        "papers/test_aprr.py::test_the_published_channel_breaks_the_budgets_and_the_safe_one_uses_them_up",
    ),
    Element(
        "Lemma 1",
        "LDP-APRR satisfies ε-LDP: it does not",
        "pldp.papers.aprr.claims.CLAIMS",
        "papers/test_aprr.py::test_a_report_of_mask_has_a_finite_epsilon_and_one_of_aprr_has_none",
    ),
    Element(
        "ours",
        "the version that keeps its budgets",
        "pldp.papers.aprr.aprr_safe",
        "papers/test_aprr.py::test_the_published_channel_breaks_the_budgets_and_the_safe_one_uses_them_up",
    ),
    Element(
        "Lemma 2, Equations (4) and (5)",
        "supports of items rebuilt by the inverse matrix; here of sets, too",
        "pldp.estimates.supports",
        "papers/test_aprr.py::test_every_method_rebuilds_supports_without_bias",
    ),
    Element(
        "Section 6.1",
        "Basket",
        "pldp.papers.datasets.PUBLISHED",
        "estimates/test_itemsets.py::test_basket_is_mined_exactly_as_by_a_library",
    ),
    Element(
        "baseline",
        "MASK",
        "pldp.papers.aprr.mask",
        "papers/test_aprr.py::test_every_method_rebuilds_supports_without_bias",
    ),
    Element(
        "baseline",
        "GR-PPFM",
        "pldp.papers.aprr.gr_ppfm",
        "papers/test_aprr.py::test_groups_have_their_shares_of_the_people",
    ),
    Element(
        "Definition 2, Equations (6) and (7)",
        "privacy",
        "pldp.papers.aprr.privacy",
        "papers/test_aprr.py::test_a_rebuilt_one_is_what_bayes_rule_gives",
    ),
    Element(
        "Definitions 3 to 6, Equations (8) to (11)",
        "smallest, largest, average and overall privacy",
        "pldp.papers.aprr.privacy_measures",
        "papers/test_aprr.py::test_the_privacy_of_aprr_is_the_published_one",
    ),
    Element(
        "Definition 7",
        "identity error θ",
        "pldp.papers.aprr.identity_error",
        "papers/test_aprr.py::test_plain_mining_of_unperturbed_baskets_makes_no_identity_error",
    ),
    Element(
        "Figure 1",
        "the mining process",
        reason="an illustration without data",
    ),
    Element(
        "Figure 2",
        "the channel with three values",
        reason="an illustration without data",
    ),
    Element(
        "Table 2",
        "probabilities of the levels",
        "pldp.papers.aprr.experiment.table_2",
        "budgets/test_sensitivity.py::test_table_2_is_a_total_of_nine_split_two_to_one",
    ),
    Element(
        "Table 3",
        "the measures of privacy",
        "pldp.papers.aprr.experiment.table_3",
        "papers/test_aprr.py::test_the_published_numbers_of_gr_ppfm_follow_from_one_choice_of_groups_only",
    ),
    Element(
        "Table 3",
        "personalised attributes and values, LDP, exposed information",
        "pldp.papers.aprr.experiment.qualities",
        "papers/test_aprr.py::test_epsilon_alone_does_not_tell_how_to_rebuild",
    ),
    Element(
        "Figure 3",
        "errors by the least support",
        "pldp.papers.aprr.exhibits.EXHIBITS",
        "papers/test_aprr.py::test_rates_of_single_items_are_those_of_normal_errors",
    ),
    Element(
        "claims",
        "every sentence that can be judged",
        "pldp.papers.aprr.claims.CLAIMS",
        "papers/test_aprr.py::test_reproduce_prints_rows_and_verdicts",
    ),
)
