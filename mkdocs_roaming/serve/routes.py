"""HTTP handlers, one for each operation of the OpenAPI table, and their responses."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, Protocol, TypeVar

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from mkdocs_roaming._json import encode_json, encode_text
from mkdocs_roaming.answer.budget import run_in_thread
from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.serve.content import (
    CONTENT_TYPES,
    Payload,
    WorkQueue,
    build_health,
    build_hits,
    build_outline,
    build_section,
)
from mkdocs_roaming.serve.deployments import Deployment
from mkdocs_roaming.serve.encoding import (
    SSE_DONE,
    SSE_HEADERS,
    answer_to_markdown,
    encode_sse,
    make_failure,
)
from mkdocs_roaming.serve.log import Journal, problem_from_error
from mkdocs_roaming.serve.mcp import McpEndpoint
from mkdocs_roaming.serve.metrics import Metrics
from mkdocs_roaming.serve.quotas import DAY_SECONDS, CounterStorageError, QuotaLimiter, Reservation, Window
from mkdocs_roaming.serve.requests import (
    CLIENT_KEY,
    PROBLEM_KEY,
    ProblemError,
    choose_media_type,
    encode_problem,
    parse_feedback,
    parse_question,
    validate,
    validate_language,
)
from mkdocs_roaming.serve.schemas import (
    EVENTS,
    JSON,
    MARKDOWN,
    OPERATIONS,
    Operation,
    Question,
    describe_operations,
    status_phrase,
)
from mkdocs_roaming.serve.service import AnswerRequest, AnswerService

PING_SECONDS = 15.0
"""Silence after which a comment is sent, because proxies close silent connections."""
WIDGET: Traversable = resources.files("mkdocs_roaming") / "widget"
"""Folder with the files of the widget."""
_STATUS_DETAILS = {
    404: "There is nothing at this address.",
    405: "This address does not take that method.",
}
_MAX_NAME_CHARS = 40
_MAX_FEEDBACK_BYTES = 32_768
_MAX_TAGS_CHARS = 1_000
_CLOSE_SECONDS = 2.0
_UNCOUNTED_RETRY_SECONDS = 30.0
_FEEDBACK_WINDOW = Window("feedback_a_day_each", 100, DAY_SECONDS)
_DISCONNECTED = "http.disconnect"

_T = TypeVar("_T")


@dataclass(slots=True)
class Routes:
    """The handlers. Each has the name of its operation."""

    service: AnswerService
    metrics: Metrics
    journal: Journal
    limiter: QuotaLimiter
    ping_seconds: float = PING_SECONDS
    _description: bytes = field(default_factory=lambda: encode_json(describe_operations(OPERATIONS)), init=False)
    _queue: WorkQueue = field(default_factory=WorkQueue, init=False)

    async def run(self) -> None:
        """Keep the site current until the application stops, then close counters and logs."""
        prices = self.service.config.budget.prices
        self.metrics.watch_site(self.service.site.main, self.limiter, prices.currency if prices else "")
        try:
            await self.service.site.run()
        finally:
            with anyio.CancelScope(shield=True):
                await self.limiter.counters.close()
                await run_in_thread(self.journal.writer.submit(bool).result)  # all lines before it are written

    # Answers

    async def ask(self, request: Request) -> AnswerResponse:
        """Answer a question with the configured model."""
        question = parse_question(await request.body(), request.headers.get("content-type", ""))
        if question.scope:
            # The library keeps the restricted one for `service.open`, which would block the event loop too long.
            site = self.service.site.now(question.language)
            await self._queue.run(request.scope[CLIENT_KEY], lambda: site.restrict(question.scope), is_local=True)
        media_type = choose_media_type(request.headers.get("accept", ""), (EVENTS, JSON))
        return await self._respond(request, self.service.open(question), media_type)

    async def ask_offline(self, request: Request) -> AnswerResponse:
        """Answer a question without a provider's model, as Markdown. A mere link must not cost money."""
        query = request.query_params
        question = Question(query.get("q", ""), page=query.get("page", ""), language=query.get("lang", ""))
        return await self._respond(request, self.service.open(validate(question), offline=True), MARKDOWN)

    async def _respond(self, request: Request, answer_request: AnswerRequest, media_type: str) -> AnswerResponse:
        """Reserve a place and money for an answer; a shared one needs neither."""
        reservation = None
        if not answer_request.is_shared:
            reservation = await self.limiter.reserve(request.scope[CLIENT_KEY], answer_request.call_cost)
            answer_request.model.on_spend = reservation.grow
        return AnswerResponse(answer_request, reservation, media_type, self.ping_seconds)

    # Reading

    async def read_outline(self, request: Request) -> Response:
        """Return the outline or a branch of it."""
        id_ = request.query_params.get("id")
        return respond_negotiated(request, await self._build(request, lambda site: build_outline(site, id_)))

    async def read_section(self, request: Request) -> Response:
        """Return a section with its text."""
        id_ = request.path_params["id"]
        part = request.query_params.get("part")
        payload = await self._build(request, lambda site: build_section(site, id_, part), is_fast=True)
        return respond_negotiated(request, payload)

    async def search_sections(self, request: Request) -> Response:
        """Return search results."""
        text = request.query_params.get("q", "")
        limit = request.query_params.get("limit")
        hits = await self._build(request, lambda site: build_hits(site, text, limit))
        return respond_with_etag(request, encode_json(hits), JSON)

    async def _build(self, request: Request, build: Callable[[Deployment], _T], *, is_fast: bool = False) -> _T:
        """Build a response from the site in the reader's language."""
        site = self.service.site.now(validate_language(request.query_params.get("lang", "")))
        if is_fast and site.in_memory:
            return build(site)
        return await self._queue.run(request.scope[CLIENT_KEY], lambda: build(site), is_local=site.library.is_local)

    # Other operations

    async def feedback(self, request: Request) -> Response:
        """Log a reader's opinion of an answer, and count it. A comment or another opinion may follow."""
        if self.journal.feedback is None:
            raise ProblemError("no_feedback", "Feedback is not collected here.")
        body = await request.body()
        if len(body) > _MAX_FEEDBACK_BYTES:
            raise ProblemError("size", f"The maximum size of a body is {_MAX_FEEDBACK_BYTES} bytes here.")
        feedback = parse_feedback(body, request.headers.get("content-type", ""))
        rated = self.service.read_turn(feedback.turn)
        if rated is None:
            raise ProblemError("unknown_turn", "The turn is not from this server, or too old: ask again.")
        await self._count_rating(request.scope[CLIENT_KEY])
        await run_in_thread(lambda: self.journal.log_feedback(feedback, rated.question))
        self.metrics.count_feedback(helpful=feedback.helpful)
        return Response(status_code=204)

    async def _count_rating(self, client: str) -> None:
        """Raise ProblemError if a client sends too many ratings."""
        try:
            full = await self.limiter.counters.hit([(_FEEDBACK_WINDOW, self.limiter.hash_client(client))])
        except CounterStorageError:
            detail = "Ratings cannot be counted now; try again soon."
            raise ProblemError("counters", detail, retry_after=_UNCOUNTED_RETRY_SECONDS) from None
        if full:
            raise ProblemError("rate", "Too many ratings for one day.", retry_after=full[1])

    async def health(self, request: Request) -> Response:
        """Return whether questions can be answered."""
        health = build_health(self.service.site, self.service.config.model.name)
        return Response(encode_json(health), media_type=JSON, headers={"cache-control": "no-store"})

    async def openapi(self, request: Request) -> Response:
        """Return the OpenAPI description."""
        return respond_with_etag(request, self._description, JSON)

    async def widget(self, request: Request) -> Response:
        """Return a module of the widget."""
        name = request.path_params["module"]
        return self._respond_with_file(request, name, f"roaming-{name}.js", "text/javascript; charset=utf-8")

    async def widget_strings(self, request: Request) -> Response:
        """Return the widget's translations for a language."""
        language = request.path_params["language"]
        return self._respond_with_file(request, language, f"ask.{language}.json", JSON)

    def _respond_with_file(self, request: Request, name: str, file_name: str, content_type: str) -> Response:
        """Return a file of the widget. Browsers load modules from other origins only with this CORS header."""
        is_name = name.isascii() and name.replace("-", "").isalnum() and len(name) <= _MAX_NAME_CHARS
        file = WIDGET / file_name
        if not is_name or not file.is_file():
            raise ProblemError("no_file", "There is no such file.")
        return respond_with_etag(request, file.read_bytes(), content_type, **{"access-control-allow-origin": "*"})


