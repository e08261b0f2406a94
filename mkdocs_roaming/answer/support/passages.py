"""Finds the passages that an answer cites: for each citation the statement of the section that fits best.

A passage has a text fragment, with which browsers scroll to it and mark it: `page/#anchor:~:text=first%20words,last`.
Fragments match the first occurrence on the rendered page, so there is none if the page contains the words earlier.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from mkdocs_roaming.answer.support.check import CITATION, blank_citations, make_utf16_converter
from mkdocs_roaming.answer.support.evidence import (
    MAX_PASSAGE_CHARS,
    Statement,
    StatementIndex,
    find_content,
    normalize_text,
)
from mkdocs_roaming.text.blocks import strip_markup
from mkdocs_roaming.text.markdown import truncate_at_word

MAX_CITED_CHARS = 100_000
"""Maximum length of the text in which a passage is searched, and of the text before it in which its words may occur."""

_CITATION_GROUP = re.compile(r"\[\^[0-9a-f]{8}\](?:\s*\[\^[0-9a-f]{8}\])*")
"""Citations that follow each other."""
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n(?=[^\n]*\S)")
"""A blank line with text after it."""
_CELL_END = re.compile(r"(?<!\\)\|")
"""The end of a table's cell: `|`, but not `\\|`."""
_IMAGE_OR_NOTE = re.compile(r"!\[[^\]]*\](?:\([^()\s]*\))?|\[\^[^\]]*\]")
"""An image or the mark of a footnote, which show no text: `![text](file.png)`, `[^1]`."""
_MARKUP = re.compile(r"\]\([^()\s]*\)|</?[A-Za-z][^<>]*>|[`*\[\]\\|]")
"""Markup of a whole page, which is compared as a whole: parsing it inline would take longer than all the rest."""
_MAX_CLAIM_CHARS = 800
_MAX_PASSAGES = 100
_MIN_SHARE = 0.2  # of the claim's words that a passage contains
_MIN_WORDS = 2
_EXACT_WORDS = 8  # a longer passage is found by its first and last words
_START_WORDS = (4, 6, 8)
_END_WORDS = 4
_MIN_FRAGMENT_CHARS = 8


@dataclass(frozen=True, slots=True)
class Passage:
    """The statement of a cited section that is nearest to the text that cites it.

    Attributes:
        section: Id of the section.
        text: The statement as plain text, at most 240 characters.
        fragment: Value of a text fragment, as in `#:~:text=`; empty if the words are not unique.
        start: Offset of the citation, in UTF-16 code units of the answer.
    """

    section: str
    text: str
    fragment: str
    start: int


@dataclass(frozen=True, slots=True)
class CitedSection:
    """The Markdown of a cited section with its subsections, and that of its page before the section."""

    text: str
    before: str = ""


def find_passages(answer: str, sections: Mapping[str, CitedSection], language: str = "en") -> list[Passage]:
    """Return the passages for the citations of an answer, in the order of the text.

    Citations without a passage that shares enough words with the text before them are left out.

    Args:
        answer: The answer as Markdown, with `[^id]` citations.
        sections: The cited sections by id.
        language: Language of the site.
    """
    to_utf16 = make_utf16_converter(answer)
    indexes = {id_: StatementIndex({id_: section.text}, language) for id_, section in sections.items()}

    # Each citation with its claim: the end of the paragraph before it, from the citations before these.
    prose = blank_citations(answer)
    start = 0
    cited: list[tuple[re.Match[str], str]] = []
    for group in _CITATION_GROUP.finditer(answer):
        claim = prose[start : group.start()].rstrip()
        if not claim.strip():
            claim = prose[: group.start()].rstrip()  # a second citation for the same statement
        paragraph = max((end.end() for end in _PARAGRAPH_END.finditer(claim)), default=0)
        claim = claim[paragraph:][-_MAX_CLAIM_CHARS:]
        start = group.end()
        cited += ((citation, claim) for citation in CITATION.finditer(answer, *group.span()) if citation[1] in sections)

    passages: list[Passage] = []
    for citation, claim in cited[:_MAX_PASSAGES]:
        id_ = citation[1]
        text, fragment = _find_passage(sections[id_], claim, indexes[id_])
        if text:
            passages.append(Passage(id_, text, fragment, to_utf16(citation.start())))
    return passages


def _find_passage(section: CitedSection, claim: str, statements: StatementIndex) -> tuple[str, str]:
    """Return the text and the fragment of the statement that is nearest to a claim; empty if none is near."""
    nearest = statements.find_nearest(claim)
    words = find_content(claim, statements.language)
    if nearest is None or len(nearest.words & words) < min(_MIN_WORDS, len(words) * _MIN_SHARE):
        return "", ""
    parts = _to_plain(nearest)
    if not parts:
        return "", ""
    before = f"{section.before}\n{section.text[: nearest.segment.start]}"
    # Formulas are rendered as something else. What is before a long section is not known.
    is_known = "$" not in parts[0] and len(section.before) <= MAX_CITED_CHARS
    fragment = make_fragment(parts, before) if is_known else ""
    return truncate_at_word(" · ".join(parts), MAX_PASSAGE_CHARS), fragment


def _to_plain(statement: Statement) -> list[str]:
    """Return a statement as the rendered page shows it; the cells of a table row are separate."""
    if statement.segment.kind == "code":
        return [" ".join(statement.body.split())]
    text = _IMAGE_OR_NOTE.sub("", statement.body)
    cells = _CELL_END.split(text.strip().strip("|")) if statement.segment.kind == "row" else [text]
    plain = (strip_markup(cell.strip().replace("\\|", "|")) for cell in cells)
    return list(filter(None, plain))


# Text fragments


def make_fragment(parts: Sequence[str], before: str) -> str:
    """Return the value of a text fragment for a passage; empty if its words are not unique.

    Args:
        parts: The passage as plain text; the cells of a table row are separate.
        before: The Markdown of the page before the passage.
    """
    known = _normalize(before)
    _, dash, description = parts[0].partition(" — ")
    if len(parts) == 1 and dash and len(description.split()) > 1:
        parts = [description]  # pages render the name and the type of a parameter in many ways
    words = parts[0].split()
    if len(parts) == 1 and len(words) <= _EXACT_WORDS:
        return _encode(parts[0]) if _is_unique(parts[0], known) else ""
    end = " ".join(parts[-1].split()[-_END_WORDS:])
    most = len(words) - _END_WORDS if len(parts) == 1 else len(words)
    for count in _START_WORDS:
        start = " ".join(words[: min(count, most)])
        if _is_unique(start, known):
            return f"{_encode(start)},{_encode(end)}"
    longest = max(parts, key=len)
    return _encode(longest) if len(parts) > 1 and _is_unique(longest, known) else ""


def _is_unique(text: str, known: str) -> bool:
    return len(text) >= _MIN_FRAGMENT_CHARS and _normalize(text) not in known


def _normalize(text: str) -> str:
    return normalize_text(_MARKUP.sub("", text)).strip()


def _encode(text: str) -> str:
    """Percent-encode a text; `-` and `,` have a meaning in fragments."""
    return quote(text, safe="").replace("-", "%2D")
