"""Rules about text that models read differently from readers: fences, hidden characters, instructions to models."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from functools import cache

from mkdocs_roaming.lint.context import InstructionPattern, LintContext, PageText, Problem, load_lint_words, rule
from mkdocs_roaming.text.languages import available_languages

_MAX_QUOTE = 60


@rule(
    "unclosed-fence",
    "error",
    "A fence that is never closed turns the following sections into code, or prints code as text.",
)
def unclosed_fence(site: LintContext) -> Iterator[Problem]:
    """Find fences that are never closed, and fences that the site's Markdown parser did not recognize."""
    for text in site.pages:
        if text.open_fence is not None:
            yield Problem(
                "This fence is never closed: all following text is code, including its headings.",
                "Close the fence with a line of as many marks.",
                text.page,
                text.section_at(text.open_fence),
                text.open_fence,
                text.lines[text.open_fence].strip(),
            )
        for number, line in enumerate(text.prose):
            if "`" in line and (match := _FENCE_IN_TEXT.match(line)):
                yield Problem(
                    "This fence is published as text: it is never closed, or it is in a place where no fence can be.",
                    "Close the fence, add a blank line before it, indent it like the surrounding text, or start its "
                    "code on the next line.",
                    text.page,
                    text.section_at(number),
                    number,
                    match[0].replace("\\", "").strip(" \t>")[:_MAX_QUOTE],
                )


@rule(
    "hidden-text",
    "error",
    "Models read characters that readers cannot see: such characters split words, change their order, or carry text.",
)
def hidden_text(site: LintContext) -> Iterator[Problem]:
    """Find invisible characters; each kind is reported once per section."""
    fix = "Delete the characters; an editor that shows invisible characters finds them."
    for text in site.pages:
        for _, description in _find_hidden(text.page.description, is_first_line=False):
            yield Problem(f"The page's description has hidden characters: {description}.", fix, text.page)
        if text.markdown.isascii():
            continue
        reported: set[tuple[int, str]] = set()
        for number, line in enumerate(text.lines):
            if line.isascii():
                continue
            position = text.section_at(number)
            for kind, description in _find_hidden(line, is_first_line=number == 0):
                if (position, kind) not in reported:
                    reported.add((position, kind))
                    message = f"Hidden characters: {description}."
                    yield Problem(message, fix, text.page, position, number, _longest_visible_part(line))


@rule(
    "orders-to-models",
    "error",
    "Text with instructions to models is treated as an attack, by models and by their operators.",
)
def orders_to_models(site: LintContext) -> Iterator[Problem]:
    """Find instructions to models; not in code, in quotations, or in sections that explain prompt injection."""
    fix = "Delete it. If it is an example, format it as code or put it in quotation marks."
    for text in site.pages:
        for match in find_instructions(text.page.description):
            if not _is_reported_speech(text.page.description, match):
                yield Problem(f"The page's description says “{match[0]}”, an instruction to a model.", fix, text.page)
        prose = _EMPHASIS.sub("", "\n".join(text.prose))
        line_ends = [match.start() for match in re.finditer("\n", prose)]
        examples = _Examples(text, prose)
        reported: set[tuple[int, str]] = set()
        for match in find_instructions(prose):
            number = bisect_left(line_ends, match.start())
            position, quote = text.section_at(number), " ".join(match[0].split())
            if (position, quote) in reported or _is_reported_speech(prose, match):
                continue
            if examples.include(match, position, number):
                continue
            reported.add((position, quote))
            yield Problem(f"“{quote}” is an instruction to a model.", fix, text.page, position, number, quote)


# Hidden characters


def _find_hidden(line: str, *, is_first_line: bool) -> Iterator[tuple[str, str]]:
    """Yield the kinds of hidden characters in a line with their descriptions."""
    if tags := _TAGS.findall(_FLAG.sub("", line)):
        hidden = "".join(chr(ord(tag) - 0xE0000) for tag in tags if 0xE0020 <= ord(tag) < 0xE007F)
        quote = f" with the text “{' '.join(hidden.split())[:_MAX_QUOTE]}”" if hidden else ""
        yield "tags", f"{len(tags)} tag characters{quote}"
    controls = _OVERRIDES if _RIGHT_TO_LEFT.search(line) else _RIGHT_TO_LEFT_CONTROLS
    if controls.search(line) and (found := _DIRECTION_CONTROLS.findall(line)):
        yield "direction", f"{_name_characters(found)}, which change the visible order"
    # A byte order mark is allowed at the start of the page.
    found = [*_ZERO_WIDTH.findall(line[1:] if is_first_line else line), *_JOINERS.findall(line)]
    if found:
        yield "width", f"{_name_characters(found)}, without a width"
    if found := _VARIATIONS.findall(line):
        yield "variants", f"{sum(map(len, found))} variation selectors, which can carry text"


def _longest_visible_part(line: str) -> str:
    parts = "".join(char if char.isprintable() else "\0" for char in line).split("\0")
    return max((part.strip() for part in parts), key=len)[:_MAX_QUOTE]


