"""A conversation as Markdown: questions as headings, answers with footnotes that lead to their sources."""

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
from mkdocs_roaming.answer.replay import Recording
from mkdocs_roaming.answer.trace import Trace, check_writable, write_atomically, write_trace
from mkdocs_roaming.cli.ask import model_options, resolve_options
from mkdocs_roaming.cli.common import LIBRARY, TRUST_RULES, open_lib, warn
from mkdocs_roaming.cli.output import (
    NOT_FROM_THE_DOCS,
    answer_lines,
    format_money,
    no_answer_line,
    one_line,
    sanitize,
    source_lines,
    status_line,
    trail_line,
    usage_line,
)
from mkdocs_roaming.errors import RoamingError, UsageError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.search import Finder, Search
from mkdocs_roaming.manifest.expand import expand_section, render_expansion


def to_markdown(traces: Sequence[Trace]) -> str:
    """Give the conversation; every cited section is one footnote, however often it is cited."""
    first = traces[0]
    pieces = [f"# {one_line(first.site)}", f"Questions about <{one_line(first.url)}>."]
    cited: dict[str, Reference] = {}
    for trace in traces:
        answer = trace.answer
        cited |= {section.id: section for section in answer.citations}
        pieces.append(f"## {one_line(trace.question)}")
        if not answer.docs:
            pieces.append(f"> {NOT_FROM_THE_DOCS}")
        pieces.append(sanitize(answer.text).strip() or one_line(answer.error) or no_answer_line(answer))
        pieces.append(f"*{one_line(status_line(answer))}*")
    if cited:
        pieces.append("\n".join(map(_footnote, cited.values())))
    return "\n\n".join(pieces) + "\n"


def _footnote(section: Reference) -> str:
    title = one_line(" › ".join(section.breadcrumb)).replace("[", "\\[").replace("]", "\\]")
    return f"[^{section.id}]: [{title}](<{one_line(section.url)}>)"


# MERGED mkdocs_roaming.chat:
# A conversation on a terminal: questions with follow-ups, and commands that begin with a slash.
#
# What it reads and prints passes through three seams, so it runs as well on a pipe or in a test as on a
# terminal.


PROMPT = "? "


Models = Callable[[str | None], tuple[Model, Budget]]


"""Gives a model by its name, the one that is configured for None, and the budget for its answers."""


@dataclass(frozen=True, slots=True)
class Turns:
    """What a question follows on: earlier questions and answers, and the sections that they opened."""

    history: tuple[Exchange, ...] = ()
    opened: tuple[str, ...] = ()


