"""`roaming diff`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

import click

from mkdocs_roaming.cli.common import AS_JSON, FAULTS_FOUND, open_lib, print_json, sanitize
from mkdocs_roaming.library.diff import Change, SectionLocation, SiteDiff, diff_sites

_LIST_LIMIT = 20
"""Number of ids that the text output lists."""


@click.command()
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@AS_JSON
def diff(before: str, after: str, as_json: bool) -> None:
    """Compare pages, sections and ids of two versions of a site.

    A and B are folders or URLs. The exit code is 4 if anything changed.
    """
    comparison = diff_sites(open_lib(before), open_lib(after))
    if as_json:
        print_json(_as_json(comparison))
    else:
        for line in _lines(comparison):
            blank = "\n" if line.startswith("\n") else ""  # other line breaks come from titles
            click.echo(blank + sanitize(line.strip("\n").replace("\n", " ")))
    if not comparison.is_empty:
        sys.exit(FAULTS_FOUND)


def _lines(comparison: SiteDiff) -> Iterator[str]:
    old, new = comparison.before, comparison.after
    yield f"{new.site}: {old.pages} pages, {old.sections} sections before; {new.pages}, {new.sections} now"
    if comparison.is_empty:
        yield "Nothing changed."
    if comparison.is_unrelated:
        yield f"Only {comparison.common} of {old.sections} sections are in both: are these two versions of one site?"
    if comparison.pages:
        yield f"\nPages: {_count_kinds(comparison.pages)}"
        yield from (f"  {_page_line(change)}" for change in comparison.pages)
    changed_pages = {(change.kind, _sides(change)[1].path) for change in comparison.pages}
    separate = [change for change in comparison.sections if not _is_covered_by_page(change, changed_pages)]
    if separate:
        yield f"\nSections: {_count_kinds(comparison.sections)}"
    for path, changes in groupby(separate, key=lambda change: _sides(change)[1].path):
        yield f"  {path or '(home)'}"
        yield from (f"    {_section_line(change)}" for change in changes)
    yield from _alias_lines(comparison)
    for note in comparison.notes:
        yield f"  {note}"


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
    before, after = _sides(change)
    path = _arrow(before.path or "(home)", after.path or "(home)")
    note = _text_note(change)
    if change.kind in ("added", "removed"):
        note = f", {change.sections} section{'' if change.sections == 1 else 's'}"
    return f"{change.kind:8} {path}  {_arrow(before.title, after.title)}{note}"


def _section_line(change: Change) -> str:
    before, after = _sides(change)
    origin = f", from {before.path or '(home)'}" if change.kind == "moved" else ""
    ids, title = _arrow(f"[{before.id}]", f"[{after.id}]"), _arrow(before.title, after.title)
    return f"{change.kind:8} {ids} {title}{origin}{_text_note(change)}"


def _sides(change: Change) -> tuple[SectionLocation, SectionLocation]:
    """Return the location before and after a change; twice the same if something was added or removed."""
    before, after = change.before or change.after, change.after or change.before
    assert before is not None  # a change has at least one side
    assert after is not None
    return before, after


def _arrow(before: str, after: str) -> str:
    return after if before == after else f"{before} → {after}"


def _text_note(change: Change) -> str:
    return ", text changed too" if change.text and change.kind in ("moved", "renamed") else ""


def _count_kinds(changes: Sequence[Change]) -> str:
    kinds = Counter(change.kind for change in changes)
    return ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))


def _is_covered_by_page(change: Change, pages: Collection[tuple[str, str]]) -> bool:
    """Return whether the change of the section's page already covers this change."""
    if change.kind not in ("added", "removed", "moved") or (change.kind == "moved" and change.text):
        return False
    return (change.kind, _sides(change)[1].path) in pages


def _as_json(comparison: SiteDiff) -> dict[str, Any]:
    return {
        "before": asdict(comparison.before),
        "after": asdict(comparison.after),
        "pages": [asdict(change) for change in comparison.pages],
        "sections": [asdict(change) for change in comparison.sections],
        "aliases": dict(comparison.aliases),
        "unpublished": [old for old in comparison.aliases if old not in comparison.published],
        "kept": comparison.common,
        "notes": list(comparison.notes),
    }
