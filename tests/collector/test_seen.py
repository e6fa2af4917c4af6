"""The index of ids: what is stored is found under its numbers, what is not is not."""

from __future__ import annotations

import secrets

import pytest

from pldp.collector.packing import ID_BYTES
from pldp.collector.seen import BLOCK, Seen

RECENT = 1_000


def cut(ids: bytes) -> list[bytes]:
    return [ids[start : start + ID_BYTES] for start in range(0, len(ids), ID_BYTES)]


@pytest.fixture(scope="module")
def ids() -> bytes:
    """Random ids: a block, and a few more."""
    return secrets.token_bytes(ID_BYTES * (BLOCK + RECENT))


@pytest.fixture(scope="module", params=["learned", "read back"])
def seen(request: pytest.FixtureRequest, ids: bytes) -> Seen:
    secret = secrets.token_bytes(32)
    made = Seen(secret)
    made.add_stored(ids[: ID_BYTES * BLOCK], 0)
    if request.param == "read back":
        ((first, keys),) = made.blocks(0)
        made = Seen(secret)
        assert made.add_block(keys, first) == BLOCK
    made.add(cut(ids[ID_BYTES * BLOCK :]), BLOCK)
    return made


def test_every_stored_id_is_found_under_its_number(seen: Seen, ids: bytes) -> None:
    numbers = [0, 1, BLOCK - 1, *range(5, BLOCK, 1_001), *range(BLOCK, BLOCK + RECENT)]
    sought = [ids[ID_BYTES * number : ID_BYTES * (number + 1)] for number in numbers]
    assert seen.find(sought) == {each: [number] for each, number in zip(sought, numbers, strict=True)}


def test_other_ids_are_not_found(seen: Seen) -> None:
    """A hash of 44 bits meets one of a million others by chance once in 17 million."""
    assert len(seen.find(cut(secrets.token_bytes(ID_BYTES * 2_000)))) <= 2
