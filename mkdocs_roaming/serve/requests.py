"""Who asks, which name it asked for, and from which site: read from what cannot be trusted.

Nothing here knows limits or answers. Addresses leave this module only as the network that is counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any
from urllib.parse import unquote, urlsplit

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import canonicalize_path
from mkdocs_roaming.serve.problems import ProblemError

UNKNOWN_CLIENT = "unknown"


"""Whoever has no address (a socket in the file system, a broken proxy) shares one limit."""


def resolve_client(scope: Mapping[str, Any], proxies: int = 0) -> str:
    """Give the network that a request is counted under: an IPv4 address, or the /64 of an IPv6 address.

    `proxies` is how many servers of ours stand in front, each of which appends to X-Forwarded-For: the address that
    counts is the one that the outermost of them saw, so the list is read from the right. What stands further left was
    written by the visitor. With 0 the header is not read at all.
    """
    peer = scope.get("client")
    seen = _forwarded(scope, proxies) if proxies else None
    return seen or parse_network(peer[0] if peer else "") or UNKNOWN_CLIENT


def parse_network(text: str) -> str | None:
    """Give the network of an address; None where it is none."""
    if _IPV4.fullmatch(text):
        return text
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    address = mapped or address
    if isinstance(address, IPv4Address):
        return str(address)
    return str(IPv6Network((address, 64), strict=False))


def get_header_values(scope: Mapping[str, Any], name: bytes) -> list[str]:
    """Give all values of a header, in order."""
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]


def parse_host(text: str) -> tuple[str, str] | None:
    """Give the name and the port (`""` where none stands) of a Host header; None where it is malformed."""
    match = _HOST.fullmatch(text)
    if match is None or (match["port"] and not 0 < int(match["port"]) < 65536):
        return None
    name = match["name"].lower()
    if name.startswith("["):
        try:
            name = f"[{IPv6Address(name[1:-1])}]"
        except ValueError:
            return None
    return name.removesuffix("."), match["port"] or ""


def parse_origin(text: str) -> str:
    """Give an origin of the configuration as browsers send it; raises UsageError where it is none."""
    wrong = UsageError(f"{text[:100]!r} is no origin; write https://docs.example, without a path")
    try:
        parts = urlsplit(text)
    except ValueError:
        raise wrong from None
    host = parse_host(parts.netloc)
    beyond = parts.path.strip("/") or parts.query or parts.fragment
    if parts.scheme not in ("http", "https") or host is None or beyond:
        raise wrong
    return format_origin(parts.scheme, *host)


def format_origin(scheme: str, name: str, port: str) -> str:
    """Give the origin of a scheme, a name and a port: the port is left out where it is the scheme's own."""
    return f"{scheme}://{name}" + (f":{port}" if port and port != _PORTS.get(scheme) else "")


class AllowedHosts:
    """The names that a server answers to. One without a port is answered to on every port; `*` is any."""

    def __init__(self, allowed: Iterable[str]) -> None:
        self.any = False
        self._allowed: set[tuple[str, str]] = set()
        for text in allowed:
            host = parse_host(text)
            if text == "*":
                self.any = True
            elif host is None:
                raise UsageError(f"{text[:100]!r} is no host; write docs.example or docs.example:8080")
            else:
                self._allowed.add(host)

    def allow(self, name: str, port: str) -> bool:
        """Tell whether a server of these names is meant."""
        return self.any or (name, "") in self._allowed or (name, port) in self._allowed


def resolve_scheme(scope: Mapping[str, Any], proxies: int = 0) -> str:
    """Give the scheme that the visitor used: as the nearest proxy says where there is one."""
    said = _listed(get_header_values(scope, b"x-forwarded-proto")) if proxies else []
    return said[-1] if said and said[-1] in _PORTS else str(scope.get("scheme", "http"))


def _forwarded(scope: Mapping[str, Any], proxies: int) -> str | None:
    seen = _listed(get_header_values(scope, b"x-forwarded-for"))
    if len(seen) < proxies:
        return None  # it did not come through all of them
    text = seen[-proxies].strip('"')
    match = _WITH_PORT.fullmatch(text)
    return parse_network(match["v6"] or match["v4"]) if match else parse_network(text)


def _listed(values: Sequence[str]) -> list[str]:
    return [item.strip() for item in ",".join(values).split(",")] if values else []


_HOST = re.compile(r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252})|\[[0-9A-Fa-f:.]{2,45}\])(?::(?P<port>[0-9]{1,5}))?")


_WITH_PORT = re.compile(r"\[(?P<v6>[^\]]+)\](?::[0-9]+)?|(?P<v4>[0-9.]+):[0-9]+")


_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"


_IPV4 = re.compile(rf"(?:{_OCTET}\.){{3}}{_OCTET}")  # ip_address takes ten times as long, for every request


_PORTS = {"http": "80", "https": "443"}


# MERGED mkdocs_roaming.serve.question:
# What a reader asks, read out of a request's body: our own form, and the one that `useChat` sends.
#
# Of a `useChat` body only the reader's last words count, and the turns that this server signed itself: whatever
# a client
# writes in the name of a system, an assistant or a tool is not read.


