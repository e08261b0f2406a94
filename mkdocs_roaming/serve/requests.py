"""Parse the untrusted parts of a request (client, host, origin, Accept, question, feedback), and refuse invalid ones.

A refused request raises `ProblemError` and gets a problem response (RFC 9457).

Addresses leave this module only as the network that is counted. Of the body of `useChat` only the last words of the
user count, and turns that this server signed: whatever a client writes in the name of a system, an assistant or a tool
is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping, Sequence
from ipaddress import IPv6Address, IPv6Network, ip_address
from math import ceil
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import UNSET

from mkdocs_roaming._json import decode_json, encode_json, prepare, replace_invalid
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.serve import schemas
from mkdocs_roaming.serve.schemas import Chat, ChatMessage, Question

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Header = tuple[bytes, bytes]

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
"""The names of this machine."""
UNKNOWN_CLIENT = "unknown"
"""All clients without an address (Unix sockets, broken proxies) share one limit."""
CLIENT_KEY = "roaming.client"
"""The client's network in the ASGI scope, set by the middleware."""
PROBLEM_KEY = "roaming.problem"
"""The `ProblemError` of a refused request in the ASGI scope, for metrics and logs."""

MAX_PORT = 65_535
_MAX_OBJECTS = 30_000  # maximum number of objects and arrays in a body: decoding more would block the event loop
_MAX_ACCEPT_CHARS = 1_000
_MAX_SHOWN_CHARS = 100
_DEFAULT_PORTS = {"http": "80", "https": "443"}
_FIELD_CODES = {"question": "no_question", "lang": "bad_language"}
_FIELD = re.compile(r"(?:`\$\.|required field `)(\w+)")
"""The field in an error of msgspec, which has no attribute for it: "Expected `str`, got `int` - at `$.page`"."""
_HOST = re.compile(r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252})|\[[0-9A-Fa-f:.]{2,45}\])(?::(?P<port>[0-9]{1,5}))?")
"""A Host header, such as `docs.example:8080` or `[::1]`. Parsers of URLs accept more, such as `user@docs.example`."""
_LANGUAGE_TAG = re.compile(schemas.LANGUAGE_TAG_PATTERN)
_STATUSES = {
    400: ("malformed", "not_an_object", "not_json"),
    403: ("origin",),
    404: ("empty_scope", "no_feedback", "no_file", "no_section", "not_found"),
    405: ("method", "method_not_allowed"),
    408: ("slow",),
    413: ("size",),
    421: ("host",),
    429: ("busy", "money", "rate"),
    500: ("failed",),
    501: ("no_mcp",),
    503: ("counters", "no_site", "stopping", "unreadable"),
}
"""The codes of problems, by their status. Any other code is that of an invalid field (422)."""
_STATUS_OF_CODE = {code: status for status, codes in _STATUSES.items() for code in codes}

# Problems


class ProblemError(Exception):
    """A refused request: a code for programs, a sentence for people, the status, and seconds until a retry.

    `status` is that of the code unless another one is given. `answer` is what the reader gets although the model
    failed. `setting` is the limit that was exceeded, for the operator, such as `concurrent = 8`.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        answer: schemas.Answer | None = None,
        setting: str = "",
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.status = status or _STATUS_OF_CODE.get(code, 422)
        self.answer = answer
        self.setting = setting
        self.retry_after = None if retry_after is None else max(1, ceil(retry_after))


def encode_problem(error: ProblemError) -> tuple[list[Header], bytes]:
    """Return the headers and the body of an error response."""
    answer = error.answer
    problem = schemas.Problem(
        "about:blank",
        schemas.status_phrase(error.status),
        error.status,
        error.detail,
        error.code,
        answer=answer.answer if answer else UNSET,
        sources=answer.sources if answer else UNSET,
        retry_after=error.retry_after or UNSET,
    )
    headers: list[Header] = [(b"content-type", schemas.PROBLEM.encode()), (b"cache-control", b"no-store")]
    if error.retry_after is not None:
        headers.append((b"retry-after", str(error.retry_after).encode()))
    body = encode_json(problem)
    return [*headers, (b"content-length", str(len(body)).encode())], body


async def send_problem(send: Send, error: ProblemError, headers: Iterable[Header] = ()) -> None:
    """Send an error response."""
    own_headers, body = encode_problem(error)
    await send({"type": "http.response.start", "status": error.status, "headers": [*own_headers, *headers]})
    await send({"type": "http.response.body", "body": body})


# Clients


def resolve_client(scope: Mapping[str, Any], proxies: int = 0) -> str:
    """Return the network that a request is counted under: an IPv4 address, or the /64 of an IPv6 address.

    Each trusted proxy appends the address that it sees to X-Forwarded-For. So the list is read from the right: the
    client is the address that the outermost proxy saw, and anything before it was written by the client. Without
    proxies the header is ignored, and so is one with fewer addresses: the request did not pass all proxies.
    """
    peer = scope.get("client")
    network = None
    forwarded = split_header(scope, b"x-forwarded-for") if proxies else []
    if 0 < proxies <= len(forwarded):
        address = forwarded[-proxies].strip('"')
        if address.startswith("["):  # [2001:db8::1]:443
            address = address[1:].partition("]")[0]
        elif address.count(":") == 1:  # 192.0.2.7:443
            address = address.partition(":")[0]
        network = parse_network(address)
    return network or parse_network(peer[0] if peer else "") or UNKNOWN_CLIENT


def parse_network(text: str) -> str | None:
    """Return the network of an address, None for an invalid address."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is None:
            return str(IPv6Network((address, 64), strict=False))
        address = address.ipv4_mapped
    return str(address)


