"""`roaming chat`: follow-ups, commands, what is saved, and that Ctrl-C stops an answer but not the conversation."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from click.testing import CliRunner

from mkdocs_roaming.answer.budget import Budget, Prices
from mkdocs_roaming.answer.models.base import (
    AssistantTurn,
    Model,
    Part,
    Request,
    Stop,
    Text,
    ToolCall,
    ToolTurn,
    Usage,
    UserTurn,
)
from mkdocs_roaming.answer.models.extractive import ExtractiveModel
from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.answer.trace import read_trace
from mkdocs_roaming.cli import main
from mkdocs_roaming.cli.chat import _DO, COMMANDS, HELP, Chat
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.library import Library, library_from_markdown

KETTLE = Path(__file__).parent / "golden" / "answer" / "kettle.md"


@pytest.fixture(scope="module")
def library() -> Library:
    return library_from_markdown(KETTLE.read_text("utf-8"), name="Kettle", url="https://kettle.example/")


@pytest.fixture(scope="module")
def ids(library: Library) -> dict[str, str]:
    return {place.section.title: place.id for place in library.sections}


@dataclass
class Talk:
    """A conversation that was held: what was printed, what went beside it, what its models were asked."""

    out: str
    aside: str
    prompts: int
    chat: Chat
    models: dict[str | None, ScriptedModel] = field(default_factory=dict)


def talk(
    library: Library,
    lines: Sequence[str | type[BaseException]],
    *replies: Sequence[Part],
    others: dict[str, ScriptedModel] | None = None,
    budget: Budget | None = None,
    whole_site_tokens: int = 0,
    model: Model | None = None,
) -> Talk:
    """Hold a conversation: a line that is an exception is raised where the line would be read."""
    mine = ScriptedModel(replies, name="m-1")
    out: list[str] = []
    aside: list[str] = []
    waiting = iter(lines)
    asked = 0

    def read(prompt: str) -> str:
        nonlocal asked
        asked += 1
        line = next(waiting, EOFError)
        if isinstance(line, str):
            return line
        raise line

    def models(name: str | None) -> tuple[Model, Budget]:
        if name and name not in (others or {}):
            raise UsageError(f"there is no model {name!r}")
        return (others or {})[name] if name else model or mine, budget or Budget()

    chat = Chat(library, models, read=read, out=out.append, aside=aside.append, whole_site_tokens=whole_site_tokens)
    chat.run()
    return Talk("\n".join(out), "\n".join(aside), asked, chat, {None: mine, **(others or {})})


def opens(*ids: str) -> ToolCall:
    return ToolCall("a", "expand_sections", {"ids": list(ids)})


# Questions


def test_a_question_is_answered_with_trail_sources_and_cost(library: Library, ids: dict[str, str]) -> None:
    """What is read goes beside the answer; the answer has numbered sources; the end says what it cost."""
    server = ids["Server"]
    held = talk(
        library,
        ["Which port?"],
        [opens(server), Usage(10)],
        [Text(f"8642 [^{server}]."), Usage(5, 0, 0, 2)],
        budget=Budget(prices=Prices(input=100_000, currency="EUR")),
    )
    assert held.out == "8642[1].\n\nSources\n  [1] Settings › Server\n      https://kettle.example/".replace(
        "8642[1]", "8642 [1]"
    )
    assert "Opened Settings › Server" in held.aside
    assert "tokens: 15 in, 0 from cache, 0 to cache, 2 out · 1.50 EUR" in held.aside


def test_a_follow_up_knows_what_was_said_and_opened(library: Library, ids: dict[str, str]) -> None:
    """The model sees the earlier turns, and the sections stand open again."""
    server = ids["Server"]
    held = talk(
        library,
        ["Which port?", "", "Where?"],
        [opens(server)],
        [Text(f"8642 [^{server}].")],
        [Text(f"On 127.0.0.1 [^{server}].")],
    )
    turns = held.models[None].requests[2].turns
    assert [type(turn) for turn in turns] == [UserTurn, AssistantTurn, UserTurn, AssistantTurn, ToolTurn]
    assert "On 127.0.0.1 [1]." in held.out
    assert held.aside.count("Still open Settings › Server") == 1


def test_a_follow_up_on_nothing_knows_what_was_asked(library: Library) -> None:
    """Where the docs did not answer, the next question still follows on."""
    held = talk(library, ["Who made it?", "And when?"], [Text("No [^none].")], [Text("No [^none].")])
    first, said, second = held.models[None].requests[1].turns
    assert isinstance(first, UserTurn)
    assert isinstance(said, AssistantTurn)
    assert (first.question, said.text) == ("Who made it?", "The docs do not seem to answer this. [^none]")
    assert isinstance(second, UserTurn)


@pytest.mark.parametrize("reason", ["refusal", "length"])
def test_a_follow_up_is_not_told_of_an_answer_that_was_none(
    library: Library, reason: Literal["refusal", "length"]
) -> None:
    """The docs are not said to lack what was refused, or broken off before it began."""
    held = talk(library, ["Who made it?", "And when?"], [Text("I"), Stop(reason)], [Text("No [^none].")])
    assert [type(turn) for turn in held.models[None].requests[1].turns] == [UserTurn]


def test_six_turns_are_remembered(library: Library) -> None:
    """A long conversation does not grow without end."""
    held = talk(library, [f"Question {at}?" for at in range(9)], *[[Text("No [^none].")]] * 9)
    turns = [turn for turn in held.models[None].requests[8].turns if isinstance(turn, UserTurn)]
    assert [turn.question for turn in turns] == [f"Question {at}?" for at in range(2, 9)]


def test_docs_and_nodocs_ask_the_last_question_again(library: Library, ids: dict[str, str]) -> None:
    """Without the docs it is labelled and leaves no trace in the conversation; with them it is asked as it was."""
    server = ids["Server"]
    held = talk(
        library,
        ["Which port?", "/nodocs", "/docs", "Why?"],
        [Text("Dunno [^none].")],
        [Text("80, I guess.")],
        [opens(server)],
        [Text(f"8642 [^{server}].")],
        [Text("No [^none].")],
    )
    assert "Not from the docs" in held.out
    assert "80, I guess." in held.out
    requests = held.models[None].requests
    assert requests[1].tools == ()
    assert requests[2].turns == requests[0].turns
    said = [turn.text for turn in requests[4].turns if isinstance(turn, AssistantTurn)]
    assert said[0] == f"8642 [^{server}]."
    assert len(said) == 2  # the answer, and the sections that stand open again
    assert [trace.docs for trace in held.chat.traces] == [True, False, True, True]


def test_an_answer_that_fails_does_not_end_the_conversation(library: Library) -> None:
    """The error is one line; the next question is asked."""
    held = talk(library, ["Which port?", "Again?"])
    assert held.aside.count("roaming: the script has 0 replies") == 2
    assert held.prompts == 3


# Commands


def test_help_lists_every_command(library: Library) -> None:
    """And the Tab key completes them."""
    assert talk(library, ["/help"]).out == HELP
    named = {line.split()[0] for line in HELP.splitlines() if line.startswith("/")}
    assert named == set(COMMANDS) == {f"/{name}" for name in _DO if name != "mode"} | {"/quit"}


def test_the_model_can_be_changed(library: Library) -> None:
    """From the next answer on; one that does not exist changes nothing."""
    other = ScriptedModel([[Text("No [^none].")]], name="m-2")
    held = talk(library, ["/model", "/model m-3", "/mode m-2", "Port?"], others={"m-2": other})
    said = held.aside.splitlines()
    assert said[1:4] == ["m-1 answers.", "roaming: there is no model 'm-3'", "m-2 answers."]
    assert len(other.requests) == 1


def test_sections_can_be_shown(library: Library, ids: dict[str, str]) -> None:
    """By id, several at once, or by address; an unknown one is named."""
    held = talk(library, [f"/open {ids['Server']} [{ids['Logs']}]", "/open nowhere"])
    assert "8642" in held.out
    assert "Settings › Logs" in held.out
    assert "roaming: no section 'nowhere'" in held.aside


def test_sources_and_cost_of_the_conversation(library: Library, ids: dict[str, str]) -> None:
    """The last answer's sources with their addresses; the sum over all answers."""
    server = ids["Server"]
    replies = [[opens(server), Usage(1_000_000)], [Text(f"8642 [^{server}]."), Usage(500_000, 0, 0, 7)]]
    held = talk(
        library, ["Port?", "/sources", "/cost"], *replies, budget=Budget(prices=Prices(input=2.0, currency="EUR"))
    )
    assert held.out.endswith(
        "  [1] Settings › Server\n      https://kettle.example/\n"
        "1 answer · tokens: 1500000 in, 0 from cache, 0 to cache, 7 out\n3.00 EUR"
    )


