"""The roaming loop: states, limits, tools, requests and cancellation."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

import anyio
import pytest
from tables import read_tables

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import Budget, compute_limiter, run_in_thread
from mkdocs_roaming.answer.conversation import Exchange
from mkdocs_roaming.answer.events import (
    Event,
    Finished,
    RoundStarted,
    SectionOpened,
    SectionsDropped,
    SupportChecked,
    ToolCalled,
    summarize,
)
from mkdocs_roaming.answer.models.base import (
    AssistantTurn,
    ModelRequest,
    Part,
    Stop,
    Text,
    ToolCall,
    ToolTurn,
    UserTurn,
)
from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.errors import LibraryError, UsageError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.targets import library_from_markdown
from mkdocs_roaming.manifest.lookup import SectionRef

from .conftest import Ask, expand_call, select

TABLES = read_tables(__file__)


def get_finished(events: list[Event]) -> Finished:
    finished = events[-1]
    assert isinstance(finished, Finished)
    assert len(select(Finished, events)) == 1
    return finished


# States


def test_cited_answer_is_answered(ask: Ask, ids: dict[str, str]) -> None:
    server = ids["Server"]
    model = ScriptedModel([[expand_call(server), Stop("tools")], [Text(f"The port is 8642 [^{server}]."), Stop()]])
    events = ask(model)
    names = "OutlineRead RoundStarted ToolCalled SectionOpened RoundStarted TextReleased SectionCited SupportChecked"
    assert [type(event).__name__ for event in events] == [*names.split(), "Finished"]
    (opened,) = select(SectionOpened, events)
    assert opened.section.title == "Server"
    assert opened.section.breadcrumb == ("Settings", "Server")
    assert opened.section.url == "https://kettle.example/"
    assert opened.section.tokens > 0
    assert opened.tokens > 0
    result = summarize(events)
    assert (result.state, result.text) == ("answered", f"The port is 8642 [^{server}].")
    assert result.citations == result.steps == (opened.section,)
    assert (result.rounds, result.model, result.not_found) == (2, "scripted", None)
    assert result.tokens_read == opened.tokens


UNUSABLE = {
    "uncited": ([Text("The port is 8642, believe me.")], "citations"),
    "unopened": ([Text("The port is 8642 [^deadbeef].")], "citations"),
    "number": ([Text("The port is 8642 [1].")], "citations"),
    "nothing": ([], "empty"),
    "spaces": ([Text("  \n\n "), Stop()], "empty"),
    "reasoning": ([Text("<think>The port is 8642.</think>\n")], "empty"),
    "call": ([Text("<invoke>expand_sections ids=Server</invoke>")], "call"),
}


@pytest.mark.parametrize(
    ("reply", "cause"), [*UNUSABLE.values(), ([Text("<think>The port is"), Stop("length")], "empty")]
)
@pytest.mark.parametrize("whole_site_tokens", [0, 100_000])
def test_unusable_reply_is_repaired(
    ask: Ask, ids: dict[str, str], reply: list[Part], cause: str, whole_site_tokens: int
) -> None:
    server = ids["Server"]
    opens = [] if whole_site_tokens else [[expand_call(server)]]
    model = ScriptedModel([*opens, reply, [Text(f"The port is 8642 [^{server}].")]])
    result = summarize(ask(model, "Which port does it listen on?", whole_site_tokens=whole_site_tokens))
    assert (result.state, result.text, result.withheld) == ("answered", f"The port is 8642 [^{server}].", 0)
    before, after = model.requests[-2:]
    assert f"`[^{server}]` Server" in after.note
    assert (after.output_tokens > before.output_tokens) == (cause == "empty")


@pytest.mark.parametrize(("reply", "cause"), UNUSABLE.values(), ids=list(UNUSABLE))
def test_reply_that_is_not_repaired_is_replaced_by_results(
    ask: Ask, ids: dict[str, str], reply: list[Part], cause: str
) -> None:
    result = summarize(
        ask(ScriptedModel([[expand_call(ids["Server"])], reply, reply]), "Which port does it listen on?")
    )
    assert (result.state, result.cause, result.rounds) == ("unusable", cause, 3)
    assert result.text.startswith(f"The model's reply could not be used. {prompts.NEAREST_SECTIONS}")
    assert prompts.NO_ANSWER not in result.text
    assert "8642" in result.text
    assert (result.memory, result.error.partition(": ")[0]) == ("", "scripted")


@pytest.mark.parametrize("text", TABLES["tool call in text is made"])
def test_tool_call_in_text_is_made(ask: Ask, ids: dict[str, str], text: str) -> None:
    server = ids["Server"]
    model = ScriptedModel([[Text(text.format(id=server))], [Text(f"The port is 8642 [^{server}].")]])
    result = summarize(ask(model))
    assert (result.state, result.rounds, result.text) == ("answered", 2, f"The port is 8642 [^{server}].")
    assert [section.id for section in result.steps] == [server]


def test_not_found_has_nearest_sections_without_rare_words_and_opened_sections(ask: Ask) -> None:
    titles = "\n\n".join(f"# Page {at}\n\nThe server listens to number {at}." for at in range(40))
    navigator = Navigator(library_from_markdown(titles, name="Site", url="https://docs.example/"))
    model = ScriptedModel([[Text("The docs do not say this [^none].")]])
    finished = get_finished(ask(model, "Does the server listen?", navigator=navigator))
    assert (finished.state, len(navigator.opened)) == ("not_found", 0)
    assert finished.not_found is not None
    assert finished.not_found.looked_at == ()
    assert len(finished.not_found.nearest) == 3


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("bad\nthing"), "failing failed: ValueError: bad thing"),
        (UsageError("no key; set KETTLE_KEY"), "no key; set KETTLE_KEY"),
        (RuntimeError(), "failing failed: RuntimeError"),
        (ExceptionGroup("two", [OSError("x"), OSError("y")]), "failing failed: ExceptionGroup: two (2 sub-exceptions)"),
        (ValueError("x" * 5000), "failing failed: ValueError: " + "x" * 200),
    ],
)
@pytest.mark.parametrize("late", [False, True])
def test_model_exception_ends_as_error_in_one_line(ask: Ask, error: Exception, message: str, late: bool) -> None:
    events = ask(Failing(error, late=late))
    assert (get_finished(events).state, get_finished(events).error) == ("error", message)
    assert message[-20:] not in summarize(events).text


class Failing:
    name = "failing"

    def __init__(self, error: Exception, *, late: bool) -> None:
        self.error, self.late = error, late

    def reply(self, request: ModelRequest) -> AsyncIterator[Part]:
        if not self.late:
            raise self.error
        return self._fail()

    async def _fail(self) -> AsyncIterator[Part]:
        yield Text("The port")
        raise self.error


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (LibraryError("https://kettle.example/: is gone; try later"), "https://kettle.example/: is gone; try later"),
        (KeyError("nav"), "reading the site failed: KeyError: 'nav'"),
    ],
)
def test_unreadable_site_ends_as_error(ask: Ask, library: Library, error: Exception, message: str) -> None:
    class Lost(Navigator):
        def outline(self, max_tokens: int = 0) -> str:
            raise error

    result = summarize(ask(ScriptedModel([]), navigator=Lost(library)))
    assert (result.state, result.error) == ("error", message)


def test_released_text_survives_error(ask: Ask, ids: dict[str, str]) -> None:
    server = ids["Server"]

    class Half(ScriptedModel):
        async def reply(self, request: ModelRequest) -> AsyncIterator[Part]:
            async for part in super().reply(request):
                yield part
            if not isinstance(request.turns[-1], UserTurn):
                raise ConnectionError("cut off")

    text = f"The port is 8642 [^{server}].\n\nIts address is 127."
    result = summarize(ask(Half([[expand_call(server)], [Text(text)]])))
    assert (result.state, result.text) == ("error", f"The port is 8642 [^{server}].")


# Support


def test_support_is_checked_against_opened_sections(ask: Ask, ids: dict[str, str]) -> None:
    server = ids["Server"]
    events = ask(ScriptedModel([[expand_call(server)], [Text(f"The port is 9753 [^{server}].")]]))
    assert isinstance(events[-2], SupportChecked)
    found = summarize(events).support
    assert found is not None
    assert [(mark.kind, mark.start, mark.end, mark.section) for mark in found.marks] == [("number", 12, 16, server)]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Slow(ScriptedModel):
    """A model for whose parts some seconds pass, or before them."""

    def __init__(self, *replies: Sequence[Part], clock: Clock, seconds: float = 0.0, before: float = 0.0) -> None:
        super().__init__(replies)
        self._clock, self._seconds, self._before = clock, seconds, before

    async def reply(self, request: ModelRequest) -> AsyncIterator[Part]:
        self._clock.now += self._before
        async for part in super().reply(request):
            yield part
            self._clock.now += self._seconds


def test_support_check_that_fails_gives_reason(ask: Ask, library: Library, ids: dict[str, str]) -> None:
    clock = Clock()
    server = ids["Server"]
    slow = Slow([expand_call(server)], [Text(f"8642 [^{server}].")], clock=clock, seconds=30)
    assert summarize(ask(slow, clock=clock)).support_skipped == "no time was left"

    class Vanishing(Library):
        left = 10_000

        def text(self, place: SectionRef) -> str:
            self.left -= 1
            if self.left < 0:
                raise LibraryError("https://kettle.example/: is gone")
            return super().text(place)

    vanishing = Vanishing(library.manifest, library._reader)

    class Leaving(ScriptedModel):
        async def reply(self, request: ModelRequest) -> AsyncIterator[Part]:
            async for part in super().reply(request):
                yield part
            if len(self.requests) == 2:
                vanishing.left = 0

    model = Leaving([[expand_call(server)], [Text(f"8642 [^{server}].")]])
    result = summarize(ask(model, navigator=Navigator(vanishing)))
    assert (result.state, result.support_skipped) == ("answered", "https://kettle.example/: is gone")


# Budgets


def test_slow_model_meets_deadline(ask: Ask, ids: dict[str, str]) -> None:
    clock = Clock()
    server = ids["Server"]
    texts = [Text(f"The port is 8642 [^{server}]."), Text("\n\nAnd"), Text(" more")]
    model = Slow([expand_call(server)], texts, clock=clock, seconds=20)
    result = summarize(ask(model, clock=clock, budget=Budget(seconds=45)))
    assert (result.state, result.spent, result.text) == ("budget", "seconds", f"The port is 8642 [^{server}].")


def test_hanging_model_is_closed_at_deadline(ask: Ask) -> None:

    class Hanging:
        name = "hanging"
        closed = False

        async def reply(self, request: ModelRequest) -> AsyncIterator[Part]:
            try:
                await anyio.sleep_forever()
            finally:
                self.closed = True
            yield Text("never")

    model = Hanging()
    events = ask(model, budget=Budget(seconds=0.5), clock=lambda: 0.0)  # no time passes before the model is asked
    assert get_finished(events).spent == "seconds"
    assert model.closed


def test_little_time_is_in_note(ask: Ask, ids: dict[str, str]) -> None:
    clock = Clock()
    model = Slow([expand_call(ids["Server"])], [], clock=clock, before=40)
    ask(model, clock=clock, budget=Budget(seconds=45))
    assert model.requests[1].note == prompts.LITTLE_TIME


def test_hanging_library_meets_deadline(ask: Ask, library: Library) -> None:

    class Stuck(Navigator):
        def outline(self, max_tokens: int = 0) -> str:
            time.sleep(0.3)
            return ""

    assert (
        get_finished(ask(ScriptedModel([]), navigator=Stuck(library), budget=Budget(seconds=0.05))).spent == "seconds"
    )


def test_hanging_library_does_not_block_exit() -> None:
    program = """
