"""Windows on a grid of numbers: outputs near the value are more likely."""
