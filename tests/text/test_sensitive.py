"""What counts as sensitive, what does not, and texts made to hang the search for it."""

from __future__ import annotations

import pytest

from context_search.text.sensitive import find_sensitive
from context_search.text.sensitive.kinds import SENSITIVE_KINDS
from context_search.text.sensitive.spans import ReadText

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
BODY = "\n".join(
    "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MhgHcTz6sE2I2y+P"[:64] for _ in "1234"
)
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\nwmN5\n-----END RSA PRIVATE KEY-----"

EMAILS = [
    *("foo@bar.com", "bob.o'neil@example.com", '"john smith"@example.com', "bob@[192.168.0.1]"),
    *("zhang@例子.公司", "first.last+tag@mail.example.co.uk", "a_b-c%d@x-y.org", "jörg@müller.de"),
    *("ｆｏｏ＠ｂａｒ．ｃｏｍ", "x" * 100 + "@example.com"),
]
PHONES = [
    *("13812345678", "138 1234 5678", "138-1234-5678", "138 12345678", "1381 234 5678"),
    *("+8613812345678", "+86 138-1234-5678", "+86-138-1234-5678", "(+86) 138 1234 5678"),
    *(
        "008613812345678",
        "8613812345678",
        "１３８１２３４５６７８",
        "＋８６　１３８－１２３４－５６７８",
    ),
    *("138\u200b1234\u200b5678", "138–1234–5678", "010-12345678", "0755-1234567"),
    *("(021) 6543 2100", "400-810-8888", "+1 (415) 555-2671", "(415) 555-2671", "415.555.2671"),
    *("+44 20 7946 0958", "+491701234567", "07700 900123", "4155552671", "0571-87654321-802"),
]
NUMBERS = [
    ("id_card", "11010519491231002X"),
    ("id_card", "110105 19491231 002X"),
    ("bank_card", "4111 1111 1111 1111"),
    ("bank_card", "3782 822463 10005"),
    ("bank_card", "5555555555554444"),
    ("iban", "DE89 3704 0044 0532 0130 00"),
    ("iban", "GB82WEST12345698765432"),
    ("ssn", "401-22-7788"),
]
MAKERS = ["GOCSPX-", "dckr_pat_", "gsk_", "nvapi-", "lin_api_", "sq0csp-", "vercel_blob_rw_"]
KEYS = [
    "AKIAIOSFODNN7EXAMPLE",
    "ASIAIOSFODNN7EXAMPLE",
    "sk-abcdefghijklmnopqrstuvwx",
    "sk-proj-aB3_dE6-gH9jK2mN5pQ8",
    "sk-ant-api03-" + "aB3_" * 20,
    "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "github_pat_11ABCDEFG0_abcdefghijklmnopqrstuvwxyz",
    "glpat-abcdefghij0123456789",
    "xoxb-123456789012-abcdefABCDEF",
    "AIzaSyD-abcdefghijklmnopqrstuvwxyz01234",
    "LTAI5tAbCdEfGhIjKlMnOpQr",
    "hf_abcdefghijklmnopqrstuvwxyzABCDEF",
    "tpuf_abcdefghijklmnopqrstuvwxyz",
    *(f"{maker}{'aB3dE6gH9jK2' * 2}" for maker in MAKERS),
    "key-" + "0123456789abcdef" * 2,
    *(f"{account}{'0123456789abcdef' * 2}" for account in ("SK", "AC")),
    "EAA" + "aB3dE6gH9jK2" * 4,
    "cs_" + "Ab3-_" * 8 + "xyz",
    "cs_mcp_" + "Ab3-_" * 8 + "xyz",
    JWT,
    PEM,
    PEM.replace("\n", "\\n"),
    PEM.replace("RSA ", "OPENSSH "),
    PEM.replace("RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK"),
]
# Text, and what of it is the secret.
NAMED = [
    (f"Authorization: Bearer {'aB3.' * 6}", "aB3." * 6),
    ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA=="),
    (
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    ),
    ('{"apiKey": "9f8e7d6c5b4a"}', "9f8e7d6c5b4a"),
    ("PASSWORD=hunter2hunter2", "hunter2hunter2"),
    ("密码：abc12345678", "abc12345678"),
    ("密钥是 q1w2e3r4t5", "q1w2e3r4t5"),
    ("redis://user:s3cr3t@cache:6379", "s3cr3t"),
]
# What stands in front of an address's path, and the secret in it.
LOGINS = [
    ("https://user:pass@sub.example.com:8080", "pass"),
    ("postgres://user:p@ss:w@rd@db.example.com:5432", "p@ss:w@rd"),
    ("redis://:pass@host", "pass"),
    ("redis://:p@ss@[::1]:6379", "p@ss"),
    ("mongodb://u:p1@a.example.com:27017,b.example.com:27017", "p1"),
    ("postgres://app:s3c?r#t@db.example.com", "s3c?r#t"),
    ("https://bob:secret,part2@corp.example.com", "secret,part2"),
    ("https://测试:密a码@例子.公司", "密a码"),
    ("https://x-access-token:abcDEF123456@github.com", "abcDEF123456"),
    ("https://0123456789abcdef@pypi.example.com", "0123456789abcdef"),
]
HARMLESS = [
    "The bearer of this letter is expected at 10:20:30 on 2024-01-15.",
    "react@18.2.0 and @types/node@20",
    "@mention, a @ b, foo@bar, user@host:~/dir",
    "身份证号 110101199003071234, 订单 20131234567812345",
    "192.168.100.1, 3.14159265358979, 978-7-111-54742-6, 1234567890123",
    "1999 2000 2001 2002, +1.23, +100, 12-34-56, 100,000,000",
    "token = next_token(stream); password: required; the secret: nobody knows",
    "task-management-system-x, risk-assessment-framework, docs_" + "how-to-" * 8,
    "密码学是一门学问。API key rotation is described elsewhere.",
    "https://example.com/a:b@c and http://localhost:8080/x",
    "AKIA, AKIAlowercase, eyJ.eyJ, -----BEGIN CERTIFICATE-----",
    "[redacted:email] [redacted:phone] [redacted:key]",
]