def _name_characters(characters: list[str]) -> str:
    return ", ".join(
        f"{count} × U+{ord(char):04X} {unicodedata.name(char, '').lower()}".rstrip()
        for char, count in Counter(characters).items()
    )


# Instructions to models


def find_instructions(text: str) -> list[re.Match[str]]:
    """Return the instructions to a model in a text, in the order of the text."""
    lowered = text.lower()
    matches = [
        match
        for instruction in _instructions()
        if all(any(word in lowered for word in group) for group in instruction.requires)
        for match in re.finditer(instruction.pattern.replace("<model>", _MODEL), text, re.IGNORECASE)
    ]
    return sorted(matches, key=lambda match: match.start())


@cache
def _instructions() -> tuple[InstructionPattern, ...]:
    return tuple(one for code in available_languages() for one in load_lint_words(code).instructions)


@cache
def _injection_topics() -> re.Pattern[str]:
    topics = (topic for code in available_languages() for topic in load_lint_words(code).injection_topics)
    return re.compile("|".join(topics), re.IGNORECASE)


def _is_reported_speech(prose: str, match: re.Match[str]) -> bool:
    """Return whether a sentence says what a model does: “make the model ignore previous instructions”."""
    return _REPORTING_VERB.search(prose, max(0, match.start() - 60), match.start()) is not None


class _Examples:
    """The instructions on a page that are examples: quoted, or in a section that explains prompt injection."""

    def __init__(self, text: PageText, prose: str) -> None:
        self._text = text
        self._prose = prose
        self._find_quotes = cache(self._find_quotes_in_paragraph)
        self._explains_injection = cache(self._section_explains_injection)

    def include(self, match: re.Match[str], position: int, line: int) -> bool:
        """Return whether a match in a section and line is an example."""
        start = self._prose.rfind("\n\n", 0, match.start()) + 1
        starts, ends = self._find_quotes(start)
        quote = bisect_left(starts, match.start()) - 1
        if quote >= 0 and match.end() <= ends[quote]:
            return True
        is_listed = self._text.lines[line].lstrip().startswith((">", "-", "*", "|"))
        if not is_listed and _SENTENCE_START.search(self._prose, max(0, match.start() - 20), match.start()):
            return False
        return self._explains_injection(position)

    def _find_quotes_in_paragraph(self, start: int) -> tuple[list[int], list[int]]:
        """Return the starts and the ends of the quotations in the paragraph at an offset."""
        end = self._prose.find("\n\n", start + 1)
        paragraph = _ATTRIBUTE.sub(r"\1 \3 ", self._prose[start : end if end > 0 else len(self._prose)])
        spans = [(quote.start() + start, quote.end() + start) for quote in _QUOTED.finditer(paragraph)]
        return [first for first, _ in spans], [last for _, last in spans]

    def _section_explains_injection(self, position: int) -> bool:
        titles = [section.title for section in self._text.page.sections]
        prose = [self._text.prose[line] for line in self._text.own_lines(position)]
        return _injection_topics().search(" ".join([*titles, *prose])) is not None


_FENCE_IN_TEXT = re.compile(r"[ \t>]*(?:\\?`){3,}[ \t]*\{?\.?[\w+#-]*(?=[\s}]|$)")

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
_VARIATIONS = re.compile("[\U000e0100-\U000e01ef]{2,}|[\ufe00-\ufe0f]{2,}")

_MODEL = r"(?:(?:AI )?(?:large )?language model|AI (?:assistant|agent|model|crawler)|AI|LLM|chat ?bot)"
_EMPHASIS = re.compile(r"\*+|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)|</?(?:b|i|em|strong)>")
_SENTENCE_START = re.compile(r"(?:\A|(?<!e\.g)(?<!i\.e)[.!?]\s+|[。！？]|\n\s*\n|<!--)\s*\Z")
_REPORTING_VERB = re.compile(
    r"\b(?:mak(?:e|es|ing)|lets?|letting)\s+(?:(?!you\b|sure\b)\w+\s+){1,3}\Z"
    r"|(?<!\bare )\b(?:instruct|tell|ask|order|trick|caus|command|convinc|attempt|try|tri|us|fool|forc|get|design)\w*"
    r"\s+(?:(?!you\b)\w+\s+){0,4}to\s+\Z|(?:指示|要求|诱导|誘導|诱使|誘使)[^。，,\s]{1,8}\Z",
    re.IGNORECASE,
)
# The quotation marks of an attribute's value or of a link's title are not visible.
_ATTRIBUTE = re.compile(r"(=|\]\(\S+\s)([\"'])([^\"'\n]*)\2")
_QUOTED = re.compile(
    r"\"[^\"]*\"|“[^”“]*”|„[^“”„]*[“”]|«[^»«]*»|»[^»«]*«|‹[^›]*›|‘[^’\n]*’|「[^」]*」|『[^』]*』"
    r"|(?<!\w)'[^'\n]*'(?!\w)|<(?:q|code|kbd|samp)\b[^<>]*>.*?</(?:q|code|kbd|samp)>",
    re.DOTALL,
)
