"""A trust kit: signed survey, certificate, notices, and a page where everybody can verify the numbers."""

from pldp.kit.facts import About
from pldp.kit.invitations import Invitation
from pldp.kit.kit import Kit, make_kit

__all__ = ["About", "Invitation", "Kit", "make_kit"]
