"""Keys with which anybody can sign are refused, wherever they are named; all others are not."""

from __future__ import annotations

import json

import pytest

from helpers.torsion import NOTHING, P, small_order_points, spellings, times
from pldp import Survey
from pldp.errors import SignatureError
from pldp.survey import loads, make_key, sign

WEAK = sorted(set().union(*map(spellings, small_order_points())))


def signed(survey: Survey, key: str, signature: str) -> str:
    table = {"algorithm": "ed25519", "public_key": key, "signature": signature}
    return json.dumps({"survey": survey.document, "signature": table})


def test_there_are_eight_points_of_small_order_with_fourteen_spellings() -> None:
    points = small_order_points()
    assert len(set(points)) == 8
    assert all(times(8, point) == NOTHING for point in points)
    assert {"01" + 31 * "00", "ec" + 30 * "ff" + "7f", 32 * "00"} <= set(WEAK)
    assert len(WEAK) == 14


def test_a_survey_that_anybody_could_sign_is_refused(commute: Survey) -> None:
    """With the neutral point as key, R the same and S = 0, the equation S·B = R + h·A holds for every text."""
    neutral = (1).to_bytes(32, "little").hex()
    forged = signed(commute, neutral, neutral + 32 * "00")
    for key in (None, neutral):
        with pytest.raises(SignatureError, match="public_key: anybody can sign with this key; make one with pldp"):
            loads(forged, trusted_key=key)


@pytest.mark.parametrize("key", WEAK)
def test_no_spelling_of_a_point_of_small_order_is_a_key(commute: Survey, key: str) -> None:
    with pytest.raises(SignatureError, match="^public_key: anybody can sign"):
        loads(signed(commute, key, 64 * "00"))
    private, _ = make_key()
    with pytest.raises(SignatureError, match="^trusted_key: anybody can sign"):
        loads(sign(commute, private), trusted_key=key.upper())


def test_no_second_spelling_of_a_point_is_a_key(commute: Survey) -> None:
    for y in range(P, 2**255):
        for number in (y, y + 2**255):
            with pytest.raises(SignatureError, match="anybody can sign"):
                loads(signed(commute, number.to_bytes(32, "little").hex(), 64 * "00"))


def test_ordinary_keys_are_accepted(commute: Survey) -> None:
    for _ in range(20):
        private, public = make_key()
        assert loads(sign(commute, private), trusted_key=public).signer == public
