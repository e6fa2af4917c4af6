"""Everything in the paper on many attributes, and where it is here."""

from typing import Final

from pldp.papers.paper import ILLUSTRATION, NOTATION, Element

_TESTS: Final = "papers/test_mpldp.py"
_EXPERIMENT: Final = "pldp.papers.mpldp.experiment"
_STEPS: Final = "pldp.papers.mpldp.perturbation"

ELEMENTS: Final = (
    Element(
        "Definition 1",
        "ε-LDP",
        "pldp.auditing.audit",
        "mechanisms/test_epsilon_is_exact.py::test_enumerated_epsilon_is_the_stated_one_and_within_the_promise",
    ),
    Element(
        "Definition 2, Theorem 1",
        "BRR, and its ε",
        "pldp.mechanisms.SymmetricUnaryEncoding",
        "mechanisms/test_epsilon_is_exact.py::test_full_enumeration_of_small_domains",
    ),
    Element(
        "Algorithm 1",
        "perturbation of all attributes",
        "pldp.simulate.simulate_reports",
        f"{_TESTS}::test_intervals_of_all_categorical_columns_of_adult_cover",
    ),
    Element(
        "Algorithm 2",
        "unbiased counts per level",
        f"{_EXPERIMENT}.collect",
        f"{_TESTS}::test_counts_that_are_drawn_give_the_estimates_of_groups",
    ),
    Element(
        "OBRR",
        "optimal allocation of a total over attributes",
        "pldp.budgets.allocate",
        "budgets/test_allocation.py::test_unary_cost_is_obrrs_objective",
    ),
    Element(
        "OMRR",
        "the same for multivariate responses, named only",
        reason="the paper does not use it; `variance_cost` allocates for any mechanism",
    ),
    Element(
        "Levels",
        "high ε/3, mid ε/2, low ε",
        "pldp.budgets.fraction_levels",
        "budgets/test_allocation.py::test_levels_are_fractions_rounded_down",
    ),
    Element(
        "BRR, levels added",
        "the baseline",
        "pldp.papers.mpldp.brr_sum",
        f"{_TESTS}::test_adding_up_and_combining_are_unbiased_and_combining_is_better",
    ),
    Element(
        "Lemma 1",
        "OC is unbiased",
        "pldp.papers.mpldp.oc",
        f"{_TESTS}::test_adding_up_and_combining_are_unbiased_and_combining_is_better",
    ),
    Element(
        "Equation (8)",
        "squared error of any weights",
        "pldp.papers.mpldp.combined_mse",
        f"{_TESTS}::test_theorem_2_gives_the_error_that_simulation_sees",
    ),
    Element(
        "Theorem 2",
        "OC's weights and error",
        "pldp.papers.mpldp.oc_weights",
        f"{_TESTS}::test_theorem_2_gives_the_error_that_simulation_sees",
    ),
    Element(
        "Lemma 2",
        "Wedin's bound for least squares",
        f"{_STEPS}.wedin_bound",
        f"{_TESTS}::test_lemma_2_bounds_and_a_tenth_of_it_does_not",
    ),
    Element(
        "Equation (24)",
        "least squares fit to the true histogram",
        f"{_STEPS}.hat_matrix",
        f"{_TESTS}::test_least_squares_shrinks_as_its_closed_form_says",
    ),
    Element(
        "Theorem 3",
        "a step of OP never raises the maximum error",
        f"{_STEPS}.move_targets",
        f"{_TESTS}::test_theorem_3_as_printed_has_a_counterexample_and_as_proved_none",
    ),
    Element(
        "Definition 3",
        "the limit C of the maximum errors",
        f"{_STEPS}.least_largest_error",
        f"{_TESTS}::test_op_stops_above_the_least_maximum_error",
    ),
    Element(
        "Theorem 4",
        "counts above C have positive estimates",
        "pldp.papers.mpldp.theory.check_theory",
        f"{_TESTS}::test_positive_estimates_can_have_a_negative_weight",
    ),
    Element(
        "Algorithm 3",
        "OP, as printed and mended",
        "pldp.papers.mpldp.op",
        f"{_TESTS}::test_algorithm_3_as_printed_diverges",
    ),
    Element(
        "Theorem 5",
        "ε of OC and OP",
        "pldp.papers.mpldp.op",
        f"{_TESTS}::test_op_depends_on_more_than_the_reports",
    ),
    Element(
        "Equation (56)",
        "bound of OC's error",
        "pldp.papers.mpldp.summed_mse",
        f"{_TESTS}::test_sixty_per_cent_is_fifty_three_with_equal_levels",
    ),
    Element("Section V-B", "orders of time and space", reason="statements about growth, without a number to check"),
    Element(
        "Algorithm 4",
        "the data: equally frequent values",
        f"{_EXPERIMENT}.collect",
        f"{_TESTS}::test_counts_that_are_drawn_give_the_estimates_of_groups",
    ),
    Element(
        "NSE, MSE, RSS",
        "squared error per person",
        f"{_EXPERIMENT}.Cell",
        f"{_TESTS}::test_theorem_2_gives_the_error_that_simulation_sees",
    ),
    Element(
        "Equation (25)",
        "maximum error",
        f"{_EXPERIMENT}.Cell",
        f"{_TESTS}::test_table_3_averages_the_maxima_of_the_attributes",
    ),
    Element("Table 1", "notation", reason=NOTATION),
    Element(
        "Table 2",
        "budgets",
        f"{_EXPERIMENT}.allocations",
        f"{_TESTS}::test_table_2_spends_half_and_one_row_fits_nothing",
    ),
    Element(
        "Table 3",
        "maximum errors by iteration",
        f"{_EXPERIMENT}.Cell",
        f"{_TESTS}::test_table_3_averages_the_maxima_of_the_attributes",
    ),
    Element("Figures 1 and 2", "framework and example", reason=ILLUSTRATION),
    Element(
        "Figures 3 and 4",
        "errors by ε",
        f"{_EXPERIMENT}.run",
        f"{_TESTS}::test_reproduce_gives_rows_and_a_verdict_on_every_claim",
    ),
)
