"""API objects as mkdocstrings and Sphinx render them: a heading with the object's id, and the signature as code."""

from __future__ import annotations

import re

from mkdocs_roaming.html.blocks import add_heading, render_heading, write_definitions
from mkdocs_roaming.html.code import find_language, format_fence
from mkdocs_roaming.html.escape import format_code_span, format_destination
from mkdocs_roaming.html.visitor import Element, Visitor, element_text, format_bold, has_class, normalized_text

_DOMAINS = {"c": "c", "cpp": "cpp", "js": "javascript", "py": "python", "rst": "rst"}
"""Languages of Sphinx's domains."""
_NAME = re.compile(r"[\w.$]+")


def write_api_heading(visitor: Visitor, element: Element, out: list[str]) -> None:
    """Write the heading of an mkdocstrings object. A signature in it becomes code below the heading."""
    anchor = element.get("id")
    code = next((child for child in element.iter("code") if has_class(child, "highlight")), None)
    signature = normalized_text(code) if code is not None else ""
    name = _NAME.match(signature)
    has_signature = name is not None and name[0] != signature
    if name and has_signature:
        text, plain = format_code_span(name[0]), name[0]
    else:
        text, plain = render_heading(visitor, element, anchor)
    add_heading(visitor, int(element.tag[1]), text, plain, anchor, out, is_title=False)
    if code is not None and has_signature:
        out.append(format_fence(signature, find_language(code.get("class")) or "python"))
    out.extend(
        " ".join(f"`{label}`" for part in child if (label := normalized_text(part)))
        for child in element
        if visitor.role(child) == "labels" and len(child)
    )


def write_definition_list(visitor: Visitor, element: Element, out: list[str]) -> None:
    """Write a definition list: the objects of a Sphinx domain, or terms and definitions."""
    classes = (element.get("class") or "").split()
    if not any(child.tag == "dt" and _is_object(child, classes) for child in element):
        write_definitions(visitor, element, out)
        return
    language = next((_DOMAINS[name] for name in classes if name in _DOMAINS), "")
    level = min(6, visitor.context.level + 1)
    for child in element:
        if child.tag == "dt":
            _write_object(visitor, child, level, language, out)
        elif visitor.role(child) != "skip":
            with visitor.within(level=level):
                visitor.write_blocks(child, out)


def _is_object(term: Element, classes: list[str]) -> bool:
    return has_class(term, "sig", "sig-object") or (
        term.get("id") is not None and not _DOMAINS.keys().isdisjoint(classes)
    )


def _write_object(visitor: Visitor, term: Element, level: int, language: str, out: list[str]) -> None:
    signature, source = _find_signature(visitor, term)
    parts = (part for part in term.iter("span", "code") if has_class(part, "sig-prename", "sig-name"))
    name = "".join(map(element_text, parts)).strip() or signature.split("(")[0].split("=")[0].strip()
    if not name:
        return
    if visitor.context.nesting:
        out.append(format_bold(format_code_span(name)))
    else:
        with visitor.within(level=level):
            add_heading(visitor, level, format_code_span(name), name, term.get("id"), out)
    out.append(format_fence(signature, language))
    if source and not visitor.context.in_link:
        out.append(f"[source]({format_destination(visitor.link(source))})")


def _find_signature(visitor: Visitor, term: Element) -> tuple[str, str | None]:
    """Return the text of a signature, and the URL of its source code."""
    pieces = [term.text or ""]
    source = None
    for child in term:
        viewcode = next((link for link in child.iter() if has_class(link, "viewcode-link", "viewcode-back")), None)
        if viewcode is not None:
            link = viewcode if viewcode.tag == "a" else viewcode.getparent()
            source = link.get("href") if link is not None else None
        elif visitor.role(child) != "skip":
            pieces.append(element_text(child))
        pieces.append(child.tail or "")
    return " ".join("".join(pieces).split()).replace(" → ", " -> "), source
