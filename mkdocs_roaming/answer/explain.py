"""What a question sets off before a model is asked: rules, search, outlines, and how much a model would read."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import SMALL_SITE_TOKENS, Budget
from mkdocs_roaming.answer.conversation import Conversation, check_question
from mkdocs_roaming.answer.events import Reference
from mkdocs_roaming.answer.loop import read_small_site
from mkdocs_roaming.answer.models.base import UserTurn
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.rules import RulesResult, apply_rules, rules_share
from mkdocs_roaming.library.tools import TOOLS, SearchResults, render
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import PageEntry
from mkdocs_roaming.text.tokenizer import estimate_tokens


@dataclass(frozen=True, slots=True)
class ExplainedHit:
    """A section that search finds; the best window of its text is the snippet."""

    section: Reference
    score: float
    snippet: str


@dataclass(frozen=True, slots=True)
class ExplainedPage:
    """A page whose inner outline goes along with the question: how many of its sections are shown."""

    id: str
    title: str
    breadcrumb: tuple[str, ...]
    shown: int
    sections: int


@dataclass(frozen=True, slots=True)
class ExplainedOutline:
    """The outline in the prompt: how many of the sections it shows, and in how many tokens."""

    shown: int
    sections: int
    tokens: int


@dataclass(frozen=True, slots=True)
class PromptTokens:
    """The estimated tokens that a model reads before its first reply."""

    instructions: int
    tools: int
    outline: int
    question: int
    rules: int
    total: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a question sets off. `sections` tells every section that the firing names, by its id.

    A site of fewer than `whole_site_tokens` is read `whole`, in one round without tools: then rules open nothing and
    no outline is shown, though here it is told what they would do on a larger site.
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
    """Give what a question sets off on a site, by the same steps by which an answer begins; raises UsageError for none.

    The navigator is one that has opened nothing yet; what the rules open is opened in it.
    """
    check_question(question)
    reference = Conversation(navigator).reference
    places, manifest = navigator.sections, navigator.library.manifest
    place = places.resolve(page) if page else None
    site = read_small_site(navigator, whole_site_tokens)
    outline = navigator.outline()
    hints = navigator.hints(question, page if place else None)
    firing = apply_rules(navigator, question, page, rules_share((budget or Budget()).open_chars))
    opened = render(navigator.expand_sections(firing.opens)) if firing.opens else ""
    found = navigator.search_sections(question, hits)
    crumbs = places.breadcrumb(place) if place else ()
    around = prompts.around("" if site else hints, crumbs)
    tools = "" if site else json.dumps([[tool.name, tool.description, tool.parameters] for tool in TOOLS])
    named = dict.fromkeys([*firing.opens, *(id_ for rule in firing.fired for id_ in rule.opens)])
    named |= dict.fromkeys(dropped.id for dropped in firing.dropped)
    return Explanation(
        question=question,
        page=reference(place.id) if place else None,
        whole=site is not None,
        site_tokens=site.tokens if site else sum(one.section.tokens for one in places),
        whole_site_tokens=whole_site_tokens,
        firing=firing,
        sections={id_: reference(id_) for id_ in named},
        hits=tuple(
            ExplainedHit(reference(hit.id), hit.score, hit.snippet)
            for hit in (found.hits if isinstance(found, SearchResults) else ())
        ),
        hints=_pages(places, hints),
        outline=_outline(navigator, outline),
        prompt=_prompt(
            prompts.rules(manifest.site, whole=site is not None),
            tools,
            site.text if site else prompts.outline(manifest.site, outline),
            prompts.asked(UserTurn(question, around)),
            "" if site else opened,
        ),
    )


_LINE = re.compile(r"^\s*\[([0-9a-f]{8})\] ", re.MULTILINE)


def _pages(places: SectionIndex, hints: str) -> tuple[ExplainedPage, ...]:
    """Give the pages whose outlines a text holds, in its order."""
    shown: dict[str, int] = {}
    pages: dict[str, PageEntry] = {}
    for id_ in _LINE.findall(hints):
        if place := places.get(id_):
            pages[place.page.id] = place.page
            shown[place.page.id] = shown.get(place.page.id, 0) + 1
    return tuple(
        ExplainedPage(id_, page.title, places.breadcrumb(SectionRef(page, 0)), shown[id_], len(page.sections))
        for id_, page in pages.items()
    )


def _outline(navigator: Navigator, text: str) -> ExplainedOutline:
    shown = {place.id for id_ in _LINE.findall(text) if (place := navigator.sections.get(id_))}
    return ExplainedOutline(len(shown), len(navigator.sections), estimate_tokens(text))


def _prompt(*texts: str) -> PromptTokens:
    instructions, tools, outline, question, rules = tokens = [estimate_tokens(text) for text in texts]
    return PromptTokens(instructions, tools, outline, question, rules, sum(tokens))
