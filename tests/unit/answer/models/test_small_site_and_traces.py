"""Small sites and traces, with both kinds of providers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing

import anyio
import pytest
from messages_api import MessagesApi
from messages_api.navigator import Navigator as WordNavigator
from messages_api.parts import Broken, Call, Say
from messages_api.script import Script

from mkdocs_roaming.answer.budget import Budget, Prices
from mkdocs_roaming.answer.events import Event, SiteRead, summarize
from mkdocs_roaming.answer.models.base import Model
from mkdocs_roaming.answer.trace import Recording, Trace, dump_traces
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator

Ask = Callable[..., list[Event]]
Make = Callable[..., Model]


def test_small_site_is_sent_whole(ask: Ask, api: MessagesApi, make: Make, ids: dict[str, str]) -> None:
    script = Script([Say(f"The port is 8642 [^{ids['Server']}].")])
    api.brain = script
    events = ask(make(), whole_site_tokens=8_000)
    assert isinstance(events[0], SiteRead)
    result = summarize(events)
    assert (result.state, [section.title for section in result.citations]) == ("answered", ["Server"])
    (view,) = script.views
    assert "Which port is the default?" in view.question
    assert f"<section {ids['Boiling']}>" in view.system
    assert "+ inside" not in view.system


def test_small_site_is_read_from_cache(ask: Ask, api: MessagesApi, claude: Make, ids: dict[str, str]) -> None:
    api.brain = Script([Say(f"8642 [^{ids['Server']}].")], again=True)
    model = claude()
    first = summarize(ask(model, whole_site_tokens=8_000)).usage
    second = summarize(ask(model, "How hot does it get?", whole_site_tokens=8_000)).usage
    assert first.cache_write > first.input
    assert (second.cache_write, second.cache_read) == (0, first.cache_write)


def record(library: Library, model: Model, question: str, **given: object) -> Trace:
    recording = Recording(question, Navigator(library), model, **given)

    async def listen() -> None:
        async with aclosing(recording.events()) as events:
            async for _ in events:
                pass

    anyio.run(listen)
    return recording.trace()


@pytest.mark.parametrize("whole_site_tokens", [0, 8_000])
def test_trace_contains_cost_and_model_but_no_key(
    api: MessagesApi, make: Make, library: Library, whole_site_tokens: int
) -> None:
    api.brain = WordNavigator()
    budget = Budget(prices=Prices(1.0, 0.1, 1.25, 5.0))
    question = "Which port does the server listen on?"
    trace = record(library, make(), question, budget=budget, whole_site_tokens=whole_site_tokens)
    assert trace.answer.cost
    assert trace.model in dump_traces([trace])
    assert "test-key" not in dump_traces([trace])


def test_recording_of_interrupted_reply_stores_error(api: MessagesApi, make: Make, library: Library) -> None:
    api.brain = Script([Say("Let me see."), Call("search_sections", {"query": "port"})], [Say("The port"), Broken()])
    trace = record(library, make(), "Which port?", whole_site_tokens=0)
    assert trace.answer.state == "error"
    assert trace.replies[-1].error == trace.answer.error
