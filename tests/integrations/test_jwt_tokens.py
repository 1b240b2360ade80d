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

from context_search.core.errors import TokenIssuerUnavailableError, UnauthenticatedError
from context_search.integrations.oidc import FRESH_S, KEPT_S, PAUSE_S, RETRY_S, JwtTokens
from testing.in_memory.clock import ManualClock
from tests.issuer import (
    AUDIENCE,
    MCP_AUDIENCE,
    Issuer,
    assembled,
    private_key,
    public_jwk,
    running_issuer,
)
from tests.postgres.certificates import self_signed, server_context
from tests.profile import examples


class Setup:
    """An issuer, and what checks its tokens."""

    def __init__(self, issuer: Issuer) -> None:
        self.issuer = issuer
        self.clock = ManualClock()
        self.tokens = JwtTokens(issuer.url, (AUDIENCE, MCP_AUDIENCE), self.clock)

    def refused(self, token: str) -> str:
        """The reason why a token is not taken."""
        with pytest.raises(UnauthenticatedError) as reported:
            self.tokens.claims_of(token)
        assert token not in reported.value.message
        return reported.value.message

    def unavailable(self, token: str) -> TokenIssuerUnavailableError:
        """The error when the keys cannot be had."""
        with pytest.raises(TokenIssuerUnavailableError) as reported:
            self.tokens.claims_of(token)
        assert reported.value.retryable
        return reported.value

    def forged(self, header: dict[str, Any], sign: Any = lambda _: b"") -> str:
        """A token with a header of the test's."""
        return assembled({"typ": "JWT", **header}, self.issuer.claims(), sign)


@pytest.fixture
def setup() -> Iterator[Setup]:
    with running_issuer() as issuer:
        yield Setup(issuer)


@pytest.mark.parametrize("algorithm", ["RS256", "PS256", "ES256", "EdDSA"])
def test_a_token_with_a_key_pair_of_the_issuer_is_taken(setup: Setup, algorithm: str) -> None:
    setup.issuer.offers(algorithm, f"one-{algorithm}", which=1)
    token = setup.issuer.token(algorithm, f"one-{algorithm}", which=1, sub="alice")
    assert setup.tokens.claims_of(token)["sub"] == "alice"


def test_the_audience_may_be_one_of_several(setup: Setup) -> None:
    token = setup.issuer.token(aud=["https://other.example", AUDIENCE])
    assert setup.tokens.claims_of(token)["aud"] == ["https://other.example", AUDIENCE]


def test_each_of_our_audiences_is_taken(setup: Setup) -> None:
    for audience in (AUDIENCE, MCP_AUDIENCE):
        assert setup.tokens.claims_of(setup.issuer.token(aud=audience))["aud"] == audience


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
        ({"aud": f"{AUDIENCE}/api"}, "the token is for another audience"),
        ({"aud": [f"{AUDIENCE}/"]}, "the token is for another audience"),
        ({"aud": []}, "the token lacks iss, aud or exp"),
        ({"aud": {AUDIENCE: True}}, "the token is for another audience"),
        ({"aud": None}, "the token lacks iss, aud or exp"),
        ({"sub": 5}, "the token is not genuine"),
    ],
)
def test_a_token_with_wrong_claims_is_refused(
    setup: Setup, changed: dict[str, Any], reason: str
) -> None:
    assert setup.refused(setup.issuer.token(**changed)) == reason


def test_a_token_that_expired_this_second_is_taken_and_a_minute_later_not(setup: Setup) -> None:
    setup.tokens.claims_of(setup.issuer.token(exp=int(time.time())))
    assert setup.refused(setup.issuer.token(exp=int(time.time()) - 60)) == "the token has expired"


def test_a_token_without_a_signature_is_refused(setup: Setup) -> None:
    for algorithm in ("none", "None", "NONE", "", None, ["RS256"], {"RS256": 1}, 256, True):
        forged = setup.forged({"alg": algorithm, "kid": "rsa-0"})
        assert setup.refused(forged) == "the token is signed in a way that is not taken"
    assert setup.issuer.asked == []


