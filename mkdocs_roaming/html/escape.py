"""Escaping and formatting of Markdown: text, code spans, links, headings and indented blocks.

The escapes are minimal: text that Markdown cannot misread stays as it is.
"""

from __future__ import annotations

import re

LINE_STARTERS = frozenset("#-+>=:|[0123456789")
"""Characters that have a meaning only at the beginning of a line."""

_INVISIBLE = "\u200b\u00ad\ufeff\u2060"
_WITHOUT_INVISIBLE = dict.fromkeys(map(ord, _INVISIBLE))
_WITHOUT_CONTROLS = dict.fromkeys([*range(ord(" ")), 0x7F])
_IN_ANGLE_BRACKETS = str.maketrans({"\\": "%5C", "<": "%3C", ">": "%3E"})
_SPECIAL = re.compile("[\\\\`*_\\[\\]<&~$" + _INVISIBLE + "]")
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
"""What Markdown would read as markup in text."""
_RISKY_IN_LINK = re.compile(_ALWAYS + r"| [\[\]]", re.VERBOSE)
_DOLLARS = re.compile(r"\$(?=\S)[^$]*?(?<=\S)\$(?!\d)")
"""What would be a formula: `$x$`, but not `$5 or $10`."""
_LINE_START = re.compile(r"\#{1,6}(?=\s|$) | [-+](?=\s|$) | > | [-:|=](?=[-:|=\ ]*$)", re.VERBOSE)
"""A heading, a list, a quote, or the line below a heading or the head of a table."""
_MAX_DIGITS = 9
"""Digits of the number of a list item, by CommonMark."""
_LINK_DEFINITION = re.compile(r"\[(?:[^\[\]\\]|\\.)+\]:")
"""`[label]:`."""
_ABSOLUTE_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>\x00-\x20]+")
"""What CommonMark reads as an address between `<` and `>`: `https://docs.example/`."""
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.ASCII)
"""`name@mail.example`."""
_LINE_BREAK = re.compile(r"[ \t]*[\r\n]\s*")
"""A line break in code, with the white space around it."""
_TICKS = re.compile("`+")
_ENTITY = re.compile(r"&(?=#?\w+;)")
"""The beginning of `&amp;` or `&#38;`."""
_BREAKS_DESTINATION = re.compile(r"[\s()<>\\]")
"""What a destination contains only between `<` and `>`."""

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
    text = text.translate(_WITHOUT_INVISIBLE)
    risky = _RISKY_IN_LINK if brackets else _RISKY
    text = risky.sub(lambda match: "\\" + "\\".join(match[0]), text)
    if "$" in text and _DOLLARS.search(text):
        text = text.replace("$", "\\$")
    return text


def normalize_whitespace(text: str) -> str:
    """Replace each run of white space with one space, and remove invisible characters."""
    if text.isprintable() and "  " not in text:
        return text
    words = " ".join(text.translate(_WITHOUT_INVISIBLE).split())
    if not words:
        return " "
    if text[0].isspace():
        words = " " + words
    if text[-1].isspace():
        words += " "
    return words


def escape_line_starts(text: str) -> str:
    """Escape what Markdown would read as a heading, a list or the like at the beginning of a paragraph's lines."""
    lines = []
    for indented in text.split("\n"):
        line = indented.lstrip(" ")
        if line and line[0] in LINE_STARTERS:
            rest = line.lstrip("0123456789")
            digits = len(line) - len(rest)
            is_number = 0 < digits <= _MAX_DIGITS and rest.startswith((".", ")")) and not rest[1:2].strip()
            is_definition = line[0] == "[" and line[1:2] != "^" and _LINK_DEFINITION.match(line)
            if is_number:
                line = f"{line[:digits]}\\{rest}"
            elif is_definition or _LINE_START.match(line):
                line = "\\" + line
        lines.append(line)
    return "\n".join(lines)


def format_heading(level: int, text: str) -> str:
    """Format a heading. A closing run of `#` in its text is escaped."""
    words = text.rstrip("#")
    if words != text and not words[-1:].strip():
        text = f"{words}\\{text[len(words) :]}"
    return f"{'#' * level} {text}"


def format_code_span(code: str) -> str:
    """Format inline code, between as many backticks as it needs."""
    if "\n" in code or "\r" in code:
        code = _LINE_BREAK.sub(" ", code)
    if not code:
        return ""
    ticks = "`"
    if "`" in code:
        runs = set(_TICKS.findall(code))
        while ticks in runs:
            ticks += "`"
    has_tick = code.startswith("`") or code.endswith("`")
    has_spaces = code[0] == code[-1] == " " and code.strip(" ") != ""  # Markdown would strip them
    if has_tick or has_spaces:
        code = f" {code} "
    return f"{ticks}{code}{ticks}"


def format_destination(url: str) -> str:
    """Format a URL as the destination of a link, in angle brackets if it has spaces, parentheses or the like."""
    url = url.strip().translate(_WITHOUT_CONTROLS)
    if "&" in url:
        url = _ENTITY.sub("&amp;", url)
    if _BREAKS_DESTINATION.search(url):
        return f"<{url.translate(_IN_ANGLE_BRACKETS)}>"
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
    escaped = " ".join(text.split()).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def quote_lines(text: str) -> str:
    """Prefix each line with `>`."""
    return "\n".join(f"> {line}" if line else ">" for line in text.split("\n"))


def indent_lines(text: str, width: int) -> str:
    """Indent all lines but the first and empty ones, as the content of a list item."""
    if "\n" not in text:
        return text
    indent = " " * width
    first, *lines = text.split("\n")
    return "\n".join([first, *(indent + line if line else "" for line in lines)])