def resolve_scheme(scope: Mapping[str, Any], proxies: int = 0) -> str:
    """Return the scheme that the client used, as reported by the nearest trusted proxy if there is one."""
    values = split_header(scope, b"x-forwarded-proto") if proxies else []
    return values[-1] if values and values[-1] in _DEFAULT_PORTS else str(scope.get("scheme", "http"))


def split_header(scope: Mapping[str, Any], name: bytes) -> list[str]:
    """Return the items of a header that is a list."""
    return [item.strip() for value in get_header_values(scope, name) for item in value.split(",")]


def get_header_values(scope: Mapping[str, Any], name: bytes) -> list[str]:
    """Return all values of a header, in order."""
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]


# Hosts, origins, and content negotiation


class AllowedHosts:
    """The names that a server answers to. A name without a port is valid for every port; `*` is any name."""

    def __init__(self, hosts: Iterable[str]) -> None:
        self.any = False
        self._allowed: set[tuple[str, str]] = set()
        for text in hosts:
            host = parse_host(text)
            if text == "*":
                self.any = True
            elif host is None:
                shown = text[:_MAX_SHOWN_CHARS]
                raise UsageError(f"{shown!r} is not a host name; write docs.example or docs.example:8080")
            else:
                self._allowed.add(host)

    def check(self, headers: Sequence[str]) -> tuple[str, str]:
        """Return the name and the port of the Host headers. Raise ProblemError if the server does not answer to it."""
        host = parse_host(headers[0]) if len(headers) == 1 else None
        if host is None:
            raise ProblemError("host", "The Host header is missing or malformed.", status=400)
        is_allowed = self.any or host in self._allowed or (host[0], "") in self._allowed
        if not is_allowed:
            raise ProblemError("host", "This server does not answer to that name.")
        return host


def parse_host(text: str) -> tuple[str, str] | None:
    """Return the name and the port (or an empty string) of a Host header, None if it is malformed."""
    match = _HOST.fullmatch(text)
    if match is None or (match["port"] and not 0 < int(match["port"]) <= MAX_PORT):
        return None
    name = match["name"].lower()
    if name.startswith("["):
        try:
            name = f"[{IPv6Address(name[1:-1])}]"
        except ValueError:
            return None
    return name.removesuffix("."), match["port"] or ""


def parse_origin(text: str) -> str:
    """Return an origin of the configuration in the form that browsers send. Raise UsageError for an invalid one."""
    scheme, _, authority = text.removesuffix("/").lower().partition("://")
    host = parse_host(authority)
    if scheme not in _DEFAULT_PORTS or host is None:
        shown = text[:_MAX_SHOWN_CHARS]
        raise UsageError(f"{shown!r} is not an origin; write https://docs.example, without a path")
    return format_origin(scheme, *host)


def format_origin(scheme: str, name: str, port: str) -> str:
    """Return an origin, without the default port of its scheme."""
    is_default = not port or port == _DEFAULT_PORTS.get(scheme)
    return f"{scheme}://{name}" if is_default else f"{scheme}://{name}:{port}"


def choose_media_type(accept: str, offered: Sequence[str]) -> str:
    """Return the offered media type that an Accept header prefers, by default the first one.

    Of equal weights, the more specific one wins, then the one that is offered first. One with `q=0` is the last choice.
    """
    weights = dict(_parse_range(text) for text in accept[:_MAX_ACCEPT_CHARS].split(",") if text.strip())
    ranks = []
    for media_type in offered:
        rank = (0.0, -1)
        group = media_type.partition("/")[0]
        for specificity, name in enumerate(("*/*", f"{group}/*", media_type)):
            weight = weights.get(name)
            if weight is not None:
                rank = (weight, specificity) if weight else (0.0, -2 - specificity)
        ranks.append(rank)
    return offered[ranks.index(max(ranks))]


def _parse_range(text: str) -> tuple[str, float]:
    """Return a media range of an Accept header, such as `text/*;q=0.5`, and its weight."""
    name, *parameters = (part.strip().lower() for part in text.split(";"))
    weight = next((parameter[2:] for parameter in parameters if parameter.startswith("q=")), "1")
    try:
        return name, min(max(float(weight), 0.0), 1.0)
    except ValueError:
        return name, 0.0


