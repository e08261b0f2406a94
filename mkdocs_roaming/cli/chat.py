"""`roaming chat`: a conversation in the terminal."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import click

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import SMALL_SITE_TOKENS, Budget
from mkdocs_roaming.answer.conversation import Exchange
from mkdocs_roaming.answer.events import Reference
from mkdocs_roaming.answer.models.base import NO_SOURCE, NO_USAGE, Model
from mkdocs_roaming.answer.trace import Recording, Trace, write_trace
from mkdocs_roaming.cli.common import (
    LIBRARY,
    TRUST_RULES,
    ResolvedOptions,
    model_options,
    one_line,
    open_lib,
    sanitize,
    warn,
)
from mkdocs_roaming.cli.output import (
    answer_lines,
    format_money,
    no_answer_line,
    print_line,
    source_lines,
    status_line,
    trail_line,
    usage_line,
)
from mkdocs_roaming.errors import RoamingError, UsageError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.manifest.expand import expand_section, render_expansion
from mkdocs_roaming.publish.files import check_writable, write_text_file

PROMPT = "? "
HELP = """\
Each line is a question and may refer to earlier ones.
/model [NAME]  show or change the model
/open ID…      show sections
/sources       list the sources of the last answer
/cost          show the cost of the conversation
/save FILE     save the conversation: a trace if the name ends in .json, otherwise Markdown
/help          show this list
/quit          exit, as do Ctrl-D and Ctrl-C pressed twice; Ctrl-C cancels an answer"""
COMMANDS = ("/cost", "/help", "/model", "/open", "/quit", "/save", "/sources")

ModelFactory = Callable[[str | None], tuple[Model, Budget]]
"""Creates a model by name, the configured one for None, and the budget of its answers."""

_COMMAND = re.compile(r"/([a-z]+)(?![^\s])(.*)", re.DOTALL)
_MAX_EXCHANGES = 6


@click.command()
@LIBRARY
@model_options
@click.option("--page", help="Path or URL of the page that the reader is on.")
@TRUST_RULES
def chat(lib: str, page: str | None, trust_rules: bool, **given: Any) -> None:
    """Ask questions in a conversation.

    Follow-up questions may refer to earlier questions, answers and opened sections. /help lists the commands. Lines
    can come from a pipe.
    """
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # input in another encoding
    options = ResolvedOptions.from_options(given)
    options.create_model()  # report an unusable model before opening the library
    library = open_lib(lib, trust_rules=trust_rules)
    _enable_completion([section.id for section in library.sections])
    conversation = Chat(
        library,
        options.create_model,
        read=_read_line,
        write=click.echo,
        notify=print_line,
        page=page,
        whole_site_tokens=options.whole_site,
        search=options.settings.search_factory(os.environ, warn)(library),
    )
    conversation.run()


@dataclass(frozen=True, slots=True)
class Context:
    """What a question may refer to: earlier exchanges, and the ids of the sections that they opened."""

    history: tuple[Exchange, ...] = ()
    opened: tuple[str, ...] = ()


class Chat:
    """A conversation about a library.

    Input and output are functions, so that it runs in a terminal, with a pipe and in tests. A model is created for
    each question and does not outlive its answer.

    Args:
        library: The library.
        create_model: Creates the model of an answer.
        read: Returns the next line for a prompt. Raises EOFError at the end, KeyboardInterrupt for Ctrl-C.
        write: Prints a line of an answer.
        notify: Prints a line about the progress.
        page: Path or URL of the page that the reader is on.
        whole_site_tokens: Size below which a site is read whole, in estimated tokens.
        search: The search; lexical by default.
    """

    def __init__(
        self,
        library: Library,
        create_model: ModelFactory,
        *,
        read: Callable[[str], str],
        write: Callable[[str], None],
        notify: Callable[[str], None],
        page: str | None = None,
        whole_site_tokens: int = SMALL_SITE_TOKENS,
        search: Search | None = None,
    ) -> None:
        self.traces: list[Trace] = []
        """All answers in order."""
        self._library, self._create_model = library, create_model
        self._read, self._write, self._notify = read, write, notify
        self._page, self._whole_site_tokens = page, whole_site_tokens
        self._search = search or Search(library)
        self._model: str | None = None
        self._context = Context()

    def run(self) -> None:
        """Read lines until the input ends, `/quit`, or Ctrl-C pressed twice at the prompt."""
        model, _ = self._create_model(self._model)
        name = sanitize(self._library.manifest.site.name)
        self._notify(f"{name}: type a question or /help. Model: {sanitize(model.name)}.")
        interrupted = False
        while True:
            try:
                line = self._read(PROMPT)
            except EOFError:
                return
            except KeyboardInterrupt:
                if interrupted:
                    return
                interrupted = True
                self._notify("\nPress Ctrl-C again to exit, or type /quit.")
                continue
            interrupted = False
            if not self._handle(line):
                return

    def _handle(self, line: str) -> bool:
        """Run a line and report errors; return False to end the conversation."""
        try:
            return self.say(line)
        except KeyboardInterrupt:
            self._notify("\nCancelled.")
        except RoamingError as error:
            self._notify(f"roaming: {one_line(str(error))}")
        return True

    def say(self, line: str) -> bool:
        """Answer a question or run a command; return False to end the conversation."""
        command = _COMMAND.match(line)
        if command is None:
            if line.strip():
                self._ask(line.strip())
            return True
        name, words = command[1], command[2].split()
        if name in ("quit", "exit"):
            return False
        if name not in _HANDLERS:
            raise UsageError(f"no command /{name}; /help lists the commands. Start a question about it with a space.")
        _HANDLERS[name](self, words)
        return True

    def _ask(self, question: str) -> None:
        model, budget = self._create_model(self._model)
        recording = Recording(
            question,
            Navigator(self._library, search=self._search),
            model,
            page=self._page,
            opened=self._context.opened,
            history=self._context.history,
            budget=budget,
            whole_site_tokens=self._whole_site_tokens,
        )

        async def run() -> None:
            async with aclosing(recording.events()) as events:
                async for event in events:
                    if line := trail_line(event):
                        self._notify(line)

        anyio.run(run)
        trace = recording.trace()
        self.traces.append(trace)
        for line in answer_lines(trace.answer):
            self._write(line)
        if trace.answer.error:
            self._notify(f"roaming: {one_line(trace.answer.error)}")
        self._notify(f"\n{status_line(trace.answer)}")
        if trace.answer.state != "error":
            self._context = _extend_context(self._context, trace)

    def _change_model(self, words: Sequence[str]) -> None:
        if words:
            self._create_model(words[0])
            self._model = words[0]
        model, _ = self._create_model(self._model)
        self._notify(f"Model: {sanitize(model.name)}.")

    def _open(self, words: Sequence[str]) -> None:
        if not words:
            raise UsageError("/open needs an id, as shown in the trail, or a URL")
        sections = self._library.sections
        for word in words:
            section = sections.resolve(word.strip("[],"))
            if section is None:
                raise UsageError(f"no section {word!r}")
            self._write(sanitize(render_expansion(expand_section(sections, section, self._library.text))))

    def _list_sources(self, _: Sequence[str]) -> None:
        citations = self.traces[-1].answer.citations if self.traces else ()
        if not citations:
            raise UsageError("the last answer has no sources" if self.traces else "there is no answer yet")
        for line in source_lines(citations):
            self._write(line)

    def _show_cost(self, _: Sequence[str]) -> None:
        if not self.traces:
            raise UsageError("there is no answer yet")
        answers = [trace.answer for trace in self.traces]
        usage = sum((answer.usage for answer in answers), NO_USAGE)
        count = len(answers)
        self._write(f"{count} answer{'' if count == 1 else 's'} · {usage_line(usage, None, '')}")
        for currency in dict.fromkeys(answer.currency for answer in answers if answer.cost is not None):
            known = [answer.cost for answer in answers if answer.currency == currency and answer.cost is not None]
            partial = "" if len(known) == count else f" for {len(known)} of them"
            self._write(f"{format_money(sum(known))} {sanitize(currency)}{partial}")

    def _save(self, words: Sequence[str]) -> None:
        if len(words) != 1:
            raise UsageError("/save needs one file name; a name ending in .json saves a trace, others Markdown")
        if not self.traces:
            raise UsageError("there is no answer yet")
        path = Path(words[0])
        check_writable(path)
        if path.suffix.lower() == ".json":
            write_trace(path, self.traces)
        else:
            write_text_file(path, to_markdown(self.traces))
        self._notify(f"Saved {sanitize(str(path))}.")

    def _show_help(self, _: Sequence[str]) -> None:
        self._write(HELP)


_HANDLERS: dict[str, Callable[[Chat, Sequence[str]], Any]] = {
    "cost": Chat._show_cost,
    "help": Chat._show_help,
    "mode": Chat._change_model,
    "model": Chat._change_model,
    "open": Chat._open,
    "save": Chat._save,
    "sources": Chat._list_sources,
}


def _extend_context(before: Context, trace: Trace) -> Context:
    """Return the context of the next question; an answer without text adds only its opened sections."""
    answer = trace.answer
    text = answer.text or (f"{prompts.NO_ANSWER} [^{NO_SOURCE}]" if answer.state == "not_found" else "")
    history = (*before.history, Exchange(trace.question, text))[-_MAX_EXCHANGES:] if text else before.history
    opened = dict.fromkeys((*before.opened, *(section.id for section in answer.trail)))
    return Context(history, tuple(opened))


def to_markdown(traces: Sequence[Trace]) -> str:
    """Return a conversation as Markdown: questions as headings, one footnote per cited section."""
    first = traces[0]
    parts = [f"# {one_line(first.site)}", f"Questions about <{one_line(first.url)}>."]
    cited: dict[str, Reference] = {}
    for trace in traces:
        answer = trace.answer
        cited |= {section.id: section for section in answer.citations}
        parts.append(f"## {one_line(trace.question)}")
        parts.append(sanitize(answer.text).strip() or one_line(answer.error) or no_answer_line(answer))
        parts.append(f"*{one_line(status_line(answer))}*")
    if cited:
        parts.append("\n".join(map(_format_footnote, cited.values())))
    return "\n\n".join(parts) + "\n"


def _format_footnote(section: Reference) -> str:
    title = one_line(" › ".join(section.breadcrumb)).replace("[", "\\[").replace("]", "\\]")
    return f"[^{section.id}]: [{title}](<{one_line(section.url)}>)"


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


def _enable_completion(ids: list[str]) -> None:
    """Enable history, and completion of commands and ids with Tab, if the terminal supports it."""
    if not sys.stdin.isatty():
        return
    with suppress(ImportError):
        import readline

        def complete(text: str, state: int) -> str | None:
            words = COMMANDS if readline.get_begidx() == 0 else ids
            matches = [word for word in words if word.startswith(text)]
            return matches[state] if state < len(matches) else None

        readline.set_completer_delims(" ")
        readline.set_completer(complete)
        libedit = "libedit" in (readline.__doc__ or "")
        readline.parse_and_bind("bind ^I rl_complete" if libedit else "tab: complete")
