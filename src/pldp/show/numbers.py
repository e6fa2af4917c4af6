"""Numbers as people read them: per cent instead of fractions, and as many digits as their error leaves."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

MOST_DIGITS: Final = 9  # decimals that are ever written
UNKNOWN: Final = "–"
TOO_FEW: Final = "too few to say"  # in place of a number whose interval is as wide as all that is possible


@dataclass(frozen=True)
class Writer:
    """Writes numbers of one column alike, multiplied by `factor` and with `unit` behind them, space included.

    >>> write = Writer(1, " %", 100)
    >>> write(0.3134), write.interval(-0.012, 0.31), Writer(-2)(31_234), write(None)
    ('31.3 %', '−1.2 to 31.0 %', '31,200', '–')
    """

    digits: int = 1  # −2 rounds to hundreds
    unit: str = ""
    factor: float = 1.0

    def bare(self, number: float | None, outwards: int = 0) -> str:
        """Write a number without its unit; rounded up if `outwards` is 1, down if it is −1."""
        if number is None or not math.isfinite(number):
            return UNKNOWN
        step = 10.0**-self.digits
        if outwards:  # what lies on a digit but for rounding stays there
            turn = math.ceil if outwards > 0 else math.floor
            number = turn(self.factor * number / step - outwards * 1e-6) * step / self.factor
        return f"{round(self.factor * number, self.digits) + 0.0:,.{max(0, self.digits)}f}".replace("-", "−")

    def __call__(self, number: float | None) -> str:
        """Write a number with its unit."""
        text = self.bare(number)
        return text if text == UNKNOWN else f"{text}{self.unit}"

    @property
    def without_unit(self) -> "Writer":
        """The same writer for places that name the unit themselves."""
        return replace(self, unit="")

    def between(self, low: float, high: float) -> str:
        """Write an interval as part of a sentence, its ends rounded outwards.

        >>> Writer(0, " %", 100).between(0.434, 0.484)
        'between 43 % and 49 %'
        """
        first, last = self.ends(low, high)
        spaced = self.unit if self.unit.removeprefix(" ") == "%" else ""
        return f"between {first}{spaced} and {last}{self.unit}"

    def ends(self, low: float | None, high: float | None) -> tuple[str, str]:
        """Write the ends of an interval, rounded outwards, without the unit."""
        return self.bare(low, -1), self.bare(high, 1)

    def interval(self, low: float | None, high: float | None) -> str:
        """Write an interval, its ends rounded outwards, the unit once."""
        ends = self.ends(low, high)
        return UNKNOWN if UNKNOWN in ends else f"{ends[0]} to {ends[1]}{self.unit}"


def percents(errors: Iterable[float | None], *, more: int = 0) -> Writer:
    """Return a writer of shares with such errors: one digit of the smallest error, or `more`.

    >>> percents([0.013, 0.02])(0.3134), percents([0.013], more=1)(0.3134)
    ('31 %', '31.3 %')
    """
    known = [100 * error for error in errors if error]
    return Writer(min(3, max(0, _digits(min(known)) + more)) if known else 1, " %", 100)


def amounts(error: float | None, unit: str = "", *, more: int = 0, size: float = 1.0) -> Writer:
    """Return a writer of numbers with such an error, or with three digits of a number of such a `size`.

    >>> amounts(1_200, "euros")(31_234), amounts(0.03, more=1)(2.7183), amounts(None, size=0.5)(0.4567)
    ('31,000 euros', '2.718', '0.457')
    """
    digits = _digits(error) + more if error else 2 + _digits(size or 1.0)
    return Writer(min(MOST_DIGITS, digits), f" {unit}" if unit else "")


def _digits(error: float) -> int:
    """Return the decimals that show one digit of an error."""
    return -math.floor(math.log10(abs(error))) if math.isfinite(error) and error else 0


def as_sentence(text: str) -> str:
    """Return a text with a capital first and a full stop at the end.

    >>> as_sentence("levels disagree")
    'Levels disagree.'
    """
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}" if text else ""


def count_of(number: float, noun: str) -> str:
    """Write a number of things.

    >>> count_of(1, "report"), count_of(3200, "more answer")
    ('1 report', '3,200 more answers')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(names: Sequence[str], most: int = 3, *, count: int | None = None) -> str:
    """Return names as part of a sentence, the first few of many; of `count`, where not all of them are given.

    >>> listed(["car"]), listed(["car", "bus"]), listed(["a", "b", "c", "d", "e"])
    ('car', 'car and bus', 'a, b, c and 2 more')
    """
    every = len(names) if count is None else count
    shown = [*names] if every <= most else [*names[:most], f"{every - most:,} more"]
    return " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


def brief(number: float | None) -> str:
    """Write a number that has no error, in three digits.

    >>> brief(0.5), brief(1234.5), brief(3.14159), brief(2)
    ('0.5', '1,230', '3.14', '2')
    """
    if number is None or not math.isfinite(number):
        return UNKNOWN
    text = Writer(min(MOST_DIGITS, 2 + _digits(number)))(number)
    return text.rstrip("0").rstrip(".") if "." in text else text
