"""What is done for each operation, in terms of HTTP."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from importlib.resources.abc import Traversable
from weakref import WeakValueDictionary

import anyio
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mkdocs_roaming.answer.threads import computing, in_thread
from mkdocs_roaming.serve.accept import preferred
from mkdocs_roaming.serve.answering import Desk, Hearing
from mkdocs_roaming.serve.deployments import Deployment
from mkdocs_roaming.serve.gate import Admission
from mkdocs_roaming.serve.guard import admit, asking
from mkdocs_roaming.serve.log import Journal, read_feedback
from mkdocs_roaming.serve.markdown import as_markdown
from mkdocs_roaming.serve.metrics import MEDIA_TYPE, Metrics
from mkdocs_roaming.serve.objects import Part
from mkdocs_roaming.serve.operations import EVENTS, JSON, MARKDOWN
from mkdocs_roaming.serve.problems import Refused, as_bytes, as_json
from mkdocs_roaming.serve.question import Question, checked_language, checked_page, checked_question, read_question
from mkdocs_roaming.serve.representing import KINDS, body_of, negotiated, tagged, wanted_of
from mkdocs_roaming.serve.sending import PING, send_stream, unless_left
from mkdocs_roaming.serve.stream import DONE, FAILED, HEADERS, sse
from mkdocs_roaming.serve.walking import Told, tell_health, tell_hits, tell_outline, tell_section


class Routes:
    """One method for each operation, under its name."""

    def __init__(
        self,
        desk: Desk,
        metrics: Metrics,
        journal: Journal,
        *,
        widget: Traversable,
        ping: float = PING,
        measure: Callable[[], None] = lambda: None,
    ) -> None:
        self._desk, self._metrics, self._journal = desk, metrics, journal
        self._widget, self._ping, self._measure = widget, ping, measure
        self.description: bytes = b"{}"
        self._turns: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()

    # Answers

    async def ask(self, request: Request) -> Asked:
        """Answer a question by the model."""
        question = read_question(await _json_body(request))
        hearing = self._desk.hear(question)
        streamed = preferred(request.headers.get("accept", ""), (EVENTS, JSON)) == EVENTS
        return Asked(hearing, await _let_in(request, hearing), "stream" if streamed else "object", self._ping)

    async def ask_offline(self, request: Request) -> Asked:
        """Answer a question without a model, as Markdown: a link must not spend its owner's money."""
        query = request.query_params
        text, page = checked_question(query.get("q", "")), checked_page(query.get("page"))
        question = Question(text, page, checked_language(query.get("lang")))
        hearing = self._desk.hear(question, offline=True)
        return Asked(hearing, await _let_in(request, hearing), "markdown", self._ping)

    # Reading

    async def read_outline(self, request: Request) -> Response:
        """Give the outline or a branch."""
        here, id_ = self._here(request), request.query_params.get("id")
        return negotiated(request, await self._told(request, here, lambda: tell_outline(here, id_)))

    async def read_section(self, request: Request) -> Response:
        """Give a section opened."""
        here, id_, part = self._here(request), request.path_params["id"], request.query_params.get("part")
        if not here.near:
            return negotiated(request, await self._told(request, here, lambda: tell_section(here, id_, part)))
        wanted = wanted_of(request)
        body = here.bodies.get((wanted, id_, part))
        if body is None:
            body = body_of(tell_section(here, id_, part), wanted)
            here.bodies.keep((wanted, id_, part), body)
        return tagged(request, body, KINDS[wanted], vary="Accept")

    async def search_sections(self, request: Request) -> Response:
        """Give what search finds."""
        here, query = self._here(request), request.query_params
        told = await self._told(request, here, lambda: tell_hits(here, query.get("q", ""), query.get("limit")))
        return tagged(request, as_json(told.data), JSON)

    async def _told(self, request: Request, here: Deployment, tell: Callable[[], Told]) -> Told:
        """Give what takes more than a moment to tell: in a thread, and for each visitor one at a time. Of a hundred
        searches that one sends at once others wait for one alone.
        """
        if not here.library.near:
            return await in_thread(tell)
        turn = self._turns.setdefault(asking(request.scope), anyio.Lock(fast_acquire=True))
        async with turn:
            return await in_thread(tell, computing())

    def _here(self, request: Request) -> Deployment:
        return self._desk.site.now(checked_language(request.query_params.get("lang")))

    # The rest

    async def feedback(self, request: Request) -> Response:
        """Keep what a reader thought of an answer."""
        if not self._journal.keeps_feedback:
            raise Refused(404, "no_feedback", "Opinions are not kept here.")
        said = read_feedback(await _json_body(request))
        await in_thread(lambda: self._journal.judged(said))
        self._metrics.add("roaming_feedback_total", helpful="yes" if said.helpful else "no")
        return Response(status_code=204)

    async def health(self, request: Request) -> Response:
        """Tell whether questions can be answered."""
        told = tell_health(self._desk.site, self._desk.way.model.name)
        return Response(as_json(told.data), media_type=JSON, headers={"cache-control": "no-store"})

    async def metrics(self, request: Request) -> Response:
        """Give the counters."""
        self._measure()
        return Response(as_bytes(self._metrics.text()), media_type=MEDIA_TYPE, headers={"cache-control": "no-store"})

    async def openapi(self, request: Request) -> Response:
        """Give the description of the endpoint."""
        return tagged(request, self.description, JSON)

    async def widget(self, request: Request) -> Response:
        """Give the widget, to pages of other sites too."""
        return _asset(request, self._widget / "roaming-ask.js", "text/javascript; charset=utf-8")

    async def widget_finder(self, request: Request) -> Response:
        """Give the part of the widget that searches without an endpoint."""
        return _asset(request, self._widget / "roaming-find.js", "text/javascript; charset=utf-8")

    async def widget_strings(self, request: Request) -> Response:
        """Give the widget's words in a language."""
        language = request.path_params["language"]
        if len(language) > _LONGEST_TAG or not language.replace("-", "").isalnum():
            raise Refused(404, "no_file", "There is no such file.")
        return _asset(request, self._widget / f"ask.{language}.json", JSON)