def test_answers_without_a_price_are_told_apart(library: Library) -> None:
    """A sum is never taken for the whole where it is a part."""
    uncounted = ScriptedModel([[Text("No [^none].")]], name="m-2")
    held = talk(
        library,
        ["Port?", "/model m-2", "Port?", "/cost"],
        [Text("No [^none]."), Usage(1_000_000)],
        others={"m-2": uncounted},
        budget=Budget(prices=Prices(input=2.0)),
    )
    assert held.out.endswith("2 answers · tokens: 1000000 in, 0 from cache, 0 to cache, 0 out\n2.00 USD for 1 of them")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("/docs", "nothing was asked yet"),
        ("/nodocs", "nothing was asked yet"),
        ("/sources", "nothing was answered yet"),
        ("/cost", "nothing was answered yet"),
        ("/save x.md", "nothing was answered yet"),
        ("/save", "/save needs a file"),
        ("/open", "/open needs an id"),
        ("/bogus", "there is no /bogus; /help lists the commands"),
    ],
)
def test_a_command_that_cannot_be_obeyed_says_why(library: Library, line: str, says: str) -> None:
    """In one line; the conversation goes on."""
    held = talk(library, [line, "/help"])
    assert says in held.aside
    assert held.out == HELP


@pytest.mark.parametrize("question", ["/etc/kettle.conf is where?", " /docs is what?"])
def test_a_path_is_a_question(library: Library, question: str) -> None:
    """Only a word alone behind the slash is a command; a space in front makes a question of any line."""
    held = talk(library, [question], [Text("No [^none].")])
    assert len(held.models[None].requests) == 1


