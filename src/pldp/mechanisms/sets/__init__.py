"""Sets of items: one bit per item."""
