"""Subset selection: a report names d of the values, the true one more often than chance."""