# Questions


def parse_question(body: bytes, content_type: str = schemas.JSON) -> Question:
    """Parse the body of a question: of this API, or of the AI SDK's `useChat`.

    Raises:
        ProblemError: 415 if the body is not declared as JSON, 400 if it is not a JSON object, 422 if it contains no
            valid question.
    """
    data = _decode(body, content_type)
    if "question" not in data and "messages" in data:
        data = _parse_messages(_convert(data, Chat).messages) | data
    if "question" not in data:
        raise ProblemError("no_question", "`question` is missing.")
    return validate(_convert(data, Question))


def validate(question: Question) -> Question:
    """Return a question in normal form. Raise ProblemError if it is invalid."""
    if len(question.page) > schemas.MAX_PAGE_CHARS:
        detail = f"`page` is a path or a URL of at most {schemas.MAX_PAGE_CHARS} characters."
        raise ProblemError("bad_page", detail)
    return msgspec.structs.replace(
        question,
        text=validate_question(question.text),
        page=replace_invalid(question.page).replace("\0", "").strip(),
        language=validate_language(question.language),
        turns=question.turns[-schemas.MAX_TURNS :],
        scope=question.scope.normalize(),
    )


def validate_question(text: str) -> str:
    """Return a question without surrounding whitespace. Raise ProblemError if it is empty or too long."""
    text = replace_invalid(text).replace("\0", "").strip()
    if not text:
        raise ProblemError("no_question", "The question is empty.")
    if len(text) > schemas.MAX_QUESTION_CHARS:
        detail = f"A question has at most {schemas.MAX_QUESTION_CHARS} characters, this one has {len(text)}."
        raise ProblemError("question_too_long", detail)
    return text


def validate_language(text: str) -> str:
    """Return a language tag in lower case. Raise ProblemError if it is neither valid nor empty."""
    if not _LANGUAGE_TAG.fullmatch(text):
        raise ProblemError("bad_language", "`lang` is a language tag, such as en or pt-BR.")
    return text.lower()


def find_page(address: str, sections: SectionIndex) -> SectionRef | None:
    """Return the section for an address of a browser: a path of the site or the server, or a URL of a mirror."""
    if not address:
        return None
    if section := sections.find(address):
        return section
    try:
        path = urlsplit(address).path
        base = urlsplit(sections.manifest.site.url).path
    except ValueError:
        return None
    return sections.find("/" + unquote(path.removeprefix(base)))


def _parse_messages(messages: Sequence[ChatMessage]) -> dict[str, Any]:
    """Return the text of the user's last message as the question, and the signed turns of the answers before it."""
    turns: list[str] = []
    earlier: list[str] = []
    text = ""
    for message in messages:
        if message.role == "user":
            parts = [part.get("text") for part in message.parts or () if part.get("type") == "text"]
            text = "\n".join(part for part in parts if isinstance(part, str))
            earlier = turns.copy()
        elif message.role == "assistant" and isinstance(message.metadata, dict):
            turn = message.metadata.get("turn")  # its signature is verified later
            if isinstance(turn, str) and len(turn) <= schemas.MAX_TURN_CHARS:
                turns.append(turn)
    return {"turns": earlier, "question": text} if text else {}


# Feedback


def parse_feedback(body: bytes, content_type: str = schemas.JSON) -> schemas.Feedback:
    """Parse the body of feedback.

    Raises:
        ProblemError: 415 if the body is not declared as JSON, 400 if it is not a JSON object, 422 if a field is
            invalid.
    """
    feedback = _convert(_decode(body, content_type), schemas.Feedback)
    return msgspec.structs.replace(feedback, comment=replace_invalid(feedback.comment.strip()))


_T = TypeVar("_T", bound=msgspec.Struct)


def _decode(body: bytes, content_type: str) -> dict[str, Any]:
    """Decode a JSON object, which pages of other sites cannot send without a CORS preflight. Null fields are absent."""
    if content_type.partition(";")[0].strip().lower() != schemas.JSON:
        detail = "Send the body as application/json."
        raise ProblemError("not_json", detail, status=415)
    if body.count(b"{") + body.count(b"[") > _MAX_OBJECTS:
        raise ProblemError("size", f"A body has at most {_MAX_OBJECTS} objects and arrays.")
    try:
        data: object = decode_json(body)
    except ValueError:
        raise ProblemError("not_json", "The body is not JSON.") from None
    if not isinstance(data, dict):
        raise ProblemError("not_an_object", "The body is not a JSON object.")
    return {name: value for name, value in data.items() if value is not None}


def _convert(data: dict[str, Any], type_: type[_T]) -> _T:
    try:
        return msgspec.convert(data, prepare(type_))
    except msgspec.ValidationError as error:
        match = _FIELD.search(str(error))
        field = match[1] if match else "body"
        raise ProblemError(_FIELD_CODES.get(field, f"bad_{field}"), f"{error}.") from None
