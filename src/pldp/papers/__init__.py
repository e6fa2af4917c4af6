"""Published systems under their own names, as short compositions of the core, with their baselines."""