import time, anyio
from mkdocs_roaming.answer.budget import Deadline, StopAnswer, run_in_thread
try:
    deadline = Deadline(0.05, time.monotonic)
    anyio.run(deadline.run, lambda: run_in_thread(lambda: time.sleep(60)), "sleeping")
except StopAnswer as stop:
    print(stop.spent)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert (ended.stdout, ended.stderr) == ("seconds\n", "")


def test_abandoned_function_does_not_block_others() -> None:
    go = threading.Event()

    async def work() -> int:
        with anyio.move_on_after(0.05):
            await run_in_thread(lambda: go.wait(120), compute_limiter())
        with anyio.fail_after(60):
            return await run_in_thread(lambda: 7, compute_limiter())

    assert anyio.run(work) == 7
    go.set()


# Tools


def test_call_ids_are_made_unique_and_plain(ask: Ask, ids: dict[str, str]) -> None:
    calls = [
        expand_call(ids["Server"], call=""),
        expand_call(ids["Logs"], call=""),
        expand_call(ids["Boiling"], call="call"),
    ]
    calls.append(ToolCall(7, "search_sections", {"query": "port"}))
    calls.append(ToolCall("func.1:ö" + "x" * 90, "search_sections", {"query": "port"}))
    calls.append(ToolCall("func_1__" + "x" * 90, "search_sections", {"query": "port"}))
    model = ScriptedModel([calls, [expand_call(ids["Install"], call="call")], []])
    events = ask(model)
    named = [event.call for event in select(ToolCalled, events)]
    long = "func_1__" + "x" * 52
    assert named == ["call", "call_2", "call_3", "7", long, f"{long}_2", "call_4"]
    opened = [event.call for event in select(SectionOpened, events) if not event.call.startswith(("7", "func"))]
    assert opened == ["call", "call_2", "call_3", "call_4"]


