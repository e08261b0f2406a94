"""Parse the untrusted parts of a request (client address, host, origin, question, feedback), and refuse invalid ones.

A refused request raises `ProblemError` and gets a problem response (RFC 9457).

Addresses leave this module only as the network that is counted. Of the body of `useChat` only the last words of the
user count, and turns that this server signed: whatever a client writes in the name of a system, an assistant or a tool
is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping, Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from math import ceil
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import UNSET

from mkdocs_roaming._json import decode_json
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.serve import schemas
from mkdocs_roaming.serve.schemas import Chat, ChatMessage, Question
from mkdocs_roaming.settings import prepare

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

# Problems


class ProblemError(Exception):
    """A refused request: the status, a code for programs, a sentence for people, and seconds until a retry.

    `answer` is what the reader gets although the model failed. `setting` is the limit that was exceeded, for the
    operator, such as `concurrent = 8`.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        retry_after: float | None = None,
        answer: schemas.Answer | None = None,
        setting: str = "",
    ) -> None:
        super().__init__(detail)
        self.answer = answer
        self.setting = setting
        self.status = status
        self.code = code
        self.detail = detail
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
    body = schemas.encode_json(problem)
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
    proxies the header is ignored.
    """
    peer = scope.get("client")
    forwarded = _forwarded_network(scope, proxies) if proxies else None
    return forwarded or parse_network(peer[0] if peer else "") or UNKNOWN_CLIENT


def get_client(scope: Mapping[str, Any]) -> str:
    """Return the client's network of a request that passed the middleware, otherwise an empty string."""
    return str(scope.get(CLIENT_KEY, ""))


def parse_network(text: str) -> str | None:
    """Return the network of an address, None for an invalid address."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        address = address.ipv4_mapped or address
    return str(address if isinstance(address, IPv4Address) else IPv6Network((address, 64), strict=False))


def resolve_scheme(scope: Mapping[str, Any], proxies: int = 0) -> str:
    """Return the scheme that the client used, as reported by the nearest trusted proxy if there is one."""
    values = _split_list(get_header_values(scope, b"x-forwarded-proto")) if proxies else []
    return values[-1] if values and values[-1] in _DEFAULT_PORTS else str(scope.get("scheme", "http"))


def count_forwarded(scope: Mapping[str, Any]) -> int:
    """Return the number of addresses in X-Forwarded-For."""
    return len(_split_list(get_header_values(scope, b"x-forwarded-for")))


def get_header_values(scope: Mapping[str, Any], name: bytes) -> list[str]:
    """Return all values of a header, in order."""
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]


def _forwarded_network(scope: Mapping[str, Any], proxies: int) -> str | None:
    values = _split_list(get_header_values(scope, b"x-forwarded-for"))
    if len(values) < proxies:
        return None  # the request did not pass all proxies
    address = values[-proxies].strip('"')
    match = _ADDRESS_WITH_PORT.fullmatch(address)
    return parse_network(match["v6"] or match["v4"]) if match else parse_network(address)


def _split_list(values: Sequence[str]) -> list[str]:
    return [item.strip() for item in ",".join(values).split(",")] if values else []


# Hosts and origins


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
                raise UsageError(f"{text[:100]!r} is not a host name; write docs.example or docs.example:8080")
            else:
                self._allowed.add(host)

    def allow(self, name: str, port: str) -> bool:
        """Return whether the server answers to a name."""
        return self.any or (name, "") in self._allowed or (name, port) in self._allowed

    def check(self, headers: Sequence[str]) -> tuple[str, str]:
        """Return the name and the port of the Host headers. Raise ProblemError if the server does not answer to it."""
        host = parse_host(headers[0]) if len(headers) == 1 else None
        if host is None:
            raise ProblemError(400, "host", "The Host header is missing or malformed.")
        if not self.allow(*host):
            raise ProblemError(421, "host", "This server does not answer to that name.")
        return host


def parse_host(text: str) -> tuple[str, str] | None:
    """Return the name and the port (or an empty string) of a Host header, None if it is malformed."""
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
    """Return an origin of the configuration in the form that browsers send. Raise UsageError for an invalid one."""
    scheme, _, authority = text.removesuffix("/").lower().partition("://")
    host = parse_host(authority)
    if scheme not in _DEFAULT_PORTS or host is None:
        raise UsageError(f"{text[:100]!r} is not an origin; write https://docs.example, without a path")
    return format_origin(scheme, *host)


def format_origin(scheme: str, name: str, port: str) -> str:
    """Return an origin, without the default port of its scheme."""
    return f"{scheme}://{name}" + (f":{port}" if port and port != _DEFAULT_PORTS.get(scheme) else "")


# Questions


def check_media_type(content_type: str) -> None:
    """Raise ProblemError unless the body is JSON, which pages of other sites cannot send without a CORS preflight."""
    if content_type.partition(";")[0].strip().lower() != schemas.JSON:
        raise ProblemError(415, "not_json", "Send the body as application/json.")


def parse_question(body: bytes) -> Question:
    """Parse the body of a question: of this API, or of the AI SDK's `useChat`.

    Raises:
        ProblemError: 400 if the body is not a JSON object, 422 if it contains no valid question.
    """
    data = _decode(body)
    if "question" not in data and "messages" in data:
        data = _parse_messages(_convert(data, Chat).messages) | data
    if "question" not in data:
        raise ProblemError(422, "no_question", "`question` is missing.")
    return validate(_convert(data, Question))


def validate(question: Question) -> Question:
    """Return a question in normal form. Raise ProblemError if it is invalid."""
    if len(question.page) > schemas.MAX_PAGE_CHARS:
        detail = f"`page` is a path or a URL of at most {schemas.MAX_PAGE_CHARS} characters."
        raise ProblemError(422, "bad_page", detail)
    return msgspec.structs.replace(
        question,
        text=validate_question(question.text),
        page=schemas.replace_invalid(question.page).replace("\0", "").strip(),
        language=validate_language(question.language),
        turns=question.turns[-schemas.MAX_TURNS :],
        scope=question.scope.normalize(),
    )


def validate_question(text: str) -> str:
    """Return a question without surrounding whitespace. Raise ProblemError if it is empty or too long."""
    text = schemas.replace_invalid(text).replace("\0", "").strip()
    if not text:
        raise ProblemError(422, "no_question", "The question is empty.")
    if len(text) > schemas.MAX_QUESTION_CHARS:
        detail = f"A question has at most {schemas.MAX_QUESTION_CHARS} characters, this one has {len(text)}."
        raise ProblemError(422, "question_too_long", detail)
    return text


def validate_language(text: str) -> str:
    """Return a language tag in lower case. Raise ProblemError if it is neither valid nor empty."""
    if text and not re.fullmatch(schemas.LANGUAGE_TAG_PATTERN, text):
        raise ProblemError(422, "bad_language", "`lang` is a language tag, such as en or pt-BR.")
    return text.lower()


def find_page(address: str, sections: SectionIndex) -> SectionRef | None:
    """Return the section for an address of a browser: a path of the site or the server, or a URL of a mirror."""
    if not address:
        return None
    if found := sections.find(address):
        return found
    try:
        path = urlsplit(address).path
        base = urlsplit(sections.manifest.site.url).path
    except ValueError:
        return None
    return sections.find("/" + unquote(path.removeprefix(base)))


def _parse_messages(messages: Sequence[ChatMessage]) -> dict[str, Any]:
    """Return the text of the user's last message as the question, and the signed turns of the answers before it."""
    positions = [position for position, message in enumerate(messages) if message.role == "user"]
    if not positions:
        return {}
    turns = [turn for message in messages[: positions[-1]] if (turn := _parse_turn(message)) is not None]
    texts = [part.get("text") for part in messages[positions[-1]].parts or () if part.get("type") == "text"]
    text = "\n".join(text for text in texts if isinstance(text, str))
    return {"turns": turns, "question": text} if text else {}


