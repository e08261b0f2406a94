"""Traces: content and files."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mkdocs_roaming.answer.budget import Budget, Prices
from mkdocs_roaming.answer.conversation import Exchange
from mkdocs_roaming.answer.events import (
    Event,
    Finished,
    summarize,
)
from mkdocs_roaming.answer.models.base import Citation, Model, Part, Request, Stop, Text, ToolCall, Usage
from mkdocs_roaming.answer.models.extractive import ExtractiveModel
from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.answer.trace import Recording, Trace, dump_traces, write_trace
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.files import check_writable
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.targets import library_from_markdown

Record = Callable[..., tuple[Trace, list[Event]]]
KETTLE = Path(__file__).parents[2] / "golden" / "answer" / "kettle.md"


@pytest.fixture
def record(library: Library, search: Search) -> Record:
    """Return a function that answers a question and returns the trace and the events."""

    def record(model: Model, question: str = "Which port is the default?", **given: Any) -> tuple[Trace, list[Event]]:
        given.setdefault("whole_site_tokens", 0)
        recording = Recording(question, Navigator(library, search=search), model, **given)

        async def listen() -> list[Event]:
            async with aclosing(recording.events()) as events:
                return [event async for event in events]

        events = anyio.run(listen)
        return recording.trace(), events

    return record


def roaming(ids: dict[str, str]) -> list[list[Part]]:
    """Return replies with all kinds of parts, valid and invalid calls."""
    server = ids["Server"]
    calls = [
        ToolCall("a", "expand_sections", {"ids": [server, "deadbeef"]}),
        ToolCall("a", "search_sections", {"query": "whistle", "limit": 2}),
        ToolCall("", "rm", "{"),
    ]
    answer = [Text("The port is 8642."), Citation(server), Text("\n\nIt is red [^07f3"), Text("277d].\n\nSo be it.")]
    return [
        [Text("Let me see."), *calls, Usage(9, 1, 2, 3), Stop("tools", provider_state=object())],
        [*answer, Usage(1), Stop()],
    ]


# Content


def test_trace_contains_question_replies_events_and_answer(
    record: Record, library: Library, ids: dict[str, str]
) -> None:
    budget = Budget(rounds=3, prices=Prices(input=2.0, currency="EUR"))
    trace, events = record(ScriptedModel(roaming(ids), name="m-1"), page="install/", budget=budget)
    assert (trace.question, trace.page, trace.model) == ("Which port is the default?", "install/", "m-1")
    assert (trace.site, trace.url, trace.digest) == ("Kettle", "https://kettle.example/", library.manifest.digest)
    assert trace.budget == budget
    assert [reply.parts for reply in trace.replies] == roaming_without_state(ids)
    assert list(trace.events) == events
    assert trace.answer == summarize(events)
    assert trace.answer.cost == pytest.approx(10 * 2 / 1e6)
    assert trace.answer.support is not None


def roaming_without_state(ids: dict[str, str]) -> list[list[Part]]:
    return [[Stop(part.reason) if isinstance(part, Stop) else part for part in reply] for reply in (roaming(ids))]


def cases(ids: dict[str, str]) -> dict[str, tuple[Callable[[], Model], dict[str, Any]]]:
    server, logs = ids["Server"], ids["Logs"]
    history = [Exchange("Logs?", f"Nine days [^{logs}].")]
    opens = ToolCall("a", "expand_sections", {"ids": [server]})
    return {
        "roaming": (lambda: ScriptedModel(roaming(ids)), {}),
        "offline": (ExtractiveModel, {}),
        "a whole site": (lambda: ScriptedModel([[Text(f"8642 [^{server}].")]]), {"whole_site_tokens": 8000}),
        "offline, a whole site": (ExtractiveModel, {"whole_site_tokens": 8000}),
        "a follow-up": (
            lambda: ScriptedModel([[Text(f"Yes [^{logs}].")]]),
            {"opened": [server, logs], "history": history},
        ),
        "nothing result": (lambda: ScriptedModel([[Text("No [^none].")]]), {}),
        "a refusal": (lambda: ScriptedModel([[Stop("refusal")]]), {}),
        "too many rounds": (lambda: ScriptedModel([[opens]] * 2), {"budget": Budget(rounds=2)}),
        "money": (
            lambda: ScriptedModel([[opens, Usage(1_000_000)]]),
            {"budget": Budget(cost=0.5, prices=Prices(input=1.0))},
        ),
        "a small room": (lambda: ScriptedModel(roaming(ids)), {"budget": Budget(open_chars=100)}),
        "a failure": (lambda: Broken([[opens], [Text("The port")]]), {}),
        "an early failure": (lambda: Broken([[]]), {}),
        "an odd question": (lambda: ScriptedModel([[]]), {"question": "\ud83d \x00 é 日本"}),
        "endless talk": (lambda: ScriptedModel([[Text("on " * 99)] * 99]), {"budget": Budget(output_tokens=20)}),
    }


CASES = list(cases(dict.fromkeys(("Server", "Logs"), "")))


class Broken(ScriptedModel):
    async def reply(self, request: Request) -> AsyncIterator[Part]:
        async for part in super().reply(request):
            yield part
        if len(self.requests) == len(self._replies):
            raise ConnectionError("cut\noff" + "!" * 300)


@pytest.mark.parametrize("case", CASES)
def test_recording_same_answer_twice_gives_equal_bytes(record: Record, ids: dict[str, str], case: str) -> None:
    make, given = cases(ids)[case]
    first, second = (dump_traces([record(make(), **given)[0]]) for _ in range(2))
    assert first == second
    (answer,) = json.loads(first)["answers"]
    assert answer["events"][-1]["type"] == "Finished"


def test_recording_stores_sections_opened_before(library: Library, ids: dict[str, str]) -> None:
    navigator = Navigator(library)
    navigator.expand_sections([ids["Server"]])
    recording = Recording("Port?", navigator, ExtractiveModel())
    assert recording.trace().opened == (ids["Server"],)


def test_recording_stores_error_of_reply(record: Record) -> None:
    trace, _ = record(Broken([[Text("The port")]]))
    assert trace.replies[0].parts == [Text("The port")]
    assert trace.replies[0].error.startswith("scripted failed: ConnectionError: cut off!!")


def test_recording_closes_hanging_model(record: Record, ids: dict[str, str]) -> None:

    class Hanging:
        name = "hanging"
        closed = False

        async def reply(self, request: Request) -> AsyncIterator[Part]:
            try:
                yield Text(f"8642 [^{ids['Server']}].\n\nAnd")
                await anyio.sleep_forever()
            finally:
                self.closed = True

    model = Hanging()
    trace, _ = record(model, opened=[ids["Server"]], budget=Budget(seconds=0.2))
    assert model.closed
    assert (trace.answer.state, trace.answer.spent) == ("budget", "seconds")


def test_recording_survives_deeply_nested_arguments(record: Record, ids: dict[str, str]) -> None:
    deep: Any = "x"
    for _ in range(5_000):
        deep = {"ids": [deep]}
    server = ids["Server"]
    calls = [ToolCall("a", "expand_sections", deep), ToolCall("b", "expand_sections", {"ids": [server]})]
    trace, _ = record(ScriptedModel([calls, [Text(f"8642 [^{server}].")]]))
    assert trace.answer.state == "answered"
    assert '"…"' in dump_traces([trace])


LIBRARY = library_from_markdown(KETTLE.read_text("utf-8"), name="Kettle", url="https://kettle.example/")
IDS = [place.id for place in LIBRARY.sections]
names = st.sampled_from([*IDS, "deadbeef", "none", "../x", "", "a" * 70])
arguments = st.one_of(
    st.none(),
    st.text(max_size=9),
    st.fixed_dictionaries({"ids": st.lists(names, max_size=9)}, optional={"part": st.integers(-2, 5)}),
    st.fixed_dictionaries({"query": st.sampled_from(["port", "whistle", "\x00", "[^x]"])}),
)
tools = st.sampled_from(["expand_sections", "search_sections", "read_outline", "expand_section", "rm", ""])
sayings = st.sampled_from(["8642", "[^", "]", " ", "\n\n", "```\n", "| a |\n", "- x\n", "\ud83d", "The port is 8642. "])
parts = st.one_of(
    st.builds(Text, sayings),
    st.builds(Text, names.map("[^{}]".format)),
    st.builds(Citation, names),
    st.builds(ToolCall, st.sampled_from(["a", "", "kept"]), tools, arguments),
    st.builds(Usage, st.integers(0, 99), st.integers(0, 99), st.integers(0, 99), st.integers(0, 99)),
    st.builds(Stop, st.sampled_from(["end", "tools", "length", "refusal"])),
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(parts, max_size=7), max_size=5),
    st.lists(names, max_size=4),
    st.sampled_from([0, 8_000]),
    st.sampled_from([Budget(), Budget(rounds=2, open_chars=300, output_tokens=9), Budget(cost=1e-4, prices=Prices(1))]),
)
def test_recording_accepts_any_reply(replies: list[list[Part]], opened: list[str], whole: int, budget: Budget) -> None:
    recording = Recording(
        "Which port?",
        Navigator(LIBRARY),
        ScriptedModel(replies),
        opened=opened,
        budget=budget,
        whole_site_tokens=whole,
    )

    async def listen() -> list[Event]:
        async with aclosing(recording.events()) as events:
            return [event async for event in events]

    happened = anyio.run(listen)
    assert [type(event) for event in happened].count(Finished) == 1
    assert isinstance(happened[-1], Finished)
    json.loads(dump_traces([recording.trace()]))


# Files


def test_write_trace_is_atomic(record: Record, tmp_path: Path) -> None:
    trace, _ = record(ExtractiveModel())
    path = tmp_path / "t.json"
    write_trace(path, [trace, trace])
    assert path.read_text("utf-8") == dump_traces([trace, trace])
    assert [file.name for file in tmp_path.iterdir()] == ["t.json"]
    assert path.stat().st_mode & 0o600 == 0o600
    for bad in (tmp_path / "nowhere" / "t.json", tmp_path, tmp_path / "a\0b"):
        with pytest.raises(UsageError, match="cannot be written"):
            write_trace(bad, [trace])
        with pytest.raises(UsageError, match="cannot be written"):
            check_writable(bad)


def test_write_trace_follows_links_and_keeps_pipes(record: Record, tmp_path: Path) -> None:
    trace, _ = record(ExtractiveModel())
    file, link, pipe = tmp_path / "t.json", tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(file)
    os.mkfifo(pipe)
    check_writable(link)
    write_trace(link, [trace])
    assert link.is_symlink()
    assert file.read_text("utf-8") == dump_traces([trace])
    with ThreadPoolExecutor(1) as reader:
        received = reader.submit(pipe.read_text, "utf-8")
        check_writable(pipe)
        write_trace(pipe, [trace])
        assert received.result(timeout=60) == dump_traces([trace])
    assert pipe.is_fifo()
