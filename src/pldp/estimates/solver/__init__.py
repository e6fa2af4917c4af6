"""The likelihood solver that all kinds share."""
