"""Text that is not what it seems: unclosed fences, characters that nobody sees, orders to models."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from functools import cache

from mkdocs_roaming.lint.context import Docs, PageText
from mkdocs_roaming.lint.models import Found, Rule
from mkdocs_roaming.lint.wording import TEACHING, find_orders


def unclosed_fence(docs: Docs) -> Iterator[Found]:
    """Find fences that nothing ends, and fences that were no fences to the site's Markdown reader."""
    for text in docs.texts:
        if text.open_fence is not None:
            yield Found(
                "This fence is never closed: all that follows is code, its headings too.",
                "Close the fence with a line of as many marks.",
                text.page,
                text.section_at(text.open_fence),
                text.open_fence,
                text.lines[text.open_fence].strip(),
            )
        for number, line in enumerate(text.prose):
            if "`" in line and (found := _LEFT_FENCE.match(line)):
                yield Found(
                    "This fence is printed as text: it is never closed, or stands where no fence can.",
                    "Close the fence, set it off by a blank line, indent it as the text around it, or begin its code "
                    "on the next line.",
                    text.page,
                    text.section_at(number),
                    number,
                    found[0].replace("\\", "").strip(" \t>")[:60],
                )


def hidden_text(docs: Docs) -> Iterator[Found]:
    """Find characters that nobody sees and a model reads; once for each section and kind."""
    for text in docs.texts:
        for _, shown in _hidden(text.page.description, first=False):
            yield Found(f"Hidden in the page's description: {shown}.", _DELETE, text.page)
        if text.markdown.isascii():
            continue
        seen: set[tuple[int, str]] = set()
        for number, line in enumerate(text.lines):
            if line.isascii():
                continue
            for kind, shown in _hidden(line, first=number == 0):
                at = text.section_at(number)
                if (at, kind) not in seen:
                    seen.add((at, kind))
                    yield Found(
                        f"Hidden here: {shown}.",
                        _DELETE,
                        text.page,
                        at,
                        number,
                        _longest_seen(line),
                    )


def orders_to_models(docs: Docs) -> Iterator[Found]:
    """Find text that gives orders to models; not in code, nor quoted, nor shown where a section teaches about it."""
    for text in docs.texts:
        for found in find_orders(text.page.description):
            if not _is_described(text.page.description, found):
                yield Found(f"The page's description says “{found[0]}” to a model that reads.", _TAKE_OUT, text.page)
        prose = _EMPHASIS.sub("", "\n".join(text.prose))  # it changes nothing about an order
        breaks = [found.start() for found in re.finditer("\n", prose)]
        shown = _Shown(text, prose)
        told: set[tuple[int, str]] = set()
        for found in find_orders(prose):
            number = bisect_left(breaks, found.start())
            at, said = text.section_at(number), " ".join(found[0].split())
            if (at, said) in told or _is_described(prose, found) or shown.has(found, at, number):
                continue
            told.add((at, said))  # a section that repeats an order has one fault
            yield Found(
                f"“{said}” is said to a model that reads, not to a person.", _TAKE_OUT, text.page, at, number, said
            )


_DELETE = "Delete the characters; an editor that shows invisible ones finds them."
_TAKE_OUT = "Take it out. If it is an example, set it in code or quotation marks."

# Fences


_LEFT_FENCE = re.compile(r"[ \t>]*(?:\\?`){3,}[ \t]*\{?\.?[\w+#-]*(?=[\s}]|$)")

# Hidden characters


def _hidden(line: str, *, first: bool) -> Iterator[tuple[str, str]]:
    """Give what nobody sees in a line: its kind, and in words."""
    bare = _FLAG.sub("", line)
    if tags := _TAGS.findall(bare):
        said = "".join(chr(ord(one) - 0xE0000) for one in tags if 0xE0020 <= ord(one) < 0xE007F)
        yield "tags", f"{len(tags)} tag characters" + (f" that say “{' '.join(said.split())[:60]}”" if said else "")
    turning = _OVERRIDES if _RIGHT_TO_LEFT.search(line) else _TURNING
    if turning.search(line) and (found := _BIDI.findall(line)):
        yield "direction", f"{_named(found)}: what is read stands in another order than what is seen"
    found = [*_NOWHERE.findall(line[1:] if first else line), *_JOINERS.findall(line)]
    if found:
        yield "width", f"{_named(found)}, which nobody sees"
    if found := _VARIANTS.findall(line):
        yield "variants", f"{sum(map(len, found))} variation selectors, which can carry text"


def _longest_seen(line: str) -> str:
    """Give the longest part of a line without hidden characters."""
    parts = "".join(one if one.isprintable() else "\0" for one in line).split("\0")
    return max((part.strip() for part in parts), key=len)[:60]


def _named(found: list[str]) -> str:
    counted = Counter(found)
    return ", ".join(
        f"{times} × U+{ord(one):04X} {unicodedata.name(one, '').lower()}".rstrip() for one, times in counted.items()
    )


