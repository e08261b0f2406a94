"""Requests fit into the context of the model, and a request that is too much for it is made smaller once."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from mkdocs_roaming.answer.conversation import Exchange
from mkdocs_roaming.answer.events import Event, OutlineRead, summarize
from mkdocs_roaming.answer.models.base import ModelRequest, Part, Stop, Text, ToolTurn
from mkdocs_roaming.answer.models.openai import estimate_request
from mkdocs_roaming.errors import ContextError, ModelError, ToolsUnsupportedError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.targets import library_from_markdown

from .conftest import Ask

CHORES = "Open the cover of this device, note its number, and restart the service that reads it. " * 4


class Server:
    """A model that cites the section of the port, and refuses requests that are too large, or with tools."""

    name = "small"

    def __init__(self, id_: str, context: int = 10**6, *, known: int | None = None, has_tools: bool = True) -> None:
        self.requests: list[ModelRequest] = []
        self.known, self.has_tools, self._allows_tools = known, True, has_tools
        self._id, self._context = id_, context

    async def find_context(self) -> int | None:
        return self.known

    async def reply(self, request: ModelRequest) -> AsyncIterator[Part]:
        self.requests.append(request)
        if request.tools and not self._allows_tools:
            self.has_tools = False
            raise ToolsUnsupportedError("small: no tools; set tools = false in [model]", cause="request")
        if estimate_request(request) + request.output_tokens > self._context:
            raise ContextError("small: too large; set context in [model]")
        yield Text(f"The port is 8642 [^{self._id}].")
        yield Stop()


@pytest.fixture(scope="module")
def manual() -> Library:
    pages = "\n\n".join(
        f"# Device {number}\n\n{CHORES}\n\n## Clean device {number}\n\n{CHORES}" for number in range(99)
    )
    text = f"# Ports\n\nThe kettle listens on port 8642.\n\n{pages}"
    return library_from_markdown(text, name="Manual", url="https://manual.example/")


@pytest.fixture
def port(manual: Library) -> str:
    return next(section.id for section in manual.sections if section.section.title == "Ports")


def ask_port(ask: Ask, library: Library, model: Server, **given: object) -> list[Event]:
    question = "Which port does the kettle listen on?"
    return ask(model, question, navigator=Navigator(library), prefetch_tokens=2_200, **given)


@pytest.mark.parametrize(("context", "outline"), [(2_048, False), (4_096, False), (8_192, True), (32_768, True)])
def test_request_fits_into_known_context(ask: Ask, manual: Library, port: str, context: int, outline: bool) -> None:
    history = [Exchange(f"{number}? {CHORES * 3}", f"{CHORES * 9} [^{port}]") for number in range(5)]
    model = Server(port, context, known=context)
    for turns in ([], history):
        events = ask_port(ask, manual, model, history=turns)
        result = summarize(events)
        assert (result.state, result.rounds) == ("answered", 1)
        assert any(isinstance(event, OutlineRead) for event in events) is outline
        request = model.requests[-1]
        assert bool(request.tools) is outline
        assert any(isinstance(turn, ToolTurn) for turn in request.turns) is outline


def test_site_that_does_not_fit_is_not_read_whole(ask: Ask, manual: Library, port: str) -> None:
    model = Server(port, 8_192, known=8_192)
    assert summarize(ask_port(ask, manual, model, whole_site_tokens=10**6)).state == "answered"
    assert not model.requests[0].site


@pytest.mark.parametrize("known", [None, 8_192])
def test_overflow_leads_to_one_smaller_request(ask: Ask, manual: Library, port: str, known: int | None) -> None:
    model = Server(port, 3_000, known=known)
    result = summarize(ask_port(ask, manual, model))
    assert (result.state, result.text, len(model.requests)) == ("answered", f"The port is 8642 [^{port}].", 2)


def test_second_overflow_leads_to_results_and_names_the_setting(ask: Ask, manual: Library, port: str) -> None:
    model = Server(port, 100)
    result = summarize(ask_port(ask, manual, model))
    assert (result.state, result.cause, len(model.requests)) == ("error", "size", 2)
    assert "8642" in result.text
    assert "context in [model]" in result.error


def test_refused_tools_lead_to_one_request_without_them(ask: Ask, manual: Library, port: str) -> None:
    model = Server(port, has_tools=False)
    result = summarize(ask_port(ask, manual, model))
    assert (result.state, len(model.requests)) == ("answered", 2)
    request = model.requests[-1]
    assert (request.tools, request.outline, request.note) == ((), "", "")
    assert f"<section {port}>" in request.turns[-1].context
    assert "expand_sections" not in request.rules


def test_small_model_without_tools_is_understood(ask: Ask, manual: Library, port: str) -> None:
    model = Server(port, 4_096, has_tools=False)
    assert summarize(ask_port(ask, manual, model)).state == "answered"


def test_other_refusal_is_not_repeated(ask: Ask, manual: Library, port: str) -> None:
    class Refusing(Server):
        async def reply(self, request: ModelRequest) -> AsyncIterator[Part]:
            self.requests.append(request)
            raise ModelError("no", cause="request")
            yield Stop()

    model = Refusing(port)
    assert summarize(ask_port(ask, manual, model)).state == "error"
    assert len(model.requests) == 1
