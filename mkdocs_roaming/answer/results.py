"""Results instead of an answer: the sections that search ranks first, with the passage of each that matches.

Readers get them without a model, and if the model fails. If search estimates that the site does not answer the
question, they get the nearest sections only. Of a question in another language, names from code are searched.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Collection, Container, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice

from msgspec import Struct

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import Deadline
from mkdocs_roaming.answer.citations import AnswerText
from mkdocs_roaming.answer.events import Event, Reference, SectionOpened, SectionsFound, ToolCalled
from mkdocs_roaming.answer.models.base import NO_SOURCE, ModelConfig, Part, Request, Stop, Text
from mkdocs_roaming.answer.prepare import Run
from mkdocs_roaming.answer.support.check import CITATION
from mkdocs_roaming.errors import LibraryError, UsageError
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.passages import DEFINITION, MAX_PASSAGE_CHARS, choose_passage, find_warning
from mkdocs_roaming.library.rules import RULES_CALL_ID, apply_rules, rules_share
from mkdocs_roaming.library.texts import LINK, resolve_link
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.search.ranking import parse_query
from mkdocs_roaming.search.relevance import NO_ANSWER
from mkdocs_roaming.text.blocks import sub_outside_code
from mkdocs_roaming.text.languages import load_words
from mkdocs_roaming.text.markdown import escape_markup
from mkdocs_roaming.text.tokenizer import estimate_tokens, extract_terms, is_common_word, split_words

MAX_RESULTS = 3

_CALL_ID = "search"
_MAX_HITS = 10
_MIN_CHARS = 40  # of words; a shorter text without words of the question only leads to its links or subsections
_WORD = re.compile(r"\w")
_WHOLE_LINK = re.compile(r"\[[^\]\n]*" + LINK.pattern)


class Offline:
    """The choice of no model: `answer` shows results."""

    name = "offline"

    @classmethod
    def from_config(cls, config: ModelConfig) -> Offline:
        """Create the model for `offline`."""
        if config.name:
            raise UsageError(f"the model offline has no variants; choose offline, not offline:{config.name}")
        return cls()

    async def reply(self, request: Request) -> AsyncIterator[Part]:
        """Reply that the documentation does not answer; nothing is known about it here."""
        yield Text(f"{prompts.NO_ANSWER} [^{NO_SOURCE}]")
        yield Stop()


class _Found(Struct, frozen=True):
    """What a search found.

    Attributes:
        query: The query.
        sections: The sections that were found, best first.
        pinned: The sections that the site's rules open for words of the question.
        passages: The passage of each section to show.
        words_only: Whether the search by meaning was not available.
        note: The line that names the site's language, if the question is in another one.
    """

    query: str
    sections: Sequence[SectionRef]
    pinned: Container[SectionRef]
    passages: Mapping[SectionRef, str]
    words_only: bool
    note: str


async def show_results(run: Run, deadline: Deadline) -> tuple[list[Event], AnswerText]:
    """Return the events of a search and of its results, and the text of the results; it is empty without results.

    Args:
        run: The answer.
        deadline: End of the time.

    Raises:
        StopAnswer: The site cannot be read, or no time is left.
    """
    found = await run.read(lambda: _find_results(run), deadline)
    text = AnswerText(run.conversation)
    sections = run.navigator.sections
    references = tuple(Reference.from_section(sections, section) for section in found.sections)
    events: list[Event] = [
        ToolCalled(_CALL_ID, "search_sections", query=found.query),
        SectionsFound(_CALL_ID, found.query, references, words_only=found.words_only),
    ]
    run.navigator.mark_opened(section.id for section in found.passages)
    run.note = found.note
    if found.note and found.passages:
        events += text.release(found.note)
    for section, passage in found.passages.items():
        reference = Reference.from_section(sections, section)
        tokens = estimate_tokens(passage)
        call = RULES_CALL_ID if section in found.pinned else _CALL_ID
        events.append(SectionOpened(call, reference, tokens=tokens))
        events += text.release(_format_result(reference, passage), reference.id)
    return events, text


def _format_result(section: Reference, passage: str) -> str:
    """Return a result as Markdown: its title with the titles above it, the passage, and a citation."""
    above = escape_markup(" › ".join(section.breadcrumb[:-1]))
    title = f"**{escape_markup(section.title)}**" + (f" · {above}" if above else "")
    while CITATION.search(passage):  # in code; what remains may form another one
        passage = CITATION.sub("", passage)
    return f"{title}\n\n{passage}\n\n[^{section.id}]"


def _find_results(run: Run) -> _Found:
    navigator = run.navigator
    search = run.navigator.search
    language = navigator.library.manifest.site.language
    is_elliptic_question = bool(run.history) and is_elliptic(run.question, language)
    query = f"{run.history[-1].question} {run.question}" if is_elliptic_question else run.question
    rules = apply_rules(navigator, run.question, run.page, rules_share(run.budget.open_chars))
    pinned = [section for id_ in rules.opens if rules.words and (section := navigator.sections.get(id_))]
    note = search.judge(query, is_follow_up=bool(run.history))
    is_foreign = note not in ("", NO_ANSWER)
    names = search.find_names(query) if is_foreign else query
    hits = [hit.section for hit in search.find(names, limit=_MAX_HITS)]
    passages: dict[SectionRef, str] = {}
    if pinned or (names if is_foreign else not note):
        passages = dict(islice(_iter_passages(navigator, names, dict.fromkeys([*pinned, *hits])), MAX_RESULTS))
    return _Found(names or query, hits, pinned, passages, search.words_only(query), note if is_foreign else "")


def _iter_passages(
    navigator: Navigator, query: str, sections: Collection[SectionRef]
) -> Iterator[tuple[SectionRef, str]]:
    """Yield the sections with their passages, without those that repeat one and those that only introduce others."""
    language = navigator.library.manifest.site.language
    words = parse_query(query, language)
    seen = set[str]()
    terms = {term for word in words if not word.stop for run in word.runs for term in run}
    for section, text, definitions, warnings in _iter_texts(navigator, sections):
        max_chars = MAX_PASSAGE_CHARS // (2 if seen else 1)
        passage = choose_passage(text, words, language, max_chars=max_chars, definitions=definitions)
        own = _WHOLE_LINK.sub("", passage)
        says = terms.intersection(extract_terms(own, language)).difference(
            extract_terms(section.section.title, language)
        )
        leads_on = not says and (own != passage or navigator.sections.children(section))
        if passage and passage not in seen and not (leads_on and len(_WORD.findall(own)) < _MIN_CHARS):
            seen.add(passage)
            link = partial(_link_to_page, navigator.sections, section)
            yield section, sub_outside_code(LINK, link, f"{warnings}\n\n{passage}".lstrip("\n"))


def _iter_texts(navigator: Navigator, sections: Collection[SectionRef]) -> Iterator[tuple[SectionRef, str, str, str]]:
    """Yield the sections that can be read: text, definitions of the page, and warnings of the sections around it.

    Raises:
        LibraryError: None can be read.
    """
    read = navigator.library.text
    failures = list[LibraryError]()
    for section in sections:
        try:
            text = read(section)
            warnings = [find_warning(read(one)) for one in navigator.sections.ancestors(section)]
            page = [SectionRef(section.page, at) for at in range(len(section.page.sections))]
            found = [DEFINITION.findall(read(one)) for one in page if "[^" in text or "][" in text]
        except LibraryError as error:
            failures.append(error)
        else:
            yield section, text, "\n\n".join(chain.from_iterable(found)), "\n\n".join(filter(None, warnings))
    if failures and len(failures) == len(sections):
        raise failures[0]


def _link_to_page(sections: SectionIndex, section: SectionRef, match: re.Match[str]) -> str:
    """Return the end of a link to the Markdown of a section, with the address of its page."""
    target = resolve_link(sections, section, match)
    return f"]({sections.url(target)})" if target else match[0]


def is_elliptic(question: str, language: str) -> bool:
    """Return whether a follow-up can only be understood with the question before it.

    It starts with a conjunction or a preposition, contains a pronoun, or has no subject of its own.
    """
    words = [word.lower() for word in split_words(question)]
    if words[:1] and words[0] in load_words(language, "answer.follow_up_openings"):
        return True
    if not load_words(language, "answer.follow_up_words").isdisjoint(words):
        return True
    return all(is_common_word(word) for word in parse_query(question, language))
