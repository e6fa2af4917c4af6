"""What must hold for the errors to be right, in the words that every estimate carries."""

from typing import Final

SAMPLE: Final = "the people who reported are a random sample of the population"
RESPONDENTS: Final = "the shares are those of the people who reported, nobody else"
SAME_SHARES: Final = "people of every level have the same shares (tested; see homogeneity)"
SAME_SUPPORTS: Final = "people of every level have the same supports (tested per item; see homogeneity)"
SAME_MEAN: Final = "people of every level and service have the same mean (tested; see homogeneity)"
ANY_SUBSET: Final = "nothing about who chose which level or service: all people count alike"
BY_SIZE: Final = "none about the choice of levels: groups are weighted by their number of reports"
UNTESTED_CHOICE: Final = "the choice of a level does not depend on the value; with hidden levels this is not tested"
UNTESTED_EPSILON: Final = "nobody's ε depends on their value (not tested)"
HONEST_DEVICES: Final = (
    "devices used the channels of the survey; forged reports are bounded by manipulation, not detected"
)
NORMAL: Final = "supports are nearly normal: rare sets in few reports have rougher errors"
DIFFERENT_PEOPLE: Final = "rounds hold different people"
NOISE_OF_ROUNDS: Final = "a person's noise in one round does not oppose that in another: it is drawn anew, or kept"
INTERIOR: Final = "standard errors are for shares away from 0 (observed information)"


def about_people(target: str) -> str:
    """Return what is assumed about the people, for shares of the population or of the respondents."""
    return SAMPLE if target == "population" else RESPONDENTS
