"""Traces: content, files and replay."""

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

from mkdocs_roaming.answer.budget import Budget, Deadline, Prices
from mkdocs_roaming.answer.conversation import Exchange
from mkdocs_roaming.answer.events import (
    Event,
    Finished,
    NotFound,
    OutlineRead,
    Reference,
    SectionAlreadyOpen,
    SectionMissing,
    SectionOpened,
    SupportChecked,
    TextReleased,
    TokensUsed,
    ToolCallRejected,
    summarize,
)
from mkdocs_roaming.answer.models.base import Citation, Model, Part, Request, Stop, Text, ToolCall, Usage
from mkdocs_roaming.answer.models.extractive import ExtractiveModel
from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.answer.support.check import Mark, Sentence, Support
from mkdocs_roaming.answer.trace import (
    Recording,
    ReplayResult,
    Trace,
    dump_traces,
    from_json,
    load_traces,
    read_trace,
    replay_trace,
    to_json,
    write_trace,
)
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.targets import library_from_markdown
from mkdocs_roaming.publish.files import check_writable

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


def replay(trace: Trace, library: Library) -> ReplayResult:
    return anyio.run(replay_trace, trace, Navigator(library))


def round_trip(trace: Trace) -> Trace:
    """Return a trace after writing and reading it."""
    (result,) = load_traces(dump_traces([trace]), "t.json")
    return result


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
    assert trace.outline.startswith("sha256:")
    assert trace.budget == budget
    assert [list(reply.parts) for reply in trace.replies] == roaming_without_state(ids)
    assert [reply.request[:7] for reply in trace.replies] == ["sha256:", "sha256:"]
    assert list(trace.events) == events
    assert trace.answer == summarize(events)
    assert trace.answer.cost == pytest.approx(10 * 2 / 1e6)
    assert trace.read == (ids["Server"],)
    assert trace.answer.support is not None


def roaming_without_state(ids: dict[str, str]) -> list[list[Part]]:
    return [[Stop(part.reason) if isinstance(part, Stop) else part for part in reply] for reply in (roaming(ids))]


def test_trace_survives_file_round_trip(record: Record, ids: dict[str, str]) -> None:
    trace, _ = record(ScriptedModel(roaming(ids)))
    assert dump_traces([round_trip(trace)]) == dump_traces([trace])
    assert round_trip(trace).events == trace.events
    assert round_trip(trace).answer == trace.answer


def test_recording_same_answer_twice_gives_equal_bytes(record: Record, ids: dict[str, str]) -> None:
    assert dump_traces([record(ScriptedModel(roaming(ids)))[0]]) == dump_traces(
        [record(ScriptedModel(roaming(ids)))[0]]
    )
    assert dump_traces([record(ExtractiveModel())[0]]) == dump_traces([record(ExtractiveModel())[0]])


# Replay


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
def test_replay_reproduces_trace_byte_for_byte(
    record: Record, library: Library, ids: dict[str, str], case: str
) -> None:
    make, given = cases(ids)[case]
    trace, _ = record(make(), **given)
    result = replay(round_trip(trace), library)
    assert result.differences == ()
    assert dump_traces([result.trace]) == dump_traces([trace])


def test_recording_stores_sections_opened_before(library: Library, ids: dict[str, str]) -> None:
    navigator = Navigator(library)
    navigator.expand_sections([ids["Server"]])
    recording = Recording("Port?", navigator, ScriptedModel([[Text(f"8642 [^{ids['Server']}].")]]), whole_site_tokens=0)

    async def listen() -> None:
        async with aclosing(recording.events()) as events:
            async for _ in events:
                pass

    anyio.run(listen)
    assert recording.trace().opened == (ids["Server"],)
    assert replay(round_trip(recording.trace()), library).differences == ()


@pytest.mark.parametrize("at", [0.0, 20.0, 40.0, 50.0])
def test_replay_repeats_recorded_time(record: Record, library: Library, ids: dict[str, str], at: float) -> None:

    class Slow(ScriptedModel):
        async def reply(self, request: Request) -> AsyncIterator[Part]:
            clock.now += at
            async for part in super().reply(request):
                yield part
                clock.now += 1

    clock = Clock()
    trace, _ = record(Slow(roaming(ids)), deadline=Deadline(45, clock))
    assert trace.answer.spent == ("seconds" if at >= 20 else "")
    result = replay(round_trip(trace), library)
    assert result.differences == ()
    assert dump_traces([result.trace]) == dump_traces([trace])


