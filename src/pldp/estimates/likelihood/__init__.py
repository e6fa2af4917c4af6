"""The likelihood of all reports: rows of cells, their mixture over levels, the solver, and curves of numbers."""
