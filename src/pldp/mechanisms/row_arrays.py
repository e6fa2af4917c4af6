"""Array forms of channels whose outputs are packed bits or places."""

from functools import cached_property

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.mechanisms.arrays import Cells, FloatArray, LabelArrays, Outputs
from pldp.mechanisms.output import Bits
from pldp.mechanisms.rows import BitRows, rows_of


class RowArrays(LabelArrays):
    """Channels whose outputs are packed; a row supports the values whose bits are 1."""

    @cached_property
    def rows(self) -> BitRows:
        """What reads the rows."""
        form = self.channel.form
        if not isinstance(form, Bits):
            raise EstimateError(f"outputs of {self.channel.mechanism} are not packed")
        return rows_of(form)

    def supported(self, outputs: Outputs) -> npt.NDArray[np.float32]:
        """Return 1 where a bit is 1."""
        return self.rows.expanded(outputs)

    def support_sum(self, numbers: FloatArray, cells: Cells) -> FloatArray:
        """Add up the numbers whose bit is 1."""
        return self.rows.sums(numbers, np.asarray(cells))

    def support_total(self, weights: FloatArray, cells: Cells) -> FloatArray:
        """Add up the weights of the rows whose bit is 1."""
        return self.rows.totals(weights, np.asarray(cells))

    def pair_support(self, weights: FloatArray, cells: Cells) -> FloatArray:
        """Add up the weights of the rows in which both bits are 1."""
        return self.rows.pairs(weights, np.asarray(cells))
