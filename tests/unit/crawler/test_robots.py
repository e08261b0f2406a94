"""robots.txt after RFC 9309, and the remaining differences of Protego."""

from __future__ import annotations

import pytest

from roaming_crawler.session import AGENT, find_header_ban, parse_robots, product_token

URL = "https://docs.example/"


def allows(text: str, path: str) -> bool:
    return parse_robots(200, text.encode()).allows(URL + path)


@pytest.mark.parametrize(
    ("text", "path", "allowed"),
    [
        ("", "a", True),
        ("User-agent: *\nDisallow: /a\n", "a/b", False),
        ("User-agent: *\nDisallow: /a\n", "b", True),
        ("user-agent: MKDOCS-ROAMING\ndisallow: /\n", "a", False),
        (f"User-agent: {AGENT}\nAllow: /\n\nUser-agent: *\nDisallow: /\n", "a", True),
        ("User-agent: other\nDisallow: /\n", "a", True),
        ("User-agent: one\nUser-agent: mkdocs-roaming\nDisallow: /a\n", "a", False),
        ("User-agent: *\nDisallow: /a\nAllow: /a/b\n", "a/b", True),  # the longest match wins
        ("User-agent: *\nDisallow: /a$\n", "ab", True),
        ("User-agent: *\nDisallow: /*.md\n", "x/y.md", False),
        ("User-agent: *\nAllow: /a\nDisallow: /a\n", "a", True),  # at a tie, allow
        ("User-agent: *\nDisallow:\n", "a", True),
        ("User-agent: *\nDisallow: /b%61r\n", "bar", False),
        ("\ufeffUser-agent: *\nDisallow: /\n", "a", False),
        ("User-agent: *\r\nDisallow: /a\r\n", "a", False),
        ("# a word\nUser-agent: * # all\nDisallow: /a # this\n", "a", False),
        ("<html><body>Not found</body></html>", "a", True),
        (
            f"User-agent: {AGENT}\nDisallow: /a\n\nUser-agent: {AGENT}\nDisallow: /b\n",
            "b",
            False,
        ),  # groups of one name are merged
        ("User-agent: mkdocs-roaming extra words\nDisallow: /a\n", "a", False),  # a version after the name is ignored
        ("User-agent: MkDocs-Roaming/2.0 # ours\nDisallow: /a\n", "a", False),
        ("User-agent: mkdocs\nDisallow: /a\n", "a", True),  # a prefix of the name does not match
        ("User-agent: mkdocs\nAllow: /\n\nUser-agent: *\nDisallow: /\n", "a", False),
        ("User-agent: mkdocs-roaming-too\nDisallow: /a\n", "a", True),
        ("useragent: mkdocs-roaming\ndisallow: /a\n", "a", False),
        ("User-agent: *\n\n\nDisallow: /a\n", "a", False),  # empty lines do not end a group
        ("User-agent: one\nSitemap: https://x/s.xml\nUser-agent: mkdocs-roaming\nDisallow: /a\n", "a", False),
        ("Disallow: /a\nUser-agent: *\n", "a", True),  # a rule before the first group is ignored
        # other lines do not end a group, RFC 9309, 2.2.4
        ("User-agent: mkdocs-roaming\nNoindex: /x\nUser-agent: other\nDisallow: /a\n", "a", False),
        ("User-agent: *\nCrawl-delay: 1\nUser-agent: other\nDisallow: /a\n", "a", False),
        ("User-agent: *\nContent-Signal: search=yes, ai-train=no\nUser-agent: other\nDissallow: /a\n", "a", False),
        ("User-agent: *\nHost: docs.example\nWelcome, robots\nUser-agent: other\nDisallow: /a\n", "a", False),
        ("# old Mac\rUser-agent: MkDocs-Roaming/2.0\rDisallow: /a\r", "a", False),
        # one path in two spellings, RFC 9309, 2.2.2
        ("User-agent: *\nDisallow: /ü\n", "%C3%BC", False),
        ("User-agent: *\nDisallow: /%c3%bc\n", "%C3%BC", False),
        ("User-agent: *\nDisallow: /%62%61%7A\n", "baz", False),
        ("User-agent: *\nDisallow: /~joe\n", "%7Ejoe", False),
        ("User-agent: *\nDisallow: /a/b\n", "a%2Fb", True),  # an escaped slash is not a separator
        ("User-agent: *\nDisallow: /a%2fb\n", "a%2Fb", False),
        ("User-agent: *\nDisallow: /a%2A\n", "a*", False),  # an escaped star is not a wildcard
        ("User-agent: *\nDisallow: /a%2A\n", "axx", True),
        ("User-agent: *\nDisallow: /a%24\n", "a$", False),
    ],
)
def test_robots_follow_rfc_9309(text: str, path: str, allowed: bool) -> None:
    assert allows(text, path) is allowed


