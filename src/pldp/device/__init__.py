"""The only code that sees raw values. Standard library only; import time is a few hundredths of a second."""

from pldp.device.device import Device
from pldp.device.ledger import Ledger, Spend

__all__ = ["Device", "Ledger", "Spend"]
