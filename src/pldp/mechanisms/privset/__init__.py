"""PrivSet: a report names a few items, more often some of the person's own: one budget for a whole set."""
