"""Projective geometry: one integer per report names a block of values, with nearly the accuracy of subset selection."""
