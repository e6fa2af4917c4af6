"""Everything in the paper on several services, and where it is here."""

from typing import Final

from pldp.papers.paper import Element

ELEMENTS: Final = (
    Element(
        "Definition 2.1",
        "ε-local differential privacy",
        "pldp.mechanisms.Channel.micro_epsilon",
        "mechanisms/test_number_channels.py::test_enumerated_epsilon_is_the_stated_one_and_keeps_the_promise",
    ),
    Element(
        "Section 2.2",
        "Laplace mechanism, variance 8/ε²",
        "pldp.mechanisms.laplace.wide.WideLaplace",
        "papers/test_multiservice.py::test_single_services_have_the_variances_of_the_paper",
    ),
    Element(
        "Section 2.3, Equation (1)",
        "stochastic rounding and its variance",
        "pldp.mechanisms.continuous.StochasticRounding",
        "papers/test_multiservice.py::test_single_services_have_the_variances_of_the_paper",
    ),
    Element(
        "Section 2.4",
        "piecewise mechanism and its variance",
        "pldp.mechanisms.continuous.Piecewise",
        "papers/test_multiservice.py::test_single_services_have_the_variances_of_the_paper",
    ),
    Element(
        "Section 2.5",
        "square wave, with the published constants",
        "pldp.mechanisms.continuous.SquareWave",
        "papers/test_multiservice.py::test_the_printed_variance_of_the_square_wave_is_right_with_the_published_constants",
    ),
    Element(
        "Section 2.5",
        "square wave, with the printed constants",
        "pldp.papers.multiservice.experiment.printed_wave_mass",
        "papers/test_multiservice.py::test_the_printed_square_wave_is_no_density_and_the_published_one_is",
    ),
    Element(
        "Section 3",
        "services that collect and a collector who joins",
        "pldp.tallies.fuse",
        "tallies/test_fusion.py::test_counts_are_those_of_a_dictionary_for_any_keys",
    ),
    Element(
        "Section 3",
        "the mean of all people, and its MSE",
        "pldp.papers.multiservice.means.Personal",
        "papers/test_multiservice.py::test_expected_errors_are_those_of_many_collections",
    ),
    Element(
        "Equation (2)",
        "UA, unbiased averaging",
        "pldp.papers.multiservice.ua",
        "papers/test_multiservice.py::test_ua_and_both_uwa_find_the_mean_of_any_subset_of_services",
    ),
    Element(
        "Theorem 4.1",
        "the unbiasing process",
        "pldp.papers.multiservice.mean_rules.unbiased",
        "papers/test_multiservice.py::test_the_inverse_of_a_mean_that_is_not_linear_is_biased",
    ),
    Element(
        "Section 4.1",
        "unbiased numbers of the square wave",
        "pldp.mechanisms.continuous.SquareWave.unbiased",
        "papers/test_multiservice.py::test_the_printed_variance_of_the_square_wave_is_right_with_the_published_constants",
    ),
    Element(
        "Algorithm 1, Equations (3) to (6)",
        "posterior of a person's value from all their reports",
        "pldp.estimates.posterior_weights",
        "papers/test_multiservice.py::test_ua_and_both_uwa_find_the_mean_of_any_subset_of_services",
    ),
    Element(
        "Equation (7)",
        "probability of a Laplace report: the mass around it",
        "pldp.papers.multiservice.printed_posterior",
        "papers/test_multiservice.py::test_the_printed_posterior_of_unbounded_noise_is_the_mass_around_the_report",
    ),
    Element(
        "Equation (8), Algorithm 2",
        "UWA, user-level weighted averaging",
        "pldp.papers.multiservice.uwa",
        "papers/test_multiservice.py::test_expected_errors_are_those_of_many_collections",
    ),
    Element(
        "Algorithm 2",
        "UWA with the printed posterior of Laplace reports",
        "pldp.papers.multiservice.uwa_printed",
        "papers/test_multiservice.py::test_expected_errors_are_those_of_many_collections",
    ),
    Element(
        "Theorem 4.2",
        "weights of least variance",
        "pldp.papers.multiservice.means.constant_weights",
        "papers/test_multiservice.py::test_weights_by_inverse_variance_have_the_least_variance",
    ),
    Element(
        "Equations (10) to (14)",
        "the likelihood of all reports",
        "pldp.estimates.fused_likelihood",
        "estimates/test_density_and_means.py::test_likelihood_equals_the_dense_one_with_any_subset_of_services",
    ),
    Element(
        "Theorem 5.1",
        "EM converges to the maximum of the likelihood",
        "pldp.estimates.em",
        "estimates/test_density_and_means.py::test_fit_is_certified_and_plain_em_climbs_towards_it",
    ),
    Element(
        "Algorithm 3, Equations (15) and (16)",
        "ULE, user-level likelihood estimation",
        "pldp.papers.multiservice.ule",
        "papers/test_multiservice.py::test_em_of_many_runs_is_that_of_one_tally",
    ),
    Element(
        "Section 6.1.1",
        "the rule that stops EM",
        "pldp.estimates.em",
        "estimates/test_density_and_means.py::test_em_stops_at_the_first_step_that_moves_the_log_likelihood_too_little",
    ),
    Element(
        "authors' program",
        "EM smoothed after each step",
        "pldp.papers.multiservice.ems",
        "papers/test_multiservice.py::test_em_of_many_runs_is_that_of_one_tally",
    ),
    Element(
        "Section 6.1.2",
        "Beta(2, 5), and Beta+Sin by a formula of ours",
        "pldp.papers.multiservice.experiment.shares_of",
        "papers/test_multiservice.py::test_datasets_are_shares",
    ),
    Element(
        "Section 6.1.2",
        "Taxi: a sample of 2015-2019 in place of January 2018",
        "pldp.papers.multiservice.experiment.REAL",
        "papers/test_multiservice.py::test_datasets_are_shares",
    ),
    Element(
        "Section 6.1.2",
        "Retirement: San Francisco totals of 2011-2014",
        "pldp.papers.multiservice.experiment.REAL",
        "papers/test_multiservice.py::test_datasets_are_shares",
    ),
    Element(
        "Section 6.1.3",
        "MSE",
        "pldp.papers.multiservice.means.Personal.error",
        "papers/test_multiservice.py::test_expected_errors_are_those_of_many_collections",
    ),
    Element(
        "Section 6.1.3",
        "Jensen–Shannon divergence, its root",
        "pldp.papers.multiservice.js",
        "papers/test_multiservice.py::test_divergences_are_zero_for_the_truth_and_infinite_for_what_was_excluded",
    ),
    Element(
        "Section 6.1.3",
        "Kullback–Leibler divergence",
        "pldp.papers.multiservice.kl",
        "papers/test_multiservice.py::test_divergences_are_zero_for_the_truth_and_infinite_for_what_was_excluded",
    ),
    Element(
        "Section 6.2",
        "single services: Laplace, SR, PM, SW for means",
        "pldp.papers.multiservice.means.average",
        "papers/test_multiservice.py::test_single_services_have_the_variances_of_the_paper",
    ),
    Element(
        "Section 6.2",
        "single services: SR, PM, SW for distributions",
        "pldp.papers.multiservice.shapes.estimate",
        "papers/test_multiservice.py::test_experiment_names_missing_data_and_judges_every_claim",
    ),
    Element(
        "Section 6.3",
        "Taobao",
        reason="not published: clicks of 1,172,556 people over three days are not at hand",
    ),
    Element(
        "Section 6.3",
        "people split over dimensions",
        "pldp.papers.multiservice.split_dimensions",
        "papers/test_multiservice.py::test_groups_and_dimensions_split_the_users_evenly",
    ),
    Element(
        "Section 6.4",
        "no extra budget",
        "pldp.papers.multiservice.mean_rules.budget",
        "papers/test_multiservice.py::test_experiment_names_missing_data_and_judges_every_claim",
    ),
    Element(
        "Section 6.4",
        "groups G1 to G11",
        "pldp.papers.multiservice.give_to_groups",
        "papers/test_multiservice.py::test_groups_and_dimensions_split_the_users_evenly",
    ),
    Element(
        "Figure 1",
        "an example",
        reason="an illustration without data",
    ),
    Element(
        "Figure 2",
        "the system",
        reason="an illustration without data",
    ),
    Element(
        "Figure 3",
        "variances, with SW",
        "pldp.papers.multiservice.exhibits.variances",
        "mechanisms/test_number_channels.py::test_variances_are_those_of_the_papers",
    ),
    Element(
        "Figures 4 to 8",
        "all parts, a to h",
        "pldp.papers.multiservice.exhibits.EXHIBITS",
        "papers/test_report.py::test_every_exhibit_is_drawn_or_has_a_reason",
    ),
    Element(
        "Table 1",
        "execution time",
        "pldp.papers.multiservice.exhibits.EXHIBITS",
        "papers/test_report.py::test_every_exhibit_is_drawn_or_has_a_reason",
    ),
    Element(
        "claims",
        "every sentence that can be judged",
        "pldp.papers.multiservice.claims.CLAIMS",
        "papers/test_multiservice.py::test_experiment_names_missing_data_and_judges_every_claim",
    ),
)