def test_the_public_key_is_no_secret_to_sign_with(setup: Setup) -> None:
    public = private_key("RS256").public_key()
    for encoding in (serialization.Encoding.PEM, serialization.Encoding.DER):
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        secret = public.public_bytes(encoding, form)
        for algorithm in ("HS256", "RS256"):
            forged = setup.forged(
                {"alg": algorithm, "kid": "rsa-0"},
                lambda text, secret=secret: hmac.digest(secret, text, hashlib.sha256),
            )
            assert setup.refused(forged) in (
                "the token is signed in a way that is not taken",
                "the token is not genuine",
            )


def test_a_shared_secret_among_the_issuers_keys_is_not_used(setup: Setup) -> None:
    secret = "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2U"
    shared = {"kty": "oct", "k": secret, "kid": "shared", "alg": "HS256"}
    setup.issuer.key_set = {"keys": [*setup.issuer.key_set["keys"], shared]}
    for algorithm in ("HS256", "RS256"):
        sign = lambda text: hmac.digest(b"secretsecretsecretsecretsecretse", text, "sha256")  # noqa: E731
        setup.refused(setup.forged({"alg": algorithm, "kid": "shared"}, sign))


def test_a_key_is_used_with_its_own_algorithm_only(setup: Setup) -> None:
    setup.issuer.offers("ES256", "curve")
    assert setup.refused(setup.issuer.token("PS256", "rsa-0")) == "the token is not genuine"
    assert setup.refused(setup.issuer.token("RS256", "curve")) == "the token is not genuine"
    assert setup.refused(setup.issuer.token("ES256", "rsa-0")) == "the token is not genuine"


def test_a_token_that_somebody_else_signed_is_refused(setup: Setup) -> None:
    assert setup.refused(setup.issuer.token(which=7)) == "the token is not genuine"


def test_a_token_that_was_changed_is_refused(setup: Setup) -> None:
    header, _, signature = setup.issuer.token(project_id=1).split(".")
    _, claims, _ = setup.issuer.token(project_id=2).split(".")
    assert setup.refused(f"{header}.{claims}.{signature}") == "the token is not genuine"


def test_keys_and_addresses_that_a_token_brings_are_not_looked_at(setup: Setup) -> None:
    stranger = private_key("RS256", 7)
    with running_issuer() as other:
        brought = {
            "jwk": public_jwk(stranger, kid="rsa-0"),
            "jku": f"{other.root}/keys",
            "x5u": f"{other.root}/keys",
            "kid": "rsa-0",
        }
        forged = jwt.encode(setup.issuer.claims(), stranger, algorithm="RS256", headers=brought)
        assert setup.refused(forged) == "the token is not genuine"
        assert other.asked == []


@pytest.mark.parametrize("header", [{}, {"kid": ""}, {"kid": 1}, {"kid": None}, {"kid": ["a"]}])
def test_a_token_has_to_name_its_key(setup: Setup, header: dict[str, Any]) -> None:
    setup.refused(setup.forged({"alg": "RS256", **header}))
    assert setup.issuer.asked == []


def test_what_must_be_understood_and_is_not_is_refused(setup: Setup) -> None:
    setup.refused(setup.forged({"alg": "RS256", "kid": "rsa-0", "crit": ["x"], "x": 1}))
    setup.refused(setup.forged({"alg": "RS256", "kid": "rsa-0", "crit": ["b64"], "b64": False}))


def test_a_short_key_is_not_good_even_from_the_issuer(setup: Setup) -> None:
    short = rsa.generate_private_key(public_exponent=65537, key_size=1024)  # noqa: S505 - it is refused
    setup.issuer.key_set = {"keys": [public_jwk(short, kid="short", alg="RS256")]}
    with pytest.warns(jwt.InsecureKeyLengthWarning):
        token = jwt.encode(
            setup.issuer.claims(), short, algorithm="RS256", headers={"kid": "short"}
        )
    setup.refused(token)