def found(text: str, kinds: tuple[str, ...] = SENSITIVE_KINDS) -> list[tuple[str, str]]:
    return [(s.kind, text[s.start : s.end]) for s in find_sensitive(text, kinds)]  # type: ignore[arg-type]


CASES = [
    *(("email", text) for text in EMAILS),
    *(("phone", text) for text in PHONES),
    *(("key", text) for text in KEYS),
    *NUMBERS,
]


@pytest.mark.parametrize(("kind", "text"), CASES)
@pytest.mark.parametrize("frame", ["{}", "前面{}后面", "see {}, and", "({})", "“{}”。", "a\n{}\nb"])
def test_it_is_found_whole_wherever_it_stands(kind: str, text: str, frame: str) -> None:
    assert found(frame.format(text)) == [(kind, text)]


@pytest.mark.parametrize(("kind", "text"), CASES)
def test_two_beside_each_other_are_both_found(kind: str, text: str) -> None:
    assert found(f"{text}; {text}") == [(kind, text), (kind, text)]


@pytest.mark.parametrize("number", PHONES)
def test_numbers_that_only_a_space_parts_are_all_found(number: str) -> None:
    assert found(f"{number} 13912345678") == [("phone", number), ("phone", "13912345678")]


def test_a_number_of_any_other_country_ends_with_a_group() -> None:
    numbers = ["+491701234567", "13912345678"]
    assert found(" ".join(numbers) + ".") == [("phone", number) for number in numbers]


@pytest.mark.parametrize(("text", "secret"), NAMED)
def test_a_secret_that_is_called_one_is_found_without_its_name(text: str, secret: str) -> None:
    assert found(text) == [("key", secret)]


@pytest.mark.parametrize("hidden", ["\u200b", "\u200d", "\u2060\ufeff", "\ufe0f" * 9])
def test_hidden_characters_hide_no_secret(hidden: str) -> None:
    key = f"ghp_16C7e42F29{hidden}2c6912E7710c{hidden}838347Ae178B4a"
    assert found(f"{hidden}the {key} of{hidden} bob@exa{hidden}mple.com") == [
        ("key", key),
        ("email", f"bob@exa{hidden}mple.com"),
    ]
    assert found(f"password{hidden}: hunter2{hidden}hunter2, 😀\ufe0f") == [
        ("key", f"hunter2{hidden}hunter2")
    ]


def test_hidden_characters_are_no_gap_in_a_secret_that_is_cut_off() -> None:
    text = ("aB3dE6gH" + "\u200b" * 4) * 100
    read = ReadText(text, 300, 900, is_first=False, is_last=False, has_keys=True)
    assert (300, 900) in list(read.doubtful())


@pytest.mark.parametrize(("address", "secret"), LOGINS)
@pytest.mark.parametrize("path", ["", "/", "/a/b@c", "/?to=a:b@c", "?q=1", "#x"])
def test_of_an_address_the_password_is_hidden_and_the_host_stays(
    address: str, secret: str, path: str
) -> None:
    assert found(f"see '{address}{path}'") == [("key", secret)]


