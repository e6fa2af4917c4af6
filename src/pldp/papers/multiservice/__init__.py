"""Several services that know the same people.

Du, Fu, Ye, Hu, "Privacy for Free: Leveraging Local Differential Privacy Perturbed Data from Multiple Services".
"""

from pldp.papers.multiservice.methods import (
    GROUPS,
    ems,
    give_to_groups,
    js,
    split_dimensions,
    ua,
    ule,
    uwa,
    uwa_printed,
)

__all__ = ["GROUPS", "ems", "give_to_groups", "js", "split_dimensions", "ua", "ule", "uwa", "uwa_printed"]
