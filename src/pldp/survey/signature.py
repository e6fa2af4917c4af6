"""Ed25519 signatures of surveys, so that nobody on the way can weaken a level.

The signed bytes are `Survey.canonical`. Needs the package `cryptography` (extra `signing`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pldp.errors import SignatureError

if TYPE_CHECKING:
    from pldp.survey.model import Survey

_ALGORITHM = "ed25519"
_PRIME: Final = 2**255 - 19
_EIGHTH: Final = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7
_SMALL_ORDER: Final = frozenset({0, 1, _PRIME - 1, _EIGHTH, _PRIME - _EIGHTH})
"""The y of all points P with 8·P = 0. With such a key anybody can make signatures that fit any text."""


@dataclass(frozen=True)
class Signature:
    """Public key and signature, both hexadecimal."""

    public_key: str
    signature: str

    @classmethod
    def from_mapping(cls, entry: object) -> Signature:
        """Read the `signature` table of a signed survey."""
        if not isinstance(entry, Mapping) or set(entry) != {"algorithm", "public_key", "signature"}:
            raise SignatureError("signature: must have exactly the keys algorithm, public_key, signature")
        if entry["algorithm"] != _ALGORITHM:
            raise SignatureError(f"signature.algorithm: must be {_ALGORITHM}, not {str(entry['algorithm'])[:40]!r}")
        return cls(_public_key(entry["public_key"], "public_key"), _hex(entry["signature"], "signature", 64))


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415 - optional
    except ImportError:
        raise SignatureError("signed surveys need the package cryptography: pip install 'pldp[signing]'") from None
    return ed25519


def make_key() -> tuple[str, str]:
    """Return a new private and public key, hexadecimal. Keep the private one offline."""
    private = _ed25519().Ed25519PrivateKey.generate()
    return private.private_bytes_raw().hex(), private.public_key().public_bytes_raw().hex()


def sign(survey: Survey, private_key: str) -> str:
    r"""Return the survey as signed JSON text, which `Survey.load` reads.

    >>> from pldp.survey import loads, make_key, sign
    >>> private, public = make_key()
    >>> survey = loads('pldp=1\ntitle="t"\nlevels={a=1}\nquestions=[{name="q",values=["x","y"]}]')
    >>> loads(sign(survey, private), trusted_key=public).hash == survey.hash
    True
    """
    key = _ed25519().Ed25519PrivateKey.from_private_bytes(bytes.fromhex(_hex(private_key, "private_key", 32)))
    table = {
        "algorithm": _ALGORITHM,
        "public_key": key.public_key().public_bytes_raw().hex(),
        "signature": key.sign(survey.canonical).hex(),
    }
    return json.dumps({"survey": survey.document, "signature": table}, indent=1, ensure_ascii=False) + "\n"


def verify(survey: Survey, signature: Signature | None, *, trusted_key: str | None = None) -> str:
    """Return the key of a good signature; refuse others and, where a key is trusted, those made with another key."""
    if signature is None:
        raise SignatureError("signature: is missing, but a trusted key was given")
    if trusted_key is not None and _public_key(trusted_key, "trusted_key") != signature.public_key:
        raise SignatureError("signature.public_key: is not the trusted key")
    key = _ed25519().Ed25519PublicKey.from_public_bytes(bytes.fromhex(signature.public_key))
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - optional

    try:
        key.verify(bytes.fromhex(signature.signature), survey.canonical)
    except InvalidSignature:
        raise SignatureError("signature: does not fit the survey; the file was changed after signing") from None
    return signature.public_key


def _hex(entry: object, key: str, length: int) -> str:
    if isinstance(entry, str) and re.fullmatch(f"[0-9a-fA-F]{{{2 * length}}}", entry):
        return entry.lower()
    raise SignatureError(f"{key}: must be {2 * length} hexadecimal digits")


def _public_key(entry: object, key: str) -> str:
    """Return a public key in hexadecimal; refuse points of small order, and second spellings of a point (RFC 8032)."""
    digits = _hex(entry, key, 32)
    y = int.from_bytes(bytes.fromhex(digits), "little") % 2**255  # the highest bit is the sign of x
    if y >= _PRIME or y in _SMALL_ORDER:
        raise SignatureError(f"{key}: anybody can sign with this key; make one with pldp survey key")
    return digits