# Requests


@pytest.mark.parametrize("page", ["install/", "/install/index.html", "install/#nowhere"])
def test_question_has_outline_of_reader_page(ask: Ask, page: str) -> None:
    model = ScriptedModel([[]])
    ask(model, "How hot does it boil?", page=page)
    (turn,) = model.requests[0].turns
    assert isinstance(turn, UserTurn)
    assert turn.question == "How hot does it boil?"
    assert turn.context.startswith("The reader is on this page: Install\nIts outline:\n\n[")
    assert "Steps" in turn.context
    assert prompts.format_question(turn) == f"{turn.context}\n\nQuestion: How hot does it boil?"


def test_provider_state_is_returned_to_model(ask: Ask, ids: dict[str, str]) -> None:
    keep = object()
    model = ScriptedModel([[Text("Let me see."), expand_call(ids["Server"]), Stop("tools", keep)], []])
    ask(model)
    turn = model.requests[1].turns[-2]
    assert isinstance(turn, AssistantTurn)
    assert turn.provider_state is keep
    assert turn.text == "Let me see."


# Conversations


@pytest.mark.parametrize("cut", [80, 70])
def test_link_with_shortened_address_leads_to_the_whole_one(ask: Ask, cut: int) -> None:
    long = f"https://play.example/run/{'x' * 400}"
    library = library_from_markdown(f"# Page\n\nTry [it]({long}).", name="Play", url="https://docs.example/")
    (page,) = (section.id for section in library.sections)
    text = f"[Try it]({long[:cut]}…), or `curl {long[:cut]}…` [^{page}]."
    model = ScriptedModel([[expand_call(page)], [Text(text)]])
    result = summarize(ask(model, navigator=Navigator(library)))
    assert (f"[Try it]({long})" in result.text) is (cut == 80)
    assert result.foreign_addresses == (0 if cut == 80 else 1)


