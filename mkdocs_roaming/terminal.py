"""How answers, trails and hits look on a terminal."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import click

from mkdocs_roaming.answer.events import (
    Answer,
    Event,
    OutlineRead,
    Reference,
    SectionMissing,
    SectionOpened,
    SectionsFound,
)
from mkdocs_roaming.roam.library import Library
from mkdocs_roaming.roam.search import Hit

_CITATION = re.compile(r"\[\^([0-9a-f]{8})\]")
# What a page's text could do to a terminal: move its cursor, change its title, hide what follows.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@dataclass(slots=True)
class Trail:
    """Shows on standard error what is read, while it happens."""

    quiet: bool = False

    def show(self, event: Event) -> None:
        """Show one event, if it is one that readers follow."""
        if self.quiet:
            return
        match event:
            case OutlineRead():
                _say(f"Reading the outline: {event.sections} sections, ~{event.tokens} tokens")
            case SectionsFound():
                _say(f"Searched: {event.query} ({len(event.sections)} found)")
            case SectionOpened():
                inside = f", {len(event.inside)} below it" if event.inside else ""
                _say(f"Opened {_crumbs(event.section)} [{event.section.id}] ~{event.tokens} tokens{inside}")
            case SectionMissing():
                _say(f"No section {clean(event.id)[:40]}")
            case _:
                pass


def show_answer(answer: Answer) -> None:
    """Print an answer with numbered sources, or what there is to say where there is none."""
    numbers = {section.id: at for at, section in enumerate(answer.citations, 1)}
    if answer.text:
        text = _CITATION.sub(lambda found: f"[{numbers.get(found[1], '?')}]", clean(answer.text))
        click.echo(text.strip())
        click.echo("\nSources")
        for at, section in enumerate(answer.citations, 1):
            click.echo(f"  [{at}] {_crumbs(section)}\n      {clean(section.url)}")
    if answer.not_found is not None:
        click.echo("The docs do not seem to answer this.")
        seen = answer.not_found.looked_at or answer.not_found.nearest
        if seen:
            click.echo("\nLooked at" if answer.not_found.looked_at else "\nNearest")
            for section in seen[:5]:
                click.echo(f"  {_crumbs(section)}\n      {clean(section.url)}")
    if answer.state == "partial":
        click.echo("\nThe docs answer only a part of this.")
    if answer.state == "budget":
        click.echo(f"\nStopped: the budget of {answer.spent} is spent. The answer may be incomplete.")
    if answer.error:
        click.echo(f"roaming: {clean(answer.error)}", err=True)
    cited = f", {len(answer.citations)} cited" if answer.citations else ""
    opened = f"{len(answer.trail)} section{'' if len(answer.trail) == 1 else 's'} opened{cited}"
    _say(f"\n{answer.state} · {answer.model} · {opened} · ~{answer.tokens_read} tokens read")


def show_hits(library: Library, hits: Sequence[Hit]) -> None:
    """Print hits: id and breadcrumb, address, snippet."""
    for hit in hits:
        crumbs = clean(" › ".join(library.places.breadcrumb(hit.place)))
        click.echo(f"[{hit.place.id}] {click.style(crumbs, bold=True)}")
        click.echo(f"  {clean(library.places.url(hit.place))}")
        if hit.snippet:
            click.echo(f"  {clean(hit.snippet)}")


def clean(text: str) -> str:
    """Give text without what could steer a terminal."""
    return _CONTROL.sub("", text)


def _crumbs(section: Reference) -> str:
    return clean(" › ".join(section.breadcrumb))


def _say(line: str) -> None:
    click.echo(click.style(line, dim=True) if sys.stderr.isatty() else line, err=True)