@pytest.mark.parametrize(
    ("status", "allowed"), [(404, True), (403, True), (410, True), (500, False), (503, False), (429, False)]
)
def test_robots_depend_on_response_status(status: int, allowed: bool) -> None:
    assert parse_robots(status, b"User-agent: *\nDisallow: /\n").allows(URL + "a") is allowed


@pytest.mark.parametrize(
    ("value", "delay"), [("5", 5.0), ("0.5", 0.5), ("3600", 30.0), ("-3", 0.0), ("soon", 0.0), ("", 0.0)]
)
def test_robots_crawl_delay_is_parsed_and_capped(value: str, delay: float) -> None:
    assert parse_robots(200, f"User-agent: *\nCrawl-delay: {value}\n".encode()).delay == delay


def test_robots_are_read_up_to_size_limit() -> None:
    text = "User-agent: *\nDisallow: /a\n" + "# and so on\n" * 100_000 + "Disallow: /b\n"
    assert (allows(text, "a"), allows(text, "b")) == (False, True)


@pytest.mark.parametrize(
    ("text", "path", "rfc"),
    [
        # escapes of special characters: by the RFC `%3F` and `%24` are literal characters of the path
        ("User-agent: *\nDisallow: /a%3Fb\n", "a?b", True),
        ("User-agent: *\nDisallow: /a$\n", "a%24", True),
        # in a query, escaped and plain characters are the same by the RFC
        ("User-agent: *\nDisallow: /a?b=https://c\n", "a?b=https%3A%2F%2Fc", False),
    ],
)
def test_known_differences_of_protego(text: str, path: str, rfc: bool) -> None:
    assert allows(text, path) is not rfc


@pytest.mark.parametrize(
    ("user_agent", "token"), [("Teapot/2 (+https://tea.example)", "Teapot"), ("teapot", "teapot"), ("", AGENT)]
)
def test_product_token_is_first_word_of_user_agent(user_agent: str, token: str) -> None:
    assert product_token(user_agent) == token
    assert parse_robots(200, f"User-agent: {token.upper()}\nDisallow: /\n".encode(), token).allows(URL) is False


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ("noindex, nofollow", "noindex"),
        ("none", "noindex"),
        ("MKDOCS-ROAMING: noindex", "noindex"),
        ("unavailable_after: 25 Jun 2010 15:00:00 PST", "unavailable after 25 Jun 2010 15:00:00 PST"),
        ("googlebot: nofollow, mkdocs-roaming: noindex", "noindex"),  # joined by a proxy
        ("noindex, googlebot: none", "noindex"),
        (
            "mkdocs-roaming: unavailable_after: Friday, 25-Jun-10 15:00:00 EST, nofollow",
            "unavailable after Friday, 25-Jun-10 15:00:00 EST",
        ),
        ("unavailable_after: 25 Jun 99999 15:00:00 GMT", None),
        ("googlebot: noindex", None),
        ("nofollow, googlebot: noindex, nofollow", None),
        ("max-image-preview: none, nofollow", None),
    ],
)
def test_robots_header_excludes_page(header: str, reason: str | None) -> None:
    assert find_header_ban(header) == (f"X-Robots-Tag: {reason}" if reason else None)
