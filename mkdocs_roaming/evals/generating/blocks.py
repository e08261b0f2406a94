"""What a section's Markdown consists of, as far as questions are made of it: paragraphs, tables, commands."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mkdocs_roaming.text.markdown import strip_markup


def below_heading(text: str) -> str:
    """Give a section's text without its heading."""
    match = re.match(r"(?:>[^\n]*\n|\s)*#{1,6} [^\n]*(?:\n|$)", text)
    return text[match.end() :] if match else text


def prose(body: str) -> list[str]:
    """Give the paragraphs of a text that are sentences."""
    bare = re.sub(r"^(```|~~~).*?^\1[`~]*$", "", body, flags=re.MULTILINE | re.DOTALL)
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n\s*\n", bare))
    return [one for one in paragraphs if one and one[0] not in "|>#-<!" and not re.match(r"\d+\. ", one)]


def tables(body: str) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Give each table's header and rows."""
    for block in _TABLE.findall(body):
        header, _, *rows = (_cells(line) for line in block.strip().split("\n"))
        yield [strip_markup(name) for name in header], rows


def commands(body: str) -> list[tuple[str, str]]:
    """Give each block that is typed into a terminal, with the line that leads to it."""
    return _COMMAND.findall(body)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


_COMMAND = re.compile(
    r"^([^\n`#|>][^\n]*[:：])[ ]*\n\s*\n?^ {0,4}(?:```|~~~) ?"
    r"(?:console|bash|sh|shell|shell-session|zsh|powershell|terminal)\b[^\n]*\n(.*?)^ {0,4}(?:```|~~~)",
    re.MULTILINE | re.DOTALL,
)
_TABLE = re.compile(r"^\|[^\n]+\|[ ]*\n\|[ :|-]+\|[ ]*\n(?:\|[^\n]*\|[ ]*(?:\n|\Z))+", re.MULTILINE)