class Handlers(Protocol):
    """Methods with the names of operations, which handle their requests."""

    async def run(self) -> None:
        """Run as long as the application."""


def create_asgi_app(
    operations: Sequence[Operation],
    handlers: Handlers,
    tools: McpEndpoint,
    metrics_server: AbstractAsyncContextManager[None],
) -> Starlette:
    """Return an application.

    Args:
        operations: The operations.
        handlers: An object with a method for each operation.
        tools: The endpoint for MCP clients.
        metrics_server: The context in which the metrics are served.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with metrics_server, anyio.create_task_group() as tools.group:
            tools.group.start_soon(handlers.run)
            yield
            tools.group.cancel_scope.cancel()

    routes = [
        Route(operation.path, getattr(handlers, operation.name), methods=[operation.method]) for operation in operations
    ]
    routes.append(Route("/mcp", tools))
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=EXCEPTION_HANDLERS)
    app.router.redirect_slashes = False
    return app


# Responses with an answer


@dataclass(slots=True)
class AnswerResponse:
    """An ASGI response with an answer: as server-sent events while it is produced, or complete as JSON or Markdown.

    If the client disconnects, the answer is cancelled.
    """

    answer_request: AnswerRequest
    reservation: Reservation | None
    media_type: str
    ping_seconds: float

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer."""
        try:
            async with anyio.create_task_group() as group:
                if not self.answer_request.is_cached:
                    group.start_soon(_cancel_on_disconnect, receive, group.cancel_scope)
                if self.media_type == EVENTS:
                    await self._stream(send)
                else:
                    response = await self._complete()
                    await self._settle()  # before the client can ask again
                    await response(scope, receive, send)
                group.cancel_scope.cancel()
        finally:
            self.answer_request.close()
            await self._settle()

    async def _stream(self, send: Send) -> None:
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in SSE_HEADERS.items()]
        parts = self.answer_request.parts(self.ping_seconds)
        rest: list[bytes] = []
        try:
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            async for part in parts:
                if self.answer_request.is_cached:  # one body instead of one for each part
                    rest.append(encode_sse(part))
                else:
                    await send({"type": "http.response.body", "body": encode_sse(part), "more_body": True})
            await self._settle()  # before the client can ask again
            await send({"type": "http.response.body", "body": b"".join(rest) + SSE_DONE})
        finally:
            with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
                await parts.aclose()

    async def _complete(self) -> Response:
        try:
            completed = await self.answer_request.complete()
        except ProblemError as problem:  # the task group would enclose it in a group of exceptions
            return ProblemResponse(problem)
        if completed.state == "error":
            return ProblemResponse(make_failure(completed))
        is_markdown = self.media_type == MARKDOWN
        body = encode_text(answer_to_markdown(completed)) if is_markdown else encode_json(completed)
        headers = {"cache-control": "no-store", "x-robots-tag": "noindex"}
        return Response(body, media_type=CONTENT_TYPES[self.media_type], headers=headers)

    async def _settle(self) -> None:
        """Settle the cost. The client that started an answer pays for it, and keeps its place while others read it."""
        if self.reservation is not None and not self.reservation.settled:
            with anyio.CancelScope(shield=True):
                await self.reservation.settle(await self.answer_request.cost())