class Chat:
    """One conversation about a library.

    `read` gives the next line for a prompt; it raises EOFError at the end, KeyboardInterrupt for Ctrl-C. `out` prints
    answers, `aside` what happens beside them. A model is made for each question, so none outlives its answer.
    """

    def __init__(
        self,
        library: Library,
        models: Models,
        *,
        read: Callable[[str], str],
        out: Callable[[str], None],
        aside: Callable[[str], None],
        page: str | None = None,
        whole_site_tokens: int = SMALL_SITE_TOKENS,
        search: Finder | None = None,
    ) -> None:
        self.traces: list[Trace] = []
        """All answers so far, in order."""
        self._library, self._models = library, models
        self._read, self._out, self._aside = read, out, aside
        self._page, self._whole_site_tokens = page, whole_site_tokens
        self._search = search or Search(library)
        self._model: str | None = None
        self._question = ""
        self._before = self._now = Turns()

    def run(self) -> None:
        """Talk until the lines end, `/quit` is said, or Ctrl-C is pressed twice at the prompt."""
        model, _ = self._models(self._model)
        name = sanitize(self._library.manifest.site.name)
        self._aside(f"{name}: ask, or /help. {sanitize(model.name)} answers.")
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
                self._aside("\nCtrl-C again leaves, and so does /quit.")
                continue
            interrupted = False
            if not self._heard(line):
                return

    def _heard(self, line: str) -> bool:
        """Do what a line says; give whether the conversation goes on."""
        try:
            return self.say(line)
        except KeyboardInterrupt:
            self._aside("\nCancelled.")
        except RoamingError as error:
            self._aside(f"roaming: {one_line(str(error))}")
        return True

    def say(self, line: str) -> bool:
        """Answer a question or obey a command; give whether the conversation goes on."""
        command = _COMMAND.match(line)
        if command is None:
            if line.strip():
                self._ask(line.strip())
            return True
        name, words = command[1], command[2].split()
        if name in ("quit", "exit"):
            return False
        if name not in _DO:
            raise UsageError(f"there is no /{name}; /help lists the commands, a space before it makes it a question")
        _DO[name](self, words)
        return True

    # Questions

    def _ask(self, question: str) -> None:
        self._before = self._now
        self._question = question
        self._answer(docs=True)

    def _again(self, *, docs: bool) -> None:
        """Ask the last question again, as it was asked: it follows on what stood before it."""
        if not self._question:
            raise UsageError("nothing was asked yet")
        self._answer(docs=docs)

    def _answer(self, *, docs: bool) -> None:
        model, budget = self._models(self._model)
        recording = Recording(
            self._question,
            Navigator(self._library, search=self._search),
            model,
            docs=docs,
            page=self._page,
            opened=self._before.opened,
            history=self._before.history,
            budget=budget,
            whole_site_tokens=self._whole_site_tokens,
        )

        async def walk() -> None:
            async with aclosing(recording.events()) as events:
                async for event in events:
                    if line := trail_line(event):
                        self._aside(line)

        anyio.run(walk)
        trace = recording.trace()
        self.traces.append(trace)
        for line in answer_lines(trace.answer):
            self._out(line)
        if trace.answer.error:
            self._aside(f"roaming: {one_line(trace.answer.error)}")
        self._aside(f"\n{status_line(trace.answer)}")
        if docs and trace.answer.state != "error":
            self._now = _followed(self._before, trace)

    # Commands

    def _do_model(self, words: Sequence[str]) -> None:
        if words:
            self._models(words[0])
            self._model = words[0]
        model, _ = self._models(self._model)
        self._aside(f"{sanitize(model.name)} answers.")

    def _do_docs(self, _: Sequence[str]) -> None:
        self._again(docs=True)

    def _do_nodocs(self, _: Sequence[str]) -> None:
        self._again(docs=False)

    def _do_open(self, words: Sequence[str]) -> None:
        if not words:
            raise UsageError("/open needs an id or an address, such as the trail shows")
        for word in words:
            place = self._library.sections.resolve(word.strip("[],"))
            if place is None:
                raise UsageError(f"no section {word!r}")
            self._out(sanitize(render_expansion(expand_section(self._library.sections, place, self._library.text))))

    def _do_sources(self, _: Sequence[str]) -> None:
        answers = [trace.answer for trace in self.traces if trace.docs]
        if not answers or not answers[-1].citations:
            raise UsageError("the last answer has no sources" if answers else "nothing was answered yet")
        for line in source_lines(answers[-1].citations):
            self._out(line)

    def _do_cost(self, _: Sequence[str]) -> None:
        if not self.traces:
            raise UsageError("nothing was answered yet")
        usage = sum((trace.answer.usage for trace in self.traces), NO_USAGE)
        count = len(self.traces)
        self._out(f"{count} answer{'' if count == 1 else 's'} · {usage_line(usage, None, '')}")
        for currency in dict.fromkeys(trace.answer.currency for trace in self.traces if trace.answer.cost is not None):
            costs = [one.cost for one in (trace.answer for trace in self.traces) if one.currency == currency]
            known = [cost for cost in costs if cost is not None]
            of_all = "" if len(known) == count else f" for {len(known)} of them"
            self._out(f"{format_money(sum(known))} {sanitize(currency)}{of_all}")

    def _do_save(self, words: Sequence[str]) -> None:
        if len(words) != 1:
            raise UsageError("/save needs a file: a trace where its name ends in .json, else Markdown")
        if not self.traces:
            raise UsageError("nothing was answered yet")
        path = Path(words[0])
        check_writable(path)
        if path.suffix.lower() == ".json":
            write_trace(path, self.traces)
        else:
            write_atomically(path, to_markdown(self.traces))
        self._aside(f"Saved {sanitize(str(path))}.")

    def _do_help(self, _: Sequence[str]) -> None:
        self._out(HELP)


