"""Text as Markdown that says the same: escapes where they are needed, and only there."""

from __future__ import annotations

import re

LINE_STARTERS = frozenset("#-+>=:|[0123456789")


"""What a line begins with that means something at its beginning only."""


_SPECIAL = re.compile("[\\\\`*_\\[\\]<&~$\u200b\u00ad\ufeff\u2060]")


find_special = _SPECIAL.search


"""Finds whether `escape` would have to look at a text closely; most need no escapes."""


def escape_text(text: str, *, brackets: bool = False) -> str:
    """Escape text that stands within a line; `brackets` where it is a link's text."""
    if not find_special(text):
        return text
    text = _INVISIBLE.sub("", text)
    text = (_RISKY_IN_LINK if brackets else _RISKY).sub(_backslashes, text)
    if "$" in text and _DOLLARS.search(text):
        text = text.replace("$", "\\$")
    return text


def normalize_whitespace(text: str) -> str:
    """Give text with one space for each run of white space, without what is invisible: neither is printable."""
    if text.isprintable() and "  " not in text:
        return text
    words = " ".join(_INVISIBLE.sub("", text).split())
    if not words:
        return " "
    return f"{' ' if text[0].isspace() else ''}{words}{' ' if text[-1].isspace() else ''}"


def escape_line_starts(text: str) -> str:
    """Escape what would mean something at the beginning of a line only, in each line of a paragraph."""
    if "\n" in text:
        return "\n".join(_guard_line(line, first=at == 0) for at, line in enumerate(text.split("\n")))
    return _guard_line(text, first=True)


def format_heading(level: int, text: str) -> str:
    """Give a heading's line; a closing run of `#` in its text is kept as text."""
    return f"{'#' * level} {_CLOSING.sub(_backslash_last, text) if text.endswith('#') else text}"


def format_code_span(code: str) -> str:
    """Give inline code, between as many backticks as it takes."""
    if "\n" in code or "\r" in code:
        code = _NEWLINES.sub(" ", code)
    if not code:
        return ""
    ticks = "`"
    if "`" in code:
        runs = {len(run) for run in _TICKS.findall(code)}
        ticks = "`" * next(size for size in range(1, len(runs) + 2) if size not in runs)
    padded = code[0] == "`" or code[-1] == "`" or (code[0] == " " == code[-1] and code.strip(" "))
    return f"{ticks} {code} {ticks}" if padded else f"{ticks}{code}{ticks}"


def parse_code_span(piece: str) -> str | None:
    """Give the code of a piece that is inline code, None for other text: that has its backticks escaped."""
    if not (piece.startswith("`") and piece.endswith("`")):
        return None
    code = piece.strip("`")
    return code[1:-1] if code[0] == " " == code[-1] and code.strip(" ") else code


def format_destination(url: str) -> str:
    """Give a URL as a link's destination, in angle brackets where it has spaces, parentheses or the like."""
    if _ODD.search(url) is None:
        return url
    url = _CONTROL.sub("", url.strip())
    if "&" in url:
        url = _ENTITY.sub("&amp;", url)
    if _AWKWARD.search(url):
        return "<" + url.replace("\\", "%5C").replace("<", "%3C").replace(">", "%3E") + ">"
    return url


def format_autolink(url: str, text: str) -> str | None:
    """Give `<url>` where a link's text is its address, else None."""
    if url == text and _ABSOLUTE.fullmatch(url):
        return f"<{url}>"
    if url == f"mailto:{text}" and _EMAIL.fullmatch(text):
        return f"<{text}>"
    return None


def format_title(text: str) -> str:
    """Give a title as it stands after a destination."""
    return '"' + " ".join(text.split()).replace("\\", "\\\\").replace('"', '\\"') + '"'


_INVISIBLE = re.compile("[\u200b\u00ad\ufeff\u2060]")


_ALWAYS = r"""
    \\(?=[!-/:-@\[-`{-~]|$)      # a backslash that would escape what follows, or break the line
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


_DEFINITION = re.compile(r"\[(?:[^\[\]\\]|\\.)+\]:")


_CLOSING = re.compile(r"(?:^|(?<=\s))#+$")


_NEWLINES = re.compile(r"[ \t]*[\r\n]\s*")


_TICKS = re.compile("`+")


_ODD = re.compile(r"[\s()<>\\&\x00-\x1f\x7f]")


_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


_ENTITY = re.compile(r"&(?=#?\w+;)")


_AWKWARD = re.compile(r"[\s()<>\\]")


_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>\x00-\x20]+")


_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.ASCII)


def _backslashes(found: re.Match[str]) -> str:
    run = found[0]
    return "\\" + run if len(run) == 1 else "\\" + "\\".join(run)


def _backslash_last(found: re.Match[str]) -> str:
    return "\\" + found[0]


def _guard_line(line: str, *, first: bool) -> str:
    line = line.lstrip(" ") if not first else line
    if not line or line[0] not in LINE_STARTERS:
        return line
    if _LINE_START.match(line):
        return "\\" + line
    if number := _NUMBER.match(line):
        return f"{number[0]}\\{line[number.end() :]}"
    if line[0] == "[" and not line.startswith("[^") and _DEFINITION.match(line):
        return "\\" + line
    return line


# MERGED mkdocs_roaming.publish.switches:
# Comments in a page's source that switch rules of the linter off there: kept, where all other comments go.


def add_lint_switches(pointer: str, page: str) -> str:
    """Give a page's pointer line with the switches in the page behind it: before the title they are in no section."""
    found = dict.fromkeys(" ".join(comment.split()) for comment in _SWITCH.findall(page))
    return f"{pointer.removesuffix(chr(10))} {' '.join(found)}\n" if found else pointer


def is_lint_switch(comment: str | None) -> bool:
    """Tell whether the text of a comment is a switch."""
    return comment is not None and _SWITCH.fullmatch(f"<!--{comment}-->") is not None


_SWITCH = re.compile(r"<!--\s*roaming-lint:\s*off\b[a-z ,-]*-->")
