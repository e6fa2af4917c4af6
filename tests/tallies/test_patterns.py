"""Patterns counted on bit columns are the patterns of the reports, and their tallies add up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pldp.errors import TallyError
from pldp.mechanisms.sets.arrays import transpose_bits
from pldp.tallies import ItemColumns
from pldp.tallies.patterns import _ones, _ones_by_table


def reports(people: int, items: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    bits = np.random.default_rng(seed).random((people, items)) < 0.4
    return bits, np.packbits(bits, axis=1, bitorder="little")


def unpacked(rows: np.ndarray, count: int) -> np.ndarray:
    return np.unpackbits(rows, axis=1, count=count, bitorder="little")


@given(st.integers(0, 70), st.integers(1, 40), st.integers(0, 99))
def test_columns_are_the_rows_turned_and_turning_again_gives_the_rows(people: int, items: int, seed: int) -> None:
    bits, rows = reports(people, items, seed)
    columns = ItemColumns.of_rows(rows, items)
    assert np.array_equal(unpacked(columns.bits.view(np.uint8), people), bits.T)
    again = transpose_bits(transpose_bits(rows))
    assert np.array_equal(again[:people, : rows.shape[1]], rows)


@given(st.integers(1, 300), st.integers(1, 5), st.integers(0, 99))
def test_pattern_counts_are_those_of_the_reports(people: int, size: int, seed: int) -> None:
    bits, rows = reports(people, 9, seed)
    generator = np.random.default_rng(seed)
    sets = [sorted(generator.choice(9, size, replace=False).tolist()) for _ in range(4)]
    counted = ItemColumns.of_rows(rows, 9).pattern_counts(sets)
    for own, counts in zip(sets, counted, strict=True):
        patterns = bits[:, own] @ (1 << np.arange(size))
        assert np.array_equal(counts, np.bincount(patterns, minlength=1 << size))


def test_tallies_of_parts_add_up_to_the_tally_of_the_whole() -> None:
    _, rows = reports(1000, 20, 1)
    sets = [[0, 5, 19], [1, 2, 3]]

    def tallied(part: np.ndarray) -> np.ndarray:
        return ItemColumns.of_rows(part, 20).pattern_counts(sets)

    whole = tallied(rows)
    assert np.array_equal(tallied(rows[:300]) + tallied(rows[300:]), whole)
    assert whole.sum(axis=1).tolist() == [1000, 1000]


def test_both_ways_to_count_ones_agree() -> None:
    words = np.random.default_rng(1).integers(0, 2**64, (5, 33), dtype=np.uint64)
    expected = [sum(int(word).bit_count() for word in row) for row in words]
    assert _ones(words).tolist() == _ones_by_table(words).tolist() == expected


def test_joint_counts_do_not_need_sorted_sets() -> None:
    bits, rows = reports(500, 12, 3)
    sets = np.array([[3, 7], [0, 1], [3, 8], [0, 7]])
    expected = [int((bits[:, a] & bits[:, b]).sum()) for a, b in sets]
    assert ItemColumns.of_rows(rows, 12).joint_counts(sets).tolist() == expected


@pytest.mark.parametrize(
    ("sets", "line"),
    [
        ([], "nothing to count: sets must name at least one set of items"),
        ([[0], [0, 1]], "one size from 1 to 16 items, not 1, 2"),
        ([[]], "one size from 1 to 16 items, not 0"),
        ([[0, 9]], "item numbers from 0 to 8; some are not"),
        ([[4, 4]], "each item once; some name one twice"),
    ],
)
def test_what_is_no_set_of_items_is_refused(sets: list[list[int]], line: str) -> None:
    columns = ItemColumns.of_rows(reports(10, 9, 1)[1], 9)
    with pytest.raises(TallyError, match=line):
        columns.pattern_counts(sets)


def test_rows_of_another_form_are_refused() -> None:
    rows = reports(10, 9, 1)[1]
    for wrong in (rows[:, :1], rows.astype(np.int64), rows[0]):
        with pytest.raises(TallyError, match="reports × 2 for 9 items"):
            ItemColumns.of_rows(wrong, 9)
    with pytest.raises(TallyError, match="bits beyond that must be 0"):
        ItemColumns.of_rows(rows | np.uint8(128), 9)