def _parse_turn(message: ChatMessage) -> str | None:
    """Return the signed turn in the metadata of an answer. Its signature is verified later."""
    turn = message.metadata.get("turn") if message.role == "assistant" and isinstance(message.metadata, dict) else None
    return turn if isinstance(turn, str) and len(turn) <= schemas.MAX_TURN_CHARS else None


# Feedback


def parse_feedback(body: bytes) -> schemas.Feedback:
    """Parse the body of feedback.

    Raises:
        ProblemError: 400 if the body is not a JSON object, 422 if a field is invalid.
    """
    feedback = _convert(_decode(body), schemas.Feedback)
    return msgspec.structs.replace(feedback, comment=schemas.replace_invalid(feedback.comment.strip()))


_T = TypeVar("_T", bound=msgspec.Struct)


def _decode(body: bytes) -> dict[str, Any]:
    """Decode a JSON object. Fields with null are absent."""
    if body.count(b"{") + body.count(b"[") > _MAX_OBJECTS:  # decoding them would block the event loop
        raise ProblemError(413, "size", f"A body has at most {_MAX_OBJECTS} objects and arrays.")
    try:
        data: object = decode_json(body)
    except ValueError:
        raise ProblemError(400, "not_json", "The body is not JSON.") from None
    if not isinstance(data, dict):
        raise ProblemError(400, "not_an_object", "The body is not a JSON object.")
    return {name: value for name, value in data.items() if value is not None}


def _convert(data: dict[str, Any], type_: type[_T]) -> _T:
    try:
        return msgspec.convert(data, prepare(type_))
    except msgspec.ValidationError as error:
        match = _FIELD.search(str(error))
        field = match[1] if match else "body"
        raise ProblemError(422, _FIELD_CODES.get(field, f"bad_{field}"), f"{error}.") from None


_MAX_OBJECTS = 30_000
_FIELD_CODES = {"question": "no_question", "lang": "bad_language"}
_FIELD = re.compile(r"(?:`\$\.|required field `)(\w+)")  # msgspec has no attribute for the path
_HOST = re.compile(r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252})|\[[0-9A-Fa-f:.]{2,45}\])(?::(?P<port>[0-9]{1,5}))?")
_ADDRESS_WITH_PORT = re.compile(r"\[(?P<v6>[^\]]+)\](?::[0-9]+)?|(?P<v4>[0-9.]+):[0-9]+")
_DEFAULT_PORTS = {"http": "80", "https": "443"}
