"""Tabs: the panels of a set as a list, each below its label."""

from __future__ import annotations

from mkdocs_roaming.html.blocks import add_items
from mkdocs_roaming.html.themes import compile_selector
from mkdocs_roaming.html.visitor import Blocks, Element, Visitor

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_SHORT = 2
"""Blocks of a set with a single tab that is written without a list: its label, and a block."""


def write_tabs(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write a set of tabs."""
    for tabs in visitor.themes.tabs:
        panels = compile_selector(tabs.panels)(element)
        if panels:
            labels = compile_selector(tabs.labels)(element)
            if len(panels) == len(labels):
                _write_panels(visitor, labels, panels, out)
                return
    visitor.write_group(element, out)


def write_tab_list(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write the panels of a WAI-ARIA tab list in its place, unless a panel is missing or already written."""
    known = visitor.tab_panels
    if known is None:
        known = visitor.tab_panels = _index_panels(visitor, element.getroottree().getroot())
    labels = [tab for tab in element.iter() if tab.get("role") == "tab"]
    panels: list[Element] = []
    for tab in labels:
        names = (tab.get("aria-controls"), tab.get("href", "").removeprefix("#"), tab.get("id"))
        panels.extend([known[name] for name in names if name in known][:1])
    is_complete = bool(labels) and len(set(panels)) == len(labels)
    if not is_complete or not visitor.written_panels.isdisjoint(panels):
        visitor.write_blocks(element, out)
        return
    visitor.written_panels.update(panels)
    _write_panels(visitor, labels, panels, out)


def write_tab_panel(visitor: Visitor, element: Element, out: Blocks) -> None:
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


def _write_panels(visitor: Visitor, labels: list[Element], panels: list[Element], out: Blocks) -> None:
    """Write panels as the items of a list, whose indentation shows where the set ends.

    Headings in a list are no sections, so panels with headings follow one another, with a thematic break at the end.
    """
    nesting = visitor.context.nesting
    has_headings = any(next(panel.iter(*_HEADINGS), None) is not None for panel in panels)
    has_sections = has_headings and not nesting
    items: list[Blocks] = []
    for label, panel in zip(labels, panels, strict=True):
        item = out if has_sections else []
        with visitor.within(nesting=nesting if has_sections else nesting + 1):
            with visitor.within(in_link=True):
                text = visitor.render_line(label, style="strong")
            if text:
                item.append(f"**{text}**")
            if visitor.role(panel) == "group":
                visitor.write_blocks(panel, item)  # not write_group: the page hides all panels but the first
            else:
                visitor.write_block(panel, item)
        items.append(item)
    if has_sections:
        out.append("---")
    elif len(items) == 1 and len(items[0]) <= _SHORT:  # nothing to choose from
        out.extend(items[0])
    else:
        add_items(items, out, loose=True)
