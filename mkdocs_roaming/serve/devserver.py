"""The endpoint within `mkdocs serve`: questions are answered on the dev server's own port, from what it last built.

    server.set_app(Endpoint(server.get_app(), "/sub/", site_dir, way))

Every request has a thread, as WSGI has it, but all answers are made in one loop: a model's connections belong to one.
Only this machine may ask, by names of its own, and of browsers only pages of this very server.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, aclosing
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from ipaddress import ip_address
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Lock, Semaphore, Thread
from typing import Any, TypeVar
from urllib.parse import parse_qsl
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import anyio

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.models.extractive import ExtractiveModel
from mkdocs_roaming.config import FILE, Settings, load_settings
from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.serve.content import (
    Payload,
    build_health,
    build_hits,
    build_outline,
    build_section,
    choose_media_type,
)
from mkdocs_roaming.serve.conversation_token import TokenSigner
from mkdocs_roaming.serve.deployments import Deployment, LocalizedSite, SiteWatcher
from mkdocs_roaming.serve.encoding import FAILED_MESSAGE, SSE_DONE, SSE_HEADERS, encode_sse
from mkdocs_roaming.serve.openapi import EVENTS, JSON, MARKDOWN
from mkdocs_roaming.serve.problems import ProblemError, encode_json, encode_problem, encode_text
from mkdocs_roaming.serve.requests import (
    AllowedHosts,
    Question,
    format_origin,
    parse_host,
    parse_question,
    validate_language,
)
from mkdocs_roaming.serve.service import AnswerConfig, AnswerRequest, AnswerService

MAX_BODY_BYTES = 65_536
MAX_CONCURRENT_ANSWERS = 8
PING_SECONDS = 0.5
"""The seconds between two comments: WSGI learns only by writing that the reader has left."""
OFFLINE_CONFIG = AnswerConfig(ExtractiveModel(), Budget())
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")

_log = logging.getLogger("mkdocs_roaming.serve")


def load_answer_config(model: str | None, folder: Path, environ: Mapping[str, str]) -> AnswerConfig:
    """Give how questions are answered: offline, or by the model named. Budget, prices and how is searched are those of
    the settings file in the project's folder. Raises UsageError where that cannot be.
    """
    file = folder / FILE
    settings = load_settings(file) if file.is_file() else Settings()
    finding = settings.finding(environ, _log.warning)
    if model is None:
        return replace(OFFLINE_CONFIG, whole_site_tokens=settings.whole_site_tokens, finding=finding)
    chosen = settings.choose(model, None, environ)
    return AnswerConfig(chosen, settings.budget_of(chosen), settings.whole_site_tokens, finding)


class DevServerEndpoint:
    """A WSGI application around another: below the site's `mount` it answers, whatever else there is it passes on."""

    def __init__(
        self, app: WSGIApplication, mount: str, folder: Path, way: AnswerConfig, *, ping: float = PING_SECONDS
    ) -> None:
        self._app, self._mount, self._folder, self._ping = app, mount, folder, ping
        make = partial(SiteWatcher, finding=way.finding)
        self._site = LocalizedSite(make(folder), make)
        self._desk = AnswerService(self._site, way, TokenSigner(os.urandom(32)))
        self._hosts = AllowedHosts(LOOPBACK)
        self._loop = _Loop()
        self._looking = anyio.Lock()
        self._places = Semaphore(MAX_CONCURRENT_ANSWERS)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        path = environ.get("PATH_INFO", "").encode("latin-1").decode("utf-8", "replace")
        below = path.removeprefix(self._mount) if path.startswith(self._mount) else ""
        section = below.removeprefix(_SECTIONS) if below.startswith(_SECTIONS) else ""
        if below not in _METHODS and (not section or "/" in section):
            return self._app(environ, start_response)
        try:
            reply = self._reply(environ, below, section)
        except ProblemError as refused:
            reply = _refusal(refused)
        except LibraryError as error:
            _log.warning("%s: %s", path, error)
            reply = _refusal(ProblemError(503, "unreadable", "This cannot be read at the moment.", retry_after=_SOON))
        except Exception:
            _log.exception("%s failed", path)
            reply = _refusal(ProblemError(500, "failed", "Something went wrong here."))
        start_response(f"{reply.status} {HTTPStatus(reply.status).phrase}", reply.headers)
        return reply.body

    def _reply(self, environ: WSGIEnvironment, below: str, section: str) -> _Reply:
        wanted = _METHODS.get(below, "GET")
        body = _body(environ)  # read in any case: a connection that is closed over it takes the answer with it
        self._check_visitor(environ)
        if environ["REQUEST_METHOD"] != wanted:
            return _refusal(ProblemError(405, "method_not_allowed", f"This address takes {wanted}."), ("Allow", wanted))
        if wanted == "POST":
            return self._ask(environ, body)
        query = dict(parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True))
        here = self._loop.run(self._here(query.get("lang", "")))
        if below == _HEALTH:
            return _read(build_health(self._site, self._desk.way.model.name), environ)
        if below == _OUTLINE:
            return _read(build_outline(here, query.get("id")), environ)
        if below == _SEARCH:
            return _read(build_hits(here, query.get("q", ""), query.get("limit")), environ)
        return _read(build_section(here, section, query.get("part")), environ)

    def _check_visitor(self, environ: WSGIEnvironment) -> None:
        host = parse_host(environ.get("HTTP_HOST", ""))
        if host is None:
            raise ProblemError(400, "host", "The Host header is missing or malformed.")
        if not self._hosts.allow(*host):
            raise ProblemError(421, "host", "While docs are written, only this machine may ask; call it localhost.")
        origin = environ.get("HTTP_ORIGIN")
        if origin is not None and origin != format_origin(environ["wsgi.url_scheme"], *host):
            raise ProblemError(403, "origin", "Pages of that site may not ask here.")

    # Answers

    def _ask(self, environ: WSGIEnvironment, body: bytes) -> _Reply:
        if environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower() != JSON:
            raise ProblemError(415, "not_json", "Send it as application/json.")
        question = parse_question(body)
        streamed = choose_media_type(environ.get("HTTP_ACCEPT", ""), (EVENTS, JSON)) == EVENTS
        # Whoever reaches the port from elsewhere must not spend its owner's money.
        offline = not _is_loopback(environ.get("REMOTE_ADDR", ""))
        if not self._places.acquire(blocking=False):
            raise ProblemError(429, "busy", "All places are taken; try again in a moment.", retry_after=_SOON)
        with ExitStack() as place:
            place.callback(self._places.release)
            hearing = self._loop.run(self._hear(question, offline=offline))
            if not streamed:
                return self._whole(hearing)
            pieces: SimpleQueue[bytes | None] = SimpleQueue()
            running = self._loop.begin(_put_parts(hearing, pieces))
            kept = place.pop_all()
        running.add_done_callback(lambda done: kept.close())
        return _Reply(200, list(SSE_HEADERS.items()), _Stream(pieces, running, self._ping))

    def _whole(self, hearing: AnswerRequest) -> _Reply:
        told = self._loop.run(hearing.whole())
        if told["state"] == "error":
            raise ProblemError(502, "failed", FAILED_MESSAGE)
        return _given(encode_json(told), JSON)

    async def _hear(self, question: Question, *, offline: bool) -> AnswerRequest:
        await self._here()
        return self._desk.hear(question, offline=offline)

    async def _here(self, language: str = "") -> Deployment:
        """Give the site as it was last built. While it is built anew, that is as it was before."""
        async with self._looking:
            if (self._folder / MANIFEST_PATH).is_file():
                await self._site.look()
        return self._site.now(validate_language(language))


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    headers: list[tuple[str, str]]
    body: Iterable[bytes]


