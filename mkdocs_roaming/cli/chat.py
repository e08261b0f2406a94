"""`roaming chat`: a conversation in the terminal."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from mkdocs_roaming.answer.budget import AnswerLimits
from mkdocs_roaming.answer.conversation import Exchange
from mkdocs_roaming.answer.events import Answer, Reference
from mkdocs_roaming.answer.models.base import Model
from mkdocs_roaming.answer.trace import Recording, Trace
from mkdocs_roaming.cli.common import LIBRARY, TRUST_RULES, one_line, print_error, sanitize
from mkdocs_roaming.cli.output import (
    print_answer,
    print_line,
    run_recording,
    status_line,
)
from mkdocs_roaming.cli.session import ResolvedOptions, model_options, open_lib, scope_options
from mkdocs_roaming.errors import RoamingError, UsageError
from mkdocs_roaming.files import write_text_file
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.manifest.expand import expand_section, render_expansion
from mkdocs_roaming.manifest.lookup import Scope

PROMPT = "? "
HELP = """\
Each line is a question and may refer to earlier ones.
/model [NAME]  show or change the model
/open ID…      show sections
/save FILE     save the conversation as Markdown
/help          show this list
/quit          exit, as do Ctrl-D and Ctrl-C pressed twice; Ctrl-C cancels an answer"""

ModelFactory = Callable[[str | None], tuple[Model, AnswerLimits]]
"""Creates a model by name, the configured one for None, and the budget of its answers."""

_COMMAND = re.compile(r"/([a-z]+)(?![^\s])(.*)", re.DOTALL)
_MAX_EXCHANGES = 6


@click.command()
@LIBRARY
@model_options
@click.option("--page", help="Path or URL of the page that the reader is on.")
@scope_options
@TRUST_RULES
def chat(lib: str, page: str | None, scope: Scope, trust_rules: bool, **given: Any) -> None:
    """Ask questions in a conversation.

    Follow-up questions may refer to earlier questions, answers and opened sections. /help lists the commands. Lines
    can come from a pipe.
    """
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # input in another encoding
    options = ResolvedOptions.from_options(given)
    options.create_model()  # report an unusable model before opening the library
    library = open_lib(lib, trust_rules=trust_rules, scope=scope)
    if sys.stdin.isatty():
        with suppress(ImportError):  # line editing and history
            import readline  # noqa: F401  # it changes `input`
    search = options.search_factory()(library)
    Chat(library, options.create_model, search, page).run()


def _read_line(prompt: str) -> str:
    """Read a line from standard input, with a prompt on a terminal."""
    if sys.stdin.isatty() and sys.stdout.isatty():
        try:
            return input(prompt)
        except EOFError:
            click.echo()  # end the line of the prompt
            raise
    if sys.stdin.isatty():
        click.echo(prompt, err=True, nl=False)
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")


@dataclass(slots=True)
class Chat:
    """A conversation about a library. A model is created for each question and does not outlive its answer.

    Attributes:
        library: The library.
        create_model: Creates the model of an answer.
        search: The search of the library.
        page: Path or URL of the page that the reader is on.
        read: Returns the next line for a prompt. Raises EOFError at the end, KeyboardInterrupt for Ctrl-C.
        traces: All answers in order.
    """

    library: Library
    create_model: ModelFactory
    search: Search
    page: str | None = None
    read: Callable[[str], str] = _read_line
    traces: list[Trace] = field(default_factory=list)
    _model_name: str | None = None
    _history: list[Exchange] = field(default_factory=list)
    _opened: dict[str, None] = field(default_factory=dict)
    """Ids of the sections that were opened, in order."""

    def run(self) -> None:
        """Read lines until the input ends, `/quit`, or Ctrl-C pressed twice at the prompt."""
        model, _ = self.create_model(None)
        name = sanitize(self.library.manifest.site.name)
        print_line(f"{name}: type a question or /help. Model: {sanitize(model.name)}.")
        interrupted = False
        while True:
            try:
                line = self.read(PROMPT)
            except EOFError:
                return
            except KeyboardInterrupt:
                if interrupted:
                    return
                interrupted = True
                print_line("\nPress Ctrl-C again to exit, or type /quit.")
                continue
            interrupted = False
            command = _COMMAND.match(line)
            if command and command[1] in ("quit", "exit"):
                return
            try:
                if command:
                    self._run_command(command[1], command[2].split())
                elif line.strip():
                    self._ask(line.strip())
            except KeyboardInterrupt:
                print_line("\nCancelled.")
            except RoamingError as error:
                print_error(str(error))

    def _run_command(self, name: str, words: list[str]) -> None:
        if name not in COMMANDS:
            raise UsageError(f"no command /{name}; /help lists the commands. Start a question about it with a space.")
        COMMANDS[name](self, words)

    def _ask(self, question: str) -> None:
        model, budget = self.create_model(self._model_name)
        recording = Recording(
            question,
            Navigator(self.library, search=self.search),
            model,
            page=self.page,
            opened=tuple(self._opened),
            history=tuple(self._history),
            budget=budget,
            whole_site_tokens=budget.whole_site_tokens,
        )
        trace = run_recording(recording)
        self.traces.append(trace)
        print_answer(trace.answer)
        if trace.answer.state != "error":
            self._remember(question, trace.answer)

    def _remember(self, question: str, answer: Answer) -> None:
        """Add an answer to what follow-up questions refer to."""
        if answer.memory:
            self._history = [*self._history, Exchange(question, answer.memory)][-_MAX_EXCHANGES:]
        self._opened |= dict.fromkeys(section.id for section in answer.trail)

    def _change_model(self, words: list[str]) -> None:
        name = words[0] if words else self._model_name
        model, _ = self.create_model(name)
        self._model_name = name
        print_line(f"Model: {sanitize(model.name)}.")

    def _open(self, words: list[str]) -> None:
        if not words:
            raise UsageError("/open needs an id, as shown in the trail, or a URL")
        sections = self.library.sections
        for word in words:
            section = sections.resolve(word.strip("[],"))
            if section is None:
                raise UsageError(f"no section {word!r}")
            click.echo(sanitize(render_expansion(expand_section(sections, section, self.library.text))))

    def _save(self, words: list[str]) -> None:
        if len(words) != 1:
            raise UsageError("/save needs one file name")
        if not self.traces:
            raise UsageError("there is no answer yet")
        path = Path(words[0])
        write_text_file(path, to_markdown(self.traces))
        print_line(f"Saved {sanitize(str(path))}.")

    def _show_help(self, _: list[str]) -> None:
        click.echo(HELP)


COMMANDS: dict[str, Callable[[Chat, list[str]], None]] = {
    "help": Chat._show_help,
    "model": Chat._change_model,
    "open": Chat._open,
    "save": Chat._save,
}


def to_markdown(traces: Sequence[Trace]) -> str:
    """Return a conversation as Markdown: questions as headings, one footnote per cited section."""
    first = traces[0]
    parts = [f"# {one_line(first.site)}", f"Questions about <{one_line(first.url)}>."]
    cited: dict[str, Reference] = {}
    for trace in traces:
        answer = trace.answer
        cited |= {section.id: section for section in answer.citations}
        parts.append(f"## {one_line(trace.question)}")
        parts.append(sanitize(answer.text).strip() or one_line(answer.error))
        parts.append(f"*{one_line(status_line(answer))}*")
    if cited:
        parts.append("\n".join(map(_format_footnote, cited.values())))
    return "\n\n".join(parts) + "\n"


def _format_footnote(section: Reference) -> str:
    title = one_line(" › ".join(section.breadcrumb)).replace("[", "\\[").replace("]", "\\]")
    return f"[^{section.id}]: [{title}](<{one_line(section.url)}>)"