def test_a_model_without_docs_is_needed_for_nodocs(library: Library) -> None:
    """The offline model says why it cannot."""
    held = talk(library, ["Which port is the default?", "/nodocs"], model=ExtractiveModel())
    assert "roaming: the model offline only quotes the documentation" in held.aside


# Saving


def test_a_conversation_is_saved_as_markdown(library: Library, ids: dict[str, str], tmp_path: Path) -> None:
    """Questions are headings, sources are footnotes, each once; what is not from the docs says so."""
    server = ids["Server"]
    path = tmp_path / "talk.md"
    held = talk(
        library,
        ["Which port?", "Sure?", "/nodocs", f"/save {path}"],
        [opens(server)],
        [Text(f"8642 [^{server}].")],
        [Text(f"Yes [^{server}].")],
        [Text("80.")],
    )
    assert f"Saved {path}." in held.aside
    text = path.read_text("utf-8")
    assert text.startswith("# Kettle\n\nQuestions about <https://kettle.example/>.\n\n## Which port?\n\n8642 [^")
    assert "## Sure?\n\n> Not from the docs" in text
    assert text.count(f"[^{server}]: [Settings › Server](<https://kettle.example/>)") == 1


@pytest.mark.parametrize("name", ["talk.md", "talk.json"])
def test_half_a_character_is_saved_as_far_as_it_goes(library: Library, tmp_path: Path, name: str) -> None:
    """Models send them; the conversation is not lost for it."""
    held = talk(
        library, ["Which port \udcff?", "/nodocs", f"/save {tmp_path / name}"], [Text("No.")], [Text("\ud83d 80.")]
    )
    assert "Saved " in held.aside
    assert "80." in (tmp_path / name).read_text("utf-8")


def test_a_conversation_is_saved_as_a_trace(library: Library, ids: dict[str, str], tmp_path: Path) -> None:
    """Each answer in it can be played again by itself, follow-ups too."""
    server = ids["Server"]
    path = tmp_path / "talk.json"
    (tmp_path / "kettle.md").write_bytes(KETTLE.read_bytes())
    opened = library_from_markdown(KETTLE.read_text("utf-8"), name="kettle", url=(tmp_path / "kettle.md").as_uri())
    replies = [[opens(server)], [Text(f"8642 [^{server}].")], [Text(f"Yes [^{server}].")], [Text("80.")]]
    talk(opened, ["Port?", "Sure?", "/nodocs", f"/save {path}"], *replies)
    assert [trace.question for trace in read_trace(path)] == ["Port?", "Sure?", "Sure?"]
    done = CliRunner().invoke(main, ["replay", str(tmp_path / "kettle.md"), str(path)])
    assert (done.exit_code, done.stdout.count("The same: ")) == (0, 3)


def test_a_file_that_cannot_be_written_is_told(library: Library, tmp_path: Path) -> None:
    """Nothing is lost: another name can be given."""
    held = talk(library, ["?", f"/save {tmp_path / 'no' / 'x.md'}"], [Text("No [^none].")])
    assert "cannot be written" in held.aside


# Leaving


@pytest.mark.parametrize(
    ("lines", "prompts"),
    [
        ([], 1),
        (["/quit", "never"], 1),
        (["/exit", "never"], 1),
        ([KeyboardInterrupt, KeyboardInterrupt, "never"], 2),
        ([KeyboardInterrupt, "/help", KeyboardInterrupt, KeyboardInterrupt, "never"], 4),
    ],
)
def test_how_a_conversation_ends(library: Library, lines: list[str | type[BaseException]], prompts: int) -> None:
    """With the last line, with /quit, or with Ctrl-C twice in a row at the prompt."""
    assert talk(library, lines).prompts == prompts


