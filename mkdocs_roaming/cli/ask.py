"""`roaming ask`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import anyio
import click
import msgspec

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.events import Answer, summarize
from mkdocs_roaming.answer.probe import probe_model
from mkdocs_roaming.cli.common import (
    AS_JSON,
    FREE_TEXT,
    LIBRARY,
    NOTHING_FOUND,
    TRUST_RULES,
    LibraryCommand,
    check_order,
    print_error,
    print_json,
    warn,
)
from mkdocs_roaming.cli.output import print_answer, run_answer
from mkdocs_roaming.cli.session import ResolvedOptions, model_options
from mkdocs_roaming.cli.sites import scope_options, site_as_json
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.targets import Candidate, SiteInfo, open_library, open_target
from mkdocs_roaming.manifest.lookup import Scope
from mkdocs_roaming.text.markdown import to_single_line


@click.command(cls=LibraryCommand, context_settings=FREE_TEXT)
@LIBRARY
@click.argument("question", required=False)
@model_options
@click.option("--page", help="Path or URL of the page that the reader is on.")
@click.option("--check", is_flag=True, help="Ask the model about a section, print what it can do, and exit.")
@scope_options
@TRUST_RULES
@AS_JSON
def ask(
    lib: str,
    question: str | None,
    page: str | None,
    check: bool,
    scope: Scope,
    trust_rules: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Ask a question.

    Without an API key and a model it shows search results: up to three sections, each with the passage that matches.
    """
    options = ResolvedOptions.from_options(given)
    model, budget = options.create_model()
    search = options.search_factory()
    if check:
        library = open_library(lib)
        probe = anyio.run(probe_model, model, Navigator(library, search=search(library)), budget)
        if not probe.works:
            raise UsageError(probe.summary)
        click.echo(to_single_line(probe.summary))
        return
    if question is None:
        raise click.UsageError("Missing argument 'QUESTION'.")

    def ask_site(candidate: Candidate, budget: Budget) -> Answer:
        site = candidate.site
        if site and not as_json:
            click.echo(f"Asking {to_single_line(site.label)}: {to_single_line(site.title)}", err=True)
        navigator = Navigator(candidate.library, search=search(candidate.library))
        key = site.key if site else ""
        events = run_answer(candidate.question, navigator, model, budget, page=candidate.page, quiet=as_json, site=key)
        return summarize(events)

    check_order(lib, question)
    candidates = open_target(lib, trust_rules=trust_rules, scope=scope).candidates(question, page, warn=warn)
    site, answer = _ask_until_answered(candidates, ask_site, budget)
    result = answer or Answer("not_found", model.name)
    if as_json:
        print_json(msgspec.to_builtins(result) | site_as_json(site))
    elif answer:
        if site:
            click.echo(to_single_line(site.label))
        print_answer(result)
    else:
        print_error(f"{lib}: no site matches the question; name one: `roaming ask {lib} 'SITE: …'`")
    if result.state in ("unusable", "error"):
        sys.exit(1)
    if not result.memory or result.state in ("not_found", "refused"):
        sys.exit(NOTHING_FOUND)


def _ask_until_answered(
    candidates: Iterable[Candidate], ask_site: Callable[[Candidate, Budget], Answer], budget: Budget
) -> tuple[SiteInfo | None, Answer | None]:
    """Ask sites in order, within one budget, until one has the answer.

    Returns:
        The last site and its answer; the site is None for a library of one site, the answer if nothing was asked.
    """
    site: SiteInfo | None = None
    answer: Answer | None = None
    for candidate in candidates:
        site = candidate.site
        start = time.monotonic()
        answer = ask_site(candidate, budget)
        seconds = budget.seconds - (time.monotonic() - start)
        if answer.state != "not_found" or seconds <= 0:
            break
        budget = replace(budget, seconds=seconds)
        if budget.cost is not None:
            cost = budget.cost - (answer.cost or 0.0)
            if cost <= 0:
                break
            budget = replace(budget, cost=cost)
    return site, answer
