"""Tokens of a real issuer on this machine: which are taken, and how often the issuer is asked."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_search.adapters.jwt_tokens import FRESH_S, KEPT_S, PAUSE_S, RETRY_S, JwtTokens
from context_search.domain.errors import TokenIssuerUnavailableError, UnauthenticatedError
from testing.in_memory.clock import ManualClock
from tests.adapters.postgres.certificates import self_signed, server_context
from tests.issuer import AUDIENCE, Issuer, assembled, private_key, public_jwk, running_issuer


class Desk:
    """An issuer, and what checks its tokens."""

    def __init__(self, issuer: Issuer) -> None:
        self.issuer = issuer
        self.clock = ManualClock()
        self.tokens = JwtTokens(issuer.url, AUDIENCE, self.clock)

    def refused(self, token: str) -> str:
        """The reason why a token is not taken."""
        with pytest.raises(UnauthenticatedError) as told:
            self.tokens.claims_of(token)
        assert token not in told.value.message
        return told.value.message

    def unavailable(self, token: str) -> TokenIssuerUnavailableError:
        """The error when the keys cannot be had."""
        with pytest.raises(TokenIssuerUnavailableError) as told:
            self.tokens.claims_of(token)
        assert told.value.retryable
        return told.value

    def forged(self, header: dict[str, Any], sign: Any = lambda _: b"") -> str:
        """A token with a header of the test's."""
        return assembled({"typ": "JWT", **header}, self.issuer.claims(), sign)


@pytest.fixture
def desk() -> Iterator[Desk]:
    with running_issuer() as issuer:
        yield Desk(issuer)


@pytest.mark.parametrize("algorithm", ["RS256", "PS256", "ES256", "EdDSA"])
def test_a_token_with_a_key_pair_of_the_issuer_is_taken(desk: Desk, algorithm: str) -> None:
    desk.issuer.offers(algorithm, f"one-{algorithm}", which=1)
    token = desk.issuer.token(algorithm, f"one-{algorithm}", which=1, sub="alice")
    assert desk.tokens.claims_of(token)["sub"] == "alice"


def test_the_audience_may_be_one_of_several(desk: Desk) -> None:
    token = desk.issuer.token(aud=["https://other.example", AUDIENCE])
    assert desk.tokens.claims_of(token)["aud"] == ["https://other.example", AUDIENCE]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"exp": int(time.time()) - 60}, "the token has expired"),
        ({"exp": 0}, "the token has expired"),
        ({"exp": True}, "the token has expired"),
        ({"exp": "soon"}, "the token is not genuine"),
        ({"exp": None}, "the token lacks iss, aud or exp"),
        ({"nbf": int(time.time()) + 3600}, "the token is not valid yet"),
        ({"iat": int(time.time()) + 3600}, "the token is not valid yet"),
        ({"iss": "https://issuer.example"}, "the token is another issuer's"),
        ({"iss": None}, "the token lacks iss, aud or exp"),
        ({"aud": "https://search.example"}, "the token is for another audience"),
        ({"aud": [f"{AUDIENCE}/"]}, "the token is for another audience"),
        ({"aud": []}, "the token lacks iss, aud or exp"),
        ({"aud": {AUDIENCE: True}}, "the token is for another audience"),
        ({"aud": None}, "the token lacks iss, aud or exp"),
        ({"sub": 5}, "the token is not genuine"),
    ],
)
def test_a_token_with_wrong_claims_is_refused(
    desk: Desk, changed: dict[str, Any], reason: str
) -> None:
    assert desk.refused(desk.issuer.token(**changed)) == reason


def test_a_token_that_expired_this_second_is_taken_and_a_minute_later_not(desk: Desk) -> None:
    desk.tokens.claims_of(desk.issuer.token(exp=int(time.time())))
    assert desk.refused(desk.issuer.token(exp=int(time.time()) - 60)) == "the token has expired"


def test_a_token_without_a_signature_is_refused(desk: Desk) -> None:
    for algorithm in ("none", "None", "NONE", "", None, ["RS256"], {"RS256": 1}, 256, True):
        forged = desk.forged({"alg": algorithm, "kid": "rsa-0"})
        assert desk.refused(forged) == "the token is signed in a way that is not taken"
    assert desk.issuer.asked == []


