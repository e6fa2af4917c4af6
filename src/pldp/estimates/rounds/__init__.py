"""Results of several rounds together: what changed, and whether more than chance."""