class Asked:
    """An answer on its way, as stream, object or Markdown; what it cost is settled at its end, come what may."""

    def __init__(self, hearing: Hearing, admission: Admission | None, form: str, ping: float) -> None:
        self._hearing, self._admission, self._form, self._ping = hearing, admission, form, ping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            if self._form == "stream":
                await send_stream(receive, send, self._pieces(), HEADERS, ping=self._ping)
                return
            told = await unless_left(receive, self._hearing.whole)
            if told is not None:
                await self._settle()
                await self._whole(told)(scope, receive, send)
        finally:
            self._hearing.leave()
            await self._settle()

    async def _pieces(self) -> AsyncGenerator[bytes, None]:
        async with aclosing(self._hearing.parts()) as parts:
            async for part in parts:
                yield sse(part)
        await self._settle()  # before the reader hears that it is over, and asks again
        yield DONE

    async def _settle(self) -> None:
        """Say what it cost and free its place. Who asked first pays, and keeps the place while others listen."""
        if self._admission is not None and not self._admission.settled:
            with anyio.CancelScope(shield=True):
                await self._admission.settle(await self._hearing.cost())

    def _whole(self, told: Part) -> Response:
        if told["state"] == "error":
            raise Refused(502, "failed", FAILED)
        headers = {"cache-control": "no-store", "x-robots-tag": "noindex"}
        if self._form == "markdown":
            return Response(as_bytes(as_markdown(told)), media_type=f"{MARKDOWN}; charset=utf-8", headers=headers)
        return Response(as_json(told), media_type=JSON, headers=headers)


async def _json_body(request: Request) -> bytes:
    """Give a body that says it is JSON: other sites' pages cannot send such a one without being asked about first."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise Refused(415, "not_json", "Send it as application/json.")
    return await request.body()


async def _let_in(request: Request, hearing: Hearing) -> Admission | None:
    """Let an answer in; one that is kept takes no place and costs nothing."""
    return None if hearing.cached else await admit(request.scope, most=hearing.most, spends=hearing.spends)


def _asset(request: Request, file: Traversable, kind: str) -> Response:
    """Give a file of the widget's; a module is fetched across origins only where it says that it may be."""
    if not file.is_file():
        raise Refused(404, "no_file", "There is no such file.")
    return tagged(request, file.read_bytes(), kind, **{"access-control-allow-origin": "*"})


_LONGEST_TAG = 40  # longer ones may be no names of files
