"""Every screen that people see: how to bring a page there. Tests look at them, the gallery in docs shows them."""

from helpers.screens.listed import EVERYWHERE, PAGE_STATES, SCREENS, Screen

__all__ = ["EVERYWHERE", "PAGE_STATES", "SCREENS", "Screen"]
