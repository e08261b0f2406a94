"""HTTP handlers, one for each operation of the OpenAPI table, and their responses."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from importlib.resources.abc import Traversable
from math import inf
from typing import Any, TypeVar

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
    PROBLEM_KEY,
    ProblemError,
    check_media_type,
    choose_media_type,
    encode_problem,
    get_client,
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


_T = TypeVar("_T")


class Routes:
    """The handlers. Each has the name of its operation."""

    def __init__(
        self,
        service: AnswerService,
        metrics: Metrics,
        journal: Journal,
        limiter: QuotaLimiter,
        *,
        widget: Traversable,
        ping_seconds: float = PING_SECONDS,
    ) -> None:
        self._service = service
        self._metrics = metrics
        self._journal = journal
        self._limiter = limiter
        self._widget = widget
        self._ping_seconds = ping_seconds
        self._description = encode_json(describe_operations(OPERATIONS))
        self._queue = WorkQueue()

    # Answers

    async def ask(self, request: Request) -> AnswerResponse:
        """Answer a question with the configured model."""
        question = parse_question(await _read_json(request))
        if question.scope:  # restricting a large site takes longer than the event loop may wait
            site = self._service.site.now(question.language)
            scope = question.scope
            await self._queue.run(get_client(request.scope), lambda: site.restrict(scope), is_local=True)
        answer = self._service.open(question)
        media_type = choose_media_type(request.headers.get("accept", ""), (EVENTS, JSON))
        return AnswerResponse(answer, await self._reserve(request, answer), media_type, self._ping_seconds)

    async def ask_offline(self, request: Request) -> AnswerResponse:
        """Answer a question without a provider's model, as Markdown. A mere link must not cost money."""
        query = request.query_params
        question = Question(query.get("q", ""), page=query.get("page", ""), language=query.get("lang", ""))
        answer = self._service.open(validate(question), offline=True)
        return AnswerResponse(answer, await self._reserve(request, answer), MARKDOWN)

    async def _reserve(self, request: Request, answer: AnswerRequest) -> Reservation | None:
        """Reserve a place and money for an answer; a cached one needs neither."""
        if answer.cached:
            return None
        client = get_client(request.scope)
        cost = answer.call_cost
        reservation = await self._limiter.reserve(client, cost=cost, spends_money=answer.spends_money)
        answer.model.on_spend = reservation.grow
        return reservation

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
        site = self._service.site.now(validate_language(request.query_params.get("lang", "")))
        if is_fast and site.in_memory:
            return build(site)
        return await self._queue.run(get_client(request.scope), lambda: build(site), is_local=site.library.is_local)

    # Other operations

    async def feedback(self, request: Request) -> Response:
        """Log a reader's opinion of an answer, and count it. A comment or another opinion may follow."""
        if not self._journal.logs_feedback:
            raise ProblemError("no_feedback", "Feedback is not collected here.")
        feedback = parse_feedback(await _read_json(request, _MAX_FEEDBACK_BYTES))
        if (rated := self._service.read_turn(feedback.turn)) is None:
            raise ProblemError("unknown_turn", "The turn is not from this server, or too old: ask again.")
        await self._count_rating(get_client(request.scope))
        await run_in_thread(lambda: self._journal.log_feedback(feedback, rated.question))
        self._metrics.count_feedback(helpful=feedback.helpful)
        return Response(status_code=204)

    async def _count_rating(self, client: str) -> None:
        """Raise ProblemError if a client sends too many ratings."""
        try:
            full = await self._limiter.counters.hit([(_FEEDBACK_WINDOW, self._limiter.hash_client(client))])
        except CounterStorageError:
            detail = "Ratings cannot be counted now; try again soon."
            raise ProblemError("counters", detail, retry_after=30) from None
        if full:
            raise ProblemError("rate", "Too many ratings for one day.", retry_after=full[1])

    async def health(self, request: Request) -> Response:
        """Return whether questions can be answered."""
        health = build_health(self._service.site, self._service.config.model.name)
        return Response(encode_json(health), media_type=JSON, headers={"cache-control": "no-store"})

    async def openapi(self, request: Request) -> Response:
        """Return the OpenAPI description."""
        return respond_with_etag(request, self._description, JSON)

    async def widget(self, request: Request) -> Response:
        """Return a module of the widget."""
        name = f"roaming-{request.path_params['module']}.js"
        return self._respond_with_file(request, name, "text/javascript; charset=utf-8")

    async def widget_strings(self, request: Request) -> Response:
        """Return the widget's translations for a language."""
        return self._respond_with_file(request, f"ask.{request.path_params['language']}.json", JSON)

    def _respond_with_file(self, request: Request, name: str, content_type: str) -> Response:
        """Return a file of the widget. Browsers load modules from other origins only with this CORS header."""
        file = self._widget / name
        if not _WIDGET_FILE.fullmatch(name) or not file.is_file():
            raise ProblemError("no_file", "There is no such file.")
        return respond_with_etag(request, file.read_bytes(), content_type, **{"access-control-allow-origin": "*"})


