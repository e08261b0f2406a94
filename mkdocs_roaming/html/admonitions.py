"""Admonitions, foldable details and tabs."""

from __future__ import annotations

from mkdocs_roaming.html.blocks import quote_lines
from mkdocs_roaming.html.code import LANGUAGES
from mkdocs_roaming.html.themes import compile_selector
from mkdocs_roaming.html.visitor import Element, Visitor, element_text, format_bold, has_class, is_hidden


def write_admonition(visitor: Visitor, element: Element, out: list[str]) -> None:
    """Write an admonition or details as an alert: its kind, its title unless it only repeats the kind, its content."""
    if element.tag != "details" and is_hidden(element):
        return
    kind = visitor.themes.admonition_kind(element.get("class") or "")
    title = next((child for child in element if visitor.role(child) == "admonition-title"), None)
    text = visitor.render_line(title, styles="strong") if title is not None else ""
    language = _find_source_language(element, title) or visitor.context.language
    with visitor.within(written_title=title, language=language):
        parts = visitor.render_nested(element)
    if text and text.casefold() != kind.casefold():
        parts.insert(0, format_bold(text))
    if parts:
        out.append(quote_lines(f"[!{kind}]\n" + "\n\n".join(parts)))


def _find_source_language(element: Element, title: Element | None) -> str | None:
    """Return the language of the source code that mkdocstrings folds away, by the file name in the title."""
    if title is None or not has_class(element, "mkdocstrings-source"):
        return None
    suffix = element_text(title).strip().rpartition(".")[2]
    if suffix == "py":
        return "python"
    return suffix if suffix in LANGUAGES else None


def write_admonition_title(visitor: Visitor, element: Element, out: list[str]) -> None:
    """Write a title that is not the title of the enclosing admonition."""
    if element is not visitor.context.written_title:
        visitor.write_blocks(element, out)


def write_tabs(visitor: Visitor, element: Element, out: list[str]) -> None:
    """Write a set of tabs as consecutive panels, each below its label."""
    for tabs in visitor.themes.tabs:
        panels = compile_selector(tabs.panels)(element)
        labels = compile_selector(tabs.labels)(element) if panels else []
        if panels and len(panels) == len(labels):
            break
    else:
        visitor.write_group(element, out)
        return
    for label, panel in zip(labels, panels, strict=True):
        with visitor.within(in_link=True):
            text = visitor.render_line(label, styles="strong")
        if text:
            out.append(format_bold(text))
        if visitor.role(panel) == "group":
            visitor.write_blocks(panel, out)  # not write_group: the page hides all panels but the first
        else:
            visitor.write_block(panel, out)
