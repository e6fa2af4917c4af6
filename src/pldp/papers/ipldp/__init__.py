"""A budget per item.

Li, Zhu, Zhang, Xie, "Item-Oriented Personalized Local Differential Privacy for Discrete Distribution Estimation".
"""

from pldp.papers.ipldp.methods import (
    ESTIMATORS,
    empirical,
    high_privacy_l1,
    high_privacy_l2,
    item_channels,
    l1_bound,
    l1_loss,
    l2_bound,
    l2_loss,
    level_budgets,
    low_privacy_l1,
    low_privacy_l2,
    mle,
    ns,
    worst_shares,
)

__all__ = [
    "ESTIMATORS",
    "empirical",
    "high_privacy_l1",
    "high_privacy_l2",
    "item_channels",
    "l1_bound",
    "l1_loss",
    "l2_bound",
    "l2_loss",
    "level_budgets",
    "low_privacy_l1",
    "low_privacy_l2",
    "mle",
    "ns",
    "worst_shares",
]
