"""Rules about text that models read differently from readers, such as fences, hidden characters and instructions."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache, cached_property

from mkdocs_roaming.lint.context import LintContext, PageText, Problem, rule
from mkdocs_roaming.text.injection import explains_injection, find_instructions, find_invisible, is_reported_speech

_MAX_QUOTE = 60
_MAX_SENTENCE_START = 20
"""Number of characters before an instruction that are searched for the end of a sentence."""
_UNPARSED_FRONT_MATTER = re.compile(
    r"\A(?:# [^\n]*\n)?\s*-{3,}[ \t]*\n\s*(?P<text>#+[ \t]+[a-z_][\w\\-]*:[ \t][^\n]*"
    r"|[a-z_][\w\\-]*:(?:[ \t][^\n]*)?(?:\n(?!-{3,}[ \t]*$)[^\n]*){0,60}\n-{3,}[ \t]*)$",
    re.MULTILINE,
)
"""Front matter that its site's generator did not parse, and so shows as text between two rules."""
_FENCE_IN_TEXT = re.compile(r"[ \t>]*(?:\\`){3,}[ \t]*\{?\.?[\w+#-]*(?=[\s}]|$)")
r"""A fence that a page shows as text: ``\`\`\`python``."""
_DIRECTIVE = re.compile(
    r"[ \t>]*\\?(?P<mark>:::(?=:*[ \t]*\{?[\w.])|(?:!!!|\?\?\?)(?=\+?[ \t]+\w)|===(?=\+?[ \t]+[\"“])|\{[%{]|--8<--"
    r"|\.\.(?=[ \t]+[\w:-]+::)|\[TOC\\?\])"
)
"""A directive that nothing renders: `::: pkg.module`, `!!! note`, `{% include %}`, `--8<-- "x"`."""

_EMPHASIS = re.compile(r"\*+|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)|</?(?:b|i|em|strong)>")
"""Emphasis inside or around words, which injected text may have: `ig**nore**`."""
_SENTENCE_START = re.compile(r"(?:\A|(?<!e\.g)(?<!i\.e)[.!?]\s+|[。！？]|\n\s*\n|<!--)\s*\Z")
"""What is in front of the first word of a sentence."""
_ATTRIBUTE = re.compile(r"(=|\]\(\S+\s)([\"'])([^\"'\n]*)\2")
"""The value of an attribute, or the title of a link: its quotation marks are not visible."""
_QUOTED = re.compile(
    r"\"[^\"]*\"|“[^”“]*”|„[^“”„]*[“”]|«[^»«]*»|»[^»«]*«|‹[^›]*›|‘[^’\n]*’|「[^」]*」|『[^』]*』"
    r"|(?<!\w)'[^'\n]*'(?!\w)|<(?:q|code|kbd|samp)\b[^<>]*>.*?</(?:q|code|kbd|samp)>",
    re.DOTALL,
)
"""A quotation, in the quotation marks of any language, or code."""


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
            match = _FENCE_IN_TEXT.match(line) if "\\`" in line else None
            if match:
                quote = match[0].replace("\\", "").strip(" \t>")[:_MAX_QUOTE]
                yield Problem(
                    "This fence is published as text: it is never closed, or it is in a place where no fence can be.",
                    "Close the fence, add a blank line before it, indent it like the surrounding text, or start its "
                    "code on the next line.",
                    text.page,
                    text.section_at(number),
                    number,
                    quote,
                )


