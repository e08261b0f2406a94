"""What the operator sees of requests: the access log, and warnings about refused hosts, origins and clients.

    log = AccessLog("json")
    log.write(AccessRecord("POST", "/v1/ask", "192.0.2.1", 200, 1.2, 5310))

Neither contains addresses or query strings, which hold questions. A client is named by a hash that is keyed for this
process, so that its lines belong together. Only the address of a reverse proxy appears in a warning.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from ipaddress import ip_address
from typing import Any, Literal
from urllib.parse import quote

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.serve.requests import ProblemError, count_forwarded, get_header_values, parse_host, parse_origin

AccessLogFormat = Literal["off", "text", "json"]
ACCESS_LOGGER = "mkdocs_roaming.access"
WARN_AGAIN_SECONDS = 86_400.0
MAX_WARNINGS_AN_HOUR = 60
_MAX_KNOWN = 1_000
_MAX_PATH_CHARS = 200
_MAX_VALUE_CHARS = 300
_CLIENT_SECRET = os.urandom(32)


def name_client(client: str) -> str:
    """Return the name of a client in logs: a hash that is valid until the process ends."""
    return blake2b(client.encode(), key=_CLIENT_SECRET, digest_size=4).hexdigest()


# Access log


@dataclass(frozen=True, slots=True)
class AccessRecord:
    """A request and its response.

    Attributes:
        client: The network of the client.
        status: The status of the response; 0 if the client disconnected before.
        seconds: Time until the end of the response.
        size: Bytes of the body that were sent.
        code: The code of the problem response; empty for other responses.
    """

    method: str
    path: str
    client: str
    status: int
    seconds: float
    size: int
    code: str = ""


class AccessLog:
    """Logs one line for each request, as text or JSON."""

    def __init__(self, format_: AccessLogFormat = "off", *, clock: Callable[[], float] = time.time) -> None:
        self.enabled = format_ != "off"
        self._format = _format_json if format_ == "json" else _format_text
        self._clock = clock

    def write(self, record: AccessRecord) -> None:
        """Log a request."""
        if self.enabled:
            _access_log.info("%s", self._format(record, self._clock()))


def _format_json(record: AccessRecord, now: float) -> str:
    fields: dict[str, object] = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)),
        "client": name_client(record.client),
        "method": record.method,
        "path": record.path[:_MAX_PATH_CHARS],
        "status": record.status,
        "seconds": round(record.seconds, 3),
        "bytes": record.size,
        "code": record.code,
    }
    return json.dumps(fields, separators=(",", ":"))


def _format_text(record: AccessRecord, now: float) -> str:
    moment = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now))
    path = quote(record.path[:_MAX_PATH_CHARS], safe="/:@!$&'()*+,;=~-._", errors="replace")
    line = f"{moment} {name_client(record.client)} {record.method} {path} {record.status}"
    return f"{line} {record.seconds:.3f}s {record.size}B{f' {record.code}' if record.code else ''}"


# Warnings


class RefusalLog:
    """Logs a warning for each newly refused host, origin or client, with the setting that would admit it.

    A warning is repeated after a day at the earliest. Their number is limited, because clients choose the values.

    Args:
        proxies: The configured number of trusted reverse proxies.
        clock: Returns seconds.
    """

    def __init__(self, proxies: int = 0, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._proxies, self._clock = proxies, clock
        self._known: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._hour, self._warnings = 0, 0

    def warn(self, problem: ProblemError, scope: Mapping[str, Any], client: str) -> None:
        """Log a refused request if a setting would admit it and no equal one was refused before."""
        if problem.setting:
            is_common = problem.code in ("rate", "busy", "money") and "_each" not in problem.setting
            self._log(
                (problem.setting, "" if is_common else client), lambda owner: _explain_limit(problem, owner), scope
            )
        elif problem.code in _HEADERS:
            value = ", ".join(get_header_values(scope, problem.code.encode()))[:_MAX_VALUE_CHARS]
            self._log((problem.code, value), _HEADERS[problem.code], scope)

    def _log(self, key: tuple[str, str], explain: Callable[[str], str], scope: Mapping[str, Any]) -> None:
        now = self._clock()
        if now < self._known.get(key, float("-inf")) + WARN_AGAIN_SECONDS:
            return
        hour = int(now // 3_600)
        if hour != self._hour:
            self._hour, self._warnings = hour, 0
        self._warnings += 1
        if self._warnings > MAX_WARNINGS_AN_HOUR:
            if self._warnings == MAX_WARNINGS_AN_HOUR + 1:
                _log.warning("further refused requests are not logged in this hour; the metrics count them")
            return
        self._known[key] = now
        if len(self._known) > _MAX_KNOWN:
            self._known.popitem(last=False)
        if message := explain(key[1]):
            _log.warning("%s%s", message, self._explain_proxies(scope))

    def _explain_proxies(self, scope: Mapping[str, Any]) -> str:
        """Return a hint if clients share the address of a reverse proxy, otherwise an empty string."""
        peer, count = (scope.get("client") or ("",))[0], count_forwarded(scope)
        if not count or count == self._proxies or not _is_private(peer):
            return ""
        return (
            f". It came from {peer}, with X-Forwarded-For: if the server is behind {count} reverse "
            f"prox{'y' if count == 1 else 'ies'}, set [serve] proxies = {count} or pass --proxies {count}"
        )


def _explain_limit(problem: ProblemError, client: str) -> str:
    who = f"client {name_client(client)}" if client else "a request"
    return f"refused {who} ({problem.status} {problem.code}): the limit is [limits] {problem.setting}"


def _explain_host(value: str) -> str:
    host = parse_host(value)
    if host is None:
        return ""
    return (
        f"refused Host {value} (421): to answer to this name, add {host[0]!r} to [serve] hosts "
        f"or pass --allow-host {host[0]}"
    )


def _explain_origin(value: str) -> str:
    try:
        origin = parse_origin(value)
    except UsageError:
        return f"refused Origin {value!a} (403): no setting admits it; open the page over HTTP from a site of its own"
    return (
        f"refused Origin {origin} (403): to let its pages ask, add it to [serve] origins "
        f"or pass --allow-origin {origin}"
    )


def _is_private(address: str) -> bool:
    try:
        return ip_address(address).is_private
    except ValueError:
        return False


_HEADERS: Mapping[str, Callable[[str], str]] = {"host": _explain_host, "origin": _explain_origin}
_access_log = logging.getLogger(ACCESS_LOGGER)
_log = logging.getLogger("mkdocs_roaming.serve")
