"""Warnings about refused requests."""

from __future__ import annotations

from typing import Any

import pytest
from serving import load_cases

from mkdocs_roaming.serve.log import RefusalLog, SeldomLog
from mkdocs_roaming.serve.requests import ProblemError

ORIGIN = ProblemError("origin", "No.")


def scope(*headers: tuple[str, str], peer: str = "203.0.113.7") -> dict[str, Any]:
    return {"headers": [(name.encode(), value.encode("latin-1")) for name, value in headers], "client": (peer, 4711)}


@pytest.mark.parametrize(
    ("status", "header", "value", "expected"),
    load_cases("refused names"),
)
def test_refused_name_is_logged_once_with_setting(
    caplog: pytest.LogCaptureFixture, status: int, header: str, value: str, expected: str
) -> None:
    log = RefusalLog()
    for _ in range(3):
        log.warn(ProblemError(header, "No.", status=status), scope((header, value)), "203.0.113.7")
    (message,) = caplog.messages
    assert expected in message
    assert value.split("\x1b")[0] in message
    assert message.isprintable()


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([], "it is this server's own; its reverse proxy must send X-Forwarded-Proto"),
        ([("x-forwarded-proto", "http")], "add it to [serve] origins"),
    ],
)
def test_own_origin_without_scheme_of_proxy_is_logged_with_header_to_set(
    caplog: pytest.LogCaptureFixture, headers: list[tuple[str, str]], expected: str
) -> None:
    names = (("host", "ask.example"), ("origin", "https://ask.example"))
    RefusalLog(1).warn(ORIGIN, scope(*names, *headers), "203.0.113.7")
    assert caplog.messages[0].startswith("refused Origin https://ask.example (403): ")
    assert expected in caplog.text


@pytest.mark.parametrize(
    ("problem", "warnings", "setting"),
    [
        (ProblemError("rate", "No.", setting="answers_a_minute_each = 6"), 2, "answers_a_minute_each = 6"),
        (ProblemError("busy", "No.", setting="concurrent = 8"), 1, "concurrent = 8"),
        (ProblemError("size", "No.", setting="body_bytes = 65536"), 2, "body_bytes = 65536"),
        (ProblemError("no_question", "No."), 0, ""),
    ],
)
def test_exceeded_limit_is_logged_for_each_client_that_it_counts(
    caplog: pytest.LogCaptureFixture, problem: ProblemError, warnings: int, setting: str
) -> None:
    log = RefusalLog()
    for client in ("203.0.113.7", "203.0.113.7", "203.0.113.8"):
        log.warn(problem, scope(peer=client), client)
    assert len(caplog.messages) == warnings
    assert all(f"[limits] {setting}" in message for message in caplog.messages)
    assert "203.0.113" not in caplog.text


@pytest.mark.parametrize(("peer", "forwarded", "proxies", "hint"), load_cases("unknown proxies"))
def test_client_behind_unknown_proxy_gets_hint(
    caplog: pytest.LogCaptureFixture, peer: str, forwarded: str, proxies: int, hint: str
) -> None:
    headers = (("x-forwarded-for", forwarded),) if forwarded else ()
    problem = ProblemError("rate", "No.", setting="requests_a_minute_each = 120")
    RefusalLog(proxies).warn(problem, scope(*headers, peer=peer), peer)
    assert hint in caplog.text
    assert ("proxies" in caplog.text) is bool(hint)


def test_seldom_log_names_number_of_warnings_since_last_line(caplog: Any) -> None:
    now = [0.0]
    log = SeldomLog(clock=lambda: now[0])
    for seconds in (0, 1, 59, 60, 61, 130):
        now[0] = seconds
        log.warn("request %d is malformed", seconds)
        log.warn("other")
    lines = [line for line in caplog.messages if line.startswith("request")]
    assert lines == [
        "request 0 is malformed",
        "request 60 is malformed (2 more since the last line)",
        "request 130 is malformed (1 more since the last line)",
    ]


def test_seldom_log_counts_further_kinds_as_one(caplog: Any) -> None:
    log = SeldomLog(clock=lambda: 0.0)
    for number in range(1_100):
        log.warn("page %d", number, kind=str(number))
    assert len(caplog.messages) == 101
