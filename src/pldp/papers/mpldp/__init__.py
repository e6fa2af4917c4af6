"""Many attributes, a level for each.

Feng, Zhang, "MPLDP: Multi-Level Personalized Local Differential Privacy Method".
"""

from pldp.papers.mpldp.methods import brr_sum, oc, op

__all__ = ["brr_sum", "oc", "op"]
