"""The least worst-case variance of a mean: a linear program, solved when a survey is built."""
