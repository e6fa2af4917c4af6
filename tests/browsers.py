"""For tests that have not moved to `helpers.browsers` yet."""

from helpers.browsers import *  # noqa: F403
