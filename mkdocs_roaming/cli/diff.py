"""`roaming diff`: what changed from one version of a site to the next."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mkdocs_roaming.cli.common import AS_JSON, FAULTS_FOUND, open_lib, print_json

if TYPE_CHECKING:
    from mkdocs_roaming.evals.questions import AffectedQuestion
    from mkdocs_roaming.library.diff import Change, SiteDiff

_SHOWN = 20


@click.command()
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option(
    "--questions", type=click.Path(dir_okay=False, path_type=Path), help="Tell which of these questions are touched."
)
@AS_JSON
def diff(before: str, after: str, questions: Path | None, as_json: bool) -> None:
    """Tell what changed from site A to site B: pages and sections, and the ids that live on.

    A and B are two versions of one site, each a folder or an address. Ends with 4 where something changed; with
    --questions only where a section that answers one of them did.
    """
    from mkdocs_roaming.library.diff import diff_sites

    one, other = open_lib(before), open_lib(after)
    comparison = diff_sites(one, other)
    found: tuple[AffectedQuestion, ...] = ()
    if questions is not None:
        from mkdocs_roaming.evals.questions import find_affected_questions, read_questions

        found = find_affected_questions(read_questions(questions), comparison, one, other)
    if as_json:
        print_json(_as_json(comparison, found if questions is not None else None))
    else:
        _show(comparison, found if questions is not None else None)
    if found if questions is not None else not comparison.is_empty:
        sys.exit(FAULTS_FOUND)


def _show(comparison: SiteDiff, touched: Sequence[AffectedQuestion] | None) -> None:
    from mkdocs_roaming.cli.output import sanitize

    for line in _lines(comparison, touched):
        blank = "\n" if line.startswith("\n") else ""  # any other line break is a title's, and no line of ours
        click.echo(blank + sanitize(line.strip("\n").replace("\n", " ")))


def _lines(comparison: SiteDiff, touched: Sequence[AffectedQuestion] | None) -> Iterator[str]:
    one, other = comparison.before, comparison.after
    yield f"{other.site}: {one.pages} pages, {one.sections} sections before; {other.pages}, {other.sections} now"
    if comparison.is_empty:
        yield "Nothing changed."
    if comparison.is_unrelated:
        yield f"Only {comparison.common} of {one.sections} sections are still there: are these two versions of one site?"
    if comparison.pages:
        yield f"\nPages: {_counted(comparison.pages)}"
        yield from (f"  {_page_line(change)}" for change in comparison.pages)
    whole = {change.kind: _paths(comparison.pages, change.kind) for change in comparison.pages}
    inside = [change for change in comparison.sections if not _goes_with_page(change, whole)]
    if inside:
        yield f"\nSections: {_counted(comparison.sections)}"
    path = None
    for change in inside:
        seat = change.after or change.before
        if seat is not None and seat.path != path:
            path = seat.path
            yield f"  {path or '(home)'}"
        yield f"    {_section_line(change)}"
    yield from _alias_lines(comparison)
    for note in comparison.notes:
        yield f"  {note}"
    if touched is not None:
        yield f"\nQuestions touched: {len(touched)}"
    for each in touched or ():
        yield f"  {each.question.ask}"
        yield from (f"      {_section_line(change)}" for change in each.changes)


def _alias_lines(comparison: SiteDiff) -> Iterator[str]:
    """Tell which ids live on, and which only would."""
    if not comparison.aliases:
        return
    unpublished = [old for old in comparison.aliases if old not in comparison.published]
    yield f"\nIds that became aliases: {len(comparison.aliases) - len(unpublished)}"
    yield from _first(f"  {old} → {new}" for old, new in comparison.aliases.items() if old in comparison.published)
    if unpublished:
        yield f"Ids that lead nowhere though their sections are still there: {len(unpublished)}"
        yield from _first(f"  {old} → {comparison.aliases[old]}" for old in unpublished)
        yield "  They would live on in a build with `previous`, which names the last manifest."


def _first(lines: Iterable[str]) -> Iterator[str]:
    """Give the first lines of a list that nobody reads to its end, and how many there are more."""
    every = list(lines)
    yield from every[:_SHOWN]
    if len(every) > _SHOWN:
        yield f"  and {len(every) - _SHOWN} more, which --json tells"


def _page_line(change: Change) -> str:
    sections = f"{change.sections} section{'' if change.sections == 1 else 's'}"
    seat = change.after or change.before
    path = (seat.path if seat else "") or "(home)"
    title = seat.title if seat else ""
    match change.kind:
        case "added" | "removed":
            return f"{change.kind:8} {path}  {title}, {sections}"
        case "moved":
            was = (change.before.path if change.before else "") or "(home)"
            return f"{change.kind:8} {was} → {path}  {title}{_also(change)}"
        case "renamed":
            return f"{change.kind:8} {path}  {change.before.title if change.before else ''} → {title}{_also(change)}"
        case _:
            return f"{change.kind:8} {path}  {title}"


def _section_line(change: Change) -> str:
    before, after = change.before, change.after
    if before is None or after is None:
        seat = after or before
        return f"{change.kind:8} [{seat.id}] {seat.title}" if seat else change.kind
    if change.kind == "changed":
        return f"{change.kind:8} [{after.id}] {after.title}"
    ids = f"[{after.id}]" if before.id == after.id else f"[{before.id}] → [{after.id}]"
    if change.kind == "moved":
        title = after.title if before.title == after.title else f"{before.title} → {after.title}"
        return f"{change.kind:8} {ids} {title}, from {before.path or '(home)'}{_also(change)}"
    return f"{change.kind:8} {ids} {before.title} → {after.title}{_also(change)}"


def _also(change: Change) -> str:
    return ", text changed too" if change.text else ""


def _counted(changes: Sequence[Change]) -> str:
    kinds = Counter(change.kind for change in changes)
    return ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))


def _paths(pages: Sequence[Change], kind: str) -> set[str]:
    return {seat.path for change in pages if change.kind == kind and (seat := change.after or change.before)}


def _goes_with_page(change: Change, whole: dict[Any, set[str]]) -> bool:
    """Tell whether a section's change is told by its page's already."""
    seat = change.after or change.before
    if seat is None or change.kind not in ("added", "removed", "moved"):
        return False
    return seat.path in whole.get(change.kind, ()) and not (change.kind == "moved" and change.text)


def _as_json(comparison: SiteDiff, touched: Sequence[AffectedQuestion] | None) -> dict[str, Any]:
    data: dict[str, Any] = {
        "before": asdict(comparison.before),
        "after": asdict(comparison.after),
        "pages": [asdict(change) for change in comparison.pages],
        "sections": [asdict(change) for change in comparison.sections],
        "aliases": dict(comparison.aliases),
        "unpublished": [old for old in comparison.aliases if old not in comparison.published],
        "kept": comparison.common,
        "notes": list(comparison.notes),
    }
    if touched is not None:
        data["questions"] = [
            {
                "ask": each.question.ask,
                "line": each.question.line,
                "changes": [asdict(change) for change in each.changes],
            }
            for each in touched
        ]
    return data