_FLAG = re.compile("\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]+\U000e007f")
_TAGS = re.compile("[\U000e0000-\U000e007f]")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_OVERRIDES = re.compile("[\u202d\u202e]")
_TURNING = re.compile("[\u202b\u202e\u2067]")  # the others do nothing where all runs from left to right anyway
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
_NOWHERE = re.compile(
    "(?<=[0-9A-Za-z])[\u200b\u2060](?=[0-9A-Za-z])|[\u2061-\u2064\ufeff\u180e\u3164\u115f\u1160\uffa0]"
)
_JOINERS = re.compile("(?<=[0-9A-Za-z])[\u200c\u200d](?=[0-9A-Za-z])")
_VARIANTS = re.compile("[\U000e0100-\U000e01ef]{2,}|[\ufe00-\ufe0f]{2,}")

# Orders


def _is_described(prose: str, found: re.Match[str]) -> bool:
    """Tell whether it is told of a model that it does so: “make the model ignore previous instructions”."""
    return _TOLD_OF.search(prose, max(0, found.start() - 60), found.start()) is not None


class _Shown:
    """Tells of the orders of a page which are shown and not given: quoted, or in a sentence that teaches about such."""

    def __init__(self, text: PageText, prose: str) -> None:
        self._text = text
        self._prose = prose
        self._quoted = cache(self._quoted_in)
        self._teaches = cache(self._teaches_in)

    def has(self, found: re.Match[str], at: int, number: int) -> bool:
        begin = self._prose.rfind("\n\n", 0, found.start()) + 1
        starts, ends = self._quoted(begin)
        quote = bisect_left(starts, found.start()) - 1
        if quote >= 0 and found.end() <= ends[quote]:
            return True
        listed = self._text.lines[number].lstrip().startswith((">", "-", "*", "|"))
        if not listed and _BEGINNING.search(self._prose, max(0, found.start() - 20), found.start()):
            return False
        return self._teaches(at)

    def _quoted_in(self, begin: int) -> tuple[list[int], list[int]]:
        """Give where the quotes of the paragraph at a place begin and end."""
        end = self._prose.find("\n\n", begin + 1)
        paragraph = _UNSEEN.sub(r"\1 \3 ", self._prose[begin : end if end > 0 else len(self._prose)])
        spans = [(quoted.start() + begin, quoted.end() + begin) for quoted in _QUOTED.finditer(paragraph)]
        return [start for start, _ in spans], [end for _, end in spans]

    def _teaches_in(self, at: int) -> bool:
        titles = [section.title for section in self._text.page.sections]
        own = [self._text.prose[line] for line in self._text.own_lines(at)]
        return TEACHING.search(" ".join([*titles, *own])) is not None


_EMPHASIS = re.compile(r"\*+|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)|</?(?:b|i|em|strong)>")
_BEGINNING = re.compile(r"(?:\A|(?<!e\.g)(?<!i\.e)[.!?]\s+|[。！？]|\n\s*\n|<!--)\s*\Z")
_TOLD_OF = re.compile(
    r"\b(?:mak(?:e|es|ing)|lets?|letting)\s+(?:(?!you\b|sure\b)\w+\s+){1,3}\Z"
    r"|(?<!\bare )\b(?:instruct|tell|ask|order|trick|caus|command|convinc|attempt|try|tri|us|fool|forc|get|design)\w*"
    r"\s+(?:(?!you\b)\w+\s+){0,4}to\s+\Z|(?:指示|要求|诱导|誘導|诱使|誘使)[^。，,\s]{1,8}\Z",
    re.IGNORECASE,
)
_UNSEEN = re.compile(r"(=|\]\(\S+\s)([\"'])([^\"'\n]*)\2")
"""An attribute's value or a link's title: nobody reads it, so its marks are none of quotation."""
_QUOTED = re.compile(
    r"\"[^\"]*\"|“[^”“]*”|„[^“”„]*[“”]|«[^»«]*»|»[^»«]*«|‹[^›]*›|‘[^’\n]*’|「[^」]*」|『[^』]*』"
    r"|(?<!\w)'[^'\n]*'(?!\w)|<(?:q|code|kbd|samp)\b[^<>]*>.*?</(?:q|code|kbd|samp)>",
    re.DOTALL,
)

RULES = (
    Rule(
        "unclosed-fence",
        "error",
        "A fence that nothing ends swallows the sections behind it, or prints code as text.",
        unclosed_fence,
    ),
    Rule(
        "hidden-text",
        "error",
        "What nobody sees is read by models all the same: it cuts words in two, turns their order, or says things.",
        hidden_text,
    ),
    Rule(
        "orders-to-models",
        "error",
        "Text that orders models about is taken for an attack, by models and by those who run them.",
        orders_to_models,
    ),
)
