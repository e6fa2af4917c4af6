"""Budgets from the sensitivity of items.

Zhang, Zhang, Zhang, Zhang, "Adaptive Personalized Randomized Response Method Based on Local Differential Privacy".
"""

from pldp.papers.aprr.methods import (
    IdentityError,
    Privacy,
    aprr,
    aprr_safe,
    frequent_sets,
    gr_ppfm,
    identity_error,
    mask,
    privacy,
    privacy_measures,
    rebuilt,
)

__all__ = [
    "IdentityError",
    "Privacy",
    "aprr",
    "aprr_safe",
    "frequent_sets",
    "gr_ppfm",
    "identity_error",
    "mask",
    "privacy",
    "privacy_measures",
    "rebuilt",
]
