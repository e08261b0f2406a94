"""Characters that models read and readers cannot see: they split words, change their order, or carry text."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator

_MAX_QUOTE = 60


def find_invisible(line: str, *, is_first_line: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the kinds of hidden characters in a line with their descriptions.

    Emoji, flags, soft hyphens, and joiners and direction marks of the scripts that need them are ordinary text.

    Args:
        line: The line.
        is_first_line: Whether it is the first line of its file, which may start with a byte order mark.
    """
    if "\x1b" in line and _CONCEALED.search(line):
        yield "conceal", "an escape sequence that conceals text on a terminal"
    if line.isascii():
        return
    if tags := _TAGS.findall(_FLAG.sub("", line)):
        yield "tags", f"{len(tags)} tag characters{_quote_tags(tags)}"
    controls = _OVERRIDES if _RIGHT_TO_LEFT.search(line) else _RIGHT_TO_LEFT_CONTROLS
    if controls.search(line) and (found := _DIRECTION_CONTROLS.findall(line)):
        yield "direction", f"{_name_characters(found)}, which change the visible order"
    found = [*_ZERO_WIDTH.findall(line[1:] if is_first_line else line), *_JOINERS.findall(line)]
    found += [character for run in _RUNS.findall(line) for character in run]
    if found:
        yield "width", f"{_name_characters(found)}, without a width"
    if found := _VARIATIONS.findall(line):
        yield "variants", f"{sum(map(len, found))} variation selectors, which can carry text"


def strip_invisible(line: str) -> str:
    """Return a line without the characters that have no width, as a reader sees it."""
    return line if line.isascii() else _WITHOUT_WIDTH.sub("", line)


def _quote_tags(tags: list[str]) -> str:
    text = "".join(chr(ord(tag) - 0xE0000) for tag in tags if 0xE0020 <= ord(tag) < 0xE007F)
    return f" with the text “{' '.join(text.split())[:_MAX_QUOTE]}”" if text else ""


def _name_characters(characters: list[str]) -> str:
    return ", ".join(
        f"{count} × U+{ord(char):04X} {unicodedata.name(char, '').lower()}".rstrip()
        for char, count in Counter(characters).items()
    )


_CONCEALED = re.compile(r"\x1b\[(?:\d+;)*8m")
_FLAG = re.compile("\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]+\U000e007f")
_TAGS = re.compile("[\U000e0000-\U000e007f]")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_OVERRIDES = re.compile("[\u202d\u202e]")
_RIGHT_TO_LEFT_CONTROLS = re.compile("[\u202b\u202e\u2067]")  # left-to-right ones have no effect on left-to-right text
_DIRECTION_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_ZERO_WIDTH = re.compile(
    "(?<=[0-9A-Za-z])[\u200b\u2060](?=[0-9A-Za-z])|[\u2061-\u2064\ufeff\u180e\u3164\u115f\u1160\uffa0]"
)
_JOINERS = re.compile("(?<=[0-9A-Za-z])[\u200c\u200d](?=[0-9A-Za-z])")
_RUNS = re.compile("[\u200b-\u200d\u2060\u2800]{4,}")
_VARIATIONS = re.compile("[\U000e0100-\U000e01ef]{2,}|[\ufe00-\ufe0f]{2,}")
_WITHOUT_WIDTH = re.compile(
    "[\u00ad\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)
