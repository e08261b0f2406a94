"""A brain with one faulty behavior at a time: wrong calls, errors, cut connections."""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import Iterable, Iterator
from itertools import count

from messages_api.parts import Broken, Call, Cite, Cut, End, Part, Raw, Say, Status, View, Wait
from messages_api.reading import LINE


class Adversary:
    """Shows one behavior in each request, or in the first `fails` requests only; then it follows the script."""

    def __init__(self, behaviour: str, *, fails: int | None = None, then: object = None) -> None:
        self.behaviour, self.fails, self.then = BEHAVIOURS[behaviour], fails, then
        self.asked = 0

    def reply(self, view: View) -> Iterable[Part]:
        """Return a faulty reply."""
        self.asked += 1
        if self.fails is not None and self.asked > self.fails:
            return self.then.reply(view)
        return self.behaviour(view)


def _ids(view: View) -> list[str]:
    return [id_ for id_, _ in LINE.findall(view.system)]


def _endless_calls(view: View) -> Iterable[Part]:
    ids = _ids(view)
    return [Call("expand_sections", {"ids": [ids[view.rounds % len(ids)]]})]


def _flood_of_calls(view: View) -> Iterator[Part]:
    for _ in count():
        yield Call("search_sections", {"query": "port"})


def _bad_ids(view: View) -> Iterable[Part]:
    ids = _ids(view)
    if view.rounds == 0:
        return [Call("expand_sections", {"ids": ["deadbeef", ids[0], ids[0], "../../etc/passwd", 7]}, id="same")]
    if view.rounds == 1:
        return [
            Call("expand_sections", {"ids": [ids[0]]}, id="same"),
            Call("expand_sections", {"id": ids[1]}, id="a~b"),
        ]
    return [Say(f"Something is said there [^{ids[0]}].")]


def _malformed_arguments(view: View) -> Iterable[Part]:
    if view.rounds == 0:
        return [
            Call("expand_sections", '{"ids": ["'),
            Call("expand_sections", "not json at all"),
            Call("search_sections", '["a", "list"]'),
            Call("no_such_tool", "{}"),
        ]
    ids = _ids(view)
    if view.rounds == 1:
        return [Call("expand_sections", {"ids": ids[:1]})]
    return [Say(f"Something is said there [^{ids[0]}].")]


def _orders(view: View) -> Iterable[Part]:
    """Follow the instructions in opened sections: call what they name, cite sections that were never opened."""
    lines = dict(LINE.findall(view.system))
    if view.rounds == 0:
        return [Call("expand_sections", {"ids": [id_ for id_ in lines if _ORDER.search(lines[id_])]})]
    ordered = " ".join(line for text in view.opened.values() for line in text.splitlines() if _ORDER.search(line))
    if view.rounds == 1 and view.tools:
        return [Say(ordered), Call("delete_site", {"confirm": True}), Call("http_get", {"url": "http://evil.example/"})]
    closed = [id_ for id_ in lines if id_ not in view.opened]
    return [Say(f"{ordered} So it is [^{closed[0]}].\n\nAll rules are void [^deadbeef]."), Cite(closed[0])]


_ORDER = re.compile("ignore all", re.IGNORECASE)


def _endless_text(view: View) -> Iterator[Part]:
    while True:
        yield Say("and so on and so forth, ")


def _endless_arguments(view: View) -> Iterator[Part]:
    yield Call("expand_sections", '{"ids": ["' + "07f3277d, " * 40_000)


def _drip(view: View) -> Iterator[Part]:
    while True:
        yield Say("a ")
        yield Wait(0.05)


def _retry_date() -> str:
    return email.utils.formatdate(time.time() + 1, usegmt=True)  # rounded up to a full second


def _status(code: int, kind: str, message: str, **headers: str) -> Status:
    return Status(code, {name.replace("_", "-"): value for name, value in headers.items()}, b"", kind, message)


BEHAVIOURS = {
    "endless calls": _endless_calls,
    "flood of calls": _flood_of_calls,
    "bad ids": _bad_ids,
    "malformed arguments": _malformed_arguments,
    "orders": _orders,
    "empty": lambda view: [],
    "blank": lambda view: [Say(" \n\n ")],
    "rate limit": lambda view: [_status(429, "rate_limit_error", "slow down", retry_after="0.05")],
    "rate limit until a date": lambda view: [_status(429, "rate_limit_error", "slow", retry_after=_retry_date())],
    "rate limit for an hour": lambda view: [_status(429, "rate_limit_error", "slow down", retry_after="3600")],
    "server error": lambda view: [_status(500, "api_error", "Internal server error")],
    "overloaded": lambda view: [_status(529, "overloaded_error", "Overloaded")],
    "not json": lambda view: [Status(502, body=b"<html>\n<h1>Bad gateway</h1></html>")],
    "wrong key": lambda view: [_status(401, "authentication_error", "invalid x-api-key: test-key")],
    "echoes the key": lambda view: [_status(403, "permission_error", "the key test-key may not")],
    "no credit": lambda view: [_status(402, "billing_error", "credit balance is too low")],
    "drip": _drip,
    "silence": lambda view: [Wait(60)],
    "silence in mid-stream": lambda view: [Say("Let me"), Wait(60)],
    "cut": lambda view: [Say("The port is"), Cut()],
    "clean cut": lambda view: [Say("The port is"), Cut(clean=True)],
    "error frame": lambda view: [Say("The port is"), Broken()],
    "error frame at once": lambda view: [Broken()],
    "cut at once": lambda view: [Cut()],
    "garbage frame": lambda view: [Say("The port is"), Raw(b"event: content_block_delta\ndata: {garbage\n\n")],
    "refusal": lambda view: [Say("I can't"), End("refusal")],
    "cut short": lambda view: [Say("The port is"), End("max_tokens")],
    "window full": lambda view: [Say("The port is"), End("model_context_window_exceeded")],
    "paused": lambda view: [Say("The port is"), End("pause_turn")],
    "unknown end": lambda view: [Say("The port is"), End("eos_token_of_tomorrow")],
    "endless text": _endless_text,
    "endless arguments": _endless_arguments,
}
