"""API objects as mkdocstrings and Sphinx render them: a heading with the object's id, and the signature as code."""

from __future__ import annotations

import re

from mkdocs_roaming.html.blocks import add_heading, find_anchor, heading_level, render_heading, write_definitions
from mkdocs_roaming.html.code import find_language, format_fence, iter_code_pieces
from mkdocs_roaming.html.escape import format_code_span
from mkdocs_roaming.html.parameters import write_field_list
from mkdocs_roaming.html.visitor import (
    Blocks,
    Element,
    Visitor,
    element_text,
    find_class,
    has_class,
    normalized_text,
)

_DOMAINS = {"c": "c", "cpp": "cpp", "js": "javascript", "py": "python", "rst": "rst"}
"""Languages of Sphinx's domains."""
_LINE_BREAK = "\0"
"""A line break of a signature; other line ends are those of the HTML."""
_INDENT = "    "
_LOWEST_LEVEL = 6
_QUALIFIED_NAME = re.compile(r"[\w.$]+")
"""`package.Class.method`, at the beginning of a signature."""
_ARGUMENTS = re.compile(r"(?<=\w)\(")
"""The parenthesis of `open(path)`, but not that of `(anonymous)`."""


def write_api_heading(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write the heading of an mkdocstrings object. Its labels and a signature in it are written below the heading."""
    anchor = element.get("id")
    level = heading_level(element, 1)
    code = find_class(element, "highlight", tag="code")
    signature = normalized_text(code) if code is not None else ""
    name = _QUALIFIED_NAME.match(signature)
    if code is None or name is None or name[0] == signature:
        text, plain = render_heading(visitor, element, anchor)
        add_heading(visitor, level, text, plain, anchor, out, is_title=False)
        _write_labels(visitor, element, out)
        return
    add_heading(visitor, level, format_code_span(name[0]), name[0], anchor, out, is_title=False)
    _write_labels(visitor, element, out)
    out.append(format_fence(signature, find_language(code.get("class")) or "python"))


def _write_labels(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write the labels in a heading or a signature, such as "inline"."""
    for child in element.iter():
        if visitor.role(child) == "labels" and len(child):
            labels = filter(None, map(normalized_text, child))
            out.append(" ".join(f"`{label}`" for label in labels))


def write_member(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write the heading of an API member. One that is the member's signature has the names in it marked."""
    context = visitor.context
    anchor = find_anchor(element)
    level = heading_level(element, context.level + 1)
    if level == context.level:
        level += 1
    level = visitor.output.member_levels.setdefault(element.tag, min(_LOWEST_LEVEL, level))
    marked = [normalized_text(part) for part in element.iter() if visitor.role(part) == "member-name"]
    if not marked:
        text, plain = render_heading(visitor, element, anchor)
        add_heading(visitor, level, text, plain, anchor, out, is_title=False)
        return
    names = dict.fromkeys(_ARGUMENTS.split(name)[0] for name in marked)
    title = ", ".join(map(format_code_span, names))
    add_heading(visitor, level, title, ", ".join(names), anchor, out, is_title=False)
    write_prototype(visitor, element, out)


def write_prototype(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write the signature of an API member as code."""
    code = "".join(text for text, _ in iter_code_pieces(visitor, element))
    signature = " ".join(code.split())
    if signature:
        out.append(format_fence(signature, visitor.context.default_language))
    _write_labels(visitor, element, out)


def write_definition_list(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write a definition list: the objects of a Sphinx domain, or terms and definitions."""
    classes = element.get("class", "").split()
    if "field-list" in classes:
        write_field_list(visitor, element, out)
        return
    domain = next((name for name in classes if name in _DOMAINS), None)
    has_objects = False
    for term in element.iterchildren("dt"):
        is_marked = has_class(term, "sig", "sig-object")
        if is_marked or (domain and term.get("id") is not None):
            has_objects = True
            break
    if not has_objects:
        write_definitions(visitor, element, out)
        return
    language = _DOMAINS[domain] if domain else ""
    level = min(_LOWEST_LEVEL, visitor.context.level + 1)
    terms: list[list[Element]] = []
    for child in element:
        if child.tag == "dt":
            terms.append([child])
        elif terms and child.tag != "dd":  # the parser ends a term before a list of parameters in it
            terms[-1].append(child)
        elif visitor.role(child) != "skip":
            _write_objects(visitor, terms, level, language, out)
            terms = []
            with visitor.within(level=level):
                visitor.write_blocks(child, out)
    _write_objects(visitor, terms, level, language, out)


def _write_objects(visitor: Visitor, terms: list[list[Element]], level: int, language: str, out: Blocks) -> None:
    """Write objects with a common description, such as the overloads of a function, below one heading.

    Each term is the element with the name, and further elements of its signature.
    """
    names: dict[str, None] = {}
    signatures: list[str] = []
    sources: dict[str, None] = {}
    for term in terms:
        signature, source = _find_signature(visitor, term)
        name = _find_name(term[0], language) or signature.split("(")[0].split("=")[0].strip()
        if not language and "/" in name:  # a route: its parameters are part of it
            name = signature
        if name:
            names[name] = None
            signatures.append(signature)
            if source:
                sources[source] = None
    if not names:
        return
    title = ", ".join(map(format_code_span, names))
    if visitor.context.nesting:
        out.append(f"**{title}**")
    else:
        anchor = next((first.get("id") for first, *_ in terms if first.get("id")), None)
        with visitor.within(level=level):
            add_heading(visitor, level, title, ", ".join(names), anchor, out)
    for first, *_ in terms:
        visitor.record_anchor(first)
    out.append(format_fence("\n".join(signatures), language))
    if not visitor.context.in_link:
        out.extend(f"[source]({visitor.destination(source)})" for source in sources)


def _find_name(term: Element, language: str) -> str:
    """Return the qualified name in a signature, `""` if it is not marked."""
    parts = [part for part in term.iter("span", "code") if has_class(part, "sig-prename", "sig-name")]
    if language == "cpp":  # the parameters of a template are marked as names as well, and come first
        ends = [index for index, part in enumerate(parts, 1) if has_class(part, "sig-name")]
        if len(ends) > 1:
            parts = parts[ends[-2] :]
    return "".join(map(element_text, parts)).strip()


def _find_signature(visitor: Visitor, term: list[Element]) -> tuple[str, str | None]:
    """Return the text of a signature with its line breaks, and the URL of its source code."""
    pieces = [term[0].text or ""]
    source = None
    for child in [*term[0], *term[1:]]:
        viewcode = find_class(child, "viewcode-link", "viewcode-back")
        if viewcode is not None:
            link = viewcode if viewcode.tag == "a" else viewcode.getparent()
            source = link.get("href") if link is not None else None
        elif child.tag == "br":
            pieces.append(_LINE_BREAK)
        elif child.tag == "dl":  # one parameter a line
            parameters = map(element_text, child.iterchildren("dd"))
            pieces.extend(f"{_LINE_BREAK}{_INDENT}{parameter.strip()}" for parameter in parameters)
            pieces.append(_LINE_BREAK)
        elif visitor.role(child) != "skip":
            pieces.append(element_text(child))
        pieces.append(child.tail or "")
    signature = ""
    for line in "".join(pieces).replace(" → ", " -> ").split(_LINE_BREAK):
        code = " ".join(line.split())
        if line.startswith(_INDENT):
            code = _INDENT + code
        if code:
            signature += f"{code}\n"
    return signature.rstrip("\n"), source
