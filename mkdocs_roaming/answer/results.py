"""Results instead of an answer: the sections that search ranks first, with the passage of each that matches.

Readers get them without a model, and if the model fails. If search estimates that the site does not answer the
question, they get the nearest sections only. Of a question in another language, names from code are searched.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Collection, Container, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice

from msgspec import Struct

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import Deadline, StopAnswer
from mkdocs_roaming.answer.citations import AnswerText
from mkdocs_roaming.answer.events import (
    Event,
    Reference,
    SectionCited,
    SectionOpened,
    SectionsFound,
    TextReleased,
    ToolCalled,
)
from mkdocs_roaming.answer.models.base import NO_SOURCE, ModelConfig, ModelRequest, Part, Stop, Text
from mkdocs_roaming.answer.run import Run
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
from mkdocs_roaming.text.languages import load_phrases
from mkdocs_roaming.text.markdown import escape_markup
from mkdocs_roaming.text.tokenizer import collect_terms, estimate_tokens, extract_terms, is_common_word

MAX_RESULTS = 3

_CALL_ID = "search"
_MAX_HITS = 10
_MAX_ELLIPTIC_CHARS = 64  # of a question; pronouns in longer ones refer to their own words
_MIN_CHARS = 40  # of words; a shorter text without words of the question only leads to its links or subsections
_REPLACEMENT_SECONDS = 5.0
# `[words](address)`
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

    async def reply(self, request: ModelRequest) -> AsyncIterator[Part]:
        """Reply that the documentation does not answer; nothing is known about it here."""
        yield Text(f"{prompts.NO_ANSWER} [^{NO_SOURCE}]")
        yield Stop()


class _Results(Struct, frozen=True):
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


async def answer_with_results(run: Run) -> list[Event]:
    """Answer with results instead of a model.

    Returns:
        The events.

    Raises:
        StopAnswer: The site cannot be read, or no time is left.
    """
    events, run.text = await _show_results(run, run.deadline)
    run.conversation.tokens_read = sum(event.tokens for event in events if isinstance(event, SectionOpened))
    run.state = "results" if run.text.markdown else "not_found"
    return events


async def explain_missing_answer(run: Run) -> list[Event]:
    """Return the events of the text for a reader who has none: why there is no answer, and results if the model failed.

    The documentation does not answer (`stop` is None), or something ended the answer before its first paragraph.
    """
    stop = run.stop
    if stop is None:
        reason = run.note or prompts.NO_ANSWER
        elsewhere = escape_markup(run.navigator.library.find_left_out(run.question))
        return [TextReleased(f"{reason}\n\n{elsewhere}".rstrip())]
    reason = stop.explain(has_text=False)
    if stop.state == "refused" or stop.cause == "site" or run.model.name == Offline.name:
        return [TextReleased(reason)]
    opened = set(run.navigator.opened)
    try:
        events, results = await _show_results(run, Deadline(_REPLACEMENT_SECONDS, time.monotonic))
    except StopAnswer:
        return [TextReleased(reason)]
    if not results.markdown:
        return [TextReleased(f"{reason}\n\n{run.note}".rstrip())]
    news = [event for event in events if not isinstance(event, SectionOpened) or event.section.id not in opened]
    shown = [event for event in news if isinstance(event, SectionOpened | TextReleased | SectionCited)]
    return [TextReleased(f"{reason} {prompts.NEAREST_SECTIONS}\n\n"), *shown]


async def _show_results(run: Run, deadline: Deadline) -> tuple[list[Event], AnswerText]:
    """Return the events of a search and of its results, and the text of the results; it is empty without results.

    Args:
        run: The answer.
        deadline: End of the time.

    Raises:
        StopAnswer: The site cannot be read, or no time is left.
    """
    results = await run.read(lambda: _find_results(run), deadline)
    text = AnswerText(run.conversation)
    make_reference = partial(Reference.from_section, run.navigator.sections)
    references = tuple(map(make_reference, results.sections))
    events: list[Event] = [
        ToolCalled(_CALL_ID, "search_sections", query=results.query),
        SectionsFound(_CALL_ID, results.query, references, words_only=results.words_only),
    ]
    run.navigator.mark_opened(section.id for section in results.passages)
    run.note = results.note
    if results.note and results.passages:
        events += text.release(results.note)
    for section, passage in results.passages.items():
        reference = make_reference(section)
        call = RULES_CALL_ID if section in results.pinned else _CALL_ID
        events.append(SectionOpened(call, reference, tokens=estimate_tokens(passage)))
        events += text.release(_format_result(reference, passage), reference.id)
    return events, text


def _format_result(section: Reference, passage: str) -> str:
    """Return a result as Markdown: its title with the titles above it, the passage, and a citation."""
    title = f"**{escape_markup(section.title)}**"
    if above := escape_markup(" › ".join(section.breadcrumb[:-1])):
        title = f"{title} · {above}"
    while CITATION.search(passage):  # in code; what remains may form another one
        passage = CITATION.sub("", passage)
    return f"{title}\n\n{passage}\n\n[^{section.id}]"


def _find_results(run: Run) -> _Results:
    navigator = run.navigator
    search = navigator.search
    query = run.question
    if run.history and is_elliptic(query, navigator.library.manifest.site.language):
        query = f"{run.history[-1].question} {query}"
    rules = apply_rules(navigator, run.question, run.page, rules_share(run.budget.open_chars))
    pinned = list(filter(None, map(navigator.sections.get, rules.opens if rules.words else ())))
    note = search.judge(query, is_follow_up=bool(run.history))
    names = query
    is_answered = not note
    if note == NO_ANSWER:
        note = ""
    elif note:  # in another language
        names = search.find_names(query)
        is_answered = bool(names)
    hits = [hit.section for hit in search.find(names, limit=_MAX_HITS)]
    passages: dict[SectionRef, str] = {}
    if pinned or is_answered:
        candidates = dict.fromkeys([*pinned, *hits])
        passages = dict(islice(_iter_passages(navigator, names, candidates), MAX_RESULTS))
    return _Results(names or query, hits, pinned, passages, search.words_only(query), note)


def _iter_passages(
    navigator: Navigator, query: str, sections: Collection[SectionRef]
) -> Iterator[tuple[SectionRef, str]]:
    """Yield the sections with their passages, without those that repeat one and those that only introduce others."""
    language = navigator.library.manifest.site.language
    words = parse_query(query, language)
    seen = set[str]()
    terms = collect_terms(word for word in words if not word.stop)
    for section, text, definitions, warnings in _iter_texts(navigator, sections):
        max_chars = MAX_PASSAGE_CHARS // (2 if seen else 1)
        passage = choose_passage(text, words, language, max_chars=max_chars, definitions=definitions)
        if not passage or passage in seen:
            continue
        own = _WHOLE_LINK.sub("", passage)
        says = terms.intersection(extract_terms(own, language))
        if says.issubset(extract_terms(section.section.title, language)):
            leads_on = own != passage or navigator.sections.children(section)
            if leads_on and sum(map(str.isalnum, own)) < _MIN_CHARS:
                continue
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
            warnings = [find_warning(read(above)) for above in navigator.sections.ancestors(section)]
            definitions: list[str] = []
            if "[^" in text or "][" in text:
                for position in range(len(section.page.sections)):
                    definitions += DEFINITION.findall(read(SectionRef(section.page, position)))
        except LibraryError as error:
            failures.append(error)
        else:
            yield section, text, "\n\n".join(definitions), "\n\n".join(filter(None, warnings))
    if failures and len(failures) == len(sections):
        raise failures[0]


def _link_to_page(sections: SectionIndex, section: SectionRef, match: re.Match[str]) -> str:
    """Return the end of a link to the Markdown of a section, with the address of its page."""
    target = resolve_link(sections, section, match)
    return f"]({sections.url(target)})" if target else match[0]


def is_elliptic(question: str, language: str) -> bool:
    """Return whether a follow-up can only be understood with the question before it.

    It is short, and starts with a conjunction or a preposition, or contains a pronoun; or it has no subject of its own.
    """
    if len(question) <= _MAX_ELLIPTIC_CHARS:
        for pattern in load_phrases(language, "answer.follow_ups"):
            if re.search(pattern, question, re.IGNORECASE):
                return True
    return all(is_common_word(word) for word in parse_query(question, language))