async def _read_json(request: Request, max_bytes: float = inf) -> bytes:
    check_media_type(request.headers.get("content-type", ""))
    body = await request.body()
    if len(body) > max_bytes:
        raise ProblemError("size", f"The maximum size of a body is {max_bytes} bytes here.")
    return body


def create_asgi_app(
    operations: Sequence[Operation],
    handlers: object,
    run: Callable[[], Coroutine[Any, Any, None]],
    tools: McpEndpoint | None,
    metrics_server: AbstractAsyncContextManager[None],
    *,
    routes: Sequence[Route] = (),
) -> Starlette:
    """Return an application.

    Args:
        operations: The operations.
        handlers: An object with a method for each operation.
        run: A coroutine function that runs as long as the application.
        tools: The endpoint for MCP clients.
        metrics_server: The context in which the metrics are served.
        routes: Further routes.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with metrics_server, tools.run() if tools else nullcontext(), anyio.create_task_group() as group:
            group.start_soon(run)
            yield
            group.cancel_scope.cancel()

    listed = [Route(each.path, getattr(handlers, each.name), methods=[each.method]) for each in operations]
    listed += [Route("/mcp", tools)] if tools else []
    app = Starlette(routes=[*listed, *routes], lifespan=lifespan, exception_handlers=EXCEPTION_HANDLERS)
    app.router.redirect_slashes = False
    return app


# Responses with an answer


class AnswerResponse:
    """An ASGI response with an answer: as server-sent events while it is produced, or complete as JSON or Markdown.

    If the client disconnects, the answer is cancelled.
    """

    def __init__(
        self,
        answer: AnswerRequest,
        reservation: Reservation | None,
        media_type: str,
        ping_seconds: float = PING_SECONDS,
    ) -> None:
        self._answer = answer
        self._reservation = reservation
        self._media_type = media_type
        self._ping_seconds = ping_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer."""
        try:
            async with anyio.create_task_group() as group:
                if not self._answer.is_kept:
                    group.start_soon(_cancel_on_disconnect, receive, group.cancel_scope)
                if self._media_type == EVENTS:
                    await self._stream(send)
                else:
                    response = await self._complete()
                    await self._settle()  # before the client can ask again
                    await response(scope, receive, send)
                group.cancel_scope.cancel()
        finally:
            self._answer.close()
            await self._settle()

    async def _stream(self, send: Send) -> None:
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in SSE_HEADERS.items()]
        parts = self._answer.parts(self._ping_seconds)
        rest: list[bytes] = []
        try:
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            async for part in parts:
                if self._answer.is_kept:  # one body instead of one for each part
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
            completed = await self._answer.complete()
        except ProblemError as problem:  # the task group would enclose it in a group of exceptions
            return ProblemResponse(problem)
        if completed.state == "error":
            return ProblemResponse(make_failure(completed))
        is_markdown = self._media_type == MARKDOWN
        body = encode_text(answer_to_markdown(completed)) if is_markdown else encode_json(completed)
        headers = {"cache-control": "no-store", "x-robots-tag": "noindex"}
        return Response(body, media_type=CONTENT_TYPES[self._media_type], headers=headers)

    async def _settle(self) -> None:
        """Settle the cost. The client that started an answer pays for it, and keeps its place while others read it."""
        if self._reservation is not None and not self._reservation.settled:
            with anyio.CancelScope(shield=True):
                await self._reservation.settle(await self._answer.cost())


async def _cancel_on_disconnect(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
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

_STATUS_DETAILS = {
    404: "There is nothing at this address.",
    405: "This address does not take that method.",
}
_WIDGET_FILE = re.compile(r"(?:roaming-[A-Za-z0-9]{1,40}\.js|ask\.[A-Za-z0-9-]{1,40}\.json)")
_CLOSE_SECONDS = 2.0
_FEEDBACK_WINDOW = Window("feedback_a_day_each", 100, DAY_SECONDS)
_MAX_FEEDBACK_BYTES = 32_768
_MAX_TAGS_CHARS = 1_000
