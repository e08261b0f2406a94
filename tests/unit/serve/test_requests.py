"""Clients, hosts and origins of requests."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from serving import load_cases

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.serve.requests import (
    UNKNOWN_CLIENT,
    AllowedHosts,
    ProblemError,
    find_page,
    format_origin,
    parse_host,
    parse_network,
    parse_origin,
    parse_question,
    resolve_client,
    resolve_scheme,
)


def make_scope(peer: str | None, *forwarded: str, **more: str) -> dict[str, Any]:
    headers = [(b"x-forwarded-for", value.encode("latin-1")) for value in forwarded]
    headers += [(name.replace("_", "-").encode(), value.encode()) for name, value in more.items()]
    return {"client": (peer, 4711) if peer is not None else None, "headers": headers, "scheme": "http"}


def test_ipv6_clients_are_counted_by_64_prefix() -> None:
    assert parse_network("2001:db8:1:2::1") == parse_network("2001:db8:1:2:ffff:ffff:ffff:ffff") == "2001:db8:1:2::/64"
    assert parse_network("2001:db8:1:3::1") != parse_network("2001:db8:1:2::1")
    assert parse_network("fe80::1%eth0") == "fe80::/64"


def test_ipv4_mapped_address_is_ipv4_client() -> None:
    assert parse_network("::ffff:192.0.2.7") == parse_network("192.0.2.7") == "192.0.2.7"
    assert parse_network("::ffff:192.0.2.8") != parse_network("::ffff:192.0.2.7")


def test_x_forwarded_for_is_ignored_without_proxies() -> None:
    assert resolve_client(make_scope("192.0.2.7", "198.51.100.1")) == "192.0.2.7"


@pytest.mark.parametrize(("proxies", "forwarded", "counted"), load_cases("forwarded addresses"))
def test_x_forwarded_for_is_read_from_the_right(proxies: int, forwarded: list[str], counted: str) -> None:
    assert resolve_client(make_scope("10.0.0.9", *forwarded), proxies) == counted


@given(st.lists(st.text(st.characters(max_codepoint=255), max_size=40), max_size=5))
def test_forged_x_forwarded_for_does_not_change_client(forged: list[str]) -> None:
    assert resolve_client(make_scope("10.0.0.9", ", ".join([*forged, "203.0.113.5"])), 1) == "203.0.113.5"


@given(st.text(st.characters(max_codepoint=255), max_size=60), st.integers(0, 3))
def test_random_x_forwarded_for_never_raises(text: str, proxies: int) -> None:
    assert resolve_client(make_scope("10.0.0.9", text), proxies)


def test_clients_without_address_share_one_name() -> None:
    assert resolve_client(make_scope(None)) == resolve_client(make_scope("")) == UNKNOWN_CLIENT
    assert resolve_client(make_scope(None, "203.0.113.5"), 1) == "203.0.113.5"


@pytest.mark.parametrize(("text", "host"), load_cases("hosts"))
def test_parse_host_is_strict(text: str, host: list[str] | None) -> None:
    assert parse_host(text) == (tuple(host) if host else None)


def test_allowed_hosts_match_name_and_port() -> None:
    hosts = AllowedHosts(["docs.example", "other.example:8080"])
    assert hosts.check(["docs.example"]) == ("docs.example", "")
    assert hosts.check(["docs.example:8443"]) == ("docs.example", "8443")
    assert hosts.check(["other.example:8080"]) == ("other.example", "8080")
    for name in ("other.example", "evil-docs.example", "docs.example.evil.example"):
        with pytest.raises(ProblemError, match="does not answer to that name"):
            hosts.check([name])
    assert AllowedHosts(["*"]).check(["anything"]) == ("anything", "")


@pytest.mark.parametrize("text", ["docs.example", "https://", "https://docs.example/path", "null", "*", "ftp://x", ""])
def test_parse_origin_refuses_invalid_origins(text: str) -> None:
    with pytest.raises(UsageError, match=r"https://docs\.example"):
        parse_origin(text)


def test_format_origin_omits_default_port() -> None:
    assert parse_origin("https://Docs.Example:443/") == "https://docs.example"
    assert parse_origin("http://localhost:8000") == "http://localhost:8000"
    assert format_origin("http", "[::1]", "8000") == "http://[::1]:8000"


def test_allowed_hosts_refuse_url() -> None:
    with pytest.raises(UsageError, match=r"'https://docs\.example' is not a host name"):
        AllowedHosts(["https://docs.example"])


def test_resolve_scheme_uses_nearest_proxy() -> None:
    scope = make_scope("10.0.0.9", x_forwarded_proto="http, https")
    assert (resolve_scheme(scope), resolve_scheme(scope, 1)) == ("http", "https")
    assert resolve_scheme(make_scope("10.0.0.9", x_forwarded_proto="gopher"), 1) == "http"


@pytest.mark.parametrize(("address", "path"), load_cases("addresses of pages"))
def test_find_page_accepts_addresses_of_browsers_and_guessed_folders(
    make_site: Callable, address: str, path: str | None
) -> None:
    pages = [("", "# Home\n\nStart.\n"), ("guide/pumps/", "# Pumps\n\nAll of them.\n")]
    found = find_page(address, make_site(pages).library().sections)
    assert (found.page.path if found else None) == path


# Long bodies


def message(role: str, text: str, **metadata: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "text": text}], "metadata": metadata}


CONVERSATION = [
    each
    for at in range(80)
    for each in (message("user", f"Question {at}?"), message("assistant", "word " * 2_000, turn=f"turn {at}"))
]


def test_long_conversation_keeps_last_turns() -> None:
    body = json.dumps({"messages": [*CONVERSATION, message("user", "And then?")], "page": "/oil/"}).encode()
    question = parse_question(body)
    assert len(body) > 800_000
    assert (question.text, question.page) == ("And then?", "/oil/")
    assert question.turns == tuple(f"turn {at}" for at in range(74, 80))


@pytest.mark.parametrize("piece", ["{},", "[],", "["])
def test_body_of_many_objects_is_refused_before_it_is_decoded(piece: str) -> None:
    with pytest.raises(ProblemError) as caught:
        parse_question(f'{{"messages":[{piece * 40_000}'.encode())
    assert (caught.value.status, caught.value.code) == (413, "size")
