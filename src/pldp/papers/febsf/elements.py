"""Everything that the paper on hidden budgets has, and where it is here."""

from typing import Final

from pldp.papers.paper import ILLUSTRATION, Element

_METHODS: Final = "papers/test_febsf.py"
_RUN: Final = "papers/test_febsf_experiment.py"
_SAME: Final = f"{_RUN}::test_methods_over_runs_are_those_for_one_run"
_DRAWN: Final = f"{_RUN}::test_reproduce_prints_every_method_and_claim"
_EMOA: Final = f"{_RUN}::test_emoa_follows_the_printed_equations_and_lowers_its_objective"
_VARIANCE: Final = f"{_RUN}::test_the_delta_method_is_the_variance_and_the_printed_one_is_not"

_CORE: Final = (
    Element(
        "Definition 1",
        "ε-LDP",
        "pldp.mechanisms.Channel",
        "mechanisms/test_epsilon_is_exact.py::test_enumerated_epsilon_is_the_stated_one_and_within_the_promise",
    ),
    Element(
        "Definition 2",
        "personalised LDP: a person chooses the budget",
        "pldp.survey.Survey",
        "survey/test_hidden_levels.py::test_nobody_is_protected_less_than_at_the_level_they_chose",
    ),
    Element(
        "Definition 3, Equations (1) and (2)",
        "pure LDP: one p and q for all values, and the unbiased estimate",
        "pldp.mechanisms.PureChannel",
        f"{_METHODS}::test_rcf_is_unbiased",
    ),
    Element(
        "Section 5.1, steps (1) to (5)",
        "choose a budget, encode, perturb, encode and perturb the budget",
        "pldp.device.Device",
        "device/test_device.py::test_a_hidden_level_is_perturbed_and_its_price_tells_nothing",
    ),
    Element(
        "Example 1",
        "OUE for the data and k-RR for the budget, with their probabilities",
        "pldp.mechanisms.build",
        f"{_RUN}::test_example_1_has_the_printed_probabilities",
    ),
    Element(
        "Equation (3), Theorem 5.1",
        "the estimate with a known distribution of budgets, and that it is unbiased",
        "pldp.papers.febsf.theory.bias_of_theorem_5_1",
        f"{_RUN}::test_ppda_and_apldp_over_runs_are_unbiased",
    ),
    Element(
        "Equation (4)",
        "the distribution of budgets from labels",
        "pldp.papers.febsf.counts.Counted.label_shares",
        _SAME,
    ),
    Element("Equation (5) of Section 5.2", "AUEM", "pldp.papers.febsf.auem", _SAME),
    Element(
        "Theorem 5.2",
        "AUEM is approximately unbiased",
        "pldp.papers.febsf.rules.theorem_5_2",
        f"{_RUN}::test_the_bias_of_auem_is_that_of_a_ratio",
    ),
    Element(
        "Theorem 5.3",
        "A, B and V1 to V4, as printed and with the factors that they lack",
        "pldp.papers.febsf.theory.variance_parts",
        "papers/test_febsf_fails.py::test_theorem_5_3_is_not_the_variance",
    ),
    Element(
        "Theorem A.1", "mean and variance of a ratio to first order", "pldp.papers.febsf.theory.variance", _VARIANCE
    ),
)
_OPTIMISATION: Final = (
    Element(
        "Equation (5) of Section 6.1",
        "the probability of a report",
        "pldp.papers.febsf.theory.total_probability",
        f"{_RUN}::test_equation_5_is_a_probability_for_krr_only",
    ),
    Element("Equations (6) to (11)", "the objective", "pldp.papers.febsf.emoa_steps", _EMOA),
    Element("Equations (12) to (15)", "steps of EMOA", "pldp.papers.febsf.emoa_steps", _EMOA),
    Element(
        "Algorithm 1",
        "EMOA, as printed",
        "pldp.papers.febsf.emoa",
        f"{_METHODS}::test_emoa_as_printed_returns_equal_shares_and_warns",
    ),
    Element(
        "the authors' code",
        "EMOA, as their published code computes it",
        "pldp.papers.febsf.counts.emoa_of_code",
        f"{_RUN}::test_emoa_of_the_code_maximises_its_objective",
    ),
)
_RIVALS: Final = (
    Element(
        "PBP",
        "budgets hidden behind an assumed distribution",
        "pldp.papers.febsf.pbp",
        f"{_METHODS}::test_pbp_is_right_only_with_the_right_levels",
    ),
    Element(
        "PPDA",
        "budgets not sent; extra zero bits instead",
        "pldp.papers.febsf.ppda",
        f"{_METHODS}::test_ppda_estimates_q_from_the_extra_bits",
    ),
    Element(
        "RCF",
        "groups by exact budget, combined by inverse variances; recycling as an option",
        "pldp.papers.febsf.rcf",
        f"{_METHODS}::test_rcf_is_unbiased",
    ),
    Element(
        "APLDP",
        "the better of k-RR and basic RAPPOR for each group",
        "pldp.papers.febsf.apldp_channel",
        f"{_METHODS}::test_apldp_takes_the_better_mechanism_of_each_level",
    ),
)
_EXPERIMENT: Final = (
    Element("MSE and MAE", "means over values, then over runs", "pldp.papers.febsf.experiment.run", _DRAWN),
    Element(
        "Education, Job, Country",
        "public counts that ship with the package",
        "pldp.papers.datasets.load_counts",
        "papers/test_febsf_fails.py::test_table_1_has_twelve_jobs",
    ),
    Element(
        "uniform and power law distribution",
        "how people choose budgets",
        "pldp.papers.febsf.setting.Setting",
        f"{_METHODS}::test_budgets_are_those_of_the_paper",
    ),
    Element("Figure 1", "the framework", reason=ILLUSTRATION),
    Element("Table 1", "the datasets", "pldp.papers.febsf.exhibits.EXHIBITS", _DRAWN),
    *(
        Element(f"Figure {number}", what, "pldp.papers.febsf.exhibits.EXHIBITS", _DRAWN)
        for number, what in (
            ("2", "AUEM by ε_p"),
            ("3", "MSE by the size of the domain"),
            ("4", "MAE by the size of the domain"),
            ("5", "MSE with two budgets"),
            ("6", "MAE with two budgets"),
            ("7", "MSE with ten budgets"),
            ("8", "MAE with ten budgets"),
        )
    ),
)

ELEMENTS: Final = (*_CORE, *_OPTIMISATION, *_RIVALS, *_EXPERIMENT)