def test_the_public_key_is_no_secret_to_sign_with(desk: Desk) -> None:
    public = private_key("RS256").public_key()
    for encoding in (serialization.Encoding.PEM, serialization.Encoding.DER):
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        secret = public.public_bytes(encoding, form)
        for algorithm in ("HS256", "RS256"):
            forged = desk.forged(
                {"alg": algorithm, "kid": "rsa-0"},
                lambda text, secret=secret: hmac.digest(secret, text, hashlib.sha256),
            )
            assert desk.refused(forged) in (
                "the token is signed in a way that is not taken",
                "the token is not genuine",
            )


def test_a_shared_secret_among_the_issuers_keys_is_not_used(desk: Desk) -> None:
    secret = "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2U"
    shared = {"kty": "oct", "k": secret, "kid": "shared", "alg": "HS256"}
    desk.issuer.key_set = {"keys": [*desk.issuer.key_set["keys"], shared]}
    for algorithm in ("HS256", "RS256"):
        sign = lambda text: hmac.digest(b"secretsecretsecretsecretsecretse", text, "sha256")  # noqa: E731
        desk.refused(desk.forged({"alg": algorithm, "kid": "shared"}, sign))


def test_a_key_is_used_with_its_own_algorithm_only(desk: Desk) -> None:
    desk.issuer.offers("ES256", "curve")
    assert desk.refused(desk.issuer.token("PS256", "rsa-0")) == "the token is not genuine"
    assert desk.refused(desk.issuer.token("RS256", "curve")) == "the token is not genuine"
    assert desk.refused(desk.issuer.token("ES256", "rsa-0")) == "the token is not genuine"


def test_a_token_that_somebody_else_signed_is_refused(desk: Desk) -> None:
    assert desk.refused(desk.issuer.token(which=7)) == "the token is not genuine"


def test_a_token_that_was_changed_is_refused(desk: Desk) -> None:
    header, _, signature = desk.issuer.token(project_id=1).split(".")
    _, claims, _ = desk.issuer.token(project_id=2).split(".")
    assert desk.refused(f"{header}.{claims}.{signature}") == "the token is not genuine"


def test_keys_and_addresses_that_a_token_brings_are_not_looked_at(desk: Desk) -> None:
    stranger = private_key("RS256", 7)
    with running_issuer() as other:
        brought = {
            "jwk": public_jwk(stranger, kid="rsa-0"),
            "jku": f"{other.root}/keys",
            "x5u": f"{other.root}/keys",
            "kid": "rsa-0",
        }
        forged = jwt.encode(desk.issuer.claims(), stranger, algorithm="RS256", headers=brought)
        assert desk.refused(forged) == "the token is not genuine"
        assert other.asked == []


@pytest.mark.parametrize("header", [{}, {"kid": ""}, {"kid": 1}, {"kid": None}, {"kid": ["a"]}])
def test_a_token_has_to_name_its_key(desk: Desk, header: dict[str, Any]) -> None:
    desk.refused(desk.forged({"alg": "RS256", **header}))
    assert desk.issuer.asked == []


def test_what_must_be_understood_and_is_not_is_refused(desk: Desk) -> None:
    desk.refused(desk.forged({"alg": "RS256", "kid": "rsa-0", "crit": ["x"], "x": 1}))
    desk.refused(desk.forged({"alg": "RS256", "kid": "rsa-0", "crit": ["b64"], "b64": False}))


def test_a_short_key_is_not_good_even_from_the_issuer(desk: Desk) -> None:
    short = rsa.generate_private_key(public_exponent=65537, key_size=1024)  # noqa: S505 - it is refused
    desk.issuer.key_set = {"keys": [public_jwk(short, kid="short", alg="RS256")]}
    with pytest.warns(jwt.InsecureKeyLengthWarning):
        token = jwt.encode(desk.issuer.claims(), short, algorithm="RS256", headers={"kid": "short"})
    desk.refused(token)


def test_a_key_to_encrypt_with_signs_nothing(desk: Desk) -> None:
    jwk = public_jwk(private_key("RS256"), kid="enc", alg="RS256", use="enc")
    desk.issuer.key_set = {"keys": [*desk.issuer.key_set["keys"], jwk]}
    assert desk.refused(desk.issuer.token(key_id="enc")) == "the token is signed by no known key"


def test_a_token_of_any_length_is_not_even_read(desk: Desk) -> None:
    assert desk.refused(desk.issuer.token(note="x" * 20_000)) == "the token is too long"
    assert desk.issuer.asked == []


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    header=st.dictionaries(
        st.sampled_from(["alg", "kid", "typ", "crit", "b64", "jwk", "x5c", "zip"]),
        st.sampled_from(["RS256", "ES256", "rsa-0", "", None, True, 1, [], ["b64"], {}, False]),
    ),
    claims=st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner),
    ),
    signature=st.binary(max_size=300),
)
def test_nothing_that_is_forged_gets_through_or_breaks_anything(
    desk: Desk, header: dict[str, Any], claims: Any, signature: bytes
) -> None:
    desk.refused(assembled(header, claims, lambda _: signature))