def test_a_key_to_encrypt_with_signs_nothing(setup: Setup) -> None:
    jwk = public_jwk(private_key("RS256"), kid="enc", alg="RS256", use="enc")
    setup.issuer.key_set = {"keys": [*setup.issuer.key_set["keys"], jwk]}
    assert setup.refused(setup.issuer.token(key_id="enc")) == "the token is signed by no known key"


def test_a_token_of_any_length_is_not_even_read(setup: Setup) -> None:
    assert setup.refused(setup.issuer.token(note="x" * 20_000)) == "the token is too long"
    assert setup.issuer.asked == []


@settings(max_examples=examples(200), suppress_health_check=[HealthCheck.function_scoped_fixture])
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
    setup: Setup, header: dict[str, Any], claims: Any, signature: bytes
) -> None:
    setup.refused(assembled(header, claims, lambda _: signature))


@pytest.mark.parametrize(
    "parts", ["a.b.c", "..", "e30.e30.", "W10.W10.W10", "bnVsbA.bnVsbA.bnVsbA"]
)
def test_what_only_has_dots_is_refused(setup: Setup, parts: str) -> None:
    setup.refused(parts)


def test_a_deeply_nested_token_is_refused(setup: Setup) -> None:
    nested: Any = "[" * 6000
    body = f"{jwt.utils.base64url_encode(nested.encode()).decode()}.e30.e30"
    assert setup.refused(body) == "the token is malformed"


# ---------------------------------------------------------------- how often the issuer is asked


def test_the_keys_are_read_once_and_kept(setup: Setup) -> None:
    for _ in range(20):
        setup.tokens.claims_of(setup.issuer.token())
    assert setup.issuer.asked == ["/.well-known/openid-configuration", "/keys?of=all"]


def test_a_new_key_is_found_a_minute_later_and_a_withdrawn_one_is_forgotten(setup: Setup) -> None:
    setup.tokens.claims_of(setup.issuer.token())
    old = setup.issuer.token()
    setup.issuer.key_set = {"keys": []}
    setup.issuer.offers("RS256", "rsa-1", which=1)
    new = setup.issuer.token(key_id="rsa-1", which=1)
    assert setup.refused(new) == "the token is signed by no known key"
    setup.clock.advance(PAUSE_S)
    setup.tokens.claims_of(new)
    assert setup.refused(old) == "the token is signed by no known key"


def test_a_withdrawn_key_is_forgotten_without_a_new_one_being_asked_for(setup: Setup) -> None:
    setup.issuer.offers("ES256", "curve")
    token = setup.issuer.token()
    setup.tokens.claims_of(token)
    setup.issuer.key_set = {"keys": setup.issuer.key_set["keys"][1:]}
    setup.clock.advance(FRESH_S - 1)
    setup.tokens.claims_of(token)
    setup.clock.advance(2)
    setup.refused(token)


def test_made_up_key_ids_ask_the_issuer_once_a_minute_at_most(setup: Setup) -> None:
    setup.tokens.claims_of(setup.issuer.token())
    for number in range(100):
        setup.refused(setup.issuer.token(key_id=f"made-up-{number}"))
        setup.clock.advance(2.5)
    assert len(setup.issuer.asked) // 2 == 1 + 4


def test_made_up_key_ids_ask_no_more_often_while_the_issuer_fails(setup: Setup) -> None:
    good = setup.issuer.token()
    setup.tokens.claims_of(good)
    setup.issuer.status = 503
    for number in range(100):
        with pytest.raises((UnauthenticatedError, TokenIssuerUnavailableError)):
            setup.tokens.claims_of(setup.issuer.token(key_id=f"made-up-{number}"))
        setup.tokens.claims_of(good)
        setup.clock.advance(2.5)
    assert len(setup.issuer.asked) == 2 + 4


