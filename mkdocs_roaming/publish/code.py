"""Code: blocks with their content to the byte, their language, their title; inline code with the links in it."""

from __future__ import annotations

import re
from functools import lru_cache

from mkdocs_roaming.publish.blocks import group
from mkdocs_roaming.publish.escape import code_in, code_span, destination
from mkdocs_roaming.publish.hyperlinks import before_link, leads_to_script
from mkdocs_roaming.publish.idioms import CODE_CLUTTER, LINE_NUMBERS, NO_LANGUAGE, language_of
from mkdocs_roaming.publish.walk import ROLES, Element, Walk, text_of


def block(walk: Walk, element: Element, out: list[str]) -> None:
    """Write a code block."""
    content = content_of(element)
    if not content.strip():
        return
    language = _language(element)
    if language is None:
        language = walk.language
    if language is None:
        language = walk.source_language(content, walk.code_title)
    out.append(fence(content, language or "", walk.code_title))
    walk.code_title = None


def mermaid(walk: Walk, element: Element, out: list[str]) -> None:
    """Write a diagram as the code that it is drawn from."""
    content = content_of(element)
    if content.strip():
        out.append(fence(content, "mermaid", None))


def wrapper(walk: Walk, element: Element, out: list[str]) -> None:
    """Write what is around a code block: nothing, but it may tell the language and the title."""
    language = language_of(element.get("class"))
    before = walk.language, walk.code_title, walk.in_code
    walk.in_code = True
    if language is not None:
        walk.language = language
    group(walk, element, out)
    walk.language, walk.code_title, walk.in_code = before


def signature(walk: Walk, element: Element, out: list[str]) -> None:
    """Write what is around the signature of an API object: Python, if nobody says otherwise."""
    with walk.within(language=language_of(element.get("class")) or "python"):
        group(walk, element, out)


def title(walk: Walk, element: Element, out: list[str]) -> None:
    """Keep a code block's title for the block that follows."""
    if not walk.in_code:
        walk.blocks(element, out)
        return
    pieces: list[str] = []
    _gather(element, pieces, 0)
    walk.code_title = " ".join("".join(pieces).split()) or None


def table(walk: Walk, element: Element, out: list[str]) -> None:
    """Write a code block that stands in a table beside its line numbers."""
    pres = list(element.iter("pre"))
    if pres:
        with walk.within(code_title=walk.code_title, in_code=True):
            for cell in element.iter("th"):
                if ROLES[cell.tag, cell.get("class")] == "code title":
                    title(walk, cell, out)
            block(walk, pres[-1], out)
    else:
        walk.block_writers["table"](walk, element, out)


def fence(content: str, language: str, name: str | None) -> str:
    """Give code as a fenced block, its fence longer than any in it."""
    ticks = "```"
    if "```" in content:
        ticks = "`" * (1 + max(len(run) for run in _TICKS.findall(content)))
    info = language
    if name:
        quoted = name.replace('"', "'").replace("`", "'")
        info = f'{language} title="{quoted}"' if language else f' title="{quoted}"'
    return f"{ticks}{info}\n{content}\n{ticks}"


def span(walk: Walk, element: Element, pieces: list[str]) -> None:
    """Write inline code; links in it stay links, around their part of the code."""
    if not len(element):
        _code_piece(walk, element.text or "", pieces)
    elif not walk.in_link and element.find(".//a[@href]") is not None:
        _linked_code(walk, element, pieces)
    else:
        _code_piece(walk, text_of(element), pieces)


def content_of(element: Element) -> str:
    """Give the code of a `pre`, without line numbers and buttons, without its last line end."""
    if _cluttered(element):
        pieces: list[str] = []
        _gather(element, pieces, 0)
        text = "".join(pieces)
    else:
        text = text_of(element)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.startswith("\n") and (element.text or "").startswith("\n"):
        text = text[1:]
    return text.removesuffix("\n")


_TICKS = re.compile("`{3,}")
_LONG = 1_000
"""From this length on, inline code is not joined with what follows: joining many takes time."""


def _language(element: Element) -> str | None:
    """Give the language that a `pre`, or the `code` in it, names."""
    language = language_of(element.get("class"))
    if language is None and (code := next(element.iter("code"), None)) is not None:
        language = language_of(code.get("class"))
        if language is None:
            language = code.get("data-lang") or code.get("data-language")
    if language is None:
        language = element.get("data-language") or element.get("data-lang") or element.get("lang")
    return "" if language and language.lower() in NO_LANGUAGE else language


def _cluttered(element: Element) -> bool:
    """Tell whether a `pre` holds more than code: line numbers show in its first line."""
    if next(element.iter("br", "div", "td", *CODE_CLUTTER), None) is not None:
        return True
    for at, span in enumerate(element.iter("span", "a")):
        if _numbers_lines(span.get("class")):
            return True
        if at > 8:
            break
    return False


@lru_cache(maxsize=1024)
def _numbers_lines(classes: str | None) -> bool:
    return bool(classes) and not LINE_NUMBERS.isdisjoint((classes or "").split())


def _gather(element: Element, pieces: list[str], depth: int) -> None:
    if depth > 100:
        pieces.append(text_of(element))
        return
    pieces.append(element.text or "")
    for child in element:
        classes = child.get("class")
        tag = child.tag
        if tag == "br":
            pieces.append("\n")
        elif not isinstance(tag, str) or tag in CODE_CLUTTER or (tag != "code" and _numbers_lines(classes)):
            pass
        elif tag in ("div", "tr"):
            start = len(pieces)
            _gather(child, pieces, depth + 1)
            if not "".join(pieces[start:]).endswith("\n"):
                pieces.append("\n")
        elif tag in ("span", "a") and ROLES[tag, classes] == "skip":
            pass
        else:
            _gather(child, pieces, depth + 1)
        pieces.append(child.tail or "")


def _code_text(element: Element) -> str:
    return text_of(element) if len(element) else element.text or ""


def _code_piece(walk: Walk, text: str, pieces: list[str]) -> None:
    if walk.plain is not None:
        walk.plain.append(text)
    if text and pieces and pieces[-1][-1:] == "`" and (before := code_in(pieces[-1])):  # they would not be read as two
        if len(before) < _LONG:
            pieces.pop()
            text = before + text
        else:
            pieces.append(" ")
    if text:
        pieces.append(code_span(text))


def _linked_code(walk: Walk, element: Element, pieces: list[str]) -> None:
    _code_piece(walk, element.text or "", pieces)
    for child in element:
        href = child.get("href")
        if child.tag == "a" and href and not leads_to_script(href):
            inner: list[str] = []
            _code_piece(walk, _code_text(child), inner)
            if inner:
                before_link(pieces)
                pieces.append(f"[{''.join(inner)}]({destination(walk.link(href.strip()))})")
        elif len(child) and child.find(".//a[@href]") is not None:
            _linked_code(walk, child, pieces)
        else:
            _code_piece(walk, _code_text(child), pieces)
        _code_piece(walk, child.tail or "", pieces)
