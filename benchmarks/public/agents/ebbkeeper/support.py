"""A server on 127.0.0.1 that follows `reference/http-api.md` of the Ebbkeeper handbook."""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from socketserver import TCPServer
from statistics import fmean
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

sys.path.append(str(Path(__file__).parents[1]))

from checking import WrongAnswerError, expect, expect_close, run_check

__all__ = ["Harbour", "Token", "WrongAnswerError", "expect", "expect_close", "format_time", "run_check"]

BASE = "/tide/v3/"
MAX_BODY = 3 * 1024 * 1024
MAX_PAGE = 1900
MAX_BATCH = 500
MAX_WRONG_TOKENS = 8
MAX_REQUESTS = 54  # in each period
PERIOD = 20.0  # seconds
MINUTES = {"sixes": 6, "hours": 60}
SCOPES = ("look", "steer", "captain")
UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}


def format_time(time: datetime) -> str:
    """Return a time in UTC with a `Z`."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Token(NamedTuple):
    """A pilot token: its scope, and whether it is `good`, `ending` or `expired`."""

    scope: str = "look"
    state: str = "good"


class RefusalError(Exception):
    """An answer that is not 200."""

    def __init__(self, status: int, code: str, name: str, hint: str, wait: float | None = None) -> None:
        super().__init__(hint)
        self.status = status
        self.body = {"code": code, "name": name, "hint": hint}
        self.headers = {} if wait is None else {"X-Ebb-Wait": f"{wait:g}"}


def refuse_value(hint: str) -> RefusalError:
    """Return the answer to a request that the documentation does not allow."""
    return RefusalError(400, "EBB-1301", "BadRequest", hint)


class Query(NamedTuple):
    """The parameters of a request for readings."""

    start: datetime
    end: datetime
    level: str
    shift: float
    floor: int
    limit: int


class Server(ThreadingHTTPServer):
    """A server that does not look up the name of its host, which can take seconds."""

    daemon_threads = True

    def server_bind(self) -> None:
        """Bind the socket, and take the address as the name."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.socket.getsockname()[1]


