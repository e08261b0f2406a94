"""What goes wrong, as a response: one short problem, and nothing of how it went wrong inside."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from http import HTTPStatus
from importlib.resources.abc import Traversable
from typing import Any
from weakref import WeakValueDictionary

import anyio
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mkdocs_roaming.answer._threads import compute_limiter, run_in_thread
from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.serve.content import (
    Payload,
    build_health,
    build_hits,
    build_outline,
    build_section,
    choose_media_type,
)
from mkdocs_roaming.serve.deployments import Deployment
from mkdocs_roaming.serve.encoding import (
    FAILED_MESSAGE,
    SSE_DONE,
    SSE_HEADERS,
    StreamPart,
    answer_to_markdown,
    encode_sse,
)
from mkdocs_roaming.serve.log import Journal, parse_feedback
from mkdocs_roaming.serve.metrics import MEDIA_TYPE, Metrics
from mkdocs_roaming.serve.middleware import get_client, reserve_answer
from mkdocs_roaming.serve.openapi import EVENTS, JSON, MARKDOWN
from mkdocs_roaming.serve.problems import ProblemError, encode_json, encode_problem, encode_text, public_message
from mkdocs_roaming.serve.quotas import Reservation
from mkdocs_roaming.serve.requests import Question, parse_question, validate_language, validate_page, validate_question
from mkdocs_roaming.serve.sending import PING_SECONDS, run_until_disconnect, send_stream
from mkdocs_roaming.serve.service import AnswerRequest, AnswerService


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, ProblemError)
    headers, body = encode_problem(error)
    return _problem_response(error.status, headers, body)


async def _refuse_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    headers, body = encode_problem(
        ProblemError(status, status.name.lower(), _SENTENCES.get(status, f"{status.phrase}."))
    )
    more = [(name.lower().encode(), value.encode()) for name, value in (error.headers or {}).items()]
    return _problem_response(status, [*headers, *more], body)


async def _unreadable(request: Request, error: Exception) -> Response:
    assert isinstance(error, LibraryError)
    said = f"{public_message(error, request.url.path)}."
    headers, body = encode_problem(ProblemError(503, "unreadable", said, retry_after=_UNREADABLE_RETRY_SECONDS))
    return _problem_response(503, headers, body)


async def _fail(request: Request, error: Exception) -> Response:
    headers, body = encode_problem(ProblemError(500, "failed", "Something went wrong here."))
    return _problem_response(500, headers, body)


def _problem_response(status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> Response:
    response = Response(body, status)
    response.raw_headers = headers
    return response


_SENTENCES = {
    404: "There is nothing at this address.",
    405: "This address does not take that method.",
    416: "The file ends before that range begins; Content-Range says how long it is.",
}


_UNREADABLE_RETRY_SECONDS = 30.0


EXCEPTION_HANDLERS: Mapping[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
    ProblemError: _refuse,
    HTTPException: _refuse_http,
    LibraryError: _unreadable,
    Exception: _fail,
}


"""What an application answers where one of these is raised."""


# MERGED mkdocs_roaming.serve.representing:
# What is told as a response: as JSON or as Markdown, with its tag, so that who has it already is told no more.


CONTENT_TYPES = {JSON: JSON, MARKDOWN: f"{MARKDOWN}; charset=utf-8"}


"""The media types that things are told in, as headers name them."""


def respond_negotiated(request: Request, told: Payload) -> Response:
    """Give what is told in the form that is wanted."""
    wanted = choose_representation(request)
    return respond_with_etag(request, encode_payload(told, wanted), CONTENT_TYPES[wanted], vary="Accept")


def choose_representation(request: Request) -> str:
    """Give the media type that a client would rather have: JSON or Markdown."""
    return choose_media_type(request.headers.get("accept", ""), (JSON, MARKDOWN))


def encode_payload(told: Payload, wanted: str) -> bytes:
    """Give what is told as the bytes of a media type."""
    return encode_text(told.markdown()) if wanted == MARKDOWN and told.markdown else encode_json(told.data)


def respond_with_etag(request: Request, body: bytes, kind: str, **headers: str) -> Response:
    """Give a body with its tag, or 304 where the client has it."""
    tag = f'"{hashlib.sha256(body).hexdigest()[:20]}"'
    told = {"etag": tag, "cache-control": "no-cache", **headers}
    known = request.headers.get("if-none-match")
    if known and tag in [one.strip().removeprefix("W/") for one in known.split(",")]:
        return Response(status_code=304, headers=told)
    return Response(body, media_type=kind, headers=told)


# MERGED mkdocs_roaming.serve.routes:
# What is done for each operation, in terms of HTTP.


class Routes:
    """One method for each operation, under its name."""

    def __init__(
        self,
        desk: AnswerService,
        metrics: Metrics,
        journal: Journal,
        *,
        widget: Traversable,
        ping: float = PING_SECONDS,
        measure: Callable[[], None] = lambda: None,
    ) -> None:
        self._desk, self._metrics, self._journal = desk, metrics, journal
        self._widget, self._ping, self._measure = widget, ping, measure
        self.description: bytes = b"{}"
        self._turns: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()

    # Answers

    async def ask(self, request: Request) -> AnswerResponse:
        """Answer a question by the model."""
        question = parse_question(await _json_body(request))
        hearing = self._desk.hear(question)
        streamed = choose_media_type(request.headers.get("accept", ""), (EVENTS, JSON)) == EVENTS
        return AnswerResponse(hearing, await _let_in(request, hearing), "stream" if streamed else "object", self._ping)

    async def ask_offline(self, request: Request) -> AnswerResponse:
        """Answer a question without a model, as Markdown: a link must not spend its owner's money."""
        query = request.query_params
        text, page = validate_question(query.get("q", "")), validate_page(query.get("page"))
        question = Question(text, page, validate_language(query.get("lang")))
        hearing = self._desk.hear(question, offline=True)
        return AnswerResponse(hearing, await _let_in(request, hearing), "markdown", self._ping)

    # Reading

    async def read_outline(self, request: Request) -> Response:
        """Give the outline or a branch."""
        here, id_ = self._here(request), request.query_params.get("id")
        return respond_negotiated(request, await self._told(request, here, lambda: build_outline(here, id_)))

    async def read_section(self, request: Request) -> Response:
        """Give a section opened."""
        here, id_, part = self._here(request), request.path_params["id"], request.query_params.get("part")
        if not here.near:
            return respond_negotiated(request, await self._told(request, here, lambda: build_section(here, id_, part)))
        wanted = choose_representation(request)
        body = here.bodies.get((wanted, id_, part))
        if body is None:
            body = encode_payload(build_section(here, id_, part), wanted)
            here.bodies.keep((wanted, id_, part), body)
        return respond_with_etag(request, body, CONTENT_TYPES[wanted], vary="Accept")

    async def search_sections(self, request: Request) -> Response:
        """Give what search finds."""
        here, query = self._here(request), request.query_params
        told = await self._told(request, here, lambda: build_hits(here, query.get("q", ""), query.get("limit")))
        return respond_with_etag(request, encode_json(told.data), JSON)

    async def _told(self, request: Request, here: Deployment, tell: Callable[[], Payload]) -> Payload:
        """Give what takes more than a moment to tell: in a thread, and for each visitor one at a time. Of a hundred
        searches that one sends at once others wait for one alone.
        """
        if not here.library.is_local:
            return await run_in_thread(tell)
        turn = self._turns.setdefault(get_client(request.scope), anyio.Lock(fast_acquire=True))
        async with turn:
            return await run_in_thread(tell, compute_limiter())

    def _here(self, request: Request) -> Deployment:
        return self._desk.site.now(validate_language(request.query_params.get("lang")))

    # The rest

    async def feedback(self, request: Request) -> Response:
        """Keep what a reader thought of an answer."""
        if not self._journal.keeps_feedback:
            raise ProblemError(404, "no_feedback", "Opinions are not kept here.")
        said = parse_feedback(await _json_body(request))
        await run_in_thread(lambda: self._journal.judged(said))
        self._metrics.add("roaming_feedback_total", helpful="yes" if said.helpful else "no")
        return Response(status_code=204)

    async def health(self, request: Request) -> Response:
        """Tell whether questions can be answered."""
        told = build_health(self._desk.site, self._desk.way.model.name)
        return Response(encode_json(told.data), media_type=JSON, headers={"cache-control": "no-store"})

    async def metrics(self, request: Request) -> Response:
        """Give the counters."""
        self._measure()
        return Response(encode_text(self._metrics.text()), media_type=MEDIA_TYPE, headers={"cache-control": "no-store"})

    async def openapi(self, request: Request) -> Response:
        """Give the description of the endpoint."""
        return respond_with_etag(request, self.description, JSON)

    async def widget(self, request: Request) -> Response:
        """Give the widget, to pages of other sites too."""
        return _asset(request, self._widget / "roaming-ask.js", "text/javascript; charset=utf-8")

    async def widget_finder(self, request: Request) -> Response:
        """Give the part of the widget that searches without an endpoint."""
        return _asset(request, self._widget / "roaming-find.js", "text/javascript; charset=utf-8")

    async def widget_strings(self, request: Request) -> Response:
        """Give the widget's words in a language."""
        language = request.path_params["language"]
        if len(language) > _MAX_TAG_CHARS or not language.replace("-", "").isalnum():
            raise ProblemError(404, "no_file", "There is no such file.")
        return _asset(request, self._widget / f"ask.{language}.json", JSON)