MAX_QUESTION_CHARS = 1_000


"""The most characters of a question."""


NOT_BLANK_PATTERN = "[^\\s\\u0000-\\u001f\\u0085]"


"""What stands somewhere in a question, as a regular expression: it is not empty."""


MAX_PAGE_CHARS = 500


MAX_TURNS = 6


MAX_TURN_CHARS = 2_048


LANGUAGE_TAG_PATTERN = "[A-Za-z]{1,8}(?:[-_][A-Za-z0-9]{1,8}){0,4}"


"""What a language tag looks like, as a regular expression."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the page that its reader is on, the reader's language, and signed turns, the oldest first."""

    text: str
    page: str = ""
    language: str = ""
    turns: tuple[str, ...] = ()


def parse_question(body: bytes) -> Question:
    """Read a body; raises Refused with 400 where it is no JSON object, with 422 where it asks nothing askable."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        raise ProblemError(400, "not_json", "The body is not JSON.") from None
    if not isinstance(data, dict):
        raise ProblemError(400, "not_an_object", "The body is not a JSON object.")
    messages = data.get("messages")
    text = data.get("question")
    turns = data.get("turns")
    if text is None and messages is not None:
        text, carried = _of_messages(messages)
        turns = carried if turns is None else turns
    return Question(
        _question(text),
        validate_page(data.get("page")),
        validate_language(data.get("lang")),
        _turns(turns),
    )


def validate_question(text: str) -> str:
    """Give a question as it is asked: on the outside trimmed; raises Refused where it is empty or too long."""
    text = _sound(text).strip()
    if not text:
        raise ProblemError(422, "no_question", "The question is empty.")
    if len(text) > MAX_QUESTION_CHARS:
        raise ProblemError(
            422, "question_too_long", f"A question has at most {MAX_QUESTION_CHARS} characters, this has {len(text)}."
        )
    return text


def validate_page(value: object) -> str:
    """Give the page that the reader is on, empty where none is said; raises Refused where it is no address."""
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > MAX_PAGE_CHARS:
        raise ProblemError(422, "bad_page", f"`page` is a path or an address of at most {MAX_PAGE_CHARS} characters.")
    return _sound(value).strip()


def validate_language(value: object) -> str:
    """Give the reader's language, empty where none is said; raises Refused where it is no tag."""
    if value is None or value == "":
        return ""
    if not isinstance(value, str) or not _TAG.fullmatch(value):
        raise ProblemError(422, "bad_language", "`lang` is a language tag, such as en or pt-BR.")
    return value.lower()


def find_page(address: str, places: SectionIndex) -> SectionRef | None:
    """Give the section that a reader is at, by whatever a browser says: a path of its site or of its server, a URL of
    the site or of a mirror.
    """
    if not address:
        return None
    if found := places.resolve(address):
        return found
    try:
        path = urlsplit(address).path
        base = urlsplit(places.manifest.site.url).path
    except ValueError:
        return None
    below = path.removeprefix(base) if path.startswith(base) else path
    page = places.get_page(canonicalize_path(unquote(below)))
    return SectionRef(page, 0) if page is not None else None


def _question(value: object) -> str:
    if not isinstance(value, str):
        raise ProblemError(422, "no_question", "`question` is missing, or is no text.")
    return validate_question(value)


def _turns(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(turn, str) for turn in value):
        raise ProblemError(422, "bad_turns", "`turns` is a list of the texts that earlier answers ended with.")
    if len(value) > MAX_TURNS or any(len(turn) > MAX_TURN_CHARS for turn in value):
        raise ProblemError(422, "bad_turns", f"At most {MAX_TURNS} turns of {MAX_TURN_CHARS} characters are read.")
    return tuple(value)


def _of_messages(messages: object) -> tuple[str | None, list[str]]:
    """Give the reader's last words, and the turns that the answers before them ended with."""
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise ProblemError(422, "bad_messages", "`messages` is a list of objects.")
    asked = [at for at, message in enumerate(messages) if message.get("role") == "user"]
    if not asked:
        return None, []
    turns = [turn for message in messages[: asked[-1]] if (turn := _turn(message)) is not None]
    return _text(messages[asked[-1]]), turns[-MAX_TURNS:]


def _text(message: Mapping[str, Any]) -> str | None:
    parts = message.get("parts")
    if not isinstance(parts, list):
        content = message.get("content")  # as older versions wrote it
        return content if isinstance(content, str) else None
    return "\n".join(_texts(parts)) or None


def _texts(parts: Sequence[object]) -> list[str]:
    return [
        part["text"]
        for part in parts
        if isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)
    ]


def _turn(message: Mapping[str, Any]) -> str | None:
    """Give the signed turn that an answer's metadata hold; its signature is looked at later."""
    metadata = message.get("metadata")
    turn = metadata.get("turn") if message.get("role") == "assistant" and isinstance(metadata, dict) else None
    return turn if isinstance(turn, str) and len(turn) <= MAX_TURN_CHARS else None


def _sound(text: str) -> str:
    """Give text that can be written down: JSON may hold halves of characters."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")


_TAG = re.compile(LANGUAGE_TAG_PATTERN)
