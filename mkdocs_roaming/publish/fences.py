"""The languages of code, looked up in the source of a page that lost them when it was rendered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from mkdocs_roaming.publish.code import content_of
from mkdocs_roaming.publish.idioms import NO_LANGUAGE
from mkdocs_roaming.publish.walk import Element

Languages = Callable[[str, str | None], str | None]
"""Gives the language of code by its content and its title, None where it isn't known."""


def source_languages(source: str | None, article: Element) -> Languages:
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
    _pair(fences, [_key(content_of(pre)) for pre in article.iter("pre") if not _generated(pre)], found)
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