def test_replay_of_hanging_model_reproduces_timeout(record: Record, library: Library, ids: dict[str, str]) -> None:

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
    result = replay(round_trip(trace), library)
    assert dump_traces([result.trace]) == dump_traces([trace])


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_replay_on_changed_site_reports_causes_first(record: Record, ids: dict[str, str]) -> None:
    trace, _ = record(ScriptedModel(roaming(ids)))
    text = KETTLE.read_text("utf-8").replace("8642", "9753")
    result = replay(trace, library_from_markdown(text, name="Kettle", url="https://kettle.example/"))
    assert result.differences[0].startswith("the site changed: its digest was sha256:")
    assert any(line.startswith("request 1 was sha256:") or "request 2" in line for line in result.differences)
    assert any(line.startswith("event 1 was OutlineRead") for line in result.differences)


def test_replay_reports_forged_answer_text(record: Record, library: Library, ids: dict[str, str]) -> None:
    trace, _ = record(ScriptedModel(roaming(ids)))
    data = json.loads(dump_traces([trace]).replace("The port is 8642.[^", "The port is 9753.[^"))
    (forged,) = load_traces(json.dumps(data), "t.json")
    result = replay(forged, library)
    assert any(line.startswith("event ") and "TextReleased" in line for line in result.differences)
    assert any(line.startswith("line of the answer 1 was The port is 9753.") for line in result.differences)


def test_replay_names_other_forged_fields(record: Record, library: Library, ids: dict[str, str]) -> None:
    trace, _ = record(ScriptedModel(roaming(ids)))
    data = json.loads(dump_traces([trace]))
    data["answers"][0]["site"] = "Another"
    (forged,) = load_traces(json.dumps(data), "t.json")
    assert replay(forged, library).differences == ("different fields: site",)


def test_replay_reports_missing_reply(record: Record, library: Library, ids: dict[str, str]) -> None:
    trace, _ = record(ScriptedModel(roaming(ids)))
    data = json.loads(dump_traces([trace]))
    del data["answers"][0]["replies"][1]
    (short,) = load_traces(json.dumps(data), "t.json")
    assert any("asked 1 times, it is asked 2 times" in line for line in replay(short, library).differences)


def test_recording_survives_deeply_nested_arguments(record: Record, ids: dict[str, str]) -> None:
    deep: Any = "x"
    for _ in range(5_000):
        deep = {"ids": [deep]}
    server = ids["Server"]
    calls = [ToolCall("a", "expand_sections", deep), ToolCall("b", "expand_sections", {"ids": [server]})]
    trace, _ = record(ScriptedModel([calls, [Text(f"8642 [^{server}].")]]))
    assert trace.answer.state == "answered"
    assert round_trip(trace).answer == trace.answer


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
def test_replay_reproduces_any_reply(replies: list[list[Part]], opened: list[str], whole: int, budget: Budget) -> None:
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
    trace = recording.trace()
    result = replay(round_trip(trace), LIBRARY)
    assert result.differences == ()
    assert dump_traces([result.trace]) == dump_traces([trace])


# Files


