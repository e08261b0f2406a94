"""Follow-up questions, and parallel requests for pages."""

from __future__ import annotations

import threading

from mkdocs_roaming.answer.conversation import Exchange
from mkdocs_roaming.answer.events import Event, SectionOpened, ToolCalled, summarize
from mkdocs_roaming.answer.models.base import Text, ToolCall
from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.readers import MemoryReader

from .conftest import Ask


def opened(events: list[Event]) -> list[str]:
    return [event.section.title for event in events if isinstance(event, SectionOpened)]


def test_follow_ups_keep_sections_open(ask: Ask, ids: dict[str, str]) -> None:
    server, logs, boiling = ids["Server"], ids["Logs"], ids["Boiling"]
    history: list[Exchange] = []
    steps: list[str] = []
    for question, section, text in (("Port?", server, "8642"), ("Logs?", logs, "19 days")):
        answer = f"{text} [^{section}]."
        call = ToolCall("a", "expand_sections", {"ids": [section]})
        result = summarize(ask(ScriptedModel([[call], [Text(answer)]]), question, opened=steps, history=history))
        assert result.state == "answered"
        steps = list(dict.fromkeys([*steps, *(section.id for section in result.steps)]))
        history.append(Exchange(question, result.text))
    assert steps == [server, logs]
    model = ScriptedModel([[Text(f"Port 8642 [^{server}], nine days [^{logs}], hot [^{boiling}].")]])
    events = ask(model, "All of it?", opened=steps, history=history)
    assert [section.title for section in summarize(events).citations] == ["Server", "Logs"]
    assert summarize(events).dropped_citations == 1
    assert len(model.requests[0].turns) == 7


def test_follow_up_without_citations_reopens_latest_eight_sections(ask: Ask, library: Library) -> None:
    all_ids = [section.id for section in library.sections]
    events = ask(ScriptedModel([[Text("The docs do not say this.")]]), opened=all_ids, history=[Exchange("A?", "B.")])
    (call,) = [event for event in events if isinstance(event, ToolCalled)]
    assert call.ids == tuple(reversed(all_ids[3:]))


class Slow(MemoryReader):
    """A remote site: no page arrives before `together` pages were requested."""

    is_remote = True

    def __init__(self, library: Library, together: int) -> None:
        self._library = library
        self._gate = threading.Barrier(together)
        self.where, self.asked = "far away", 0

    def file(self, path: str, cache_key: str = "") -> bytes:
        self.asked += 1
        self._gate.wait(timeout=60)
        return self._library.file(path)


def test_sections_of_one_call_are_fetched_in_parallel(ask: Ask, library: Library) -> None:
    pages = list({section.page.path: section for section in library.sections}.values())[:3]
    reader = Slow(library, together=3)
    navigator = Navigator(Library(library.manifest, reader))
    calls = [ToolCall("one", "expand_sections", {"ids": [pages[index].id for index in (2, 0, 1)]})]
    events = ask(ScriptedModel([calls, [Text(f"Yes [^{pages[0].id}].")]]), navigator=navigator)
    assert opened(events) == [pages[index].section.title for index in (2, 0, 1)]
    assert reader.asked == 3
