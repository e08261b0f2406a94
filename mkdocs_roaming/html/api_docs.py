"""API objects as mkdocstrings and Sphinx render them: a heading with its id, the signature as a fence."""

from __future__ import annotations

import re

from mkdocs_roaming.html.blocks import add_heading, render_heading, write_definitions, write_labels
from mkdocs_roaming.html.code import format_fence
from mkdocs_roaming.html.escape import format_code_span, format_destination
from mkdocs_roaming.html.themes import SOURCE_LINKS, find_language
from mkdocs_roaming.html.visitor import ROLES, Element, Visitor, element_text, format_bold

DOMAINS = {"c": "c", "cpp": "cpp", "js": "javascript", "py": "python", "rst": "rst"}
"""Languages of Sphinx's domains."""


def write_object_heading(walk: Visitor, element: Element, out: list[str]) -> None:
    """Write the heading of an object of mkdocstrings; a signature in it becomes a fence below."""
    anchor = element.get("id")
    code = next((child for child in element.iter("code") if "highlight" in (child.get("class") or "").split()), None)
    signature = " ".join(element_text(code).split()) if code is not None else ""
    name = _NAME.match(signature)
    if code is not None and name and name[0] != signature:
        text, plain = format_code_span(name[0]), name[0]
    else:
        signature = ""
        text, plain = render_heading(walk, element, anchor)
    add_heading(walk, int(element.tag[1]), text, plain, anchor, out, titles=False)
    if signature and code is not None:
        out.append(format_fence(signature, find_language(code.get("class")) or "python", None))
    for child in element:
        if ROLES[child.tag, child.get("class")] == "labels":
            write_labels(walk, child, out)


def write_definition_list(walk: Visitor, element: Element, out: list[str]) -> None:
    """Write a definition list: Sphinx's objects, or terms and what they mean."""
    classes = (element.get("class") or "").split()
    if not any(child.tag == "dt" and _is_object(child, classes) for child in element):
        write_definitions(walk, element, out)
        return
    language = next((DOMAINS[name] for name in classes if name in DOMAINS), "")
    level = min(6, walk.level + 1)
    for child in element:
        if child.tag == "dt":
            _object(walk, child, level, language, out)
        elif ROLES[child.tag, child.get("class")] != "skip":
            with walk.within(level=level):
                walk.blocks(child, out)


_NAME = re.compile(r"[\w.$]+")


def _is_object(term: Element, classes: list[str]) -> bool:
    own = (term.get("class") or "").split()
    return (
        "sig" in own or ("sig-object" in own) or (term.get("id") is not None and not DOMAINS.keys().isdisjoint(classes))
    )


def _object(walk: Visitor, term: Element, level: int, language: str, out: list[str]) -> None:
    signature, source = _signature(term)
    name = (
        "".join(
            element_text(part)
            for part in term.iter("span", "code")
            if not {"sig-prename", "sig-name"}.isdisjoint((part.get("class") or "").split())
        ).strip()
        or signature.split("(")[0].split("=")[0].strip()
    )
    if not name:
        return
    before = walk.level
    if walk.nested:
        out.append(format_bold(format_code_span(name)))
    else:
        add_heading(walk, level, format_code_span(name), name, term.get("id"), out)
    walk.level = before
    out.append(format_fence(signature, language, None))
    if source and not walk.in_link:
        out.append(f"[source]({format_destination(walk.link(source))})")


def _signature(term: Element) -> tuple[str, str | None]:
    """Give the text of a signature, and where its source is."""
    pieces = [term.text or ""]
    source = None
    for child in term:
        viewcode = next(
            (link for link in child.iter() if not SOURCE_LINKS.isdisjoint((link.get("class") or "").split())), None
        )
        if viewcode is not None:
            link = viewcode if viewcode.tag == "a" else viewcode.getparent()
            source = link.get("href") if link is not None else None
        elif ROLES[child.tag, child.get("class")] != "skip":
            pieces.append(element_text(child))
        pieces.append(child.tail or "")
    return " ".join("".join(pieces).split()).replace(" → ", " -> "), source
