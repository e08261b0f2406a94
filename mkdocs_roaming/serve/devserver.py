"""The endpoint on the port of `mkdocs serve`: it answers questions from the site that was built last.

    server.set_app(DevServerEndpoint(server.get_app(), "/sub/", site_dir, config))

WSGI runs every request in a thread, but all answers run in one event loop, because the connections of a model belong
to one loop. Requests are accepted only for names of this machine, and from pages of this server.
"""

from __future__ import annotations

import atexit
import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from threading import Semaphore
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import anyio
from anyio.from_thread import start_blocking_portal

from mkdocs_roaming._json import encode_json
from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.results import Offline
from mkdocs_roaming.config import FILE, Settings, load_settings
from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.serve.content import build_health
from mkdocs_roaming.serve.conversation_token import TokenSigner
from mkdocs_roaming.serve.deployments import LocalizedSite, SiteWatcher
from mkdocs_roaming.serve.encoding import (
    FAILED_MESSAGE,
    SSE_DONE,
    SSE_HEADERS,
    encode_sse,
    make_failure,
)
from mkdocs_roaming.serve.log import problem_from_error
from mkdocs_roaming.serve.requests import (
    LOOPBACK,
    AllowedHosts,
    ProblemError,
    choose_media_type,
    encode_problem,
    format_origin,
    parse_question,
)
from mkdocs_roaming.serve.schemas import EVENTS, JSON, Question, status_phrase
from mkdocs_roaming.serve.service import AnswerConfig, AnswerRequest, AnswerService

MAX_BODY_BYTES = 1_048_576
MAX_CONCURRENT_ANSWERS = 8
PING_SECONDS = 0.5
"""Silence after which a comment is sent. WSGI notices a disconnected client only when it writes."""
OFFLINE_CONFIG = AnswerConfig(Offline(), Budget())

_Response = tuple[int, list[tuple[str, str]], Iterable[bytes]]
"""Status, headers and body."""


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
    selected, budget = settings.create_model(model, None, environ) if model else (Offline(), Budget())
    return AnswerConfig(selected, budget, search_factory)


class DevServerEndpoint:
    """WSGI middleware: it answers questions below the site's path (`mount`), and passes every other request on."""

    def __init__(self, app: WSGIApplication, mount: str, folder: Path, config: AnswerConfig) -> None:
        self._app = app
        self._mount = mount
        self._folder = folder
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
        path = environ.get("PATH_INFO", "")
        name = path.removeprefix(self._mount)
        if not path.startswith(self._mount) or name not in _METHODS:
            return self._app(environ, start_response)
        try:
            status, headers, body = self._respond(environ, name)
        except Exception as error:
            problem = problem_from_error(error, path)
            if problem.status == 500:
                _log.exception("%s failed", path)
            own_headers, content = encode_problem(problem)
            headers = [(key.decode("latin-1"), value.decode("latin-1")) for key, value in own_headers]
            headers += [("Allow", _METHODS[name])] if problem.status == 405 else []
            status = problem.status
            body = [content]
        start_response(f"{status} {status_phrase(status)}", headers)
        return body

    def _respond(self, environ: WSGIEnvironment, name: str) -> _Response:
        body = _read_body(environ)  # in any case: closing the connection early would lose the response
        host = self._hosts.check([environ.get("HTTP_HOST", "")])
        origin = environ.get("HTTP_ORIGIN")
        if origin is not None and origin != format_origin(environ["wsgi.url_scheme"], *host):
            raise ProblemError("origin", "Pages of that site may not send requests here.")
        if environ["REQUEST_METHOD"] != _METHODS[name]:
            raise ProblemError("method_not_allowed", f"This address takes {_METHODS[name]}.")
        if name == _HEALTH:
            self._portal.call(self._update)
            return _respond_with_json(build_health(self._site, self._service.config.model.name))
        return self._ask(environ, body)

    def _ask(self, environ: WSGIEnvironment, body: bytes) -> _Response:
        question = parse_question(body, environ.get("CONTENT_TYPE", ""))
        # Clients on other machines must not spend the owner's money.
        offline = not _is_loopback(environ.get("REMOTE_ADDR", ""))
        if not self._places.acquire(blocking=False):
            detail = "All places are taken; try again in a moment."
            raise ProblemError("busy", detail, retry_after=_RETRY_SECONDS)
        with ExitStack() as place:
            place.callback(self._places.release)
            answer = self._portal.call(self._open, question, offline)
            if choose_media_type(environ.get("HTTP_ACCEPT", ""), (EVENTS, JSON)) == EVENTS:
                return 200, list(SSE_HEADERS.items()), self._stream(answer, place.pop_all())
            completed = self._portal.call(answer.complete)
        if completed.state == "error":
            raise make_failure(completed)
        return _respond_with_json(completed)

    async def _update(self) -> None:
        """Use the deployment that was built last. During a build it is the one before."""
        async with self._check_lock:
            if (self._folder / MANIFEST_PATH).is_file():
                await self._site.check()

    async def _open(self, question: Question, offline: bool) -> AnswerRequest:
        await self._update()
        return self._service.open(question, offline=offline)

    def _stream(self, answer: AnswerRequest, place: ExitStack) -> Iterator[bytes]:
        """Yield the parts of an answer as they are produced. Closing the generator cancels the answer."""
        parts = answer.parts(PING_SECONDS)
        with place:
            try:
                while (part := self._portal.call(anext, parts, None)) is not None:
                    yield encode_sse(part)
                yield SSE_DONE
            except Exception:
                _log.exception("an answer failed")
                yield encode_sse({"type": "error", "errorText": FAILED_MESSAGE}) + SSE_DONE
            finally:
                self._portal.call(parts.aclose)


def _respond_with_json(data: object) -> _Response:
    content = encode_json(data)
    headers = [("Content-Type", JSON), ("Content-Length", str(len(content))), ("Cache-Control", "no-store")]
    return 200, headers, [content]


def _read_body(environ: WSGIEnvironment) -> bytes:
    """Return the body of a request; one that is too large is read and discarded."""
    length = environ.get("CONTENT_LENGTH") or "0"
    if not length.isascii() or not length.isdigit():
        raise ProblemError("size", "The Content-Length is not a number.", status=400)
    if (size := int(length)) <= MAX_BODY_BYTES:
        return bytes(environ["wsgi.input"].read(size)) if size else b""
    environ["wsgi.input"].read(min(size, _MAX_DISCARDED_BYTES))
    raise ProblemError("size", f"The maximum size of a body is {MAX_BODY_BYTES} bytes.")


def _is_loopback(address: str) -> bool:
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return (getattr(parsed, "ipv4_mapped", None) or parsed).is_loopback


_log = logging.getLogger("mkdocs_roaming.serve")
_MAX_DISCARDED_BYTES = 8 * 2**20
_RETRY_SECONDS = 5.0
_HEALTH = "healthz"
_METHODS = {"v1/ask": "POST", _HEALTH: "GET"}
