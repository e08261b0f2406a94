"""What happens with a question before the first request to a model: rules, search, outlines, and the size of the prompt.

The field names are the JSON of `roaming explain --json`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import SMALL_SITE_TOKENS, Budget
from mkdocs_roaming.answer.conversation import Conversation, check_question
from mkdocs_roaming.answer.events import Reference
from mkdocs_roaming.answer.loop import format_page_context, read_small_site
from mkdocs_roaming.answer.models.base import UserTurn
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.rules import RulesResult, apply_rules, rules_share
from mkdocs_roaming.library.tools import TOOLS, SearchResults, render
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import PageEntry
from mkdocs_roaming.text.tokenizer import estimate_tokens

_OUTLINE_LINE = re.compile(r"^\s*\[([0-9a-f]{8})\] ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ExplainedHit:
    """A search result with the best part of its text."""

    section: Reference
    score: float
    snippet: str


@dataclass(frozen=True, slots=True)
class ExplainedPage:
    """A page whose outline is sent with the question.

    Attributes:
        id: Id of the page.
        title: Title of the page.
        breadcrumb: Titles from the top level to the page.
        shown: Number of its sections in the outline.
        sections: Number of all its sections.
    """

    id: str
    title: str
    breadcrumb: tuple[str, ...]
    shown: int
    sections: int


@dataclass(frozen=True, slots=True)
class ExplainedOutline:
    """The outline: numbers of its sections and of all sections, and its estimated size."""

    shown: int
    sections: int
    tokens: int


@dataclass(frozen=True, slots=True)
class PromptTokens:
    """Estimated size of the parts of the first request."""

    instructions: int
    tools: int
    outline: int
    question: int
    rules: int
    total: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """What happens with a question before the first request.

    A small site is read whole, in one round without tools. Then rules open nothing and no outline is sent; `firing`,
    `hints` and `outline` show what would happen on a larger site.

    Attributes:
        question: The question.
        page: The reader's page, if it exists.
        whole: Whether the site is read whole.
        site_tokens: Estimated size of the site.
        whole_site_tokens: A site with fewer estimated tokens is read whole.
        firing: The rules that match, and the sections that they open.
        sections: All sections that `firing` names, by id.
        hits: Search results.
        hints: Pages whose outlines are sent with the question.
        outline: The outline of the site.
        prompt: Size of the first request.
    """

    question: str
    page: Reference | None
    whole: bool
    site_tokens: int
    whole_site_tokens: int
    firing: RulesResult
    sections: dict[str, Reference]
    hits: tuple[ExplainedHit, ...]
    hints: tuple[ExplainedPage, ...]
    outline: ExplainedOutline
    prompt: PromptTokens


def explain_question(
    navigator: Navigator,
    question: str,
    page: str | None = None,
    *,
    hits: int = 5,
    budget: Budget | None = None,
    whole_site_tokens: int = SMALL_SITE_TOKENS,
) -> Explanation:
    """Explain a question with the same steps as at the start of an answer.

    Args:
        navigator: A navigator that has opened nothing yet; the sections that rules choose are opened in it.
        question: The question.
        page: The reader's page: an id, a path or a URL.
        hits: Number of search results.
        budget: Limits of the answer.
        whole_site_tokens: A site with fewer estimated tokens is read whole.

    Raises:
        UsageError: The question is empty or too long.
    """
    check_question(question)
    make_reference = Conversation(navigator).make_reference
    index, manifest = navigator.sections, navigator.library.manifest
    section = index.resolve(page) if page else None
    site = read_small_site(navigator, whole_site_tokens)
    outline = navigator.outline()
    hints = navigator.hints(question, page if section else None)
    rules = apply_rules(navigator, question, page, rules_share((budget or Budget()).open_chars))
    opened = render(navigator.expand_sections(rules.opens)) if rules.opens else ""
    found = navigator.search_sections(question, hits)
    results = found.hits if isinstance(found, SearchResults) else ()
    context = format_page_context(navigator, page, "" if site else hints)
    tools = "" if site else json.dumps([[tool.name, tool.description, tool.parameters] for tool in TOOLS])
    named = dict.fromkeys([*rules.opens, *(id_ for rule in rules.fired for id_ in rule.opens)])
    named |= dict.fromkeys(dropped.id for dropped in rules.dropped)
    return Explanation(
        question=question,
        page=make_reference(section.id) if section else None,
        whole=site is not None,
        site_tokens=site.tokens if site else sum(one.section.tokens for one in index),
        whole_site_tokens=whole_site_tokens,
        firing=rules,
        sections={id_: make_reference(id_) for id_ in named},
        hits=tuple(ExplainedHit(make_reference(hit.id), hit.score, hit.snippet) for hit in results),
        hints=_count_pages(index, hints),
        outline=_count_outline(navigator, outline),
        prompt=_measure_prompt(
            prompts.build_rules(manifest.site, whole_site=site is not None),
            tools,
            site.text if site else prompts.format_outline(manifest.site, outline),
            prompts.format_question(UserTurn(question, context)),
            "" if site else opened,
        ),
    )


def _count_pages(index: SectionIndex, hints: str) -> tuple[ExplainedPage, ...]:
    shown: dict[str, int] = {}
    pages: dict[str, PageEntry] = {}
    for id_ in _OUTLINE_LINE.findall(hints):
        if section := index.get(id_):
            pages[section.page.id] = section.page
            shown[section.page.id] = shown.get(section.page.id, 0) + 1
    return tuple(
        ExplainedPage(id_, page.title, index.breadcrumb(SectionRef(page, 0)), shown[id_], len(page.sections))
        for id_, page in pages.items()
    )


def _count_outline(navigator: Navigator, outline: str) -> ExplainedOutline:
    ids = _OUTLINE_LINE.findall(outline)
    shown = {section.id for id_ in ids if (section := navigator.sections.get(id_))}
    return ExplainedOutline(len(shown), len(navigator.sections), estimate_tokens(outline))


def _measure_prompt(*texts: str) -> PromptTokens:
    instructions, tools, outline, question, rules = tokens = [estimate_tokens(text) for text in texts]
    return PromptTokens(instructions, tools, outline, question, rules, sum(tokens))