@pytest.mark.parametrize(
    "parts", ["a.b.c", "..", "e30.e30.", "W10.W10.W10", "bnVsbA.bnVsbA.bnVsbA"]
)
def test_what_only_has_dots_is_refused(desk: Desk, parts: str) -> None:
    desk.refused(parts)


def test_a_deeply_nested_token_is_refused(desk: Desk) -> None:
    nested: Any = "[" * 6000
    body = f"{jwt.utils.base64url_encode(nested.encode()).decode()}.e30.e30"
    assert desk.refused(body) == "the token is malformed"


# ---------------------------------------------------------------- how often the issuer is asked


def test_the_keys_are_read_once_and_kept(desk: Desk) -> None:
    for _ in range(20):
        desk.tokens.claims_of(desk.issuer.token())
    assert desk.issuer.asked == ["/.well-known/openid-configuration", "/keys?of=all"]


def test_a_new_key_is_found_a_minute_later_and_a_withdrawn_one_is_forgotten(desk: Desk) -> None:
    desk.tokens.claims_of(desk.issuer.token())
    old = desk.issuer.token()
    desk.issuer.key_set = {"keys": []}
    desk.issuer.offers("RS256", "rsa-1", which=1)
    new = desk.issuer.token(key_id="rsa-1", which=1)
    assert desk.refused(new) == "the token is signed by no known key"
    desk.clock.advance(PAUSE_S)
    desk.tokens.claims_of(new)
    assert desk.refused(old) == "the token is signed by no known key"


def test_a_withdrawn_key_is_forgotten_without_a_new_one_being_asked_for(desk: Desk) -> None:
    desk.issuer.offers("ES256", "curve")
    token = desk.issuer.token()
    desk.tokens.claims_of(token)
    desk.issuer.key_set = {"keys": desk.issuer.key_set["keys"][1:]}
    desk.clock.advance(FRESH_S - 1)
    desk.tokens.claims_of(token)
    desk.clock.advance(2)
    desk.refused(token)


def test_made_up_key_ids_ask_the_issuer_once_a_minute_at_most(desk: Desk) -> None:
    desk.tokens.claims_of(desk.issuer.token())
    for number in range(100):
        desk.refused(desk.issuer.token(key_id=f"made-up-{number}"))
        desk.clock.advance(2.5)
    assert len(desk.issuer.asked) // 2 == 1 + 4


def test_made_up_key_ids_ask_no_more_often_while_the_issuer_fails(desk: Desk) -> None:
    good = desk.issuer.token()
    desk.tokens.claims_of(good)
    desk.issuer.status = 503
    for number in range(100):
        with pytest.raises((UnauthenticatedError, TokenIssuerUnavailableError)):
            desk.tokens.claims_of(desk.issuer.token(key_id=f"made-up-{number}"))
        desk.tokens.claims_of(good)
        desk.clock.advance(2.5)
    assert len(desk.issuer.asked) == 2 + 4


def test_known_keys_outlive_an_issuer_that_is_away_but_not_for_ever(desk: Desk) -> None:
    good = desk.issuer.token()
    desk.tokens.claims_of(good)
    desk.issuer.close()
    desk.clock.advance(FRESH_S + 1)
    desk.tokens.claims_of(good)
    desk.clock.advance(KEPT_S)
    error = desk.unavailable(good)
    assert error.message == "the token issuer cannot be reached"
    assert error.retry_after_s == RETRY_S


def test_an_issuer_that_is_away_at_first_is_asked_again_soon(desk: Desk) -> None:
    desk.issuer.status = 500
    good = desk.issuer.token()
    assert desk.unavailable(good).message == "the token issuer answered 500"
    desk.issuer.status = 200
    assert desk.unavailable(good).retry_after_s == RETRY_S
    desk.clock.advance(RETRY_S)
    desk.tokens.claims_of(good)
    assert len(desk.issuer.asked) == 1 + 2