def test_write_trace_is_atomic(record: Record, tmp_path: Path) -> None:
    trace, _ = record(ExtractiveModel())
    path = tmp_path / "t.json"
    write_trace(path, [trace, trace])
    assert read_trace(path) == (trace, trace)
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
    assert read_trace(file) == (trace,)
    with ThreadPoolExecutor(1) as reader:
        received = reader.submit(pipe.read_text, "utf-8")
        check_writable(pipe)
        write_trace(pipe, [trace])
        assert received.result(timeout=60) == dump_traces([trace])
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not a trace"),
        ('{"version": 1}', "not a trace"),
        ('{"format": "roaming-trace", "version": 2}', "version 2 of the format is not supported"),
        ('{"format": "roaming-trace", "version": "x"}', "version 'x' of the format is not supported"),
        ('{"format": "roaming-trace", "version": 1, "answers": []}', "answers must be a list with at least one item"),
        ('{"format": "roaming-trace", "version": 1, "answers": [7]}', "answers[0]: Expected `object`, got `int`"),
        (
            '{"format": "roaming-trace", "version": 1, "answers": [{}]}',
            "answers[0]: Object missing required field `question`",
        ),
        *(
            (
                '{"format": "roaming-trace", "version": 1, "answers": [{"question": "", "site": "", "url": "", '
                f'"digest": "", "model": "", "budget": {{"seconds": {number}}}}}]}}',
                message,
            )
            for number, message in [
                ("NaN", "answers[0]: a budget needs at least 1 round"),
                ("-Infinity", "answers[0]: a budget needs at least 1 round"),
                (f"1{'0' * 400}", "answers[0]: Number out of range - at `$.budget.seconds`"),
            ]
        ),
        (
            '{"format": "roaming-trace", "version": 1, "answers": [{"question": 1}]}',
            "answers[0]: Expected `str`, got `int` - at `$.question`",
        ),
    ],
)
def test_read_trace_names_file_and_place_of_errors(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "t.json"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_trace(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_read_trace_reports_unreadable_file(tmp_path: Path) -> None:
    for bad in (tmp_path / "no.json", tmp_path):
        with pytest.raises(UsageError, match="cannot be read"):
            read_trace(bad)


@pytest.mark.parametrize("change", ["type", "rounds", "parts", "state", "tokens"])
def test_load_traces_rejects_wrong_values(record: Record, ids: dict[str, str], change: str) -> None:
    trace, _ = record(ScriptedModel(roaming(ids)))
    answer = json.loads(dump_traces([trace]))["answers"][0]
    match change:
        case "type":
            answer["events"][0]["type"] = "Nonsense"
        case "rounds":
            answer["budget"] = {"rounds": 0}
        case "parts":
            answer["replies"][0]["parts"] = {}
        case "state":
            answer["answer"]["state"] = "fine"
        case "tokens":
            answer["events"][0]["tokens"] = "many"
    text = json.dumps({"format": "roaming-trace", "version": 1, "answers": [answer]})
    with pytest.raises(UsageError, match=r"^t\.json: "):
        load_traces(text, "t.json")


def test_load_traces_reads_old_trace(library: Library) -> None:
    """The file was written before events became structs, with the former class names."""
    old = KETTLE.with_name("trace-v1.json").read_text("utf-8")
    (first,) = load_traces(old, "trace-v1.json")  # the second answer, without the documentation, is left out
    assert (first.answer.state, first.answer.usage, first.page) == ("partial", Usage(10, 1, 2, 3), "install/")
    kinds = {type(event) for event in first.events}
    assert {SectionAlreadyOpen, SectionMissing, ToolCallRejected, SupportChecked, TokensUsed} <= kinds
    differences = replay(first, library).differences
    # The outline's legend is one token shorter and prompts are reworded; everything else is equal.
    assert [line.split()[0] for line in differences] == ["the", "request"], differences
    assert load_traces(dump_traces([first]), "again") == (first,)


def test_load_traces_ignores_unknown_fields(record: Record) -> None:
    trace, _ = record(ExtractiveModel())
    answer = {**json.loads(dump_traces([trace]))["answers"][0], "mood": "fine"}
    assert load_traces(json.dumps({"format": "roaming-trace", "version": 1, "answers": [answer]}), "t") == (trace,)


# JSON


texts = st.text(max_size=8)
references = st.builds(Reference, texts, texts, st.lists(texts, max_size=3).map(tuple), texts, st.integers(0, 99))
marks = st.builds(Mark, st.sampled_from(["number", "word"]), st.integers(), st.integers())
sentences = st.builds(
    Sentence, st.integers(), st.integers(), st.none() | texts, st.floats(0, 1), st.lists(marks, max_size=2).map(tuple)
)
events = st.one_of(
    st.builds(OutlineRead, texts, st.integers(), st.integers()),
    st.builds(SectionOpened, texts, references, st.lists(references, max_size=2).map(tuple)),
    st.builds(TextReleased, texts),
    st.builds(SupportChecked, st.none() | st.builds(Support, texts, st.lists(sentences).map(tuple), st.floats(0, 1))),
    st.builds(
        Finished,
        st.sampled_from(["answered", "error"]),
        texts,
        cost=st.none() | st.floats(0, 9),
        not_found=st.none() | st.builds(NotFound, st.lists(references, max_size=1).map(tuple)),
    ),
)


@given(events)
def test_event_survives_json_round_trip(event: Event) -> None:
    data = json.loads(json.dumps(to_json(event)))
    assert from_json(Event, data, "") == event
