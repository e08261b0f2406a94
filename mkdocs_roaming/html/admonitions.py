"""Admonitions, foldable details and tabs, of any theme."""

from __future__ import annotations

from mkdocs_roaming.html.blocks import quote_lines, write_group
from mkdocs_roaming.html.themes import LANGUAGES, TABS, admonition_kind
from mkdocs_roaming.html.visitor import ROLES, Element, Visitor, element_text, format_bold, is_hidden


def write_admonition(walk: Visitor, element: Element, out: list[str]) -> None:
    """Write an admonition or details: its kind, its title where it has one of its own, its content."""
    if element.tag != "details" and is_hidden(element):
        return
    kind = admonition_kind(element.get("class") or "")
    title = next((child for child in element if ROLES[child.tag, child.get("class")] == "callout title"), None)
    text = walk.line(title, styles="strong") if title is not None else ""
    language = _source_language(element, title) if title is not None else None
    with walk.within(taken=title, language=language or walk.language):
        parts = walk.contents(element)
    if text and text.casefold() != kind.casefold():
        parts.insert(0, format_bold(text))
    if parts:
        out.append(quote_lines(f"[!{kind}]\n" + "\n\n".join(parts)))


def _source_language(element: Element, title: Element) -> str | None:
    """Give the language of the source code that mkdocstrings folds away, by the file's name in the title."""
    if "mkdocstrings-source" not in (element.get("class") or "").split():
        return None
    suffix = element_text(title).strip().rpartition(".")[2]
    return "python" if suffix == "py" else suffix if suffix in LANGUAGES else None


def write_admonition_title(walk: Visitor, element: Element, out: list[str]) -> None:
    """Write a title that stands outside a callout as text; the callout around has written its own."""
    if element is not walk.taken:
        walk.blocks(element, out)


def write_tabs(walk: Visitor, element: Element, out: list[str]) -> None:
    """Write tabs as panels below one another, each under its label."""
    for shape in TABS:
        panels = shape.panels(element)
        labels = shape.labels(element)
        if panels and len(panels) == len(labels):
            break
    else:
        write_group(walk, element, out)
        return
    for label, panel in zip(labels, panels, strict=True):
        with walk.within(in_link=True):
            text = walk.line(label, styles="strong")
        if text:
            out.append(format_bold(text))
        if ROLES[panel.tag, panel.get("class")] == "group":
            walk.blocks(panel, out)  # the panels behind the first are hidden on the page
        else:
            walk.block(panel, out)