class _Loop:
    """A loop in a thread of its own, begun when it is first needed; it ends with the process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._begun = Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def begin(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        """Begin work; it is cancelled with what is given."""
        with self._lock:
            if self._loop is None:
                Thread(target=anyio.run, args=(self._stay,), name="roaming", daemon=True).start()
                self._begun.wait()
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Do work and give what it gives."""
        return self.begin(work).result()

    async def _stay(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._begun.set()
        await anyio.sleep_forever()


class _Stream:
    """The pieces of an answer as they come. Closed, it cancels what makes them."""

    def __init__(self, pieces: SimpleQueue[bytes | None], running: Future[None], ping: float) -> None:
        self._pieces, self._running, self._ping = pieces, running, ping

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            piece = self._pieces.get(timeout=self._ping)
        except Empty:
            return b": ping\n\n"
        if piece is None:
            raise StopIteration
        return piece

    def close(self) -> None:
        self._running.cancel()


async def _put_parts(hearing: AnswerRequest, pieces: SimpleQueue[bytes | None]) -> None:
    try:
        async with aclosing(hearing.parts()) as parts:
            async for part in parts:
                pieces.put(encode_sse(part))
    except Exception:
        _log.exception("an answer failed")
        pieces.put(encode_sse({"type": "error", "errorText": FAILED_MESSAGE}))
    finally:
        hearing.leave()
        pieces.put(SSE_DONE)
        pieces.put(None)


def _body(environ: WSGIEnvironment) -> bytes:
    """Give a request's body; one that is too large is read and forgotten."""
    length = environ.get("CONTENT_LENGTH") or "0"
    if not length.isascii() or not length.isdigit():
        raise ProblemError(400, "size", "The Content-Length is no number.")
    if (size := int(length)) <= MAX_BODY_BYTES:
        return bytes(environ["wsgi.input"].read(size)) if size else b""
    for _ in range(min(size, _PATIENCE) // MAX_BODY_BYTES):
        if not environ["wsgi.input"].read(MAX_BODY_BYTES):
            break
    raise ProblemError(413, "size", f"A body has at most {MAX_BODY_BYTES} bytes.")


def _read(told: Payload, environ: WSGIEnvironment) -> _Reply:
    wanted = choose_media_type(environ.get("HTTP_ACCEPT", ""), (JSON, MARKDOWN))
    if wanted == MARKDOWN and told.markdown is not None:
        return _given(encode_text(told.markdown()), f"{MARKDOWN}; charset=utf-8")
    return _given(encode_json(told.data), JSON)


def _given(body: bytes, kind: str) -> _Reply:
    headers = [("Content-Type", kind), ("Content-Length", str(len(body))), ("Cache-Control", "no-store")]
    return _Reply(200, headers, [body])


def _refusal(refused: ProblemError, *more: tuple[str, str]) -> _Reply:
    headers, body = encode_problem(refused)
    told = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]
    return _Reply(refused.status, [*told, *more], [body])


def _is_loopback(address: str) -> bool:
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return (getattr(found, "ipv4_mapped", None) or found).is_loopback


_HEALTH, _OUTLINE, _SEARCH, _SECTIONS, _ASK = "healthz", "v1/outline", "v1/search", "v1/sections/", "v1/ask"
_METHODS = {_HEALTH: "GET", _OUTLINE: "GET", _SEARCH: "GET", _ASK: "POST"}
_PATIENCE = 8 * 2**20
_SOON = 5.0
_T = TypeVar("_T")
