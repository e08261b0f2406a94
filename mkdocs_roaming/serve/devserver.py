"""The endpoint on the port of `mkdocs serve`: it answers from the site that was built last.

    server.set_app(DevServerEndpoint(server.get_app(), "/sub/", site_dir, config))

WSGI runs every request in a thread, but all answers run in one event loop, because the connections of a model belong
to one loop. Requests are accepted only for names of this machine, and from pages of this server.
"""

from __future__ import annotations

import atexit
import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, aclosing
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from ipaddress import ip_address
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Semaphore
from urllib.parse import parse_qsl
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import anyio
from anyio.from_thread import start_blocking_portal

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.models.extractive import ExtractiveModel
from mkdocs_roaming.config import FILE, Settings, load_settings
from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.serve.content import (
    CONTENT_TYPES,
    Payload,
    build_health,
    build_hits,
    build_outline,
    build_section,
    choose_media_type,
    encode_payload,
)
from mkdocs_roaming.serve.conversation_token import TokenSigner
from mkdocs_roaming.serve.deployments import Deployment, LocalizedSite, SiteWatcher
from mkdocs_roaming.serve.encoding import FAILED_MESSAGE, SSE_DONE, SSE_HEADERS, SSE_PING, encode_sse, make_failure
from mkdocs_roaming.serve.requests import (
    AllowedHosts,
    ProblemError,
    Question,
    encode_problem,
    format_origin,
    parse_host,
    parse_question,
    parse_scope,
    validate_language,
)
from mkdocs_roaming.serve.schemas import EVENTS, JSON, MARKDOWN, encode_json
from mkdocs_roaming.serve.service import AnswerConfig, AnswerRequest, AnswerService

MAX_BODY_BYTES = 1_048_576
MAX_CONCURRENT_ANSWERS = 8
PING_SECONDS = 0.5
"""Silence after which a comment is sent. WSGI notices a disconnected client only when it writes."""
OFFLINE_CONFIG = AnswerConfig(ExtractiveModel(), Budget())
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


def load_answer_config(model: str | None, folder: Path, environ: Mapping[str, str]) -> AnswerConfig:
    """Return the configuration of answers.

    Args:
        model: The name of a model; None answers offline.
        folder: The folder of the project; its settings file has the budget, the prices and the search.
        environ: The environment, for keys of providers.

    Raises:
        UsageError: The settings or the model are invalid.
    """
    file = folder / FILE
    settings = load_settings(file) if file.is_file() else Settings()
    search_factory = settings.search_factory(environ, _log.warning)
    selected, budget = settings.create_model(model, None, environ) if model else (ExtractiveModel(), Budget())
    return AnswerConfig(selected, budget, settings.budget.whole_site_tokens, search_factory)


