"""`roaming explain`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

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
    warn,
)

if TYPE_CHECKING:
    from mkdocs_roaming.answer.events import Reference
    from mkdocs_roaming.answer.explain import Explanation
    from mkdocs_roaming.library.rules import FiredRule, NearMiss, PhraseMatch


@click.command(context_settings=FREE_TEXT)
@LIBRARY
@click.argument("question")
@click.option("--page", help="Path or URL of the page that the reader is on.")
@click.option(
    "--limit", type=click.IntRange(min=1, max=10), default=3, show_default=True, help="Number of search results."
)
@WHOLE_SITE_TOKENS
@CONFIG
@TRUST_RULES
@AS_JSON
def explain(
    lib: str,
    question: str,
    page: str | None,
    limit: int,
    whole_site_tokens: int | None,
    config: Path | None,
    trust_rules: bool,
    as_json: bool,
) -> None:
    """Show the retrieval for a question without calling a model.

    Lists the matching rules and the sections that they open, the search results, the visible part of the outline, and
    the size of the first prompt.
    """
    from mkdocs_roaming.answer.explain import explain_question
    from mkdocs_roaming.config import load_settings

    options = ResolvedOptions(load_settings(config), whole_site_tokens=whole_site_tokens)
    navigator = options.navigator(open_lib(lib, trust_rules=trust_rules))
    explanation = explain_question(
        navigator, question, page, hits=limit, budget=options.settings.budget, whole_site_tokens=options.whole_site
    )
    if page and explanation.page is None:
        warn(f"no page {page!r} on this site; rules and outlines ignore --page")
    if as_json:
        print_json(asdict(explanation))
        return
    for title, lines in _parts(explanation):
        click.echo(click.style(one_line(title), bold=True))
        for line in lines:
            click.echo("  " + sanitize(line).replace("\n", " "))


_Part = tuple[str, Iterable[str]]
"""A title and its lines."""


def _parts(explanation: Explanation) -> Iterator[_Part]:
    if explanation.page:
        yield f"Page: {_crumbs(explanation.page)}", ()
    yield _rules(explanation)
    yield (
        f"Search: {len(explanation.hits)} best" if explanation.hits else "Search: nothing found",
        [
            line
            for rank, hit in enumerate(explanation.hits, 1)
            for line in (f"{rank}. {_labelled(hit.section)} ({hit.score:.1f})", f"   {hit.snippet}")
        ],
    )
    prompt = explanation.prompt
    if explanation.whole:
        yield (
            f"The site has ~{explanation.site_tokens} tokens, fewer than {explanation.whole_site_tokens}: "
            "a model reads it whole",
            ["Rules, search and outlines are shown as for a larger site."],
        )
        yield (
            f"Prompt: ~{prompt.total} tokens",
            [f"instructions ~{prompt.instructions}, site ~{prompt.outline}, question ~{prompt.question}"],
        )
        return
    yield (
        "Outlines of pages with the question",
        [
            f"[{page.id}] {' › '.join(page.breadcrumb)}: {page.shown} of {page.sections} sections"
            for page in explanation.hints
        ],
    )
    outline = explanation.outline
    closed = outline.sections - outline.shown
    shown = f"{outline.shown} of {outline.sections} sections shown, {closed} closed"
    yield f"Outline: {shown}, ~{outline.tokens} tokens", ()
    parts = (
        f"instructions ~{prompt.instructions}, tools ~{prompt.tools}, outline ~{prompt.outline}, "
        f"question and page outlines ~{prompt.question}, rules ~{prompt.rules}"
    )
    size, limit = explanation.site_tokens, explanation.whole_site_tokens
    why = f"The site has ~{size} tokens, not fewer than {limit}, so it is not read whole."
    yield f"Prompt: ~{prompt.total} tokens", [parts, why]


def _rules(explanation: Explanation) -> _Part:
    firing = explanation.firing
    if firing.ignored:
        rules, verb = ("rule", "is") if firing.ignored == 1 else ("rules", "are")
        note = f"{firing.ignored} {rules} of a site that is not yours {verb} ignored; --trust-rules applies them"
        return f"Rules: {note}", ()
    if not firing.fired and not firing.nearly:
        return "Rules: none fires", ()
    count = len(firing.fired)
    number = f"{count} fires" if count == 1 else f"{count} fire" if count else "none fires"
    return f"Rules: {number}", _rule_lines(explanation)


def _rule_lines(explanation: Explanation) -> Iterator[str]:
    for rule in explanation.firing.fired:
        yield f"{_label(rule)} fires{_reasons(rule)}"
        yield from (f"  opens {_labelled(explanation.sections[id_])}" for id_ in rule.opens)
        if not rule.opens:
            yield "  opens nothing"
        for dropped in explanation.firing.dropped:
            if dropped.rule == rule.number:
                yield f"  drops {_labelled(explanation.sections[dropped.id])}: {_WHY[dropped.why]}"
    for near in explanation.firing.nearly:
        yield f"{_label(near)} nearly fires: {_missing(near)}"


_WHY = {
    "room": "exceeds the budget",
    "count": "more sections than one call opens",
    "rank": "ranked lower than the others",
    "absent": "not on this site, or out of scope",
}


def _label(rule: FiredRule | NearMiss) -> str:
    return f"{rule.number}. {rule.name}" if rule.name else f"{rule.number}. A rule without a name"


def _reasons(rule: FiredRule) -> str:
    reasons = [*_quote_matches(rule.found)]
    if rule.on_page is not None:
        reasons.append(f"the page /{rule.on_page}")
    return f" by {', '.join(reasons)}" if reasons else " on every question"


def _quote_matches(found: Iterable[PhraseMatch]) -> Iterator[str]:
    for match in found:
        yield f"“{match.words}”" if match.phrase == match.words else f"“{match.words}” ({match.phrase})"


def _missing(rule: NearMiss) -> str:
    lacks = [f"“{phrase}”" for phrase in rule.missing]
    if rule.elsewhere:
        lacks.append("the reader on one of its pages")
    has = [*_quote_matches(rule.found), *(f"“{word}”" for word in rule.words)]
    lacking = f"lacks {', '.join(lacks)}"
    return f"has {', '.join(has)}; {lacking}" if has else lacking


def _labelled(section: Reference) -> str:
    return f"[{section.id}] {_crumbs(section)}"


def _crumbs(section: Reference) -> str:
    return " › ".join(section.breadcrumb) or section.title
