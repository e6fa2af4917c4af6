"""Everything in the paper on a budget per item, and where it is here."""

from typing import Final

from pldp.papers.paper import Element

_TESTS: Final = "papers/test_ipldp.py"
_ITEMS: Final = "mechanisms/test_item_budgets.py"
_HOME: Final = "pldp.papers.ipldp"
_EXPERIMENT: Final = f"{_HOME}.experiment"
_RUN: Final = f"{_TESTS}::test_reproduce_gives_all_rows_and_a_verdict_on_every_claim"

ELEMENTS: Final = (
    Element(
        "Definition 1",
        "ε-LDP",
        "pldp.auditing.audit",
        f"{_ITEMS}::test_every_stated_epsilon_is_that_of_the_enumerated_channel",
    ),
    Element(
        "Definition 2",
        "ID-LDP, MinID-LDP",
        "pldp.mechanisms.ItemUnaryEncoding",
        f"{_ITEMS}::test_no_pair_of_idue_costs_more_than_the_smaller_budget",
    ),
    Element(
        "Section 3.3",
        "empirical estimation with norm-sub, maximum likelihood",
        f"{_HOME}.ESTIMATORS",
        _RUN,
    ),
    Element(
        "Section 3.4",
        "l2 and l1 losses",
        f"{_HOME}.l2_loss",
        f"{_TESTS}::test_theorem_3_gives_the_losses_that_simulation_sees",
    ),
    Element(
        "Definition 3",
        "IPLDP",
        "pldp.mechanisms.ItemResponse",
        f"{_ITEMS}::test_no_report_of_iprr_costs_more_than_its_budget",
    ),
    Element(
        "Section 4.2",
        "relation with LDP",
        f"{_HOME}.rules.largest_budget_is_plain",
        f"{_ITEMS}::test_iprr_gives_a_pair_of_values_the_larger_budget_and_idue_the_smaller",
    ),
    Element(
        "Section 4.3",
        "relation with MinID-LDP",
        f"{_HOME}.rules.idue_relaxes_to_twice_the_least",
        f"{_ITEMS}::test_iprr_gives_a_pair_of_values_the_larger_budget_and_idue_the_smaller",
    ),
    Element(
        "Equations (5) to (9)",
        "the optimisation that leads to IPRR",
        "pldp.mechanisms.ItemResponse",
        f"{_TESTS}::test_the_constraints_of_equation_9_leave_one_channel",
    ),
    Element(
        "Definition 4, Theorem 1",
        "IPRR; with equal budgets k-RR",
        "pldp.mechanisms.ItemResponse",
        f"{_ITEMS}::test_equal_budgets_give_k_rr",
    ),
    Element(
        "Definition 5, Theorem 2",
        "IPRR with open items; with equal budgets URR",
        "pldp.mechanisms.ItemResponse",
        f"{_ITEMS}::test_one_budget_and_open_values_give_urr",
    ),
    Element(
        "Equation (12)",
        "the unbiased estimate",
        "pldp.papers.groups.group",
        f"{_TESTS}::test_theorem_3_gives_the_losses_that_simulation_sees",
    ),
    Element(
        "Theorem 3",
        "expected losses, (13) and (14)",
        f"{_HOME}.l1_loss",
        f"{_TESTS}::test_theorem_3_gives_the_losses_that_simulation_sees",
    ),
    Element(
        "Definition 6, Lemma 1",
        "general loss; how it goes with budgets",
        f"{_HOME}.rules.lemma_1",
        f"{_TESTS}::test_lemma_1_is_printed_the_wrong_way_round",
    ),
    Element(
        "Lemma 2, Theorem 4",
        "the worst distribution and the bounds (19) and (20)",
        f"{_HOME}.worst_shares",
        f"{_TESTS}::test_no_shares_lose_more_than_theorem_4_says",
    ),
    Element(
        "Theorem 5",
        "high privacy, (21) and (22)",
        f"{_HOME}.high_privacy_l2",
        f"{_TESTS}::test_theorem_5_is_the_limit_of_small_budgets_but_its_absolute_loss_only_a_bound",
    ),
    Element(
        "Theorem 6",
        "low privacy, (23) and (24)",
        f"{_HOME}.low_privacy_l2",
        f"{_TESTS}::test_theorem_6_is_reached_by_equal_budgets_above_its_limit_and_not_by_unequal_ones",
    ),
    Element(
        "k-RR", "baseline", "pldp.mechanisms.RandomizedResponse", f"{_TESTS}::test_the_formula_covers_urr_and_k_rr"
    ),
    Element("URR", "baseline", "pldp.mechanisms.ItemResponse", f"{_TESTS}::test_the_formula_covers_urr_and_k_rr"),
    Element(
        "IDUE opt0, opt1, opt2",
        "baselines",
        "pldp.mechanisms.ItemUnaryEncoding",
        f"{_ITEMS}::test_idue_optima_are_the_known_ones_to_four_digits",
    ),
    Element(
        "Equation (25)", "MSE and RE", f"{_EXPERIMENT}.run_task", f"{_TESTS}::test_metrics_are_those_of_equation_25"
    ),
    Element(
        "Zipf",
        "dataset",
        f"{_EXPERIMENT}.dataset_counts",
        f"{_TESTS}::test_datasets_are_sorted_and_experiments_are_those_of_table_2",
    ),
    Element(
        "Kosarak",
        "dataset: two public parts of it",
        "pldp.papers.datasets.load_counts",
        f"{_TESTS}::test_counts_that_ship_are_those_of_the_public_parts",
    ),
    Element(
        "Levels of privacy",
        "budgets by falling counts",
        f"{_HOME}.level_budgets",
        f"{_TESTS}::test_levels_share_the_items_evenly",
    ),
    Element("Figure 1", "example of IPRR", f"{_HOME}.FIGURE_1", f"{_ITEMS}::test_figure_1_of_the_paper_to_four_digits"),
    Element("Table 1", "datasets", f"{_HOME}.exhibits.EXHIBITS", f"{_TESTS}::test_table_1_has_the_printed_sizes"),
    Element(
        "Table 2",
        "settings",
        f"{_EXPERIMENT}.experiments",
        f"{_TESTS}::test_datasets_are_sorted_and_experiments_are_those_of_table_2",
    ),
    Element("Figures 2 to 4", "errors", f"{_EXPERIMENT}.run", _RUN),
)
