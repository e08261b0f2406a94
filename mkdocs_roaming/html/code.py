"""Code: blocks with their content to the byte, their language, their title; inline code with the links in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from mkdocs_roaming.html.blocks import write_group
from mkdocs_roaming.html.escape import format_code_span, format_destination, parse_code_span
from mkdocs_roaming.html.inline import escape_exclamation_mark, is_script_url
from mkdocs_roaming.html.themes import CODE_CLUTTER, LINE_NUMBERS, NO_LANGUAGE, find_language
from mkdocs_roaming.html.visitor import ROLES, Element, Visitor, element_text


def write_code_block(walk: Visitor, element: Element, out: list[str]) -> None:
    """Write a code block."""
    content = extract_code(element)
    if not content.strip():
        return
    language = _language(element)
    if language is None:
        language = walk.language
    if language is None:
        language = walk.source_language(content, walk.code_title)
    out.append(format_fence(content, language or "", walk.code_title))
    walk.code_title = None


def write_mermaid(walk: Visitor, element: Element, out: list[str]) -> None:
    """Write a diagram as the code that it is drawn from."""
    content = extract_code(element)
    if content.strip():
        out.append(format_fence(content, "mermaid", None))


def write_code_wrapper(walk: Visitor, element: Element, out: list[str]) -> None:
    """Write what is around a code block: nothing, but it may tell the language and the title."""
    language = find_language(element.get("class"))
    before = walk.language, walk.code_title, walk.in_code
    walk.in_code = True
    if language is not None:
        walk.language = language
    write_group(walk, element, out)
    walk.language, walk.code_title, walk.in_code = before


def write_signature(walk: Visitor, element: Element, out: list[str]) -> None:
    """Write what is around the signature of an API object: Python, if nobody says otherwise."""
    with walk.within(language=find_language(element.get("class")) or "python"):
        write_group(walk, element, out)


def write_code_title(walk: Visitor, element: Element, out: list[str]) -> None:
    """Keep a code block's title for the block that follows."""
    if not walk.in_code:
        walk.blocks(element, out)
        return
    pieces: list[str] = []
    _gather(element, pieces, 0)
    walk.code_title = " ".join("".join(pieces).split()) or None


def write_code_table(walk: Visitor, element: Element, out: list[str]) -> None:
    """Write a code block that stands in a table beside its line numbers."""
    pres = list(element.iter("pre"))
    if pres:
        with walk.within(code_title=walk.code_title, in_code=True):
            for cell in element.iter("th"):
                if ROLES[cell.tag, cell.get("class")] == "code title":
                    write_code_title(walk, cell, out)
            write_code_block(walk, pres[-1], out)
    else:
        walk.block_writers["table"](walk, element, out)


def format_fence(content: str, language: str, name: str | None) -> str:
    """Give code as a fenced block, its fence longer than any in it."""
    ticks = "```"
    if "```" in content:
        ticks = "`" * (1 + max(len(run) for run in _TICKS.findall(content)))
    info = language
    if name:
        quoted = name.replace('"', "'").replace("`", "'")
        info = f'{language} title="{quoted}"' if language else f' title="{quoted}"'
    return f"{ticks}{info}\n{content}\n{ticks}"


def write_code_span(walk: Visitor, element: Element, pieces: list[str]) -> None:
    """Write inline code; links in it stay links, around their part of the code."""
    if not len(element):
        _code_piece(walk, element.text or "", pieces)
    elif not walk.in_link and element.find(".//a[@href]") is not None:
        _linked_code(walk, element, pieces)
    else:
        _code_piece(walk, element_text(element), pieces)


def extract_code(element: Element) -> str:
    """Give the code of a `pre`, without line numbers and buttons, without its last line end."""
    if _cluttered(element):
        pieces: list[str] = []
        _gather(element, pieces, 0)
        text = "".join(pieces)
    else:
        text = element_text(element)
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
    language = find_language(element.get("class"))
    if language is None and (code := next(element.iter("code"), None)) is not None:
        language = find_language(code.get("class"))
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
        pieces.append(element_text(element))
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
    return element_text(element) if len(element) else element.text or ""


def _code_piece(walk: Visitor, text: str, pieces: list[str]) -> None:
    if walk.plain is not None:
        walk.plain.append(text)
    if (
        text and pieces and pieces[-1][-1:] == "`" and (before := parse_code_span(pieces[-1]))
    ):  # they would not be read as two
        if len(before) < _LONG:
            pieces.pop()
            text = before + text
        else:
            pieces.append(" ")
    if text:
        pieces.append(format_code_span(text))


