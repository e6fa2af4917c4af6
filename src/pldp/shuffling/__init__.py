"""What a report is worth to others: how well it is guessed, and how far a crowd in random order hides it."""

from pldp.shuffling.amplified import Bounds, Group, amplified
from pldp.shuffling.guessing import Guess, GuessRow, guess, guess_sentences, guesses
from pldp.shuffling.plot import plot_shuffled
from pldp.shuffling.survey import DELTA, STEP, Shuffled, ShuffledRow, shuffle, shuffle_sentences

__all__ = [
    "DELTA", "STEP", "Bounds", "Group", "Guess", "GuessRow", "Shuffled", "ShuffledRow", "amplified", "guess",
    "guess_sentences", "guesses", "plot_shuffled", "shuffle", "shuffle_sentences",
]  # fmt: skip
