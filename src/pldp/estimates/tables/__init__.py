"""Two questions together."""
