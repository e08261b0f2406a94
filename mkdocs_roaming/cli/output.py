"""How answers, trails and hits look on a terminal."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.events import (
    Answer,
    Event,
    OutlineRead,
    Reference,
    SectionMissing,
    SectionOpened,
    SectionsDropped,
    SectionsFound,
    SiteRead,
)
from mkdocs_roaming.answer.loop import REOPEN_CALL_ID
from mkdocs_roaming.answer.models.base import NO_USAGE, Usage
from mkdocs_roaming.answer.models.extractive import ExtractiveModel
from mkdocs_roaming.answer.support.check import Mark, Support, describe_mark
from mkdocs_roaming.library.rules import RULES_CALL_ID as PINNED
from mkdocs_roaming.library.targets import SiteInfo, TargetHit
from mkdocs_roaming.text.markdown import truncate_at_word

NOT_FROM_THE_DOCS = "Not from the docs: what the model says by itself, unchecked and uncited."

_OPENED = {REOPEN_CALL_ID: "Still open", PINNED: "Opened by a rule"}
_CITATION = re.compile(r"\[\^([0-9a-f]{8})\]")
# What a page's text could do to a terminal: move its cursor, change its title, hide what follows.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@dataclass(slots=True)
class Trail:
    """Shows on standard error what is read, while it happens; ids name the `site` where it is one of several."""

    quiet: bool = False
    site: str = ""

    def show(self, event: Event) -> None:
        """Show one event, if it is one that readers follow."""
        line = trail_line(event, f"{self.site}:" if self.site else "")
        if line and not self.quiet:
            print_line(line)


def trail_line(event: Event, before: str = "") -> str:
    """Give the line of an event that readers follow, with what stands `before` its ids; empty for any other."""
    match event:
        case OutlineRead():
            return f"Reading the outline: {event.sections} sections, ~{event.tokens} tokens"
        case SiteRead():
            return f"Reading the whole site: {event.sections} sections, ~{event.tokens} tokens"
        case SectionsFound():
            how = ", by words alone" if event.words_only else ""
            return f"Searched: {one_line(event.query)} ({len(event.sections)} found{how})"
        case SectionOpened():
            inside = f", {len(event.inside)} below it" if event.inside else ""
            how = _OPENED.get(event.call, "Opened")
            return f"{how} {breadcrumb_line(event.section)} [{before}{event.section.id}] ~{event.tokens} tokens{inside}"
        case SectionMissing():
            return f"No section {one_line(event.id)[:40]}"
        case SectionsDropped():
            return f"Closed again to make room: {', '.join(map(breadcrumb_line, event.sections))}"
        case _:
            return ""


def print_answer(answer: Answer) -> None:
    """Print an answer with numbered sources, or what there is to say where there is none."""
    for line in answer_lines(answer):
        click.echo(line)
    if answer.error:
        click.echo(f"roaming: {one_line(answer.error)}", err=True)
    print_line(f"\n{status_line(answer)}")


def answer_lines(answer: Answer) -> Iterator[str]:
    """Give what stands on standard output of an answer."""
    if not answer.docs:
        yield f"{NOT_FROM_THE_DOCS}\n"
    if answer.text:
        yield _text(answer)
    if answer.citations:
        yield "\nSources"
        yield from source_lines(answer.citations)
    if answer.support is not None:
        yield from _not_supported(answer.support)
    elif answer.support_skipped:
        yield f"\nNot held against its sources: {sanitize(answer.support_skipped)}."
    if not answer.text and answer.state != "error":
        yield no_answer_line(answer)
    if answer.not_found is not None:
        seen = answer.not_found.looked_at or answer.not_found.nearest
        if seen:
            yield "\nLooked at" if answer.not_found.looked_at else "\nNearest"
            for section in seen[:5]:
                yield f"  {breadcrumb_line(section)}\n      {one_line(section.url)}"
    if answer.state == "partial":
        yield "\nThe docs answer only a part of this."
    if answer.state == "refused" and answer.text:
        yield "\nThe model does not go on with this."
    if answer.state == "budget" and answer.text:
        yield f"\nStopped: the budget of {answer.spent} is spent. The answer may be incomplete."


def no_answer_line(answer: Answer) -> str:
    """Give what is said in place of an answer without text: that the docs lack it only where it was looked for."""
    if answer.state == "refused":
        return "The model does not answer this."
    if answer.state == "budget":
        return f"Stopped before there was an answer: the budget of {answer.spent} is spent."
    return prompts.NO_ANSWER if answer.docs else "The model said nothing."


def _text(answer: Answer) -> str:
    """Give the text with numbered citations, and with what no section supports between marks."""
    numbers = {section.id: f"[{at}]" for at, section in enumerate(answer.citations, 1)}
    if answer.support is None:
        return _CITATION.sub(lambda found: numbers.get(found[1], found[0]), sanitize(answer.text)).strip()
    notes: list[tuple[int, str]] = []
    taken = 0
    for found in _CITATION.finditer(answer.text):
        notes.append((_utf16(answer.text[: found.start()]) - taken, numbers.get(found[1], found[0])))
        taken += len(found[0])
    return _marked(answer.support, notes)


def _utf16(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def support_lines(support: Support) -> Iterator[str]:
    """Give an answer's text with what no section supports in colour and between marks, and under it what is said there.

    Marks are numbered: `⟦8001⟧1`. So it can be read without colour.
    """
    yield _marked(support, ())
    yield from _not_supported(support)


def _marked(support: Support, notes: Sequence[tuple[int, str]]) -> str:
    """Give the text with its marks, and with notes put in at their offsets, none of them inside a mark."""
    text = support.text.encode("utf-16-le", "surrogatepass")
    shown, waiting, edge = list[str](), list(notes), 0

    def plain(end: int) -> None:
        nonlocal edge
        while waiting and waiting[0][0] <= end:
            at, note = waiting.pop(0)
            shown.extend((_between(text, edge, at), note))
            edge = max(edge, at)
        shown.append(_between(text, edge, end))

    for number, mark in enumerate(_numbered(support), 1):
        plain(mark.start)
        part = _between(text, mark.start, mark.end)
        shown.append(click.style(f"⟦{part}⟧{number}", fg="red", underline=True))
        edge = mark.end
    plain(len(text) // 2)
    return "".join(shown).strip()


def _not_supported(support: Support) -> Iterator[str]:
    """Give what is said under a text of its marks, and of sentences that no section says."""
    text = support.text.encode("utf-16-le", "surrogatepass")
    told = [
        f"  {number}  {' '.join(_between(text, mark.start, mark.end).split())}: {sanitize(describe_mark(mark))}"
        for number, mark in enumerate(_numbered(support), 1)
    ]
    for sentence in support.sentences:
        if sentence.section is None:
            part = " ".join(_between(text, sentence.start, sentence.end).split())
            told.append(f"  -  {truncate_at_word(part, 60)}: no section says this")
    if told:
        yield "\nNot supported"
        yield from told


def _numbered(support: Support) -> list[Mark]:
    return [mark for mark in support.unsupported if mark.kind != "sentence"]


def source_lines(sections: Sequence[Reference]) -> Iterator[str]:
    """Give numbered sections with their addresses."""
    for at, section in enumerate(sections, 1):
        yield f"  [{at}] {breadcrumb_line(section)}\n      {one_line(section.url)}"


def status_line(answer: Answer) -> str:
    """Give how an answer ended, by whom, what was read and what it cost."""
    cited = f", {len(answer.citations)} cited" if answer.citations else ""
    opened = f"{len(answer.trail)} section{'' if len(answer.trail) == 1 else 's'} opened"
    told = [answer.state, one_line(answer.model)]
    if answer.docs:
        told.append(("whole site read" if answer.whole_site else opened) + cited)
        told.append(f"~{answer.tokens_read} tokens read")
    else:
        told.append("without the docs")
    if answer.model != ExtractiveModel.name:
        told.append(usage_line(answer.usage, answer.cost, answer.currency))
    return " · ".join(told)


def usage_line(usage: Usage, cost: float | None, currency: str) -> str:
    """Give tokens as the provider counts them, and what they cost where prices are known."""
    if usage == NO_USAGE:
        return "no tokens counted"
    told = f"tokens: {usage.input} in, {usage.cache_read} from cache, {usage.cache_write} to cache, {usage.output} out"
    return told if cost is None else f"{told} · {format_money(cost)} {sanitize(currency)}"


def format_money(amount: float) -> str:
    """Give an amount with two digits that tell."""
    return f"{amount:.2f}" if amount >= 1 or not amount else f"{amount:.{1 - _exponent(amount)}f}"


def print_hits(hits: Sequence[TargetHit]) -> None:
    """Print hits: id and breadcrumb, address, snippet; the age of the crawl if they are of a store."""
    for found in hits:
        sections, place = found.library.sections, found.hit.place
        title = one_line(" › ".join(sections.breadcrumb(place)))
        age = f", crawled {format_age(found.site.crawled)}" if found.site else ""
        click.echo(f"[{place.id}] {click.style(title, bold=True)}")
        click.echo(f"  {one_line(sections.url(place))}{age}")
        if found.hit.snippet:
            click.echo(f"  {one_line(found.hit.snippet)}")


def freshness_line(site: SiteInfo | None) -> str:
    """Return the line above the text of a store's site that says when it was crawled; empty for a single site."""
    return f"{site.key}, crawled {format_age(site.crawled)}\n" if site else ""


def format_age(then: float, now: float | None = None) -> str:
    """Return how long ago a time was: `3 hours ago`."""
    seconds = max(0.0, (time.time() if now is None else now) - then)
    for name, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {name}{'s' if count > 1 else ''} ago"
    return "just now"


def sanitize(text: str) -> str:
    """Give text without what could steer a terminal."""
    return _CONTROL.sub("", text)


def one_line(text: str) -> str:
    """Give text on one line, as `clean` does: nothing in it can look like a line of ours."""
    return sanitize(" ".join(text.split()))


def breadcrumb_line(section: Reference) -> str:
    """Give a section's place in the docs."""
    return one_line(" › ".join(section.breadcrumb))


def print_line(line: str) -> None:
    """Print a line beside the answer, on standard error."""
    click.echo(click.style(line, dim=True) if sys.stderr.isatty() else line, err=True)


def _between(text: bytes, start: int, end: int) -> str:
    """Give a slice of a text by its UTF-16 offsets, fit for a terminal."""
    return sanitize(text[2 * start : 2 * end].decode("utf-16-le", "replace"))


def _exponent(amount: float) -> int:
    return min(int(f"{amount:e}".partition("e")[2]), -1)