# Cancellation


def test_error_while_closing_reply_is_ignored(ask: Ask, ids: dict[str, str]) -> None:

    class Sulking(ScriptedModel):
        async def reply(self, request: ModelRequest) -> AsyncIterator[Part]:
            try:
                async for part in super().reply(request):
                    yield part
                yield Text("x" * 10_000)
                yield Text("y")
            finally:
                raise OSError("already closed")

    finished = get_finished(ask(Sulking([[Text("The port")]])))
    assert (finished.state, finished.spent) == ("budget", "output")


def test_reply_with_part_of_wrong_type_ends_with_error_that_names_class(ask: Ask) -> None:

    class Chatty:
        name = "chatty"

        async def reply(self, request: ModelRequest) -> AsyncIterator[Any]:
            yield "a plain text"

    finished = get_finished(ask(Chatty()))
    assert finished.state == "error"
    assert "Chatty yielded str, expected a part of a reply" in finished.error


def test_summarize_reports_interrupted_answer() -> None:
    assert summarize([RoundStarted(1, 4)]).state == "error"


# Sections that search opens before the first round


def test_prefetched_sections_are_recorded_as_search_call(ask: Ask, ids: dict[str, str]) -> None:
    server = ids["Server"]
    model = ScriptedModel([[Text(f"The port is 8642 [^{server}].")]])
    events = ask(model, "Which port does the server listen on?", prefetch_tokens=1_800)
    assert (get_finished(events).state, get_finished(events).rounds) == ("answered", 1)
    before = events[: next(at for at, event in enumerate(events) if isinstance(event, RoundStarted))]
    (call,) = select(ToolCalled, before)
    assert (call.call, call.name) == ("prefetch", "search_sections")
    assert server in [event.section.id for event in select(SectionOpened, before) if event.call == "prefetch"]
    _, turn, results = model.requests[0].turns
    assert isinstance(turn, AssistantTurn)
    assert isinstance(results, ToolTurn)
    assert [result.call for result in results.results] == list(turn.calls)


def test_prefetch_repeats_no_reopened_section(ask: Ask, ids: dict[str, str]) -> None:
    server = ids["Server"]
    history = [Exchange("Which port?", f"8642 [^{server}].")]
    events = ask(ScriptedModel([[]]), "And its address?", opened=[server], history=history, prefetch_tokens=1_800)
    opened = [event.section.id for event in select(SectionOpened, events)]
    assert opened[0] == server
    assert len(opened) == len(set(opened))


def test_prefetch_leaves_half_of_the_room(ask: Ask) -> None:
    model = ScriptedModel([[]])
    events = ask(model, budget=Budget(open_chars=400), prefetch_tokens=1_800)
    assert not select(SectionsDropped, events)
