"""`roaming chat`: a conversation in the terminal."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, NoReturn

import click

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.conversation import Exchange
from mkdocs_roaming.answer.events import summarize
from mkdocs_roaming.answer.models.base import Model
from mkdocs_roaming.cli.common import LIBRARY, TRUST_RULES, handle_signals, print_error
from mkdocs_roaming.cli.output import print_answer, print_line, run_answer
from mkdocs_roaming.cli.session import ResolvedOptions, model_options
from mkdocs_roaming.cli.sites import open_lib, scope_options
from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.manifest.lookup import Scope
from mkdocs_roaming.text.markdown import to_single_line

PROMPT = "? "
QUIT = "/quit"

ModelFactory = Callable[[], tuple[Model, Budget]]
"""Creates the model of an answer, and the budget of the answer."""

_MAX_EXCHANGES = 6
_SIGNALLED = 128
"""What a shell adds to the number of the signal that ends a program, for its exit status."""


@click.command()
@LIBRARY
@model_options
@click.option("--page", help="Path or URL of the page that the reader is on.")
@scope_options
@TRUST_RULES
def chat(lib: str, page: str | None, scope: Scope, trust_rules: bool, **given: Any) -> None:
    """Ask questions in a conversation.

    Follow-up questions may refer to earlier questions, answers and opened sections. /quit, Ctrl-D, and Ctrl-C pressed
    twice exit; Ctrl-C cancels an answer. Lines can come from a pipe.
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
    with handle_signals(_exit):  # only Ctrl-C cancels an answer
        Chat(library, options.create_model, search, page).run()


def _exit(number: int, frame: FrameType | None) -> NoReturn:
    sys.exit(_SIGNALLED + number)


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
    """

    library: Library
    create_model: ModelFactory
    search: Search
    page: str | None = None
    read: Callable[[str], str] = _read_line
    _history: list[Exchange] = field(default_factory=list)
    _opened: dict[str, None] = field(default_factory=dict)
    """Ids of the sections that were opened, in order."""

    def run(self) -> None:
        """Read lines until the input ends, `/quit`, or Ctrl-C pressed twice at the prompt."""
        model, _ = self.create_model()
        name = self.library.manifest.site.name
        print_line(to_single_line(f"{name}: type a question, or {QUIT}. Model: {model.name}."))
        interrupted = False
        while True:
            try:
                line = self.read(PROMPT).strip()
            except EOFError:
                return
            except KeyboardInterrupt:
                if interrupted:
                    return
                interrupted = True
                print_line(f"\nPress Ctrl-C again to exit, or type {QUIT}.")
                continue
            interrupted = False
            if line == QUIT:
                return
            try:
                if line:
                    self._ask(line)
            except KeyboardInterrupt:
                print_line("\nCancelled.")
            except RoamingError as error:
                print_error(str(error))

    def _ask(self, question: str) -> None:
        model, budget = self.create_model()
        events = run_answer(
            question,
            Navigator(self.library, search=self.search),
            model,
            budget,
            page=self.page,
            opened=tuple(self._opened),
            history=self._history[-_MAX_EXCHANGES:],
        )
        answer = summarize(events)
        print_answer(answer)
        if answer.state == "error":
            return
        if answer.memory:
            self._history.append(Exchange(question, answer.memory))
        self._opened |= dict.fromkeys(section.id for section in answer.steps)
