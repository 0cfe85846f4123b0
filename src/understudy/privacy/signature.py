"""Ed25519 signatures: who vouches for a certificate."""
# The library takes a while to load, and most certificates are not signed:
# ruff: noqa: PLC0415

import contextlib
from collections.abc import Mapping
from typing import Any

from understudy.errors import BadInput

_ALGORITHM = "ed25519"


def sign(hashed: str, private_key: bytes) -> dict[str, str]:
    """The signature of a certificate's hash, with a private key in PEM."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    key = None
    with contextlib.suppress(ValueError, TypeError):
        key = load_pem_private_key(private_key, password=None)
    if not isinstance(key, Ed25519PrivateKey):
        msg = (
            "The key is not an Ed25519 private key in PEM without a password. Make one with: "
            "openssl genpkey -algorithm ed25519 -out key.pem"
        )
        raise BadInput(msg)
    return {
        "algorithm": _ALGORITHM,
        "public_key": key.public_key().public_bytes_raw().hex(),
        "value": key.sign(_message(hashed)).hex(),
    }


def check_private_key(private_key: bytes) -> None:
    """Refuse what `sign` cannot sign with."""
    sign("", private_key)


def signed_by(signature: object, hashed: str) -> bool:
    """Whether a signature fits a certificate's hash and the public key that it names."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    # Anything odd in a signature is a signature that does not fit.
    with contextlib.suppress(InvalidSignature, ValueError, TypeError, KeyError):
        parts: Mapping[str, Any] = dict(signature)  # type: ignore[call-overload]
        value, public_key = bytes.fromhex(parts["value"]), bytes.fromhex(parts["public_key"])
        Ed25519PublicKey.from_public_bytes(public_key).verify(value, _message(hashed))
        one_spelling = {
            "algorithm": _ALGORITHM,
            "public_key": public_key.hex(),
            "value": value.hex(),
        }
        return parts == one_spelling
    return False


def signer(public_key: bytes) -> str:
    """How a signature names this public key (PEM)."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    key = None
    with contextlib.suppress(ValueError, TypeError):
        key = load_pem_public_key(public_key)
    if not isinstance(key, Ed25519PublicKey):
        msg = (
            "The key is not an Ed25519 public key in PEM. Take it from the private one with: "
            "openssl pkey -in key.pem -pubout -out key.pub.pem"
        )
        raise BadInput(msg)
    return key.public_bytes_raw().hex()


def _message(hashed: str) -> bytes:
    return b"understudy certificate " + hashed.encode()
