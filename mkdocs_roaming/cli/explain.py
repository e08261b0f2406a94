"""`roaming explain`: what a question sets off before a model is asked, and how that looks on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mkdocs_roaming.cli.ask import CONFIG, WHOLE_SITE_TOKENS, ResolvedOptions
from mkdocs_roaming.cli.common import AS_JSON, FREE_TEXT, LIBRARY, TRUST_RULES, open_lib, print_json, warn

if TYPE_CHECKING:
    from mkdocs_roaming.answer.events import Reference
    from mkdocs_roaming.answer.explain import Explanation
    from mkdocs_roaming.library.rules import FiredRule, NearMiss, PhraseMatch


@click.command(context_settings=FREE_TEXT)
@LIBRARY
@click.argument("question")
@click.option("--page", help="The page that the reader is on: its path or address.")
@click.option("--limit", type=click.IntRange(min=1, max=10), default=3, show_default=True, help="Hits of the search.")
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
    """Show what a question sets off, before a model is asked.

    Which rules fire, by which words, and what they open; what search finds; what the outline shows and hides; how
    many tokens a model would read first.
    """
    from mkdocs_roaming.answer.explain import explain_question
    from mkdocs_roaming.config import load_settings

    chosen = ResolvedOptions(load_settings(config), whole_site_tokens=whole_site_tokens)
    navigator = chosen.navigator(open_lib(lib, trust_rules=trust_rules))
    explanation = explain_question(
        navigator, question, page, hits=limit, budget=chosen.settings.budget, whole_site_tokens=chosen.whole_site
    )
    if page and explanation.page is None:
        warn(f"no page {page!r} on this site: rules and outlines are those of no page")
    if as_json:
        print_json(asdict(explanation))
        return
    from mkdocs_roaming.cli.output import one_line, sanitize

    for title, lines in _parts(explanation):
        click.echo(click.style(one_line(title), bold=True))
        for line in lines:
            click.echo("  " + sanitize(line).replace("\n", " "))


_Part = tuple[str, Iterable[str]]


def _parts(told: Explanation) -> Iterator[_Part]:
    """Give the parts of an explanation, each a title and its lines."""
    if told.page:
        yield f"Page: {_crumbs(told.page)}", ()
    yield _rules(told)
    yield (
        f"Search: {len(told.hits)} best" if told.hits else "Search: nothing found",
        [
            line
            for rank, hit in enumerate(told.hits, 1)
            for line in (f"{rank}. {_named(hit.section)} ({hit.score:.1f})", f"   {hit.snippet}")
        ],
    )
    prompt = told.prompt
    if told.whole:
        yield (
            f"The site has ~{told.site_tokens} tokens, fewer than {told.whole_site_tokens}: a model reads it whole",
            ["Rules, search and outlines are told as for a larger site."],
        )
        yield (
            f"Prompt: ~{prompt.total} tokens",
            [f"instructions ~{prompt.instructions}, site ~{prompt.outline}, question ~{prompt.question}"],
        )
        return
    yield (
        "Outlines of pages beside the question",
        [f"[{page.id}] {' › '.join(page.breadcrumb)}: {page.shown} of {page.sections} sections" for page in told.hints],
    )
    outline = told.outline
    closed = outline.sections - outline.shown
    shown = f"{outline.shown} of {outline.sections} sections shown, {closed} closed"
    yield f"Outline: {shown}, ~{outline.tokens} tokens", ()
    parts = (
        f"instructions ~{prompt.instructions}, tools ~{prompt.tools}, outline ~{prompt.outline}, "
        f"question and page outlines ~{prompt.question}, rules ~{prompt.rules}"
    )
    why = f"The site has ~{told.site_tokens}, not fewer than {told.whole_site_tokens}, so it is not read whole."
    yield f"Prompt: ~{prompt.total} tokens", [parts, why]


def _rules(told: Explanation) -> _Part:
    firing = told.firing
    if firing.ignored:
        number = f"{firing.ignored} rule{'' if firing.ignored == 1 else 's'}"
        return f"Rules: {number} of somebody else's site, left alone; --trust-rules follows them", ()
    if not firing.fired and not firing.nearly:
        return "Rules: none fires", ()
    count = len(firing.fired)
    return f"Rules: {f'{count} fires' if count == 1 else f'{count} fire' if count else 'none fires'}", _rule_lines(told)


def _rule_lines(told: Explanation) -> Iterator[str]:
    for rule in told.firing.fired:
        yield f"{_label(rule)} fires{_reasons(rule)}"
        yield from (f"  opens {_named(told.sections[id_])}" for id_ in rule.opens)
        if not rule.opens:
            yield "  opens nothing"
        for dropped in told.firing.dropped:
            if dropped.rule == rule.number:
                yield f"  drops {_named(told.sections[dropped.id])}: {_WHY[dropped.why]}"
    for near in told.firing.nearly:
        yield f"{_label(near)} nearly fires: {_lacks(near)}"


_WHY = {
    "room": "no room for it",
    "count": "more sections than one call opens",
    "rank": "search finds others and not this one",
    "absent": "not on this site, or out of scope",
}


def _label(rule: FiredRule | NearMiss) -> str:
    return f"{rule.number}. {rule.name}" if rule.name else f"{rule.number}. A rule without a name"


def _reasons(rule: FiredRule) -> str:
    reasons = [*_found(rule.found)]
    if rule.on_page is not None:
        reasons.append(f"the page /{rule.on_page}")
    return f" by {', '.join(reasons)}" if reasons else " on every question"


def _found(found: Iterable[PhraseMatch]) -> Iterator[str]:
    for match in found:
        same = match.phrase == match.words
        yield f"“{match.words}”" if same else f"“{match.words}” ({match.phrase})"


def _lacks(rule: NearMiss) -> str:
    lacks = [f"“{phrase}”" for phrase in rule.missing]
    if rule.elsewhere:
        lacks.append("the reader on one of its pages")
    has = [*_found(rule.found), *(f"“{word}”" for word in rule.words)]
    told = f"lacks {', '.join(lacks)}"
    return f"has {', '.join(has)}; {told}" if has else told


def _named(section: Reference) -> str:
    return f"[{section.id}] {_crumbs(section)}"


def _crumbs(section: Reference) -> str:
    return " › ".join(section.breadcrumb) or section.title