async def _cancel_on_disconnect(receive: Receive, scope: anyio.CancelScope) -> None:
    message = await receive()
    while message["type"] != _DISCONNECTED:
        message = await receive()
    scope.cancel()


# Responses with content


def respond_negotiated(request: Request, payload: Payload) -> Response:
    """Return a payload as JSON or Markdown, as the Accept header prefers."""
    media_type = choose_media_type(request.headers.get("accept", ""), (JSON, MARKDOWN))
    body = encode_json(payload.data)
    if media_type == MARKDOWN and payload.markdown is not None:
        body = encode_text(payload.markdown())
    return respond_with_etag(request, body, CONTENT_TYPES[media_type], vary="Accept")


def respond_with_etag(request: Request, body: bytes, content_type: str, **headers: str) -> Response:
    """Return a body with its entity tag, or 304 if the client has this body."""
    etag = f'"{hashlib.sha256(body).hexdigest()[:20]}"'
    headers = {"etag": etag, "cache-control": "no-cache", **headers}
    known = request.headers.get("if-none-match", "")[:_MAX_TAGS_CHARS]
    if etag in [tag.strip().removeprefix("W/") for tag in known.split(",")]:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=content_type, headers=headers)


# Errors


async def handle_error(request: Request, error: Exception) -> Response:
    """Return the problem response for an exception."""
    if not isinstance(error, HTTPException):
        return ProblemResponse(problem_from_error(error, request.url.path))
    phrase = status_phrase(error.status_code)
    code = phrase.lower().replace(" ", "_")
    detail = _STATUS_DETAILS.get(error.status_code, f"{phrase}.")
    problem = ProblemError(code, detail, status=error.status_code)
    return ProblemResponse(problem, error.headers or {})


class ProblemResponse(Response):
    """The response for a problem. Metrics and logs find the problem in the scope."""

    def __init__(self, problem: ProblemError, headers: Mapping[str, str] = {}) -> None:
        own_headers, body = encode_problem(problem)
        super().__init__(body, problem.status)
        self.raw_headers = [*own_headers, *((name.lower().encode(), value.encode()) for name, value in headers.items())]
        self._problem = problem

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        scope[PROBLEM_KEY] = self._problem
        await super().__call__(scope, receive, send)


EXCEPTION_HANDLERS: Mapping[Any, Callable[[Request, Exception], Awaitable[Response]]] = dict.fromkeys(
    (ProblemError, HTTPException, LibraryError, Exception), handle_error
)
"""Handlers that turn exceptions into problem responses."""