HELP = """\
Any line is a question; it may follow on the one before.
/model [NAME]  tell or choose the model
/docs          ask the last question again
/nodocs        ask it again without the docs, for comparison
/open ID…      show sections
/sources       the last answer's sources
/cost          what the conversation cost so far
/save FILE     keep the conversation: a trace as .json, else Markdown
/help          this list
/quit          leave; so do Ctrl-D and Ctrl-C twice. Ctrl-C cancels an answer"""


COMMANDS = ("/cost", "/docs", "/help", "/model", "/nodocs", "/open", "/quit", "/save", "/sources")


_COMMAND = re.compile(r"/([a-z]+)(?![^\s])(.*)", re.DOTALL)


_DO: dict[str, Callable[[Chat, Sequence[str]], Any]] = {
    "cost": Chat._do_cost,
    "docs": Chat._do_docs,
    "help": Chat._do_help,
    "mode": Chat._do_model,
    "model": Chat._do_model,
    "nodocs": Chat._do_nodocs,
    "open": Chat._do_open,
    "save": Chat._do_save,
    "sources": Chat._do_sources,
}


def _followed(before: Turns, trace: Trace) -> Turns:
    """Give what the next question follows on: no answer that was refused or broken off before it began."""
    nothing = f"{prompts.NO_ANSWER} [^{NO_SOURCE}]" if trace.answer.state == "not_found" else ""
    said = trace.answer.text or nothing
    history = (*before.history, Exchange(trace.question, said))[-_REMEMBERED:] if said else before.history
    opened = dict.fromkeys((*before.opened, *(section.id for section in trace.answer.trail)))
    return Turns(history, tuple(opened))


_REMEMBERED = 6


# MERGED mkdocs_roaming.cli.chatting:
# `roaming chat`: a conversation on a terminal.


@click.command()
@LIBRARY
@model_options
@click.option("--page", help="The page that the reader is on: its path or address.")
@TRUST_RULES
def chat(lib: str, page: str | None, trust_rules: bool, **given: Any) -> None:
    """Talk about a site.

    Follow-ups know what was said and opened before. /help lists the commands; lines may come from a pipe, too.
    """
    from mkdocs_roaming.cli.output import print_line

    if isinstance(sys.stdin, io.TextIOWrapper):  # a line in some other encoding is no reason to stop
        sys.stdin.reconfigure(errors="replace")
    options = resolve_options(given)
    options.answering()  # what is wrong with the model is told before anything is opened
    library = open_lib(lib, trust_rules=trust_rules)
    _complete([place.id for place in library.sections])
    talk = Chat(
        library,
        options.answering,
        read=_line,
        out=click.echo,
        aside=print_line,
        page=page,
        whole_site_tokens=options.whole_site,
        search=options.settings.finding(os.environ, warn)(library),
    )
    talk.run()


def _line(prompt: str) -> str:
    """Read a line; the prompt is for people: it stands neither in a pipe nor in a file."""
    if sys.stdin.isatty() and sys.stdout.isatty():
        try:
            return input(prompt)
        except EOFError:
            click.echo()  # the shell's prompt begins a line of its own
            raise
    if sys.stdin.isatty():
        click.echo(prompt, err=True, nl=False)
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")


def _complete(ids: list[str]) -> None:
    """Complete commands and ids with the Tab key, and bring earlier lines back, where the terminal can."""
    if not sys.stdin.isatty():
        return
    with suppress(ImportError):
        import readline

        def complete(text: str, state: int) -> str | None:
            words = COMMANDS if readline.get_begidx() == 0 else ids
            return next((word for at, word in enumerate(w for w in words if w.startswith(text)) if at == state), None)

        readline.set_completer_delims(" ")
        readline.set_completer(complete)
        libedit = "libedit" in (readline.__doc__ or "")
        readline.parse_and_bind("bind ^I rl_complete" if libedit else "tab: complete")
