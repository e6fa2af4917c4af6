"""For tests that have not moved to `helpers.claims` yet."""

from helpers.claims import *  # noqa: F403
