"""Local hashing: one small integer per report, whatever the number of values."""
