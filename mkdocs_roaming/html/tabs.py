"""Tabs: the panels of a set as a list, each below its label."""

from __future__ import annotations

from collections.abc import Sequence

from mkdocs_roaming.html.blocks import add_items
from mkdocs_roaming.html.themes import compile_selector
from mkdocs_roaming.html.visitor import Element, Visitor, format_bold

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")


def write_tabs(visitor: Visitor, element: Element, out: list[str]) -> None:
    """Write a set of tabs."""
    for tabs in visitor.themes.tabs:
        panels = compile_selector(tabs.panels)(element)
        labels = compile_selector(tabs.labels)(element) if panels else []
        if panels and len(panels) == len(labels):
            _write_panels(visitor, list(zip(labels, panels, strict=True)), out)
            return
    visitor.write_group(element, out)


def write_tab_list(visitor: Visitor, element: Element, out: list[str]) -> None:
    """Write the panels of a WAI-ARIA tab list in its place, unless a panel is missing or already written."""
    if visitor.tab_panels is None:
        visitor.tab_panels = _index_panels(visitor, element.getroottree().getroot())
    labels = [tab for tab in element.iter() if tab.get("role") == "tab"]
    panels = [_find_panel(visitor.tab_panels, tab) for tab in labels]
    found = [panel for panel in panels if panel is not None]
    if len(set(found)) < max(len(labels), 1) or not visitor.written_panels.isdisjoint(found):
        visitor.write_blocks(element, out)
        return
    visitor.written_panels.update(found)
    _write_panels(visitor, list(zip(labels, found, strict=True)), out)


def write_tab_panel(visitor: Visitor, element: Element, out: list[str]) -> None:
    """Write a panel that its tab list has not written, although the page may hide it."""
    if element not in visitor.written_panels:
        visitor.written_panels.add(element)
        visitor.write_blocks(element, out)


def _index_panels(visitor: Visitor, root: Element) -> dict[str, Element]:
    """Return the panels of a page by their own ids and by those of their tabs."""
    panels: dict[str, Element] = {}
    for panel in root.iter():
        if panel.get("role") == "tabpanel" and visitor.role(panel) == "group":
            for name in (panel.get("id"), panel.get("aria-labelledby")):
                if name:
                    panels.setdefault(name, panel)
    return panels


def _find_panel(panels: dict[str, Element], tab: Element) -> Element | None:
    names = (tab.get("aria-controls"), (tab.get("href") or "").removeprefix("#"), tab.get("id"))
    return next((panels[name] for name in names if name in panels), None)


def _write_panels(visitor: Visitor, tabs: Sequence[tuple[Element, Element]], out: list[str]) -> None:
    """Write panels as the items of a list, whose indentation shows where the set ends.

    Headings in a list are no sections, so panels with headings follow one another, with a thematic break at the end.
    """
    if not visitor.context.nesting and any(next(panel.iter(*_HEADINGS), None) is not None for _, panel in tabs):
        for label, panel in tabs:
            _write_panel(visitor, label, panel, out)
        out.append("---")
        return
    items: list[list[str]] = [[] for _ in tabs]
    with visitor.within(nesting=visitor.context.nesting + 1):
        for parts, (label, panel) in zip(items, tabs, strict=True):
            _write_panel(visitor, label, panel, parts)
    if len(items) == 1 and len(items[0]) < 3:  # nothing to choose from: one block below a label
        out.extend(items[0])
        return
    add_items(items, out, loose=True)


def _write_panel(visitor: Visitor, label: Element, panel: Element, out: list[str]) -> None:
    with visitor.within(in_link=True):
        text = visitor.render_line(label, styles="strong")
    if text:
        out.append(format_bold(text))
    if visitor.role(panel) == "group":
        visitor.write_blocks(panel, out)  # not write_group: the page hides all panels but the first
    else:
        visitor.write_block(panel, out)