def test_ctrl_c_cancels_the_answer_and_not_the_conversation(library: Library) -> None:
    """The model's reply is closed; the next line is read."""

    class Interrupted:
        name = "m-1"
        closed = False

        async def reply(self, request: Request) -> AsyncIterator[Part]:
            try:
                yield Text("The")
                os.kill(os.getpid(), signal.SIGINT)
                import anyio

                await anyio.sleep_forever()
            finally:
                self.closed = True

    model = Interrupted()
    held = talk(library, ["Which port?", "/help"], model=model)
    assert "Cancelled." in held.aside
    assert held.out == HELP
    assert model.closed
    assert held.chat.traces == []


def test_a_line_in_another_encoding_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 end neither the question nor the conversation."""
    (tmp_path / "lamp.md").write_text("# Lamp\n\nA lamp for caf\u00e9s takes 3.7 watts.\n", "utf-8")
    command = [sys.executable, "-m", "mkdocs_roaming", "chat", "lamp.md", "--model", "offline"]
    environ = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}
    lines = "How many watts in a café?\n".encode("latin-1")
    ended = subprocess.run(command, input=lines, capture_output=True, cwd=tmp_path, env=environ, check=False)
    assert ended.returncode == 0
    assert "3.7 watts" in ended.stdout.decode()


def test_questions_come_through_a_pipe(tmp_path: Path) -> None:
    """No prompt is printed, the last line ends it; answers alone stand on standard output."""
    file = tmp_path / "kettle.md"
    file.write_bytes(KETTLE.read_bytes())
    result = CliRunner().invoke(main, ["chat", str(file)], input="Which port is the default?\n/sources\n")
    assert result.exit_code == 0
    assert "8642" in result.stdout
    assert "? " not in result.stdout.replace("default? ", "")
    assert result.stdout.count("Settings › Server\n") == 2
    assert result.stderr.startswith("kettle: ask, or /help. offline answers.\n")


@pytest.mark.parametrize(
    ("arguments", "says"), [(["--model", "gpt"], "unknown model 'gpt'"), (["--config", "x"], "x: cannot")]
)
def test_a_mistake_is_told_before_the_conversation(tmp_path: Path, arguments: list[str], says: str) -> None:
    """One line, exit code 1."""
    file = tmp_path / "kettle.md"
    file.write_bytes(KETTLE.read_bytes())
    result = CliRunner().invoke(main, ["chat", str(file), *arguments])
    assert (result.exit_code, result.stderr.count("\n"), says in result.stderr) == (1, 1, True)


@pytest.mark.skipif(sys.platform == "win32", reason="no pty")
def test_a_conversation_on_a_terminal(tmp_path: Path) -> None:
    """With a prompt, line editing and Ctrl-C: an answer that hangs is cancelled, the next one comes, /quit leaves."""
    import pty

    file = tmp_path / "kettle.md"
    file.write_bytes(KETTLE.read_bytes())
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        command = [sys.executable, "-m", "mkdocs_roaming", "chat", str(file), "--model", "openai:m"]
        command += ["--base-url", f"http://127.0.0.1:{port}/v1"]
        ours, theirs = pty.openpty()
        environ = {**os.environ, "TERM": "dumb", "NO_PROXY": "*"}
        process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ, cwd=tmp_path)
        os.close(theirs)
        try:
            seen = Seen(ours)
            seen.until("? ")
            os.write(ours, b"Which port is the default?\n")
            silent.settimeout(20)
            connection, _ = silent.accept()
            process.send_signal(signal.SIGINT)
            seen.until("Cancelled.")
            connection.close()
            seen.until("? ")
            os.write(ours, b"/model offline\n")
            seen.until("offline answers.")
            os.write(ours, b"/docs\n")
            seen.until("8642")
            os.write(ours, b"/quit\n")
            assert process.wait(timeout=20) == 0
        finally:
            process.kill()
            process.wait()
            os.close(ours)


class Seen:
    """What a terminal shows, read until something stands there."""

    def __init__(self, terminal: int) -> None:
        self._terminal, self._text = terminal, ""

    def until(self, wanted: str) -> None:
        while wanted not in self._text:
            ready, _, _ = select.select([self._terminal], [], [], 60)
            assert ready, f"{wanted!r} did not come in a minute; there is {self._text!r}"
            try:
                piece = os.read(self._terminal, 4096).decode("utf-8", "replace")
            except OSError:
                piece = ""
            assert piece, f"{wanted!r} never came; there is {self._text!r}"
            self._text += piece
        self._text = self._text.partition(wanted)[2]