def test_user_and_host_of_an_address_are_no_email_but_a_user_may_be_one() -> None:
    assert found("git+ssh://git@github.com:npm/cli.git") == []
    assert found("https://bob@corp.com:pass@proxy.example.com/") == [
        ("email", "bob@corp.com"),
        ("key", "pass"),
    ]


@pytest.mark.parametrize("between", [":80,", ":80, ", ":80，邮箱", ":80?to=", "/?to=", "。邮箱"])
def test_an_email_behind_an_address_is_no_login(between: str) -> None:
    assert found(f"https://a.example.com{between}bob@example.com") == [("email", "bob@example.com")]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert found(text) == []


def test_a_full_stop_does_not_belong_to_the_address() -> None:
    assert found("Write to foo@bar.com.") == [("email", "foo@bar.com")]


def test_where_finds_overlap_one_covers_all() -> None:
    token = "glpat-" + "abcdefghij0123456789"
    assert found(f"{token}@example.com") == [("key", f"{token}@example.com")]
    assert found("a@b.com-c@d.com") == [("email", "a@b.com-c@d.com")]


@pytest.mark.parametrize(("kind", "number"), NUMBERS)
def test_a_number_that_may_be_shown_is_not_half_hidden_as_another(kind: str, number: str) -> None:
    others = tuple(other for other in SENSITIVE_KINDS if other != kind)
    assert found(number, others) == []


def test_a_body_of_lines_is_told_from_a_certificate_by_its_first_line() -> None:
    assert found(f"-----BEGIN CERTIFICATE-----\n{BODY}\n-----END CERTIFICATE-----") == []
    assert found(f"-----BEGIN EC PUBLIC KEY-----\n> {BODY}") == []


def test_only_the_kinds_that_are_asked_for_are_found() -> None:
    text = "foo@bar.com 13812345678"
    assert found(text, ("phone",)) == [("phone", "13812345678")]
    assert found(text, ()) == []


@pytest.mark.parametrize("cut", range(40, len(PEM) - 40, 37))
def test_a_private_key_that_is_cut_in_two_is_found_in_both_halves(cut: int) -> None:
    for half in (PEM[:cut], PEM[cut:]):
        shown = half
        for _, secret in found(half):
            shown = shown.replace(secret, "")
        assert len(max(shown.split(), key=len, default="")) < 64


def test_lines_from_the_middle_of_a_private_key_are_found() -> None:
    assert found(f"as before\n{BODY}\n") == [("key", BODY + "\n")]


# Each once took, or would take without care, quadratic time: minutes at this length.
HOSTILE = [
    *("a", "a@", "a@b.", "@a.", "a.b@c-", ".....@", "a@" + "b." * 50 + "1 ", "＠", "=", "-", "\\n"),
    *("1", "13", "138 ", "1 ", "+1 ", "+", "(", "0", "+86", "138-1234-567", "１３８", "\u200b"),
    *(
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMIIE",
        "-----END PRIVATE KEY-----",
    ),
    *("a\n-----END PRIVATE KEY-----", "a -----", "A" * 63 + "\n", "A" * 64 + "\n", "A" * 17 + " "),
    *(
        *("AKIA", "sk-", "sk-a", "ghp_", "xoxb-", "cs_", "cs_" + "a" * 42 + "-"),
        *("SG.", "SG." + "a" * 17),
    ),
    *(
        *("eyJ", "eyJaaaaaaaa.", "eyJaaaaaaaa ", "token=", "token=a", "token=a1"),
        *("token:", "password "),
    ),
    *(
        *("密码", "bearer ", "bearer a", "authorization: ", "://a:", "://a:b", "://a@"),
        *("://a:b@", "://:@"),
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_text_is_searched_to_its_end(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    ends = [0, *(s.end for s in find_sensitive(text, SENSITIVE_KINDS))]
    assert ends == sorted(ends)
    assert ends[-1] <= len(text)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["a", "@", "a:", "a@", "a:b@", "1?", "a,", "密@"])
def test_one_address_with_a_login_without_end_is_searched_to_its_end(unit: str) -> None:
    text = "://a:" + unit * (1_000_000 // len(unit))
    assert all(part.end <= len(text) for part in find_sensitive(text, SENSITIVE_KINDS))


def test_one_address_of_half_a_million_labels_is_searched_to_its_end() -> None:
    assert find_sensitive("a@" + "b." * 500_000 + "1", SENSITIVE_KINDS) == ()
