"""Answers, their steps and search results on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import aclosing

import anyio
import click

from mkdocs_roaming.answer.budget import Budget, format_money
from mkdocs_roaming.answer.conversation import Exchange, check_question
from mkdocs_roaming.answer.events import (
    Answer,
    Event,
    NotFound,
    OutlineRead,
    Reference,
    SectionMissing,
    SectionOpened,
    SectionsDropped,
    SectionsFound,
    SiteRead,
)
from mkdocs_roaming.answer.loop import answer
from mkdocs_roaming.answer.models.base import NO_USAGE, Model, Usage
from mkdocs_roaming.answer.prepare import REOPEN_CALL_ID
from mkdocs_roaming.answer.results import Offline
from mkdocs_roaming.answer.support.check import CITATION, slice_utf16
from mkdocs_roaming.cli.common import print_error
from mkdocs_roaming.library.navigator import PREFETCH_CALL_ID, Navigator
from mkdocs_roaming.library.rules import RULES_CALL_ID
from mkdocs_roaming.text.markdown import pluralize, sanitize, to_single_line, truncate_at_word

_OPEN_LABELS = {
    REOPEN_CALL_ID: "Still open",
    RULES_CALL_ID: "Opened by a rule",
    PREFETCH_CALL_ID: "Opened by search",
}


def run_answer(
    question: str,
    navigator: Navigator,
    model: Model,
    budget: Budget,
    *,
    page: str | None = None,
    opened: Sequence[str] = (),
    history: Sequence[Exchange] = (),
    quiet: bool = False,
    site: str = "",
) -> list[Event]:
    """Run the answer loop, print its steps on standard error as they happen, and return the events.

    Args:
        question: The question.
        navigator: Opens and searches the site.
        model: The model.
        budget: Limits of the answer.
        page: Path or URL of the page that the reader is on.
        opened: The ids of the sections that earlier answers opened.
        history: Earlier questions and answers.
        quiet: Print nothing.
        site: Key of a store's site, as a prefix of section ids; empty for a single site.

    Raises:
        UsageError: The question is empty or too long.
    """
    check_question(question)
    happened: list[Event] = []

    async def run() -> None:
        events = answer(
            question,
            navigator,
            model,
            page=page,
            opened=opened,
            history=history,
            budget=budget,
        )
        async with aclosing(events):
            async for event in events:
                happened.append(event)
                line = step_line(event, f"{site}:" if site else "")
                if line and not quiet:
                    print_line(line)

    anyio.run(run)
    return happened


def step_line(event: Event, prefix: str = "") -> str:
    """Return the line of a step for an event, section ids with a prefix; empty for other events."""
    match event:
        case OutlineRead():
            return f"Reading the outline: {event.sections} sections, ~{event.tokens} tokens"
        case SiteRead():
            return f"Reading the whole site: {event.sections} sections, ~{event.tokens} tokens"
        case SectionsFound():
            how = ", by words alone" if event.words_only else ""
            return f"Searched: {to_single_line(event.query)} ({len(event.sections)} found{how})"
        case SectionOpened():
            inside = f", {len(event.inside)} below it" if event.inside else ""
            label = _OPEN_LABELS.get(event.call, "Opened")
            section = f"{breadcrumb_line(event.section)} [{prefix}{event.section.id}]"
            return f"{label} {section} ~{event.tokens} tokens{inside}"
        case SectionMissing():
            return f"No section {to_single_line(event.id)[:40]}"
        case SectionsDropped():
            return f"Closed to free space: {', '.join(map(breadcrumb_line, event.sections))}"
        case _:
            return ""


def print_line(line: str) -> None:
    """Print a line on standard error, dimmed on a terminal."""
    click.echo(click.style(line, dim=True) if sys.stderr.isatty() else line, err=True)


def print_answer(answer: Answer) -> None:
    """Print an answer with numbered sources on standard output, and its status on standard error."""
    lines = answer_lines(answer)
    if answer.text:
        print_markdown(next(lines))
    for line in lines:
        click.echo(line)
    if answer.error:
        print_error(answer.error)
    print_line(f"\n{status_line(answer)}")


def print_markdown(text: str) -> None:
    """Print Markdown: rendered on a terminal, as it is elsewhere."""
    if not sys.stdout.isatty():
        click.echo(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(click.unstyle(text)))


def answer_lines(answer: Answer) -> Iterator[str]:
    """Yield the parts of an answer on standard output: text, sources, unsupported parts, notes."""
    if answer.text:
        yield _numbered_text(answer)
    if answer.citations and answer.state != "results":
        yield "\nSources"
        yield from source_lines(answer.citations)
    if answer.support is not None and answer.support.marks:
        yield "\nCheck these: the opened sections do not contain them"
        yield from _mark_lines(answer)
    elif answer.support_skipped:
        yield f"\nNot compared with its sources: {sanitize(answer.support_skipped)}."
    if answer.not_found is not None and not answer.citations:
        yield from _nearest_lines(answer.not_found)
    if answer.state == "partial":
        yield "\nThe documentation answers only a part of this."
    if answer.state == "refused" and answer.citations:
        yield "\nThe model stopped here and refused to continue."
    if answer.state == "budget" and not answer.text.startswith(answer.message):
        yield f"\n{answer.message}"


def _nearest_lines(not_found: NotFound) -> Iterator[str]:
    """Yield the sections that a model looked at in vain, or the nearest ones."""
    if sections := not_found.looked_at or not_found.nearest:
        yield "\nLooked at" if not_found.looked_at else "\nNearest"
        for section in sections[:5]:
            yield f"  {breadcrumb_line(section)}\n      {to_single_line(section.url)}"


def source_lines(sections: Sequence[Reference]) -> Iterator[str]:
    """Yield numbered sections with their URLs."""
    for number, section in enumerate(sections, 1):
        yield f"  [{number}] {breadcrumb_line(section)}\n      {to_single_line(section.url)}"


def status_line(answer: Answer) -> str:
    """Return state, model, number of sections, tokens and cost of an answer."""
    cited = f", {len(answer.citations)} cited" if answer.citations else ""
    opened = f"{pluralize(len(answer.steps), 'section')} opened"
    read = ("whole site read" if answer.whole_site else opened) + cited
    parts = [answer.state, to_single_line(answer.model), read, f"~{answer.tokens_read} tokens read"]
    if answer.withheld:
        parts.append(f"{answer.withheld} paragraph{'' if answer.withheld == 1 else 's'} without citation withheld")
    if answer.model != Offline.name:
        parts.append(usage_line(answer.usage, answer.cost, answer.currency))
    return " · ".join(parts)


def usage_line(usage: Usage, cost: float | None, currency: str) -> str:
    """Return the token usage reported by the provider, with the cost if prices are known."""
    if usage == NO_USAGE:
        return "no tokens counted"
    line = f"tokens: {usage.input} in, {usage.cache_read} from cache, {usage.cache_write} to cache, {usage.output} out"
    return line if cost is None else f"{line} · {format_money(cost)} {sanitize(currency)}"


def breadcrumb_line(section: Reference) -> str:
    """Return a section's breadcrumb on one line."""
    return to_single_line(" › ".join(section.breadcrumb))


def _numbered_text(answer: Answer) -> str:
    """Return the text with numbered citations; each result of a search ends with its URL."""
    numbers = {section.id: f"[{number}]" for number, section in enumerate(answer.citations, 1)}
    if answer.state == "results":
        numbers = {section.id: to_single_line(section.url) for section in answer.citations}
    return CITATION.sub(lambda citation: numbers.get(citation[1], citation[0]), sanitize(answer.text)).strip()


def _mark_lines(answer: Answer) -> Iterator[str]:
    """Yield a numbered line for each mark, with the nearest passage and its section."""
    marks = answer.support.marks if answer.support else ()
    numbers = {section.id: number for number, section in enumerate(answer.citations, 1)}
    for number, mark in enumerate(marks, 1):
        text = sanitize(slice_utf16(answer.text, mark.start, mark.end))
        yield f"  {number}. {to_single_line(CITATION.sub('', text))}"
        if mark.passage:
            source = f"[{numbers[mark.section]}] " if mark.section in numbers else ""
            yield f"     nearest: {source}{to_single_line(truncate_at_word(mark.passage, 100))}"
