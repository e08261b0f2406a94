"""Templates whose contents a browser shows: declarative shadow roots, and parts of a page that a server sends later."""

from __future__ import annotations

import re
from itertools import islice

from lxml import etree

Element = etree._Element
_PLACED = "roaming-placed"
"""Tag of elements whose contents take their place."""
_PLACEHOLDER = re.compile(r"[BP]:(?=\w+$)")
"""What React's ids of templates have that later parts replace: `B:0` or `P:0` for `S:0`."""
_SOLID = "pl-"
"""What those of Solid begin with: `pl-0-1` for `0-1`."""
_SEGMENT = "P:"
"""What the ids of placeholders without a fallback have."""
_BOUNDARY = "$"
"""What the comment before a boundary of React begins with."""
_BOUNDARY_END = "/$"
_MAX_FALLBACK = 1_000
"""Number of nodes among which the end of a fallback is."""


def place_templates(root: Element) -> None:
    """Put the contents of templates where a browser shows them."""
    parts = {element.get("id"): element for element in root.iterfind(".//*[@id]")}
    for template in reversed(list(root.iter("template"))):  # shadow roots within others come first
        host = template.getparent()
        name = template.get("id", "")
        part = parts.get(_PLACEHOLDER.sub("S:", name).removeprefix(_SOLID), template)
        if template.get("shadowrootmode") and host is not None:
            _fill_slots(template, host)
        elif name and part not in (template, *template.iterancestors()):
            if _SEGMENT not in name:
                _remove_fallback(template)
            template.text = part.text
            part.text = None
            template.extend(part)
            template.tag = _PLACED
    etree.strip_tags(root, _PLACED)


def _fill_slots(template: Element, host: Element) -> None:
    """Put the contents of a host into the slots of its shadow root; nodes without a slot are not shown."""
    slots = {slot.get("name", ""): slot for slot in reversed(list(template.iter("slot")))}
    text = etree.Element(_PLACED)
    text.text = f"{host.text or ''}{template.tail or ''}"
    host.text = None
    template.tail = None
    nodes = [node for node in host.iterchildren("*") if node is not template]
    if text.text.strip():
        nodes.insert(0, text)
    hidden = etree.Element(_PLACED)
    for node in nodes:
        slot = slots.get(node.get("slot", ""), hidden)
        if slot.tag == "slot":  # it shows its own contents only if it gets none
            slot.text = None
            del slot[:]
            slot.tag = _PLACED
        slot.append(node)
    for element in (template, *slots.values()):
        element.tag = _PLACED


def _remove_fallback(template: Element) -> None:
    """Remove what is shown until a part comes: the nodes between its placeholder and the comment that ends them."""
    nodes = list(islice(template.itersiblings(), _MAX_FALLBACK))
    depth = 0
    for count, node in enumerate(nodes):
        comment = str(node.text) if isinstance(node, etree._Comment) else ""
        if comment == template.get("id") or (comment == _BOUNDARY_END and depth == 0):
            template.tail = None
            etree.Element(_PLACED).extend(nodes[:count])
            return
        depth += comment.startswith(_BOUNDARY) - (comment == _BOUNDARY_END)
