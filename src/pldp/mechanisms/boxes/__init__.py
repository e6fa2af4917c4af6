"""Some of the boxes, picked at random, and what is ticked there: one budget for a whole set."""
