"""What agents read, by the access log of a web server or a content delivery network.

Each line is in the combined format of nginx, Apache and others, or is a JSON object as Caddy, Cloudflare, Netlify and
Vercel write it; `report.toml` has the names of fields. Addresses of clients are not read.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.report.log import iter_lines, to_utc

KINDS = ("llms.txt", "Markdown", "HTML", "failed")
"""What requests are counted as: the kind of the file, or a status that is an error."""

_FIRST_ERROR = 400  # statuses from this one on are errors
_CACHED = 4_096  # user agents and paths whose meaning is remembered: a log repeats them
_MAX_SECONDS = 10**11  # larger times are not in seconds but in milliseconds, microseconds or nanoseconds
_APACHE_TIME = "%d/%b/%Y:%H:%M:%S %z"
_COMBINED = re.compile(
    r'\[(?P<time>[^\]]+)\] "(?P<method>[A-Z]+) (?P<path>\S+)[^"]*" (?P<status>\d{3}) \S+ '
    r'"(?:[^"\\]|\\.)*" "(?P<agent>(?:[^"\\]|\\.)*)"'
)
"""The combined format, after the address: `[14/Mar/2026:12:00:00 +0000] "GET /llms.txt HTTP/1.1" 200 512 "-" "curl/8"`.
More fields may follow, so the quotation marks are matched instead of splitting the line."""

_PRODUCT = re.compile(r"([A-Za-z][\w.-]{0,60})")
"""The first product of a user agent (RFC 9110, 10.1.5): `curl` in `curl/8.5`."""
_DECLARED = re.compile(r"(?:compatible; ?|\((?=[\w.-]+/[\d.]+; ?\+))([A-Za-z][\w.-]{0,60})")
"""The agent in a user agent that begins as a browser's: `(compatible; GPTBot/1.2; …)`, `(Applebot/0.1; +http…)`."""
_BROWSERS = ("Mozilla", "Opera", "MSIE")


class _Request(Struct, frozen=True):
    time: datetime
    path: str
    status: int
    agent: str


class AccessReport(Struct, frozen=True):
    """What agents read.

    Attributes:
        requests: Number of requests, those of browsers included.
        agents: Number of requests of each agent, by one of `KINDS`; those with most requests first.
        skipped: Number of lines that could not be read.
    """

    requests: int
    agents: Mapping[str, Mapping[str, int]]
    skipped: int = 0


@cache
def load_tables() -> Mapping[str, Any]:
    """Return the tables of `report.toml`."""
    tables: Mapping[str, Any] = msgspec.toml.decode(resources.files(__package__).joinpath("report.toml").read_bytes())
    return tables


def count_requests(paths: Iterable[Path], *, since: datetime | None = None) -> AccessReport:
    """Count the requests of agents.

    Args:
        paths: Access logs, compressed or not.
        since: Older requests are left out.

    Raises:
        UsageError: A file cannot be read, or no line of it is a request.
    """
    counts = defaultdict[str, Counter[str]](Counter)
    total = 0
    skipped = 0
    for path in dict.fromkeys(paths):
        unread = 0
        has_requests = False
        for line in iter_lines(path):
            requests = _parse_line(line)
            has_requests |= bool(requests)
            unread += not requests and bool(line.strip())
            for request in requests:
                if since is None or request.time >= since:
                    total += 1
                    _count(counts, request)
        if unread and not has_requests:
            raise UsageError(f"{path}: no line is a request, in the combined format or as JSON of a known server")
        skipped += unread
    agents = sorted(counts.items(), key=lambda pair: (-pair[1].total(), pair[0]))
    return AccessReport(total, dict(agents), skipped)


def _count(counts: Mapping[str, Counter[str]], request: _Request) -> None:
    agent = _find_agent(request.agent)
    kind = _find_kind(request.path)
    if agent and kind:
        counts[agent][kind if request.status < _FIRST_ERROR else "failed"] += 1


@lru_cache(_CACHED)
def _find_agent(user_agent: str) -> str:
    """Return the name by which an agent declares itself; empty for browsers."""
    match = _DECLARED.search(user_agent) or _PRODUCT.match(user_agent)
    name = str(match[1]) if match else ""
    return "" if name in _BROWSERS else name


@lru_cache(_CACHED)
def _find_kind(path: str) -> str:
    """Return what an address is; empty for other files, and for addresses that scanners try."""
    for kind, pattern in load_tables()["files"].items():
        if re.search(pattern, path):
            return "" if kind == "ignored" else str(kind)
    return ""


def _parse_line(line: bytes) -> list[_Request]:
    """Return the requests of a line: several of a JSON array, none if its form is not known."""
    try:
        match = _COMBINED.search(line.decode("utf-8", "replace"))
        data = match.groupdict() if match else msgspec.json.decode(line)
        return [_parse_record(record) for record in (data if isinstance(data, list) else [data])]
    except (msgspec.DecodeError, ValueError, OverflowError, OSError, RecursionError):
        return []


def _parse_record(record: object) -> _Request:
    time, request, status, agent = (_find_field(record, names) for names in load_tables()["fields"].values())
    words = str(request).split(" ")  # nginx writes `GET /llms.txt HTTP/2.0` as one field
    address = words[1] if len(words) > 1 else words[0]
    return _Request(_parse_time(time), urlsplit(address).path, int(status), str(agent))


def _find_field(record: object, names: Iterable[str]) -> Any:
    """Return the first field that a record has, or the first item of its list; an empty string for none."""
    for name in names:
        value: Any = record
        for key in name.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, str | int | float) and value != "":
            return value
    return ""


def _parse_time(value: Any) -> datetime:
    """Return a time: seconds, milliseconds or nanoseconds since 1970, ISO 8601, or the form of Apache."""
    if isinstance(value, int | float):
        while value > _MAX_SECONDS:
            value /= 1_000
        return datetime.fromtimestamp(value, UTC)
    if "/" in value:
        return datetime.strptime(value, _APACHE_TIME)
    return to_utc(datetime.fromisoformat(value))
