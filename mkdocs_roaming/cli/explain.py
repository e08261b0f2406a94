"""`roaming explain`: what happens with a question before the first request to a model.

The fields of `Explanation` are the JSON of `roaming explain --json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import anyio
import click

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import SMALL_SITE_TOKENS, Budget, CostEstimate
from mkdocs_roaming.answer.conversation import Conversation, check_question
from mkdocs_roaming.answer.events import Reference
from mkdocs_roaming.answer.models.base import UserTurn
from mkdocs_roaming.answer.prepare import format_page_context, read_small_site
from mkdocs_roaming.answer.trace import estimate_cost
from mkdocs_roaming.cli.common import (
    AS_JSON,
    CONFIG,
    FREE_TEXT,
    LIBRARY,
    TRUST_RULES,
    WHOLE_SITE_TOKENS,
    ResolvedOptions,
    one_line,
    open_lib,
    print_json,
    sanitize,
    scope_options,
    warn,
)
from mkdocs_roaming.config import load_settings
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.rules import FiredRule, RulesResult, apply_rules, rules_share
from mkdocs_roaming.library.tools import TOOLS, render
from mkdocs_roaming.manifest.lookup import Scope
from mkdocs_roaming.text.tokenizer import estimate_tokens

_OUTLINE_LINE = re.compile(r"^\s*\[([0-9a-f]{8})\] ", re.MULTILINE)


_WHY = {
    "room": "exceeds the budget",
    "count": "more sections than one call opens",
    "absent": "not on this site, or out of scope",
}


@click.command(context_settings=FREE_TEXT)
@LIBRARY
@click.argument("question")
@click.option("--page", help="Path or URL of the page that the reader is on.")
@click.option(
    "--limit", type=click.IntRange(min=1, max=10), default=3, show_default=True, help="Number of search results."
)
@scope_options
@WHOLE_SITE_TOKENS
@CONFIG
@TRUST_RULES
@AS_JSON
def explain(
    lib: str,
    question: str,
    page: str | None,
    limit: int,
    scope: Scope,
    whole_site_tokens: int | None,
    config: Path | None,
    trust_rules: bool,
    as_json: bool,
) -> None:
    """Show the retrieval for a question without calling a model.

    Lists the matching rules and the sections that they open, the search results, the visible part of the outline, and
    the size of the first prompt.
    """
    options = ResolvedOptions(load_settings(config), whole_site_tokens=whole_site_tokens)
    navigator = options.navigator(open_lib(lib, trust_rules=trust_rules, scope=scope))
    explanation = explain_question(
        navigator, question, page, hits=limit, budget=options.settings.budget, whole_site_tokens=options.whole_site
    )
    if page and explanation.page is None:
        warn(f"no page {page!r} on this site; rules and outlines ignore --page")
    if as_json:
        print_json(asdict(explanation))
        return
    for line in _format(explanation):
        indented = line.startswith(" ")
        click.echo(sanitize(line).replace("\n", " ") if indented else click.style(one_line(line), bold=True))


def _format(explanation: Explanation) -> Iterator[str]:
    """Yield titles and indented lines."""
    if explanation.page:
        yield f"Page: {_crumbs(explanation.page)}"
    yield from _format_rules(explanation)
    yield f"Search: {len(explanation.hits)} best" if explanation.hits else "Search: nothing found"
    for rank, hit in enumerate(explanation.hits, 1):
        yield f"  {rank}. {_labelled(hit.section)} ({hit.score:.1f})"
        yield f"     {hit.snippet}"
    size, limit = explanation.site_tokens, explanation.whole_site_tokens
    if explanation.whole:
        yield f"The site has ~{size} tokens, fewer than {limit}: a model reads it whole"
        yield "  Rules, search and outlines are shown as for a larger site."
    else:
        yield f"Opened by search: {len(explanation.prefetched) or 'nothing'}"
        for section in explanation.prefetched:
            yield f"  {_labelled(section)} ~{section.tokens} tokens"
        if explanation.listed:
            yield f"Listed by search: {len(explanation.listed)}"
            for section in explanation.listed:
                yield f"  {_labelled(section)}"
        outline = explanation.outline
        closed = outline.sections - outline.shown
        shown = f"{outline.shown} of {outline.sections} sections shown, {closed} closed"
        yield f"Outline: {shown}, ~{outline.tokens} tokens"
    prompt = explanation.prompt
    yield f"Prompt: ~{prompt.total} tokens"
    if explanation.whole:
        yield f"  instructions ~{prompt.instructions}, site ~{prompt.outline}, question ~{prompt.question}"
    else:
        yield (
            f"  instructions ~{prompt.instructions}, tools ~{prompt.tools}, outline ~{prompt.outline}, "
            f"question ~{prompt.question}, rules ~{prompt.rules}, search ~{prompt.search}"
        )
        yield f"  The site has ~{size} tokens, not fewer than {limit}, so it is not read whole."
    yield f"Cost with a model: {explanation.cost.summary}"
    yield f"  {explanation.cost.details}"


def _format_rules(explanation: Explanation) -> Iterator[str]:
    firing = explanation.firing
    if firing.ignored:
        rules, verb = ("rule", "is") if firing.ignored == 1 else ("rules", "are")
        note = f"{firing.ignored} {rules} of a site that is not yours {verb} ignored"
        yield f"Rules: {note}; --trust-rules applies them"
        return
    count = len(firing.fired)
    yield f"Rules: {count or 'none'} {'fire' if count > 1 else 'fires'}"
    for rule in firing.fired:
        yield f"  {rule.number}. {rule.name or 'A rule without a name'} fires{_reasons(rule)}"
        for id_ in rule.opens:
            yield f"    opens {_labelled(explanation.sections[id_])}"
        if not rule.opens:
            yield "    opens nothing"
        for dropped in firing.dropped:
            if dropped.rule == rule.number:
                yield f"    drops {_labelled(explanation.sections[dropped.id])}: {_WHY[dropped.why]}"


def _reasons(rule: FiredRule) -> str:
    reasons = [
        f"“{match.words}”" if match.phrase == match.words else f"“{match.words}” ({match.phrase})"
        for match in rule.found
    ]
    if rule.on_page is not None:
        reasons.append(f"the page /{rule.on_page}")
    return f" by {', '.join(reasons)}" if reasons else " on every question"


def _labelled(section: Reference) -> str:
    return f"[{section.id}] {_crumbs(section)}"


def _crumbs(section: Reference) -> str:
    return " › ".join(section.breadcrumb) or section.title


# The explanation


@dataclass(frozen=True, slots=True)
class ExplainedHit:
    """A search result with the best part of its text."""

    section: Reference
    score: float
    snippet: str


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
    search: int
    total: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """What happens with a question before the first request.

    A small site is read whole, in one round without tools. Then neither rules nor search open anything and no outline
    is sent; `firing`, `prefetched`, `listed` and `outline` show what would happen on a larger site.

    Attributes:
        question: The question.
        page: The reader's page, if it exists.
        whole: Whether the site is read whole.
        site_tokens: Estimated size of the site.
        whole_site_tokens: A site with fewer estimated tokens is read whole.
        firing: The rules that match, and the sections that they open.
        sections: All sections that `firing` names, by id.
        hits: Search results.
        prefetched: Sections that search opens; `tokens` is the size of the text shown.
        listed: Further search results that are listed with the question.
        outline: The outline of the site.
        prompt: Size of the first request.
        cost: Estimated size and cost of the answer.
    """

    question: str
    page: Reference | None
    whole: bool
    site_tokens: int
    whole_site_tokens: int
    firing: RulesResult
    sections: dict[str, Reference]
    hits: tuple[ExplainedHit, ...]
    prefetched: tuple[Reference, ...]
    listed: tuple[Reference, ...]
    outline: ExplainedOutline
    prompt: PromptTokens
    cost: CostEstimate


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
    budget = budget or Budget()
    navigator.link_ids = True
    estimate = partial(estimate_cost, question, navigator, budget, page=page, whole_site_tokens=whole_site_tokens)
    cost = anyio.run(estimate)  # before anything is opened in the navigator
    make_reference = Conversation(navigator).make_reference
    index, manifest = navigator.sections, navigator.library.manifest
    section = index.resolve(page) if page else None
    site = read_small_site(navigator, whole_site_tokens)
    outline = navigator.outline()
    rules = apply_rules(navigator, question, page, rules_share(budget.open_chars))
    opened = render(navigator.expand_sections(rules.opens)) if rules.opens else ""
    found = navigator.prefetch(question)
    prefetched = {one.id: replace(make_reference(one.id), tokens=estimate_tokens(one.text)) for one in found.sections}
    known = {*prefetched, *(one.id for one in found.already_open)}
    context = format_page_context(navigator, page, with_outline=site is None)
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
        hits=tuple(
            ExplainedHit(make_reference(hit.section.id), round(hit.score, 4), hit.snippet)
            for hit in navigator.search.find(question, limit=hits)
        ),
        prefetched=tuple(prefetched.values()),
        listed=tuple(make_reference(hit.id) for hit in found.hits if hit.id not in known),
        outline=_count_outline(navigator, outline),
        prompt=_measure_prompt(
            prompts.build_rules(manifest.site, rounds=budget.rounds, whole_site=site is not None),
            tools,
            site.text if site else prompts.format_outline(manifest.site, outline),
            prompts.format_question(UserTurn(question, context)),
            "" if site else opened,
            "" if site else render(found),
        ),
        cost=cost,
    )


def _count_outline(navigator: Navigator, outline: str) -> ExplainedOutline:
    ids = _OUTLINE_LINE.findall(outline)
    shown = {section.id for id_ in ids if (section := navigator.sections.get(id_))}
    return ExplainedOutline(len(shown), len(navigator.sections), estimate_tokens(outline))


def _measure_prompt(*texts: str) -> PromptTokens:
    instructions, tools, outline, question, rules, search = tokens = [estimate_tokens(text) for text in texts]
    return PromptTokens(instructions, tools, outline, question, rules, search, sum(tokens))