@pytest.mark.parametrize(
    "metadata",
    [
        b"<html>",
        b"[]",
        b"[" * 100_000,
        b'{"a": "' + b"x" * 1_000_000 + b'"}',
        {},
        {"issuer": "https://issuer.example", "jwks_uri": "{root}/keys"},
        {"issuer": "{root}/", "jwks_uri": "{root}/keys"},
        {"issuer": "{root}"},
        {"issuer": "{root}", "jwks_uri": 5},
        {"issuer": "{root}", "jwks_uri": "http://keys.example/keys"},
        {"issuer": "{root}", "jwks_uri": "file:///etc/passwd"},
        {"issuer": "{root}", "jwks_uri": "/keys"},
        {"issuer": "{root}", "jwks_uri": "https://user:word@keys.example/"},
    ],
    ids=lambda value: repr(value)[:60],
)
def test_metadata_that_is_wrong_opens_nothing(desk: Desk, metadata: Any) -> None:
    if not isinstance(metadata, bytes):
        metadata = json.dumps(metadata).replace("{root}", desk.issuer.root).encode()
    desk.issuer.metadata = metadata
    told = desk.unavailable(desk.issuer.token()).message
    assert "reached" not in told  # nobody was asked at an address that is not to be trusted
    assert desk.issuer.asked == ["/.well-known/openid-configuration"]


@pytest.mark.parametrize(
    "key_set",
    [
        b"",
        {},
        {"keys": []},
        {"keys": "x"},
        {"keys": [1]},
        {"keys": [{"kty": "RSA", "kid": "a"}]},
        {"keys": [{"kty": "RSA", "kid": "a", "alg": ["RS256"]}]},
        {"keys": [{"kty": "oct", "kid": "a", "k": "c2VjcmV0"}]},
    ],
    ids=repr,
)
def test_a_key_set_without_a_usable_key_opens_nothing(desk: Desk, key_set: Any) -> None:
    desk.issuer.key_set = key_set
    token = desk.issuer.token()
    with pytest.raises(TokenIssuerUnavailableError):
        desk.tokens.claims_of(token)


@pytest.mark.parametrize(
    "odd",
    [
        None,
        [],
        "key",
        {"kty": "RSA", "kid": "a", "alg": ["RS256"]},
        {"kty": ["RSA"], "kid": "a"},
        {"kty": "RSA", "kid": "a", "n": 5, "e": "AQAB"},
        {"kty": "EC", "kid": "a", "crv": {}, "x": "x", "y": "y"},
        {"kty": "OKP", "kid": "a", "crv": "Ed25519", "x": None},
        {"kty": "RSA", "kid": ["rsa-0"], "n": "AQAB", "e": "AQAB"},
        {"kty": "of tomorrow", "kid": "a"},
    ],
    ids=repr,
)
def test_one_odd_key_does_not_take_the_others_with_it(desk: Desk, odd: Any) -> None:
    desk.issuer.key_set = {"keys": [odd, *desk.issuer.key_set["keys"], odd]}
    assert desk.tokens.claims_of(desk.issuer.token())["sub"] == "somebody"


def test_an_issuer_behind_tls_has_its_keys_behind_tls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = self_signed(tmp_path, "127.0.0.1", is_strict=True)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with running_issuer() as plain, running_issuer(tls=server_context(certificate)) as issuer:
        assert Desk(issuer).tokens.claims_of(issuer.token())["sub"] == "somebody"
        plain.key_set = issuer.key_set
        issuer.metadata = {"issuer": issuer.url, "jwks_uri": f"{plain.root}/keys"}
        told = Desk(issuer).unavailable(issuer.token()).message
        assert told == "the token issuer names no https address of keys"
        assert plain.asked == []


def test_a_redirect_is_not_followed(desk: Desk) -> None:
    desk.issuer.status = 302
    assert desk.unavailable(desk.issuer.token()).message == "the token issuer answered 302"
    assert desk.issuer.asked == ["/.well-known/openid-configuration"]


def test_an_issuer_with_a_certificate_of_nobody_known_is_not_believed(tmp_path: Path) -> None:
    with running_issuer(tls=server_context(self_signed(tmp_path, "127.0.0.1"))) as issuer:
        assert (
            Desk(issuer).unavailable(issuer.token()).message == "the token issuer cannot be reached"
        )
        assert issuer.asked == []


def test_an_answer_that_takes_too_long_is_given_up(desk: Desk) -> None:
    desk.issuer.before_answer = lambda: desk.clock.advance(10)
    desk.unavailable(desk.issuer.token())


def test_an_issuer_may_have_a_path_and_end_in_a_slash() -> None:
    with running_issuer("/tenant/") as issuer:
        desk = Desk(issuer)
        assert desk.tokens.claims_of(issuer.token())["iss"] == issuer.url
        assert issuer.asked[0] == "/tenant/.well-known/openid-configuration"
