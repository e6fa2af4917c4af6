"""From wishes to ε: named levels, exact sums of micro-ε.

>>> from pldp.budgets import Level, compose
>>> strict, open_ = Level.of("strict", "0.5"), Level.of("open", 2)
>>> compose([strict.micro_epsilon, open_.micro_epsilon])
2500000
"""

from typing import TYPE_CHECKING

from pldp.lazy import lazy_exports

if TYPE_CHECKING:
    from pldp.budgets.allocation import LEVEL_FRACTIONS as LEVEL_FRACTIONS
    from pldp.budgets.allocation import Cost as Cost
    from pldp.budgets.allocation import allocate as allocate
    from pldp.budgets.allocation import cube_root_rule as cube_root_rule
    from pldp.budgets.allocation import fraction_levels as fraction_levels
    from pldp.budgets.allocation import unary_cost as unary_cost
    from pldp.budgets.allocation import variance_cost as variance_cost
    from pldp.budgets.levels import Level as Level
    from pldp.budgets.levels import compose as compose
    from pldp.budgets.sensitivity import level_budget as level_budget
    from pldp.budgets.sensitivity import level_weight as level_weight
    from pldp.budgets.sensitivity import safe_channel as safe_channel
    from pldp.budgets.sensitivity import scores_by_value as scores_by_value
    from pldp.budgets.sensitivity import sensitivity_levels as sensitivity_levels
    from pldp.budgets.sensitivity import split_budget as split_budget
    from pldp.budgets.sensitivity import true_epsilons as true_epsilons
    from pldp.budgets.sensitivity import without_outliers as without_outliers
    from pldp.epsilon import MICRO as MICRO
    from pldp.epsilon import epsilon_text as epsilon_text
    from pldp.epsilon import micro_epsilon as micro_epsilon

__all__, __getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "pldp.budgets.allocation": (
            "LEVEL_FRACTIONS",
            "Cost",
            "allocate",
            "cube_root_rule",
            "fraction_levels",
            "unary_cost",
            "variance_cost",
        ),
        "pldp.budgets.levels": (
            "Level",
            "compose",
        ),
        "pldp.budgets.sensitivity": (
            "level_budget",
            "level_weight",
            "safe_channel",
            "scores_by_value",
            "sensitivity_levels",
            "split_budget",
            "true_epsilons",
            "without_outliers",
        ),
        "pldp.epsilon": (
            "MICRO",
            "epsilon_text",
            "micro_epsilon",
        ),
    },
)
