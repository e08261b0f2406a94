"""What the tools of roaming give, as data, and the same as text for those who read no data."""

from __future__ import annotations

from dataclasses import dataclass

from mkdocs_roaming.expand import Expansion, Listed
from mkdocs_roaming.expand import render as render_expansion


@dataclass(frozen=True, slots=True)
class Outlined:
    """The outline, or a branch of it."""

    text: str


@dataclass(frozen=True, slots=True)
class Missing:
    """An id that opens nothing, the nearest that do, and why where the id is known."""

    id: str
    nearest: tuple[Listed, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Expanded:
    """Sections opened; ids that open none; sections that stand open already; ids for which there was no room."""

    sections: tuple[Expansion, ...]
    missing: tuple[Missing, ...] = ()
    standing: tuple[Listed, ...] = ()
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundSection:
    """A section that search found."""

    id: str
    title: str
    breadcrumb: tuple[str, ...]
    snippet: str
    score: float
    url: str


@dataclass(frozen=True, slots=True)
class Found:
    """What search found, best first."""

    query: str
    hits: tuple[FoundSection, ...]
    words_only: bool = False
    """Whether it went by words alone since the question's meaning could not be had."""


@dataclass(frozen=True, slots=True)
class Misused:
    """A call that cannot be understood; the message says what is right."""

    message: str


Result = Outlined | Expanded | Found | Misused


def render(result: Result) -> str:
    """Give a result as text; what a navigator gives stays within its cap."""
    match result:
        case Outlined(text):
            return text
        case Misused(message):
            return message + "\n"
        case Found():
            return _found(result)
        case Expanded():
            return _expanded(result)


def _found(found: Found) -> str:
    if not found.hits:
        return "Nothing found. Try other words, or read_outline.\n"
    return "\n".join(
        f"[{hit.id}] {' › '.join(hit.breadcrumb)}\n{hit.snippet}\n"
        if hit.snippet
        else f"[{hit.id}] {' › '.join(hit.breadcrumb)}\n"
        for hit in found.hits
    )


def _expanded(expanded: Expanded) -> str:
    notes = [_missing(missing) for missing in expanded.missing]
    notes += [f"[{other.id}] {other.title}: stands open above already.\n" for other in expanded.standing]
    if expanded.left:
        notes.append(f"No room for {', '.join(expanded.left)}: ask again in another call.\n")
    pieces = [render_expansion(expansion) for expansion in expanded.sections]
    if notes:
        pieces.append("".join(notes))
    return "\n---\n\n".join(pieces) or "Nothing to open: give ids from the outline.\n"


def _missing(missing: Missing) -> str:
    said = missing.why or "no section has this id"
    nearest = ", ".join(f"[{other.id}] {other.title}" for other in missing.nearest)
    return f"{missing.id}: {said}" + (f"; nearest: {nearest}.\n" if nearest else ".\n")
