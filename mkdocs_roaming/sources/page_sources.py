"""Markdown sources of pages: their front matter, the snippets that they include, and their code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.sources.project import parse_yaml
from mkdocs_roaming.text.markdown import to_single_line

_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_FENCE = re.compile(r"([ \t>]*)(`{3,}|~{3,})[ \t]*(?:\{[ \t]*)?\.?((?:(?![\w-]+[ \t]*=)[\w#.+-]+)?)(?=[^`]*$)")
_SNIPPET = re.compile(r"""^[ \t>]*-+8<-+[ \t]+(["'])([^"'\n:]+)\1[ \t]*$""", re.MULTILINE)
_MAX_SNIPPET = 1_000_000


def read_source(
    file: Path, name: str, snippets: Sequence[Path], warn: Callable[[str], None]
) -> tuple[Mapping[str, Any], str]:
    """Return the front matter and the text of a Markdown source.

    Args:
        file: The source.
        name: Its name in messages.
        snippets: The folders of pymdownx.snippets, which are included once.
        warn: Receives a line if the front matter is invalid.
    """
    try:
        text = file.read_text("utf-8-sig", "replace")
    except OSError:
        return {}, ""
    meta: object = {}
    if found := _FRONT_MATTER.match(text):
        text = text[found.end() :]
        try:
            meta = parse_yaml(found[1], name)
        except UsageError as error:
            warn(f"{error}; its front matter is ignored")
    return meta if isinstance(meta, dict) else {}, expand_snippets(text, snippets)


def expand_snippets(text: str, folders: Sequence[Path]) -> str:
    """Return a text with the files that it includes with pymdownx.snippets, if they are in one of the folders."""
    return _SNIPPET.sub(lambda found: _read_snippet(found[2], folders) or found[0], text)


def _read_snippet(path: str, folders: Sequence[Path]) -> str:
    for folder in folders:
        file = (folder / path).resolve()
        if file.is_relative_to(folder.resolve()) and file.is_file() and file.stat().st_size < _MAX_SNIPPET:
            return file.read_text("utf-8", "replace")
    return ""


def find_heading(text: str) -> str:
    """Return the first heading before any code, without markup; `""` if there is none."""
    heading = re.search(r"^# +(.+?)(?:[ \t]*#+)?(?:[ \t]*\{[^}\n]*\})?[ \t]*$", text.partition("```")[0], re.MULTILINE)
    return to_single_line(re.sub(r"[*_`]", "", heading[1])) if heading else ""


def iter_fences(text: str) -> Iterator[tuple[str, str]]:
    """Yield the code of each fence with its language, `""` without one."""
    fence, language, quotes, lines = "", "", 0, list[str]()
    for line in text.splitlines():
        if fence:
            if (end := line.strip(" \t>")) and set(end) == {fence[0]} and len(end) >= len(fence):
                yield "\n".join(lines), language
                fence = ""
            else:
                lines.append(re.sub(rf"^(?:[ \t]*>){{0,{quotes}}}", "", line))
        elif found := _FENCE.match(line):
            fence, lines, quotes = found[2], [], found[1].count(">")
            # ```py title="x"   ```{ .py title="x" }   ```{ .yaml .annotate }
            language = found[3]
