"""`roaming chat`: follow-up questions, commands, saved conversations and Ctrl-C."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from mkdocs_roaming.answer.budget import Budget, Prices
from mkdocs_roaming.answer.models.base import (
    AssistantTurn,
    Model,
    ModelRequest,
    Part,
    Text,
    ToolCall,
    ToolTurn,
    Usage,
    UserTurn,
)
from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.cli import main
from mkdocs_roaming.cli.chat import Chat
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.targets import library_from_markdown

KETTLE = Path(__file__).parents[2] / "golden" / "answer" / "kettle.md"


@pytest.fixture(scope="module")
def library() -> Library:
    return library_from_markdown(KETTLE.read_text("utf-8"), name="Kettle", url="https://kettle.example/")


@pytest.fixture(scope="module")
def ids(library: Library) -> dict[str, str]:
    return {place.section.title: place.id for place in library.sections}


@dataclass
class Talk:
    """Output, progress lines, number of prompts and model of a conversation."""

    out: str
    aside: str
    prompts: int
    model: ScriptedModel


def talk(
    library: Library,
    lines: Sequence[str | type[BaseException]],
    *replies: Sequence[Part],
    budget: Budget | None = None,
    whole_site_tokens: int = 0,
    model: Model | None = None,
) -> Talk:
    """Run a conversation; an exception among the lines is raised instead of returning a line."""
    mine = ScriptedModel(replies, name="m-1")
    out, aside = io.StringIO(), io.StringIO()
    waiting = iter(lines)
    asked = 0

    def read(prompt: str) -> str:
        nonlocal asked
        asked += 1
        line = next(waiting, EOFError)
        if isinstance(line, str):
            return line
        raise line

    limits = budget or Budget(whole_site_tokens=whole_site_tokens)
    chat = Chat(library, lambda: (model or mine, limits), Search(library), read=read)
    with redirect_stdout(out), redirect_stderr(aside):
        chat.run()
    return Talk(out.getvalue().rstrip("\n"), aside.getvalue(), asked, mine)


OPENED = (AssistantTurn, ToolTurn)
"""A recorded call that opens sections."""


def opens(*ids: str) -> ToolCall:
    return ToolCall("a", "expand_sections", {"ids": list(ids)})


def test_chat_question_prints_steps_sources_and_cost(library: Library, ids: dict[str, str]) -> None:
    server = ids["Server"]
    result = talk(
        library,
        ["Which port?"],
        [opens(server), Usage(10)],
        [Text(f"8642 [^{server}]."), Usage(5, 0, 0, 2)],
        budget=Budget(whole_site_tokens=0, prices=Prices(input=100_000, currency="EUR")),
    )
    assert result.out == "8642 [1].\n\nSources\n  [1] Settings › Server\n      https://kettle.example/"
    assert "Opened by search Settings › Server" in result.aside
    assert "tokens: 15 in, 0 from cache, 0 to cache, 2 out · 1.50 EUR" in result.aside


def test_chat_follow_up_contains_earlier_turns_and_open_sections(library: Library, ids: dict[str, str]) -> None:
    server = ids["Server"]
    result = talk(
        library,
        ["Which port?", "", "Where?"],
        [opens(server)],
        [Text(f"8642 [^{server}].")],
        [Text(f"On 127.0.0.1 [^{server}].")],
    )
    turns = result.model.requests[2].turns
    assert [type(turn) for turn in turns] == [UserTurn, AssistantTurn, UserTurn, *OPENED, *OPENED]
    assert "On 127.0.0.1 [1]." in result.out
    assert result.aside.count("Still open Settings › Server") == 1


def test_chat_remembers_last_six_turns(library: Library) -> None:
    result = talk(library, [f"Question {at}?" for at in range(9)], *[[Text("No [^none].")]] * 9)
    turns = [turn for turn in result.model.requests[8].turns if isinstance(turn, UserTurn)]
    assert [turn.question for turn in turns] == [f"Question {at}?" for at in range(2, 9)]


def test_chat_continues_after_failed_answer(library: Library) -> None:
    result = talk(library, ["Which port?", "Again?"])
    assert result.aside.count("roaming: the script has 0 replies") == 2
    assert result.prompts == 3


@pytest.mark.parametrize("question", ["/etc/kettle.conf is where?", " /help is what?"])
def test_chat_line_with_path_or_leading_space_is_question(library: Library, question: str) -> None:
    result = talk(library, [question], [Text("No [^none].")])
    assert len(result.model.requests) == 1


@pytest.mark.parametrize(
    ("lines", "prompts"),
    [
        ([], 1),
        (["/quit", "never"], 1),
        ([KeyboardInterrupt, KeyboardInterrupt, "never"], 2),
        ([KeyboardInterrupt, "", KeyboardInterrupt, KeyboardInterrupt, "never"], 4),
    ],
)
def test_chat_ends_with_input_quit_or_double_ctrl_c(
    library: Library, lines: list[str | type[BaseException]], prompts: int
) -> None:
    assert talk(library, lines).prompts == prompts


def test_chat_ctrl_c_cancels_answer_only(library: Library) -> None:

    class Interrupted:
        name = "m-1"
        closed = False

        async def reply(self, request: ModelRequest) -> AsyncIterator[Part]:
            try:
                yield Text("The")
                os.kill(os.getpid(), signal.SIGINT)
                import anyio

                await anyio.sleep_forever()
            finally:
                self.closed = True

    model = Interrupted()
    result = talk(library, ["Which port?", ""], model=model)
    assert "Cancelled." in result.aside
    assert (result.out, result.prompts) == ("", 3)
    assert model.closed


def test_chat_reads_questions_from_pipe_without_prompt(tmp_path: Path) -> None:
    file = tmp_path / "kettle.md"
    file.write_bytes(KETTLE.read_bytes())
    result = CliRunner().invoke(main, ["chat", str(file)], input="Which port is the default?\n")
    assert result.exit_code == 0
    assert "8642" in result.stdout
    assert "? " not in result.stdout.replace("default? ", "")
    assert result.stdout.count("**Server** · Settings\n") == 1
    assert result.stderr.startswith("kettle: type a question, or /quit. Model: offline.\n")
