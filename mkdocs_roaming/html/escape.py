"""Escaping and formatting of Markdown: text, code spans, links, headings and indented blocks.

The escapes are minimal: text that Markdown cannot misread stays as it is.
"""

from __future__ import annotations

import re

LINE_STARTERS = frozenset("#-+>=:|[0123456789")
"""Characters that have a meaning only at the beginning of a line."""

_INVISIBLE = re.compile("[\u200b\u00ad\ufeff\u2060]")
_SPECIAL = re.compile("[\\\\`*_\\[\\]<&~$\u200b\u00ad\ufeff\u2060]")
_ALWAYS = r"""
    \\(?=[!-/:-@\[-`{-~]|$)      # a backslash that would escape the next character, or break the line
  | `
  | (?<!\s)\* | \*(?!\s)         # a star between spaces is only a star
  | (?<!\w)_++ | _++(?!\w)       # so is an underscore within a word
  | <(?=[A-Za-z/!?]|$)
  | &(?=\#?\w+;)
  | ~(?=~) | (?<=~)~
"""
_RISKY = re.compile(_ALWAYS + r"| \[(?=\^) | ^\[(?=[ xX]\]) | \](?=\()", re.VERBOSE)
_RISKY_IN_LINK = re.compile(_ALWAYS + r"| [\[\]]", re.VERBOSE)
_DOLLARS = re.compile(r"\$(?=\S)[^$]*?(?<=\S)\$(?!\d)")
_LINE_START = re.compile(r"\#{1,6}(?=\s|$) | [-+](?=\s|$) | > | [-:|=](?=[-:|=\ ]*$)", re.VERBOSE)
_NUMBER = re.compile(r"\d{1,9}(?=[.)](?:\s|$))")
_LINK_DEFINITION = re.compile(r"\[(?:[^\[\]\\]|\\.)+\]:")
_ABSOLUTE_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>\x00-\x20]+")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.ASCII)
_NOT_EMPTY = re.compile(r"\n(?=[^\n])")

find_special = _SPECIAL.search
"""Find a character that `escape_text` may have to escape; most texts have none."""


def escape_text(text: str, *, brackets: bool = False) -> str:
    """Escape text within a line.

    Args:
        text: The text, with white space normalized.
        brackets: Escape all square brackets, as the text of a link needs.
    """
    if not find_special(text):
        return text
    text = _INVISIBLE.sub("", text)
    text = (_RISKY_IN_LINK if brackets else _RISKY).sub(lambda match: "\\" + "\\".join(match[0]), text)
    if "$" in text and _DOLLARS.search(text):
        text = text.replace("$", "\\$")
    return text


def normalize_whitespace(text: str) -> str:
    """Replace each run of white space with one space, and remove invisible characters."""
    if text.isprintable() and "  " not in text:
        return text
    words = " ".join(_INVISIBLE.sub("", text).split())
    if not words:
        return " "
    return f"{' ' if text[0].isspace() else ''}{words}{' ' if text[-1].isspace() else ''}"


def escape_line_starts(text: str) -> str:
    """Escape what Markdown would read as a heading, a list or the like at the beginning of a paragraph's lines."""
    first, *others = text.split("\n")
    return "\n".join([_escape_line_start(first), *(_escape_line_start(line.lstrip(" ")) for line in others)])


def format_heading(level: int, text: str) -> str:
    """Format a heading. A closing run of `#` in its text is escaped."""
    if text.endswith("#"):
        text = re.sub(r"(?:^|(?<=\s))#+$", r"\\\g<0>", text)
    return f"{'#' * level} {text}"


def format_code_span(code: str) -> str:
    """Format inline code, between as many backticks as it needs."""
    if "\n" in code or "\r" in code:
        code = re.sub(r"[ \t]*[\r\n]\s*", " ", code)
    if not code:
        return ""
    ticks = "`"
    if "`" in code:
        runs = {len(run) for run in re.findall("`+", code)}
        ticks = "`" * next(size for size in range(1, len(runs) + 2) if size not in runs)
    padded = code[0] == "`" or code[-1] == "`" or (code[0] == " " == code[-1] and code.strip(" "))
    return f"{ticks} {code} {ticks}" if padded else f"{ticks}{code}{ticks}"


def format_destination(url: str) -> str:
    """Format a URL as the destination of a link, in angle brackets if it has spaces, parentheses or the like."""
    url = re.sub(r"[\x00-\x1f\x7f]", "", url.strip())
    url = re.sub(r"&(?=#?\w+;)", "&amp;", url)
    if re.search(r"[\s()<>\\]", url):
        return "<" + url.replace("\\", "%5C").replace("<", "%3C").replace(">", "%3E") + ">"
    return url


def format_autolink(url: str, text: str) -> str | None:
    """Return `<url>` if the text of a link is its address, else None."""
    if url == text and _ABSOLUTE_URL.fullmatch(url):
        return f"<{url}>"
    if url == f"mailto:{text}" and _EMAIL.fullmatch(text):
        return f"<{text}>"
    return None


def format_link(url: str, text: str) -> str:
    """Format a link whose text has no markup."""
    return format_autolink(url, text) or f"[{escape_text(text, brackets=True)}]({format_destination(url)})"


def format_title(text: str) -> str:
    """Format the title of a link or an image, as it follows the destination."""
    return '"' + " ".join(text.split()).replace("\\", "\\\\").replace('"', '\\"') + '"'


def quote_lines(text: str) -> str:
    """Prefix each line with `>`."""
    return "\n".join(f"> {line}" if line else ">" for line in text.split("\n"))


def indent_lines(text: str, width: int) -> str:
    """Indent all lines but the first and empty ones, as the content of a list item."""
    return _NOT_EMPTY.sub("\n" + " " * width, text) if "\n" in text else text


def _escape_line_start(line: str) -> str:
    if not line or line[0] not in LINE_STARTERS:
        return line
    if _LINE_START.match(line):
        return "\\" + line
    if number := _NUMBER.match(line):
        return f"{number[0]}\\{line[number.end() :]}"
    if line[0] == "[" and not line.startswith("[^") and _LINK_DEFINITION.match(line):
        return "\\" + line
    return line
