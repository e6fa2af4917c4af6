"""What one report shows, as marks that are 0 or 1 and add up: all that tables of several questions need.

A report that names a label marks it; a report with bits marks every 1; a number marks the group of its output. Marks of
several questions are multiplied report by report and added up over reports, so that a table of counts is all a tally
keeps, however many people reported. Behind the marks of every form stands one more that is always 1, the *whole*: with
it the same table holds the counts of fewer questions.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

NUMBER_MARKS: Final = 128
"""Groups of neighbouring outputs that the marks of a number tell apart, at most: finer ones say hardly more."""


class Marked:
    """A channel over arrays whose reports have marks."""

    @property
    def mark_count(self) -> int:
        """Number of marks, without the whole."""
        raise NotImplementedError

    def mark_codes(self, outputs: npt.NDArray[Any]) -> npt.NDArray[np.intp] | None:  # noqa: ARG002 - others need it
        """Return the only mark of every output; `None` where an output can have none or several."""
        return None

    def marked(self, outputs: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Return 1 where an output has a mark, outputs × marks."""
        raise NotImplementedError


class SupportMarks(Marked):
    """Reports of labels mark those that they support."""

    channel: Any

    @property
    def mark_count(self) -> int:
        """A mark per value."""
        return int(self.channel.size)

    def supported(self, outputs: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Return 1 where an output supports a value, outputs × values."""
        raise NotImplementedError

    def marked(self, outputs: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Mark the supported values."""
        return self.supported(outputs)


class OutputMarks(Marked):
    """Reports of numbers mark the group of their output."""

    channel: Any

    @property
    def mark_count(self) -> int:
        """Groups of outputs."""
        return int(output_groups(self.channel.form.count)[-1]) + 1

    def mark_codes(self, outputs: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
        """Return the group of every output."""
        return np.asarray(output_groups(self.channel.form.count)[outputs.astype(np.intp)])


def output_groups(outputs: int) -> npt.NDArray[np.intp]:
    """Return the group of every output of a number: as many neighbours in each, `NUMBER_MARKS` groups at most.

    It depends on the number of outputs alone, so that all levels that share a grid of outputs share the groups.

    >>> output_groups(300)[[0, 2, 3, 299]].tolist()
    [0, 0, 1, 99]
    """
    return np.arange(outputs) // -(-outputs // NUMBER_MARKS)