def _linked_code(walk: Visitor, element: Element, pieces: list[str]) -> None:
    _code_piece(walk, element.text or "", pieces)
    for child in element:
        href = child.get("href")
        if child.tag == "a" and href and not is_script_url(href):
            inner: list[str] = []
            _code_piece(walk, _code_text(child), inner)
            if inner:
                escape_exclamation_mark(pieces)
                pieces.append(f"[{''.join(inner)}]({format_destination(walk.link(href.strip()))})")
        elif len(child) and child.find(".//a[@href]") is not None:
            _linked_code(walk, child, pieces)
        else:
            _code_piece(walk, _code_text(child), pieces)
        _code_piece(walk, child.tail or "", pieces)


# MERGED mkdocs_roaming.publish.fences:
# The languages of code, looked up in the source of a page that lost them when it was rendered.


LanguageLookup = Callable[[str, str | None], str | None]


"""Gives the language of code by its content and its title, None where it isn't known."""


def source_language_lookup(source: str | None, article: Element) -> LanguageLookup:
    """Give what knows the languages that a source names; it reads the source when it is first asked."""
    found: dict[str, str] | None = None

    def language(content: str, title: str | None) -> str | None:
        nonlocal found
        if source is None:
            return None
        if found is None:
            found = _languages(source, article)
        return found.get(_key(content)) or (found.get(f"title={title}") if title else None)

    return language


@dataclass(frozen=True, slots=True)
class _Fence:
    """A fence of the source: its language, its code, and whether the code is only put in on rendering."""

    language: str
    title: str | None
    key: str
    filled: bool


_LINE = re.compile(r"^[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)?(`{3,}|~{3,})[ \t]*(.*)$")


_INFO = re.compile(r"\{?\s*\.?(?:code(?:-block)?\}\s*)?([\w+#-]+)")


_TITLE = re.compile(r"""\b(?:title|filename|linktitle)=(["'])(.*?)\1""")


_FILLED = re.compile(r"-{1,}8<-{1,}|\{[%{]|^;-{2,}|<<<|\{!", re.MULTILINE)


def _languages(source: str, article: Element) -> dict[str, str]:
    """Give languages by the key of the code, and by the title for code that is put in on rendering."""
    fences = list(_fences(source))
    found: dict[str, str] = {}
    for fence in fences:
        if fence.title and fence.filled and fence.language:
            found.setdefault(f"title={fence.title}", fence.language)
    _pair(fences, [_key(extract_code(pre)) for pre in article.iter("pre") if not _generated(pre)], found)
    found.update({fence.key: fence.language for fence in fences if fence.language})
    return found


def _generated(pre: Element) -> bool:
    """Tell whether code comes from an API's docstrings, not from the page's source."""
    return any("doc-object" in (around.get("class") or "") for around in pre.iterancestors("div"))


def _pair(fences: Sequence[_Fence], keys: Sequence[str], found: dict[str, str]) -> None:
    """Pair code that is put in on rendering with what stands at its place on the page.

    Code that is alike in both tells where the page and its source run side by side; what is left between two such
    places is paired only if there is as much of it on both sides.
    """
    places: dict[str, list[int]] = {}
    for at, key in enumerate(keys):
        places.setdefault(key, []).append(at)
    waiting: list[_Fence] = []
    last = -1
    for fence in [*fences, None]:
        if fence is not None and fence.filled:
            waiting.append(fence)
            continue
        at = len(keys)
        if fence is not None and not (following := [at for at in places.get(fence.key, ()) if at > last]):
            if fence.key:  # an empty one is rendered as something else
                waiting.clear()
            continue
        if fence is not None:
            at = following[0]
        if waiting and at - last - 1 == len(waiting):
            found.update({key: filled.language for key, filled in zip(keys[last + 1 : at], waiting, strict=True)})
        waiting.clear()
        last = at


def _fences(source: str) -> Iterable[_Fence]:
    """Give the fences of a Markdown source, however deep they are indented."""
    marker = info = ""
    code: list[str] = []
    for line in source.splitlines():
        match = _LINE.match(line)
        if not marker:
            if match and "`" not in match[2]:
                marker, info, code = match[1], match[2], []
        elif match and match[1].startswith(marker) and not match[2].strip():
            text = "\n".join(code)
            title = _TITLE.search(info)
            yield _Fence(_name(info), title[2] if title else None, _key(text), _FILLED.search(text) is not None)
            marker = ""
            # A fence within a longer one is code of a page that shows how to write it, and may be rendered too.
            if len(match[1]) > 3:
                yield from _fences(text)
        else:
            code.append(line)


def _name(info: str) -> str:
    match = _INFO.match(info)
    name = match[1] if match and "=" not in info.split(" ")[0] else ""
    return "" if name.lower() in NO_LANGUAGE else name


def _key(code: str) -> str:
    return "".join(code.replace(">", "").split())
