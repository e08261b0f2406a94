"""`roaming diff`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mkdocs_roaming.cli.common import AS_JSON, FAULTS_FOUND, open_lib, print_json, sanitize

if TYPE_CHECKING:
    from mkdocs_roaming.evals.questions import AffectedQuestion
    from mkdocs_roaming.library.diff import Change, SiteDiff

_LIST_LIMIT = 20
"""Number of ids that the text output lists."""


@click.command()
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option(
    "--questions",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Question file; list the questions whose sections changed.",
)
@AS_JSON
def diff(before: str, after: str, questions: Path | None, as_json: bool) -> None:
    """Compare pages, sections and ids of two versions of a site.

    A and B are folders or URLs. The exit code is 4 if anything changed; with --questions only if a section that answers
    one of them changed.
    """
    from mkdocs_roaming.library.diff import diff_sites

    old, new = open_lib(before), open_lib(after)
    comparison = diff_sites(old, new)
    affected: tuple[AffectedQuestion, ...] = ()
    if questions is not None:
        from mkdocs_roaming.evals.questions import find_affected_questions, read_questions

        affected = find_affected_questions(read_questions(questions), comparison, old, new)
    if as_json:
        print_json(_as_json(comparison, affected if questions is not None else None))
    else:
        _show(comparison, affected if questions is not None else None)
    if affected if questions is not None else not comparison.is_empty:
        sys.exit(FAULTS_FOUND)


def _show(comparison: SiteDiff, affected: Sequence[AffectedQuestion] | None) -> None:
    for line in _lines(comparison, affected):
        blank = "\n" if line.startswith("\n") else ""  # other line breaks come from titles
        click.echo(blank + sanitize(line.strip("\n").replace("\n", " ")))


def _lines(comparison: SiteDiff, affected: Sequence[AffectedQuestion] | None) -> Iterator[str]:
    old, new = comparison.before, comparison.after
    yield f"{new.site}: {old.pages} pages, {old.sections} sections before; {new.pages}, {new.sections} now"
    if comparison.is_empty:
        yield "Nothing changed."
    if comparison.is_unrelated:
        yield f"Only {comparison.common} of {old.sections} sections are in both: are these two versions of one site?"
    if comparison.pages:
        yield f"\nPages: {_count_kinds(comparison.pages)}"
        yield from (f"  {_page_line(change)}" for change in comparison.pages)
    page_changes = {change.kind: _paths(comparison.pages, change.kind) for change in comparison.pages}
    separate = [change for change in comparison.sections if not _is_covered_by_page(change, page_changes)]
    if separate:
        yield f"\nSections: {_count_kinds(comparison.sections)}"
    path = None
    for change in separate:
        place = change.after or change.before
        if place is not None and place.path != path:
            path = place.path
            yield f"  {path or '(home)'}"
        yield f"    {_section_line(change)}"
    yield from _alias_lines(comparison)
    for note in comparison.notes:
        yield f"  {note}"
    if affected is not None:
        yield f"\nQuestions affected: {len(affected)}"
    for each in affected or ():
        yield f"  {each.question.ask}"
        yield from (f"      {_section_line(change)}" for change in each.changes)


def _alias_lines(comparison: SiteDiff) -> Iterator[str]:
    if not comparison.aliases:
        return
    unpublished = [old for old in comparison.aliases if old not in comparison.published]
    yield f"\nIds that became aliases: {len(comparison.aliases) - len(unpublished)}"
    yield from _limit_list(f"  {old} → {new}" for old, new in comparison.aliases.items() if old in comparison.published)
    if unpublished:
        yield f"Ids without an alias although their sections still exist: {len(unpublished)}"
        yield from _limit_list(f"  {old} → {comparison.aliases[old]}" for old in unpublished)
        yield "  Set the option `previous` to the previous manifest to keep them valid."


def _limit_list(lines: Iterable[str]) -> Iterator[str]:
    items = list(lines)
    yield from items[:_LIST_LIMIT]
    if len(items) > _LIST_LIMIT:
        yield f"  and {len(items) - _LIST_LIMIT} more; --json lists all"


def _page_line(change: Change) -> str:
    sections = f"{change.sections} section{'' if change.sections == 1 else 's'}"
    place = change.after or change.before
    path = (place.path if place else "") or "(home)"
    title = place.title if place else ""
    match change.kind:
        case "added" | "removed":
            return f"{change.kind:8} {path}  {title}, {sections}"
        case "moved":
            was = (change.before.path if change.before else "") or "(home)"
            return f"{change.kind:8} {was} → {path}  {title}{_text_note(change)}"
        case "renamed":
            return (
                f"{change.kind:8} {path}  {change.before.title if change.before else ''} → {title}{_text_note(change)}"
            )
        case _:
            return f"{change.kind:8} {path}  {title}"


def _section_line(change: Change) -> str:
    before, after = change.before, change.after
    if before is None or after is None:
        place = after or before
        return f"{change.kind:8} [{place.id}] {place.title}" if place else change.kind
    if change.kind == "changed":
        return f"{change.kind:8} [{after.id}] {after.title}"
    ids = f"[{after.id}]" if before.id == after.id else f"[{before.id}] → [{after.id}]"
    if change.kind == "moved":
        title = after.title if before.title == after.title else f"{before.title} → {after.title}"
        return f"{change.kind:8} {ids} {title}, from {before.path or '(home)'}{_text_note(change)}"
    return f"{change.kind:8} {ids} {before.title} → {after.title}{_text_note(change)}"


def _text_note(change: Change) -> str:
    return ", text changed too" if change.text else ""


def _count_kinds(changes: Sequence[Change]) -> str:
    kinds = Counter(change.kind for change in changes)
    return ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))


def _paths(pages: Sequence[Change], kind: str) -> set[str]:
    return {place.path for change in pages if change.kind == kind and (place := change.after or change.before)}


def _is_covered_by_page(change: Change, page_changes: dict[Any, set[str]]) -> bool:
    """Return whether the change of the section's page already covers this change."""
    place = change.after or change.before
    if place is None or change.kind not in ("added", "removed", "moved"):
        return False
    return place.path in page_changes.get(change.kind, ()) and not (change.kind == "moved" and change.text)


def _as_json(comparison: SiteDiff, affected: Sequence[AffectedQuestion] | None) -> dict[str, Any]:
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
    if affected is not None:
        data["questions"] = [
            {
                "ask": each.question.ask,
                "line": each.question.line,
                "changes": [asdict(change) for change in each.changes],
            }
            for each in affected
        ]
    return data
