"""Who may ask: API keys, checked through Connexion's security middleware.

A key comes as `Authorization: Bearer` or as `x-api-key`; one right key among them is enough. Without
configured keys nothing is checked.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from functools import partial
from typing import Any

from connexion.lifecycle import ConnexionRequest
from connexion.security import NO_VALUE

from troth.errors import Unauthorized

ADVICE = "Send it as 'Authorization: Bearer <key>' or as 'x-api-key: <key>'."
MISSING_KEY = f"This server needs an API key and the request carried none. {ADVICE}"
WRONG_KEY = f"The API key is not one of this server's. {ADVICE}"
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


class Keyring:
    """The configured keys, as digests: comparing takes the same time whatever is sent."""

    def __init__(self, keys: Iterable[str], *, isolate: bool = False) -> None:
        """`isolate`: several keys are several callers."""
        self._digests = tuple(hashlib.sha256(key.encode()).digest() for key in keys)
        self._isolates = isolate and len(set(self._digests)) > 1

    def __bool__(self) -> bool:
        return bool(self._digests)

    def holds(self, key: str) -> bool:
        """True when `key` is one of the configured keys. All of them are compared, always."""
        digest = hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
        found = False
        for known in self._digests:
            found |= hmac.compare_digest(known, digest)
        return found

    def caller(self, headers: Iterable[tuple[bytes, bytes]]) -> str:
        """A digest of the right key among these headers, where callers are kept apart, else an empty string."""
        if self._isolates:
            for name, value in headers:
                key = _key_in(name, value.decode("latin-1"))
                if key is not None and self.holds(key):
                    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        return ""

    def refusal(self, headers: Iterable[tuple[bytes, bytes]]) -> Unauthorized | None:
        """Why these headers are not let in; None when they are, or when no key is configured."""
        if not self._digests:
            return None
        sent = [key for name, value in headers if (key := _key_in(name, value.decode("latin-1"))) is not None]
        if any(self.holds(key) for key in sent):
            return None
        return Unauthorized(WRONG_KEY if sent else MISSING_KEY)


def _key_in(name: bytes, value: str) -> str | None:
    if name == b"x-api-key":
        return value.strip()
    if name == b"authorization":
        return _bearer(value)
    return None


def _bearer(value: str) -> str | None:
    scheme, _, key = value.partition(" ")
    return key.strip() if scheme.lower() == "bearer" else None


class KeyScheme:
    """One security scheme of the document, as Connexion wants it: an object that makes the check."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring

    def get_fn(self, scheme: Mapping[str, Any], scopes: list[str]) -> Callable[[ConnexionRequest], Any]:
        """The check of one request: an identity, NO_VALUE when this scheme was not used, or Unauthorized."""
        bearer = scheme["type"] == "http"
        header = "authorization" if bearer else scheme["name"].lower()

        def check(request: ConnexionRequest) -> Any:
            value = request.headers.get(header)
            key = value and (_bearer(value) if bearer else value.strip())
            if key is None or value is None:
                return NO_VALUE
            if not self._keyring.holds(key):
                raise Unauthorized(WRONG_KEY)
            return {"sub": "key"}

        return check


def security_map(keyring: Keyring) -> dict[str, Callable[[], KeyScheme]]:
    """The schemes that Connexion knows how to check, both by the same keyring."""
    return {"bearer": partial(KeyScheme, keyring), "apiKey": partial(KeyScheme, keyring)}


def bound_document(document: Mapping[str, Any], keyring: Keyring, *, open_models: bool) -> dict[str, Any]:
    """The document's copy that Connexion binds: security taken off where this server asks for no key."""
    bound = deepcopy(dict(document))
    if not keyring:
        bound.pop("security", None)
    for path, item in bound["paths"].items():
        for method, operation in item.items():
            if method not in METHODS:
                continue
            if not keyring or (open_models and method == "get" and path.removeprefix("/v1").startswith("/models")):
                operation["security"] = []
    return bound