@dataclass
class Harbour:
    """A server, used as a context manager.

    Attributes:
        stations: Raw readings as `(time, level, quality)` for each station, in the order of time.
        tokens: Known tokens.
        derived: Derived datums of all stations, whose own datum is `MSL`.
        busy: Ordinal numbers of requests with a token that are answered with 429, and the seconds to wait.
        lapse: Number of cursors that have lapsed when they come back.
        slack_after: Number of looks at `afloat` before the journal is empty.
        problems: What a client did against the documentation.
        answers: HTTP codes in the order of requests.
    """

    stations: dict[str, list[tuple[datetime, float, int]]] = field(default_factory=dict)
    tokens: dict[str, Token] = field(default_factory=dict)
    derived: dict[str, float] = field(default_factory=dict)
    busy: dict[int, float] = field(default_factory=dict)
    lapse: int = 0
    slack_after: float = 0
    problems: list[str] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    stored: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    looks: int = 0

    def __enter__(self) -> Harbour:
        self._lock = threading.Lock()
        self._requests, self._pages = count(1), count(0x8C01)
        self._cursors: dict[str, tuple[list[dict[str, Any]], int]] = {}
        self._wrong_tokens = 0
        self._wait_until = 0.0
        self._times: list[float] = []
        self._server = Server(("127.0.0.1", 0), self._make_handler())
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """The address of the server, without a path."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def _make_handler(self) -> type[BaseHTTPRequestHandler]:
        harbour = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(harbour._get)

            def do_POST(self) -> None:
                self._answer(harbour._post)

            def _answer(
                self, method: Callable[[BaseHTTPRequestHandler], tuple[dict[str, Any], dict[str, str]]]
            ) -> None:
                status = 200
                with harbour._lock:
                    try:
                        body, headers = method(self)
                    except RefusalError as refusal:
                        status, body, headers = refusal.status, refusal.body, refusal.headers
                    harbour.answers.append(status)
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler

    def _get(self, request: BaseHTTPRequestHandler) -> tuple[dict[str, Any], dict[str, str]]:
        address = urlsplit(request.path)
        if address.path == BASE + "afloat":
            self.looks += 1
            return {"afloat": True, "slack": self.looks > self.slack_after}, {}
        headers = self._sign_in(request.headers.get("Authorization"), "look")
        parameters = parse_qs(address.query, keep_blank_values=True)
        if address.path == BASE + "stations":
            return {"stations": list(self.stations)}, headers
        name = self._find_station(address.path)
        return self._read(name, parameters), headers

    def _post(self, request: BaseHTTPRequestHandler) -> tuple[dict[str, Any], dict[str, str]]:
        length = int(request.headers.get("Content-Length", 0))
        body = request.rfile.read(length)
        headers = self._sign_in(request.headers.get("Authorization"), "steer")
        name = self._find_station(urlsplit(request.path).path)
        if length > MAX_BODY:
            raise RefusalError(413, "EBB-1302", "BodyTooLarge", "a body may have 3 MiB")
        return self._write(name, body), headers

    def _sign_in(self, header: str | None, scope: str) -> dict[str, str]:
        """Check the token and the limits, and return headers for the response."""
        if self._wrong_tokens >= MAX_WRONG_TOKENS:
            raise RefusalError(429, "EBB-1314", "GangwayClosed", "too many wrong tokens from this address")
        scheme, _, secret = (header or "").partition(" ")
        if scheme != "Pilot" or not secret:
            raise RefusalError(401, "EBB-1303", "NoToken", "send a token with the scheme Pilot")
        token = self.tokens.get(secret)
        if token is None:
            self._wrong_tokens += 1
            raise RefusalError(401, "EBB-1304", "WrongToken", "nobody knows this token")
        if token.state == "expired":
            raise RefusalError(401, "EBB-1309", "PilotTokenExpired", "this token has lapsed")
        self._limit_rate()
        if SCOPES.index(token.scope) < SCOPES.index(scope):
            raise RefusalError(403, "EBB-1306", "ScopeTooSmall", f"this needs the scope {scope}")
        return (
            {"X-Ebb-Token-Ends": format_time(datetime.now(UTC) + timedelta(days=3))} if token.state == "ending" else {}
        )

    def _limit_rate(self) -> None:
        wait = self._wait_until - time.monotonic()
        if wait > 0:
            self.problems.append("a request came before the wait was over that the server had asked for")
        else:
            now = time.monotonic()
            self._times = [moment for moment in self._times if now - moment < PERIOD] + [now]
            wait = self.busy.get(next(self._requests), 0)
            if len(self._times) > MAX_REQUESTS:
                wait = PERIOD - (now - self._times[0])
            self._wait_until = now + wait
        if wait > 0:
            raise RefusalError(429, "EBB-1305", "TooManyRequests", "54 requests in 20 seconds", wait)

    def _find_station(self, path: str) -> str:
        match = re.fullmatch(re.escape(BASE) + "stations/([^/]+)/readings", path)
        if not match:
            raise RefusalError(404, "EBB-1307", "NoSuchAddress", path)
        name = unquote(match[1])
        if name not in self.stations:
            raise RefusalError(404, "EBB-1308", "NoSuchStation", name)
        return name

    def _read(self, name: str, parameters: dict[str, list[str]]) -> dict[str, Any]:
        unknown = set(parameters) - {"from", "to", "level", "datum", "floor", "limit", "cursor"}
        if unknown or any(len(values) > 1 for values in parameters.values()):
            raise refuse_value(f"unknown or repeated parameter: {', '.join(sorted(unknown))}")
        values = {key: value[0] for key, value in parameters.items()}
        limit = self._parse_limit(values.get("limit"))
        if "cursor" in values:
            rows, first_limit = self._take_cursor(values["cursor"])
            limit = limit or first_limit
        else:
            limit = limit or 275
            rows = self._select(name, values)
        page: dict[str, Any] = {"station": name, "datum": values.get("datum", "MSL"), "readings": rows[:limit]}
        if rows[limit:]:
            page["next"] = f"cur_{next(self._pages):04x}"
            self._cursors[page["next"]] = (rows[limit:], limit)
        return page

    def _parse_limit(self, value: str | None) -> int | None:
        if value is None:
            return None
        if not value.isdecimal() or not 1 <= int(value) <= MAX_PAGE:
            raise refuse_value(f"limit must be 1 to {MAX_PAGE}, not {value}")
        return int(value)

    def _take_cursor(self, cursor: str) -> tuple[list[dict[str, Any]], int]:
        if cursor in self._cursors and self.lapse > 0:
            self.lapse -= 1
            del self._cursors[cursor]
        if cursor not in self._cursors:
            raise RefusalError(410, "EBB-1310", "CursorLapsed", "a cursor is good for 16 minutes; start again")
        return self._cursors[cursor]

    def _select(self, name: str, values: dict[str, str]) -> list[dict[str, Any]]:
        now = datetime.now(UTC)
        start = parse_time(values.get("from", "-31h"), now)
        end = parse_time(values["to"], now) if "to" in values else now
        floor = values.get("floor", "41")
        level, datum = values.get("level", "sixes"), values.get("datum", "MSL")
        if not floor.isdecimal() or int(floor) > 100:
            raise refuse_value(f"floor must be 0 to 100, not {floor}")
        if level not in {"raw", *MINUTES}:
            raise refuse_value(f"level must be raw, sixes or hours, not {level}")
        if datum != "MSL" and datum not in self.derived:
            raise RefusalError(409, "EBB-2214", "DatumMismatch", f"station uses MSL, request says {datum}")
        rows = [row for row in average(self.stations[name], level) if start <= row[0] <= end and row[2] >= int(floor)]
        return [{"t": format_time(t), "h": round(h + self.derived.get(datum, 0.0), 4), "q": q} for t, h, q in rows]

    def _write(self, name: str, body: bytes) -> dict[str, Any]:
        try:
            rows = json.loads(body)["readings"]
            for row in rows:
                row["t"] = format_time(parse_time(row["t"], None))
                valid = isinstance(row["h"], int | float) and isinstance(row.get("q", 0), int)
                if not valid or set(row) - {"t", "h", "q"}:
                    raise refuse_value(f"not a reading: {row}")
        except (ValueError, KeyError, TypeError) as error:
            raise refuse_value(f"not readings: {error!r}") from error
        if len(rows) > MAX_BATCH:
            raise refuse_value(f"up to {MAX_BATCH} values, not {len(rows)}")
        known = self.stored.setdefault(name, [])
        taken = [row for row in rows if row["t"] not in {other["t"] for other in known}]
        if len(taken) < len(rows):
            self.problems.append(f"{len(rows) - len(taken)} readings were sent twice")
        known.extend(taken)
        return {"taken": len(taken), "clashed": len(rows) - len(taken)}


def parse_time(text: str, now: datetime | None) -> datetime:
    """Read a time with `Z`, or one such as `-6h` where `now` is given."""
    if match := re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?)Z", text):
        return datetime.fromisoformat(match[1] + "+00:00")
    match = re.fullmatch(r"-(\d+(?:\.\d+)?)(ms|s|m|h|d)", text)
    if match and now:
        return now - timedelta(seconds=float(match[1]) * UNITS[match[2]])
    raise refuse_value(f"not a time with Z: {text}")


def average(rows: list[tuple[datetime, float, int]], level: str) -> list[tuple[datetime, float, int]]:
    """Return raw readings, or their means over six minutes or an hour."""
    if level == "raw":
        return rows
    seconds = MINUTES[level] * 60
    groups: dict[int, list[tuple[datetime, float, int]]] = {}
    for row in rows:
        groups.setdefault(int(row[0].timestamp()) // seconds, []).append(row)
    return [
        (datetime.fromtimestamp(key * seconds, UTC), fmean(row[1] for row in group), min(row[2] for row in group))
        for key, group in groups.items()
    ]
