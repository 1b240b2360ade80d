"""A token issuer on this machine: OpenID discovery, a key set that changes, all kinds of tokens."""

from __future__ import annotations

import base64
import contextlib
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

AUDIENCE = "https://search.example"
MCP_AUDIENCE = f"{AUDIENCE}/mcp"
PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


@cache
def private_key(algorithm: str, which: int = 0) -> PrivateKey:
    """A key pair, the same for the same arguments: RSA keys take long to make."""
    if algorithm in ("RS256", "PS256"):
        return rsa.generate_private_key(public_exponent=65537, key_size=2048)
    if algorithm == "ES256":
        return ec.generate_private_key(ec.SECP256R1())
    return ed25519.Ed25519PrivateKey.generate()


def public_jwk(key: PrivateKey, **members: str) -> dict[str, Any]:
    """The public half as a member of a key set."""
    if isinstance(key, rsa.RSAPrivateKey):
        found = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    elif isinstance(key, ec.EllipticCurvePrivateKey):
        found = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    else:
        found = OKPAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return {**found, **members}


class Issuer:
    """Serves until it is closed. ``key_set`` and ``metadata`` are what it answers; tests change it.

    ``key_ids`` are those it signs with, by algorithm. ``before_answer`` runs before every answer.
    """

    def __init__(self, path: str = "", tls: ssl.SSLContext | None = None) -> None:
        handler = _handler_of(self)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.root = f"http{'s' if tls else ''}://127.0.0.1:{self._server.server_port}"
        self.url = f"{self.root}{path}"
        self.asked: list[str] = []
        self.status = 200
        self.metadata: Any = {"issuer": self.url, "jwks_uri": f"{self.root}/keys?of=all"}
        self.key_set: Any = {"keys": []}
        self.before_answer: Callable[[], None] = lambda: None
        self.offers("RS256", "rsa-0")

    def offers(self, algorithm: str, key_id: str, which: int = 0) -> None:
        """Adds a key to the key set."""
        jwk = public_jwk(private_key(algorithm, which), kid=key_id, alg=algorithm, use="sig")
        self.key_set = {"keys": [*self.key_set["keys"], jwk]}

    def claims(self, **changed: object) -> dict[str, object]:
        """Claims of a good token; None takes one away."""
        now = int(time.time())
        usual = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": "somebody",
            "iat": now,
            "exp": now + 300,
            "scope": "search manage",
        }
        return {name: claim for name, claim in (usual | changed).items() if claim is not None}

    def token(
        self, algorithm: str = "RS256", key_id: str | None = "rsa-0", which: int = 0, **changed: Any
    ) -> str:
        """A token signed with one of the keys; ``changed`` are claims."""
        headers = {} if key_id is None else {"kid": key_id}
        key = private_key(algorithm, which)
        return jwt.encode(self.claims(**changed), key, algorithm=algorithm, headers=headers)

    def answer(self, path: str) -> tuple[int, bytes]:
        """What is answered to a GET."""
        self.asked.append(path)
        self.before_answer()
        found = self.key_set if path.startswith("/keys") else self.metadata
        return self.status, found if isinstance(found, bytes) else json.dumps(found).encode()

    def close(self) -> None:
        """From now on connections are refused."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()


@contextlib.contextmanager
def running_issuer(path: str = "", tls: ssl.SSLContext | None = None) -> Iterator[Issuer]:
    """An issuer for as long as the block runs."""
    issuer = Issuer(path, tls)
    try:
        yield issuer
    finally:
        issuer.close()


def assembled(header: object, claims: object, sign: Callable[[bytes], bytes]) -> str:
    """A token of any parts, also such as no library makes."""
    body = ".".join(_part(json.dumps(part).encode()) for part in (header, claims))
    return f"{body}.{_part(sign(body.encode()))}"


def _part(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _handler_of(issuer: Issuer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = issuer.answer(self.path)
            self.send_response(status)
            if status in (301, 302):
                self.send_header("Location", f"{issuer.root}/keys")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with contextlib.suppress(ConnectionError):
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    return Handler