class DevServerEndpoint:
    """WSGI middleware: it answers below the site's path (`mount`), and passes every other request on."""

    def __init__(
        self,
        app: WSGIApplication,
        mount: str,
        folder: Path,
        config: AnswerConfig,
        *,
        ping_seconds: float = PING_SECONDS,
    ) -> None:
        self._app, self._mount, self._folder, self._ping_seconds = app, mount, folder, ping_seconds
        create_watcher = partial(SiteWatcher, search_factory=config.search_factory)
        self._site = LocalizedSite(create_watcher(folder), create_watcher)
        self._service = AnswerService(self._site, config, TokenSigner(os.urandom(32)))
        self._hosts = AllowedHosts(LOOPBACK)
        portal = ExitStack()
        self._portal = portal.enter_context(start_blocking_portal(name="roaming"))
        # Later the interpreter has stopped daemon threads, and closing the portal would wait for its thread forever.
        atexit.register(portal.close)
        self._check_lock = anyio.Lock()
        self._places = Semaphore(MAX_CONCURRENT_ANSWERS)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Handle a request."""
        path = environ.get("PATH_INFO", "").encode("latin-1").decode("utf-8", "replace")
        operation = path.removeprefix(self._mount) if path.startswith(self._mount) else ""
        section = operation.removeprefix(_SECTIONS) if operation.startswith(_SECTIONS) else ""
        if operation not in _METHODS and (not section or "/" in section):
            return self._app(environ, start_response)
        try:
            response = self._respond(environ, operation, section)
        except ProblemError as problem:
            response = _respond_with_problem(problem)
        except LibraryError as error:
            _log.warning("%s: %s", path, error)
            detail = "This cannot be read at the moment."
            response = _respond_with_problem(ProblemError(503, "unreadable", detail, retry_after=_RETRY_SECONDS))
        except Exception:
            _log.exception("%s failed", path)
            response = _respond_with_problem(ProblemError(500, "failed", "Something went wrong here."))
        start_response(f"{response.status} {HTTPStatus(response.status).phrase}", response.headers)
        return response.body

    def _respond(self, environ: WSGIEnvironment, operation: str, section: str) -> _Response:
        method = _METHODS.get(operation, "GET")
        body = _read_body(environ)  # in any case: closing the connection early would lose the response
        self._check_client(environ)
        if environ["REQUEST_METHOD"] != method:
            problem = ProblemError(405, "method_not_allowed", f"This address takes {method}.")
            return _respond_with_problem(problem, ("Allow", method))
        if method == "POST":
            return self._ask(environ, body)
        values = parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True)
        query = dict(values)
        deployment = self._portal.call(self._update, query.get("lang", "")).restrict(parse_scope(values))
        if operation == _HEALTH:
            payload = build_health(self._site, self._service.config.model.name)
        elif operation == _OUTLINE:
            payload = build_outline(deployment, query.get("id"))
        elif operation == _SEARCH:
            payload = build_hits(deployment, query.get("q", ""), query.get("limit"))
        else:
            payload = build_section(deployment, section, query.get("part"))
        return _respond_negotiated(payload, environ)

    def _check_client(self, environ: WSGIEnvironment) -> None:
        host = parse_host(environ.get("HTTP_HOST", ""))
        if host is None:
            raise ProblemError(400, "host", "The Host header is missing or malformed.")
        if not self._hosts.allow(*host):
            raise ProblemError(421, "host", "`mkdocs serve` answers only to names of this machine, such as localhost.")
        origin = environ.get("HTTP_ORIGIN")
        if origin is not None and origin != format_origin(environ["wsgi.url_scheme"], *host):
            raise ProblemError(403, "origin", "Pages of that site may not send requests here.")

    async def _update(self, language: str = "") -> Deployment:
        """Return the deployment that was built last. During a build it is the one before."""
        async with self._check_lock:
            if (self._folder / MANIFEST_PATH).is_file():
                await self._site.check()
        return self._site.now(validate_language(language))

    # Answers

    def _ask(self, environ: WSGIEnvironment, body: bytes) -> _Response:
        if environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower() != JSON:
            raise ProblemError(415, "not_json", "Send the body as application/json.")
        question = parse_question(body)
        media_type = choose_media_type(environ.get("HTTP_ACCEPT", ""), (EVENTS, JSON))
        # Clients on other machines must not spend the owner's money.
        offline = not _is_loopback(environ.get("REMOTE_ADDR", ""))
        if not self._places.acquire(blocking=False):
            detail = "All places are taken; try again in a moment."
            raise ProblemError(429, "busy", detail, retry_after=_RETRY_SECONDS)
        with ExitStack() as place:
            place.callback(self._places.release)
            answer = self._portal.call(self._open, question, offline)
            if media_type == JSON:
                completed = self._portal.call(answer.complete)
                if completed["state"] == "error":
                    raise make_failure(completed)
                return _respond(encode_json(completed), JSON)
            chunks: SimpleQueue[bytes | None] = SimpleQueue()
            task = self._portal.start_task_soon(_put_parts, answer, chunks)
            place_until_done = place.pop_all()
        task.add_done_callback(lambda done: place_until_done.close())
        return _Response(200, list(SSE_HEADERS.items()), _read_chunks(chunks, task, self._ping_seconds))

    async def _open(self, question: Question, offline: bool) -> AnswerRequest:
        await self._update()
        return self._service.open(question, offline=offline)


async def _put_parts(answer: AnswerRequest, chunks: SimpleQueue[bytes | None]) -> None:
    try:
        async with aclosing(answer.parts()) as parts:
            async for part in parts:
                chunks.put(encode_sse(part))
    except Exception:
        _log.exception("an answer failed")
        chunks.put(encode_sse({"type": "error", "errorText": FAILED_MESSAGE}))
    finally:
        answer.close()
        chunks.put(SSE_DONE)
        chunks.put(None)


def _read_chunks(chunks: SimpleQueue[bytes | None], task: Future[None], ping_seconds: float) -> Iterator[bytes]:
    """Yield the chunks of an answer as they are produced. Closing the generator cancels the answer."""
    try:
        while True:
            try:
                chunk = chunks.get(timeout=ping_seconds)
            except Empty:
                chunk = SSE_PING
            if chunk is None:
                return
            yield chunk
    finally:
        task.cancel()


# Requests and responses


def _read_body(environ: WSGIEnvironment) -> bytes:
    """Return the body of a request; one that is too large is read and discarded."""
    length = environ.get("CONTENT_LENGTH") or "0"
    if not length.isascii() or not length.isdigit():
        raise ProblemError(400, "size", "The Content-Length is not a number.")
    if (size := int(length)) <= MAX_BODY_BYTES:
        return bytes(environ["wsgi.input"].read(size)) if size else b""
    environ["wsgi.input"].read(min(size, _MAX_DISCARDED_BYTES))
    raise ProblemError(413, "size", f"The maximum size of a body is {MAX_BODY_BYTES} bytes.")


def _is_loopback(address: str) -> bool:
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return (getattr(parsed, "ipv4_mapped", None) or parsed).is_loopback


@dataclass(frozen=True, slots=True)
class _Response:
    status: int
    headers: list[tuple[str, str]]
    body: Iterable[bytes]


def _respond_negotiated(payload: Payload, environ: WSGIEnvironment) -> _Response:
    media_type = choose_media_type(environ.get("HTTP_ACCEPT", ""), (JSON, MARKDOWN))
    return _respond(encode_payload(payload, media_type), CONTENT_TYPES[media_type])


def _respond(body: bytes, content_type: str) -> _Response:
    headers = [("Content-Type", content_type), ("Content-Length", str(len(body))), ("Cache-Control", "no-store")]
    return _Response(200, headers, [body])


def _respond_with_problem(problem: ProblemError, *headers: tuple[str, str]) -> _Response:
    own_headers, body = encode_problem(problem)
    decoded = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in own_headers]
    return _Response(problem.status, [*decoded, *headers], [body])


_log = logging.getLogger("mkdocs_roaming.serve")
_HEALTH, _OUTLINE, _SEARCH, _SECTIONS, _ASK = "healthz", "v1/outline", "v1/search", "v1/sections/", "v1/ask"
_METHODS = {_HEALTH: "GET", _OUTLINE: "GET", _SEARCH: "GET", _ASK: "POST"}
_MAX_DISCARDED_BYTES = 8 * 2**20
_RETRY_SECONDS = 5.0