@rule(
    "unrendered-source",
    "warning",
    "Front matter and directives that nothing renders are noise for readers and models, and have no effect.",
)
def unrendered_source(site: LintContext) -> Iterator[Problem]:
    """Find front matter and directives in rendered pages; each kind is reported once per page."""
    for text in site.pages:
        if text.page.origin != "html":
            continue
        lines: dict[str, int] = {}
        start = text.starts[0]
        markdown = "\n".join(text.lines[start:])
        front_matter = _UNPARSED_FRONT_MATTER.match(markdown)
        if front_matter:
            lines["---"] = start + markdown.count("\n", 0, front_matter.start("text"))
        for number, line in enumerate(text.prose):
            if match := _DIRECTIVE.match(line):
                lines.setdefault(match["mark"], number)
        for number in lines.values():
            quote = text.lines[number].strip(" \t>#")[:_MAX_QUOTE].rstrip()
            yield Problem(
                f"“{quote}” is published as text.",
                "Correct its indentation, or the YAML of front matter, enable its extension, or format it as code.",
                text.page,
                text.section_at(number),
                number,
                quote,
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
        for _, description in find_invisible(text.page.description):
            yield Problem(f"The page's description has hidden characters: {description}.", fix, text.page)
        if text.markdown.isascii():
            continue
        reported: set[tuple[int, str]] = set()
        for number, line in enumerate(text.lines):
            if line.isascii():
                continue
            position = text.section_at(number)
            for kind, description in find_invisible(line, is_first_line=number == 0):
                if (position, kind) in reported:
                    continue
                reported.add((position, kind))
                message = f"Hidden characters: {description}."
                quote = _longest_visible_part(line)
                yield Problem(message, fix, text.page, position, number, quote)


@rule(
    "orders-to-models",
    "error",
    "Text with instructions to models is treated as an attack, by models and by their operators.",
)
def orders_to_models(site: LintContext) -> Iterator[Problem]:
    """Find instructions to models; not in code, in quotations, or in sections that explain prompt injection."""
    fix = "Delete it. If it is an example, format it as code or put it in quotation marks."
    for text in site.pages:
        description = text.page.description
        for match in find_instructions(description):
            if not is_reported_speech(description, match):
                yield Problem(f"The page's description says “{match[0]}”, an instruction to a model.", fix, text.page)
        prose = _EMPHASIS.sub("", "\n".join(text.prose))
        line_ends = [offset for offset, char in enumerate(prose) if char == "\n"]
        examples = _Examples(text, prose)
        reported: set[tuple[int, str]] = set()
        for match in find_instructions(prose):
            number = bisect_left(line_ends, match.start())
            position = text.section_at(number)
            quote = " ".join(match[0].split())
            if (position, quote) in reported or is_reported_speech(prose, match):
                continue
            if examples.include(match, position, number):
                continue
            reported.add((position, quote))
            yield Problem(f"“{quote}” is an instruction to a model.", fix, text.page, position, number, quote)


def _longest_visible_part(line: str) -> str:
    visible = "".join(char if char.isprintable() else "\0" for char in line)
    parts = [part.strip() for part in visible.split("\0")]
    longest = max(parts, key=len)
    return longest[:_MAX_QUOTE]


class _Examples:
    """The instructions on a page that are examples: quoted, or in a section that explains prompt injection."""

    def __init__(self, text: PageText, prose: str) -> None:
        self._text = text
        self._prose = prose
        self._explains_injection = cache(self._section_explains_injection)

    def include(self, match: re.Match[str], position: int, line: int) -> bool:
        """Return whether a match in a section and line is an example."""
        quote = bisect_left(self._quotes, (match.start(), 0)) - 1
        if quote >= 0 and match.end() <= self._quotes[quote][1]:
            return True
        shown_line = self._text.lines[line].lstrip()
        is_listed = shown_line.startswith((">", "-", "*", "|"))
        start = max(0, match.start() - _MAX_SENTENCE_START)
        if not is_listed and _SENTENCE_START.search(self._prose, start, match.start()):
            return False
        return self._explains_injection(position)

    @cached_property
    def _quotes(self) -> list[tuple[int, int]]:
        """Start and end of the quotations, none of which extends beyond its paragraph."""
        spans = []
        start = 0
        prose = _ATTRIBUTE.sub(r"\1 \3 ", self._prose)
        for paragraph in prose.split("\n\n"):
            quotes = _QUOTED.finditer(paragraph)
            spans += [(start + quote.start(), start + quote.end()) for quote in quotes]
            start += len(paragraph) + 2
        return spans

    def _section_explains_injection(self, position: int) -> bool:
        parts = [section.title for section in self._text.page.sections]
        parts += [self._text.prose[line] for line in self._text.own_lines(position)]
        return explains_injection(" ".join(parts))
