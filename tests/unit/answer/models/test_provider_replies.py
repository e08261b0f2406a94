"""Small sites and interrupted replies, with both kinds of providers."""

from __future__ import annotations

from collections.abc import Callable

from messages_api import MessagesApi
from messages_api.parts import Say
from messages_api.script import Script

from mkdocs_roaming.answer.events import Event, SiteRead, summarize
from mkdocs_roaming.answer.models.base import Model

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