def test_known_keys_outlive_an_issuer_that_is_away_but_not_for_ever(setup: Setup) -> None:
    good = setup.issuer.token()
    setup.tokens.claims_of(good)
    setup.issuer.close()
    setup.clock.advance(FRESH_S + 1)
    setup.tokens.claims_of(good)
    setup.clock.advance(KEPT_S)
    error = setup.unavailable(good)
    assert error.message == "the token issuer cannot be reached"
    assert error.retry_after_s == RETRY_S


def test_an_issuer_that_is_away_at_first_is_asked_again_soon(setup: Setup) -> None:
    setup.issuer.status = 500
    good = setup.issuer.token()
    assert setup.unavailable(good).message == "the token issuer answered 500"
    setup.issuer.status = 200
    assert setup.unavailable(good).retry_after_s == RETRY_S
    setup.clock.advance(RETRY_S)
    setup.tokens.claims_of(good)
    assert len(setup.issuer.asked) == 1 + 2


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
def test_metadata_that_is_wrong_opens_nothing(setup: Setup, metadata: Any) -> None:
    if not isinstance(metadata, bytes):
        metadata = json.dumps(metadata).replace("{root}", setup.issuer.root).encode()
    setup.issuer.metadata = metadata
    reported = setup.unavailable(setup.issuer.token()).message
    assert "reached" not in reported  # nobody was asked at an address that is not to be trusted
    assert setup.issuer.asked == ["/.well-known/openid-configuration"]


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
def test_a_key_set_without_a_usable_key_opens_nothing(setup: Setup, key_set: Any) -> None:
    setup.issuer.key_set = key_set
    token = setup.issuer.token()
    with pytest.raises(TokenIssuerUnavailableError):
        setup.tokens.claims_of(token)


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
def test_one_odd_key_does_not_take_the_others_with_it(setup: Setup, odd: Any) -> None:
    setup.issuer.key_set = {"keys": [odd, *setup.issuer.key_set["keys"], odd]}
    assert setup.tokens.claims_of(setup.issuer.token())["sub"] == "somebody"


def test_an_issuer_behind_tls_has_its_keys_behind_tls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = self_signed(tmp_path, "127.0.0.1", is_strict=True)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with running_issuer() as plain, running_issuer(tls=server_context(certificate)) as issuer:
        assert Setup(issuer).tokens.claims_of(issuer.token())["sub"] == "somebody"
        plain.key_set = issuer.key_set
        issuer.metadata = {"issuer": issuer.url, "jwks_uri": f"{plain.root}/keys"}
        reported = Setup(issuer).unavailable(issuer.token()).message
        assert reported == "the token issuer names no https address of keys"
        assert plain.asked == []


def test_a_redirect_is_not_followed(setup: Setup) -> None:
    setup.issuer.status = 302
    assert setup.unavailable(setup.issuer.token()).message == "the token issuer answered 302"
    assert setup.issuer.asked == ["/.well-known/openid-configuration"]


def test_an_issuer_with_a_certificate_of_nobody_known_is_not_believed(tmp_path: Path) -> None:
    with running_issuer(tls=server_context(self_signed(tmp_path, "127.0.0.1"))) as issuer:
        assert (
            Setup(issuer).unavailable(issuer.token()).message
            == "the token issuer cannot be reached"
        )
        assert issuer.asked == []


def test_an_answer_that_takes_too_long_is_given_up(setup: Setup) -> None:
    setup.issuer.before_answer = lambda: setup.clock.advance(10)
    setup.unavailable(setup.issuer.token())


def test_an_issuer_may_have_a_path_and_end_in_a_slash() -> None:
    with running_issuer("/tenant/") as issuer:
        setup = Setup(issuer)
        assert setup.tokens.claims_of(issuer.token())["iss"] == issuer.url
        assert issuer.asked[0] == "/tenant/.well-known/openid-configuration"