class AnswerResponse:
    """An answer on its way, as stream, object or Markdown; what it cost is settled at its end, come what may."""

    def __init__(self, hearing: AnswerRequest, admission: Reservation | None, form: str, ping: float) -> None:
        self._hearing, self._admission, self._form, self._ping = hearing, admission, form, ping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            if self._form == "stream":
                await send_stream(receive, send, self._pieces(), SSE_HEADERS, ping=self._ping)
                return
            told = await run_until_disconnect(receive, self._hearing.whole)
            if told is not None:
                await self._settle()
                await self._whole(told)(scope, receive, send)
        finally:
            self._hearing.leave()
            await self._settle()

    async def _pieces(self) -> AsyncGenerator[bytes, None]:
        async with aclosing(self._hearing.parts()) as parts:
            async for part in parts:
                yield encode_sse(part)
        await self._settle()  # before the reader hears that it is over, and asks again
        yield SSE_DONE

    async def _settle(self) -> None:
        """Say what it cost and free its place. Who asked first pays, and keeps the place while others listen."""
        if self._admission is not None and not self._admission.settled:
            with anyio.CancelScope(shield=True):
                await self._admission.settle(await self._hearing.cost())

    def _whole(self, told: StreamPart) -> Response:
        if told["state"] == "error":
            raise ProblemError(502, "failed", FAILED_MESSAGE)
        headers = {"cache-control": "no-store", "x-robots-tag": "noindex"}
        if self._form == "markdown":
            return Response(
                encode_text(answer_to_markdown(told)), media_type=f"{MARKDOWN}; charset=utf-8", headers=headers
            )
        return Response(encode_json(told), media_type=JSON, headers=headers)


async def _json_body(request: Request) -> bytes:
    """Give a body that says it is JSON: other sites' pages cannot send such a one without being asked about first."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise ProblemError(415, "not_json", "Send it as application/json.")
    return await request.body()


async def _let_in(request: Request, hearing: AnswerRequest) -> Reservation | None:
    """Let an answer in; one that is kept takes no place and costs nothing."""
    return None if hearing.cached else await reserve_answer(request.scope, most=hearing.most, spends=hearing.spends)


def _asset(request: Request, file: Traversable, kind: str) -> Response:
    """Give a file of the widget's; a module is fetched across origins only where it says that it may be."""
    if not file.is_file():
        raise ProblemError(404, "no_file", "There is no such file.")
    return respond_with_etag(request, file.read_bytes(), kind, **{"access-control-allow-origin": "*"})


_MAX_TAG_CHARS = 40  # longer ones may be no names of files
