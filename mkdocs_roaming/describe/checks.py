"""Checks of what a model wrote: only what the sections say, and nothing that is written for language models.

Descriptions must be supported by the text. Questions are in readers' words, which the text lacks by intention: they
are refused for addresses, numbers, options and names from code that the section does not contain. Search with either
must find the section, without the help of texts by a model: a text that leads elsewhere belongs to another section.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
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
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.manifest.descriptions import (
    Descriptions,
    PageTexts,
    SectionTexts,
    describe_manifest,
    digest_texts,
    page_digest,
    text_digest,
)
from mkdocs_roaming.manifest.lookup import SectionRef
from mkdocs_roaming.manifest.models import PageEntry
from mkdocs_roaming.text.injection import scan_markdown
from mkdocs_roaming.text.markdown import to_single_line, truncate_at_word
from mkdocs_roaming.text.tokenizer import SPACELESS, Word, extract_terms, parse_words

_MARKUP = re.compile(
    r"(?ia)</?\w|<!|&#?\w+;|\w://|\]\(|\A\[.*\]:|\A#|\[\^|\w(?:\[\.\]|\[dot\]|\(dot\)|。)[a-z]|\b(?:data|javascript):\S"
)
"""Markup or an address, also broken or disguised, which is text for a parser: `<b>`, `](`, `evil[dot]example`."""

_ORDER = re.compile(
    r"(?i)\b(?:(?:ignore|disregard|forget)\s+(?:(?:all|any|the)\s+)*(?:above|previous|prior)"
    r"|(?:choose|cite|open|prefer|read|use)\s+(?:only\s+)?(?:this|(?:(?:any|no|the)\s+)?other)\s+sections?)\b"
)
"""An order to the model that answers, which a page may contain: “ignore the above”, “cite only this section”."""

_SCRIPT_CHANGE = re.compile(rf"(?<=[!-~])(?=[{SPACELESS}])|(?<=[{SPACELESS}])(?=[!-~])")
"""Between a word of ASCII and a script without spaces, as in `pumpを`."""

_ADDRESS = re.compile(r"\w_\w|\w\.[^\W\d]\w|\A~?/\.?[A-Za-z]")
"""A word that is an identifier, an address or a path: `install_all`, `evil.example`, `/etc`."""

_COMMAND = re.compile(
    r"(?<!\S)-[a-z](?!\S)|\S*\\\w\S*|\$\{?[a-z_]\w*|[\w.+-]+@[\w.-]*\w|(?<!\S)(?=[a-z+/_-]*[\d=])[a-z0-9+/=_-]{20,}"
    r"|\b(?:curl|eval|iex|npx|rm|sudo|uvx|wget|(?:apt(?:-get)?|brew|cargo|choco|conda|dnf|docker|git|npm|pip[3x]?|pnpm"
    r"|uv|winget|yarn|yum) (?:add|clone|exec|i|install|pull|run))"
    r" (?!(?:an?|and|as|for|from|in|into|is|it|of|on|or|the|this|to|with)\b)[\w./@:=-]*\w"
)
"""A short option, path of Windows, variable, account, key or command, in the form in which texts are compared."""

_MIN_BYTES = 8
_READ_ASKS = 3 * MAX_ASKS
"""Number of questions of a section that are checked, so that a flood of them costs nothing."""

_MAX_OCCURRENCES = 300
"""Number of sections above which a word is left out of a search for a text, so that all texts take linear time."""

_MIN_SCORE_SHARE = 0.15
"""Share of the best score that a section must have: 5 % of its own questions are below, and 88 % of those of others."""


class Checker:
    """Checks replies about a site, and collects the texts that can be used.

    Attributes:
        sections: Entries of the file by section id.
        pages: Descriptions by page path.
        refused: What did not pass, and why, one line each.
    """

    def __init__(self, library: Library) -> None:
        """Start without texts about a site."""
        self.sections: dict[str, SectionTexts] = {}
        self.pages: dict[str, PageTexts] = {}
        self.refused: list[str] = []
        self._library = library
        self._language = library.manifest.site.language
        self._search = Search(library.rename_ids(lambda manifest: describe_manifest(manifest, Descriptions())[0]))
        self._occurrences = Counter[str]()
        for section in library.sections:
            self._occurrences.update(set(extract_terms(library.text(section), self._language)))

    def check_reply(self, request: DescriptionRequest, reply: Reply) -> None:
        """Add the texts of a reply that can be used.

        Raises:
            LibraryError: A page cannot be read.
        """
        written = {section.id: section for section in reply.sections}
        for section in request.sections:
            if section.id in written:
                self._check_section(section, written[section.id])
        if request.wants_description:
            self._check_description(request.page, reply.description or "")

    def _check_section(self, section: SectionRef, written: DescribedSection) -> None:
        text = self._library.text(section)
        evidence = {section.id: f"{section.page.title} › {section.section.title}\n\n{text}"}
        about = truncate_at_word(to_single_line(written.about or ""), MAX_ABOUT)
        if not self._is_usable(section.id, about, evidence):
            about = ""
        read = dict.fromkeys(map(to_single_line, (written.asks or ())[:_READ_ASKS]))
        asks = [ask for ask in read if self._is_usable(section.id, ask, evidence, is_ask=True)][:MAX_ASKS]
        if about or asks:
            title = section.section.title
            digest = text_digest(text)
            self.sections[section.id] = SectionTexts(title, digest, about, tuple(asks), digest_texts(about, *asks))

    def _check_description(self, page: PageEntry, text: str) -> None:
        description = truncate_at_word(to_single_line(text), MAX_DESCRIPTION)
        evidence: dict[str, str] = {}
        for position, entry in enumerate(page.sections):
            evidence[entry.id] = f"{entry.title}\n\n{self._library.text(SectionRef(page, position))}"
        if self._is_usable(page.id, description, evidence):
            self.pages[page.path] = PageTexts(page.title, page_digest(page), description, digest_texts(description))

    def _is_usable(self, id_: str, text: str, evidence: Mapping[str, str], *, is_ask: bool = False) -> bool:
        """Return whether a text can be used; record why if not."""
        if not text:
            return False
        fault = _find_fault(text, evidence, self._language, is_ask=is_ask)
        if not fault and not self._finds(text, evidence):
            fault = "search with it finds other sections"
        if fault:
            self.refused.append(f"{id_}: {text!r}: {fault}")
        return not fault

    def _finds(self, text: str, evidence: Mapping[str, str]) -> bool:
        """Return whether a search with a text finds one of the sections, with a score that is not far from the best."""
        rare = [word.text for word in parse_words(text, self._language) if self._is_rare(word)]
        scores = self._search.score(" ".join(rare) or text)
        best = max(scores.get(id_, 0.0) for id_ in evidence)
        return best > 0 and best >= _MIN_SCORE_SHARE * max(scores.values())

    def _is_rare(self, word: Word) -> bool:
        return all(self._occurrences[part] <= _MAX_OCCURRENCES for part in word.parts)


def _find_fault(candidate: str, evidence: Mapping[str, str], language: str, *, is_ask: bool) -> str:
    """Return why a text cannot be used, or an empty string."""
    is_too_long = is_ask and len(candidate) > MAX_ASK
    if is_too_long or len(candidate.encode("utf-8", "replace")) < _MIN_BYTES:
        return "too short or too long"
    plain = normalize("NFKC", candidate).replace("\u2010", "-")  # which NFKC makes of U+2011
    text = _SCRIPT_CHANGE.sub(" ", plain)
    if _MARKUP.search(text):
        return "contains markup or an address"
    if scan_markdown(candidate) or _ORDER.search(text):
        return "reads like an instruction to a language model"
    cited = f"{text} [^{next(iter(evidence))}]"
    kinds = {mark.kind for mark in check_support(cited, evidence, language=language).marks}
    if is_ask:
        kinds.discard("claim")
    if _is_foreign(text, evidence, language):
        kinds.add("name")
    return f"contains a {min(kinds)} that the section does not contain" if kinds else ""


def _is_foreign(text: str, sections: Mapping[str, str], language: str) -> bool:
    """Return whether the sections lack an address, path or identifier of a text, in any language, or a command."""
    commands = _COMMAND.findall(normalize_text(text).replace("`", ""))
    if not commands and {"_", ".", "/"}.isdisjoint(text):
        return False
    evidence = Evidence(sections, "", language)
    if any(NameReader(evidence).read_prose(text, shape=_ADDRESS)):
        return True
    return not all(map(evidence.contains, commands))
