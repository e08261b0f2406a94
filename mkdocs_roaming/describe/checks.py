"""Checks of what a model wrote: only what the sections say, and nothing that is written for language models.

Descriptions must be supported by the text. Questions are in readers' words, which the text lacks by intention: they
are refused only for addresses, numbers, options and names from code that the section does not contain.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from unicodedata import normalize

from mkdocs_roaming.answer.support.check import check_support
from mkdocs_roaming.answer.support.evidence import Evidence, normalize_text
from mkdocs_roaming.answer.support.names import NameReader
from mkdocs_roaming.describe.requests import (
    MAX_ABOUT,
    MAX_ASK,
    MAX_ASKS,
    MAX_DESCRIPTION,
    DescribedSection,
    DescriptionRequest,
    Reply,
)
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.manifest.descriptions import (
    PageTexts,
    SectionTexts,
    digest_texts,
    page_digest,
    text_digest,
)
from mkdocs_roaming.manifest.lookup import SectionRef
from mkdocs_roaming.text.injection import scan_markdown
from mkdocs_roaming.text.markdown import to_single_line, truncate_at_word
from mkdocs_roaming.text.tokenizer import SPACELESS

_MARKUP = re.compile(
    r"(?ia)</?\w|<!|&#?\w+;|\w://|\]\(|\A\[.*\]:|\A#|\[\^|\w(?:\[\.\]|\[dot\]|\(dot\)|。)[a-z]|\b(?:data|javascript):\S"
)
_ORDER = re.compile(
    r"(?i)\b(?:(?:ignore|disregard|forget)\s+(?:(?:all|any|the)\s+)*(?:above|previous|prior)"
    r"|(?:choose|cite|open|prefer|read|use)\s+(?:only\s+)?(?:this|(?:(?:any|no|the)\s+)?other)\s+sections?)\b"
)
_SCRIPT_CHANGE = re.compile(rf"(?<=[!-~])(?=[{SPACELESS}])|(?<=[{SPACELESS}])(?=[!-~])")
_ADDRESS = re.compile(r"\w_\w|\w\.[^\W\d]\w|\A~?/\.?[A-Za-z]")
_COMMAND = re.compile(
    r"(?<!\S)-[a-z](?!\S)|\S*\\\w\S*|\$\{?[a-z_]\w*|[\w.+-]+@[\w.-]*\w|(?<!\S)(?=[a-z+/_-]*[\d=])[a-z0-9+/=_-]{20,}"
    r"|\b(?:curl|eval|iex|npx|rm|sudo|uvx|wget|(?:apt(?:-get)?|brew|cargo|choco|conda|dnf|docker|git|npm|pip[3x]?|pnpm"
    r"|uv|winget|yarn|yum) (?:add|clone|exec|i|install|pull|run))"
    r" (?!(?:an?|and|as|for|from|in|into|is|it|of|on|or|the|this|to|with)\b)[\w./@:=-]*\w"
)
"""A short option, path of Windows, variable, account, key or command, in the form in which texts are compared."""
_MIN_BYTES = 8


@dataclass(frozen=True, slots=True)
class Refusal:
    """A text of a model that is not used.

    Attributes:
        section: The id of the section; that of the page for its description.
        text: The text.
        reason: Why it is not used.
    """

    section: str
    text: str
    reason: str

    def __str__(self) -> str:
        return f"{self.section}: {self.text!r}: {self.reason}"


@dataclass(slots=True)
class Checked:
    """The texts of a reply that passed.

    Attributes:
        sections: Entries of the file by section id.
        pages: Descriptions by page path.
        refused: What did not pass.
        again: The sections without a text that passed, which are worth a second request.
    """

    sections: dict[str, SectionTexts] = field(default_factory=dict)
    pages: dict[str, PageTexts] = field(default_factory=dict)
    refused: list[Refusal] = field(default_factory=list)
    again: list[str] = field(default_factory=list)


def check_reply(library: Library, request: DescriptionRequest, reply: Reply) -> Checked:
    """Return the texts of a reply that can be used.

    Args:
        library: The site.
        request: The request.
        reply: The reply to it.
    """
    checked, language = Checked(), library.manifest.site.language
    by_id = {section.id: section for section in reply.sections}
    for section in request.sections:
        written = by_id.get(section.id, DescribedSection(section.id) if request.refused else None)
        text = library.text(section)
        refused_before = len(checked.refused)
        texts = _check_section(section, text, written, language, checked.refused) if written else None
        if texts is None or (len(checked.refused) > refused_before and not (texts.about or texts.asks)):
            checked.again.append(section.id)
        if texts is not None:
            checked.sections[section.id] = texts
    if request.wants_description:
        _check_description(library, request, reply.description, checked)
    return checked


def _check_section(
    section: SectionRef, text: str, written: DescribedSection, language: str, refused: list[Refusal]
) -> SectionTexts | None:
    evidence = {section.id: f"{section.page.title} › {section.section.title}\n\n{text}"}

    def is_usable(candidate: str, *, is_ask: bool) -> bool:
        reason = _find_fault(candidate, evidence, language, is_ask=is_ask)
        if reason:
            refused.append(Refusal(section.id, candidate, reason))
        return not reason

    about = truncate_at_word(to_single_line(written.about), MAX_ABOUT)
    about = about if about and is_usable(about, is_ask=False) else ""
    asks = dict.fromkeys(to_single_line(ask) for ask in written.asks[: 3 * MAX_ASKS])
    asks = {ask: None for ask in asks if is_usable(ask, is_ask=True)}
    kept = tuple(asks)[:MAX_ASKS]
    return SectionTexts(section.section.title, text_digest(text), about, kept, written=digest_texts(about, *kept))


def _check_description(library: Library, request: DescriptionRequest, text: str, checked: Checked) -> None:
    page, language = request.page, library.manifest.site.language
    description = truncate_at_word(to_single_line(text), MAX_DESCRIPTION)
    if not description:
        return
    evidence: dict[str, str] = {}
    for section in filter(None, (library.sections.get(entry.id) for entry in page.sections)):
        evidence[section.id] = f"{section.section.title}\n\n{library.text(section)}"
    if reason := _find_fault(description, evidence, language, is_ask=False):
        checked.refused.append(Refusal(page.id, description, reason))
        description = ""
    checked.pages[page.path] = PageTexts(page.title, page_digest(page), description, digest_texts(description))


def _find_fault(candidate: str, evidence: dict[str, str], language: str, *, is_ask: bool) -> str:
    """Return why a text cannot be used, or an empty string."""
    text = _SCRIPT_CHANGE.sub(" ", normalize("NFKC", candidate).replace("\u2010", "-"))  # which NFKC makes of U+2011
    if len(candidate.encode("utf-8", "replace")) < _MIN_BYTES or (is_ask and len(candidate) > MAX_ASK):
        return "too short or too long"
    if _MARKUP.search(text):
        return "contains markup or an address"
    if scan_markdown(candidate) or _ORDER.search(text):
        return "reads like an instruction to a language model"
    marks = check_support(f"{text} [^{next(iter(evidence))}]", evidence, language=language).marks
    kinds = {mark.kind for mark in marks} & ({"name", "number"} if is_ask else {"name", "number", "claim"})
    commands = _COMMAND.findall(normalize_text(text).replace("`", ""))
    if (commands or re.search("[_./]", text)) and _is_foreign(text, commands, Evidence(evidence, "", language)):
        kinds.add("name")
    return f"contains a {min(kinds)} that the section does not contain" if kinds else ""


def _is_foreign(text: str, commands: Sequence[str], evidence: Evidence) -> bool:
    """Return whether the evidence lacks an address, path or identifier of a text, in any language, or a command."""
    names = any(NameReader(evidence).read_prose(text, shape=_ADDRESS))
    return names or not all(map(evidence.contains, commands))
