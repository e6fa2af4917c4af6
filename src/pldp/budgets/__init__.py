"""From wishes to ε: named levels, exact sums of micro-ε.

>>> from pldp.budgets import Level, compose
>>> strict, open_ = Level.of("strict", "0.5"), Level.of("open", 2)
>>> compose([strict.micro_epsilon, open_.micro_epsilon])
2500000
"""

from pldp.budgets.allocation import (
    LEVEL_FRACTIONS,
    STEP,
    Cost,
    allocate,
    cube_root_rule,
    exchange,
    fraction_levels,
    tabulate,
    unary_cost,
    variance_cost,
)
from pldp.budgets.levels import Level, compose
from pldp.budgets.scoring import ALLOCATIONS, SCORED_LEVEL, ScoredValue, Scoring, score_values
from pldp.budgets.sensitivity import (
    level_budget,
    level_weight,
    safe_channel,
    scores_by_value,
    sensitivity_levels,
    split_budget,
    true_epsilons,
    without_outliers,
)
from pldp.epsilon import MICRO, epsilon_text, micro_epsilon

__all__ = [
    "ALLOCATIONS", "LEVEL_FRACTIONS", "MICRO", "SCORED_LEVEL", "STEP", "Cost", "Level", "ScoredValue", "Scoring",
    "allocate", "compose", "cube_root_rule", "epsilon_text", "exchange", "fraction_levels", "level_budget",
    "level_weight", "micro_epsilon", "safe_channel", "score_values", "scores_by_value", "sensitivity_levels",
    "split_budget", "tabulate", "true_epsilons", "unary_cost", "variance_cost", "without_outliers",
]  # fmt: skip
