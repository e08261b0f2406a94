"""Odd replies of models: the answer ends, once, with events that are valid JSON."""

from __future__ import annotations

import time
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mkdocs_roaming.answer.budget import Budget, Deadline, Prices
from mkdocs_roaming.answer.conversation import ModelReply
from mkdocs_roaming.answer.events import Event, Finished, summarize
from mkdocs_roaming.answer.loop import answer
from mkdocs_roaming.answer.models.base import Citation, ModelRequest, Part, Stop, Text, ToolCall, Usage, UserTurn
from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.targets import library_from_markdown
from mkdocs_roaming.text.markdown import remove_invisible

from .conftest import Ask

KETTLE = Path(__file__).parents[2] / "golden" / "answer" / "kettle.md"


@pytest.mark.parametrize("depth", [50, 600, 2_000])
@pytest.mark.parametrize("is_text", [True, False])
def test_deeply_nested_arguments_do_not_end_answer(ask: Ask, ids: dict[str, str], depth: int, is_text: bool) -> None:
    server = ids["Server"]
    calls: list[Part] = [ToolCall("b", "expand_sections", {"ids": [server]})]
    if is_text:
        calls = [Text('{"name": "expand_sections", "arguments": {"ids": ' + "[" * depth + "]" * depth + "}}")]
        calls.append(Text(f'{{"name": "expand_sections", "arguments": {{"ids": ["{server}"]}}}}'))
    else:
        deep: Any = "x"
        for _ in range(depth):
            deep = {"ids": [deep]}
        calls.append(ToolCall("a", "expand_sections", deep))
    assert summarize(ask(ScriptedModel([calls, [Text(f"8642 [^{server}].")]]))).state == "answered"


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


@settings(max_examples=40)
@given(
    st.lists(st.lists(parts, max_size=7), max_size=5),
    st.lists(names, max_size=4),
    st.sampled_from([0, 8_000]),
    st.sampled_from([Budget(), Budget(rounds=2, open_chars=300, output_tokens=9), Budget(cost=1e-4, prices=Prices(1))]),
)
def test_any_reply_ends_answer_once(replies: list[list[Part]], opened: list[str], whole: int, budget: Budget) -> None:
    async def listen() -> list[Event]:
        events = answer(
            "Which port?",
            Navigator(LIBRARY),
            ScriptedModel(replies),
            opened=opened,
            budget=replace(budget, whole_site_tokens=whole),
        )
        async with aclosing(events):
            return [event async for event in events]

    happened = anyio.run(listen)
    assert [type(event) for event in happened].count(Finished) == 1
    assert isinstance(happened[-1], Finished)
    msgspec.to_builtins(happened)


@given(
    st.lists(st.sampled_from(["a", "é", "\u200d", "\u200c", "\u200b", "\u202e", "👩", "\ufe0f", "\n", "\U000e0041"]))
)
def test_invisible_characters_are_removed_in_whatever_pieces_they_arrive(pieces: list[str]) -> None:
    async def read() -> tuple[str, str]:
        request = ModelRequest("", "", (UserTurn("Which port?"),))
        reply = ModelReply(ScriptedModel([list(map(Text, pieces))]), request, Deadline(9.0, time.monotonic))
        return "".join([part.text async for part in reply.stream() if isinstance(part, Text)]), reply.text

    received, text = anyio.run(read)
    assert received == text == remove_invisible("".join(pieces)).rstrip("\u200c\u200d")  # these join nothing
