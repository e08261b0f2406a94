"""`roaming ask` and `roaming replay`: questions answered by roaming, and recorded answers shown again."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mkdocs_roaming.cli.common import (
    AS_JSON,
    FAULTS_FOUND,
    FREE_TEXT,
    LIBRARY,
    NOTHING_FOUND,
    TRUST_RULES,
    open_lib,
    print_json,
    site_as_json,
    warn,
)

if TYPE_CHECKING:
    from mkdocs_roaming.answer.budget import Budget
    from mkdocs_roaming.answer.models.base import Model
    from mkdocs_roaming.answer.replay import Recording
    from mkdocs_roaming.answer.trace import Trace
    from mkdocs_roaming.cli.output import Trail
    from mkdocs_roaming.config import Settings
    from mkdocs_roaming.library.library import Library
    from mkdocs_roaming.library.navigator import Navigator
    from mkdocs_roaming.library.targets import Candidate, SiteInfo

F = TypeVar("F", bound=Callable[..., Any])

MODELS = "claude, claude:MODEL, openai:MODEL (any compatible server), offline or scripted:FILE."

WHOLE_SITE_TOKENS = click.option(
    "--whole-site-tokens",
    type=click.IntRange(min=0),
    envvar="ROAMING_WHOLE_SITE_TOKENS",
    show_envvar=True,
    help="Read a smaller site whole instead of roaming it; 0: never. Else 8000.",
)
CONFIG = click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="ROAMING_CONFIG",
    show_envvar=True,
    help="Settings. Else roaming.toml, if it is there.",
)


def model_options(command: F) -> F:
    """Add the options that say which model answers and what it may cost."""
    options = (
        click.option("--model", metavar="MODEL", help=f"{MODELS} [env var: ROAMING_MODEL]"),
        click.option("--base-url", metavar="URL", help="Where the model's server is. [env var: ROAMING_BASE_URL]"),
        click.option(
            "--rounds",
            type=click.IntRange(min=1),
            envvar="ROAMING_ROUNDS",
            show_envvar=True,
            help="The most replies of the model.",
        ),
        click.option(
            "--seconds",
            type=click.FloatRange(min=0, min_open=True),
            envvar="ROAMING_SECONDS",
            show_envvar=True,
            help="The most time.",
        ),
        WHOLE_SITE_TOKENS,
        CONFIG,
    )
    for option in reversed(options):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class ResolvedOptions:
    """What options, environment and settings come to."""

    settings: Settings
    model: str | None = None
    base_url: str | None = None
    rounds: int | None = None
    seconds: float | None = None
    whole_site_tokens: int | None = None

    @property
    def whole_site(self) -> int:
        """The estimated tokens below which a site is read whole."""
        return self.settings.whole_site_tokens if self.whole_site_tokens is None else self.whole_site_tokens

    def navigator(self, library: Library) -> Navigator:
        """Give a navigator whose search goes as the settings say."""
        from mkdocs_roaming.library.navigator import Navigator

        return Navigator(library, search=self.settings.finding(os.environ, warn)(library))

    def answering(self, name: str | None = None) -> tuple[Model, Budget]:
        """Give the model, by default the one that was chosen, and the budget for its answers."""
        model = self.settings.choose(name or self.model, self.base_url, os.environ)
        budget = self.settings.budget_of(model)
        if self.settings.budget.cost is not None and budget.cost is None and model.name != "offline":
            warn(f"{self.settings.where} has no prices for {model.name}: what it costs is neither told nor limited")
        return model, replace(budget, rounds=self.rounds or budget.rounds, seconds=self.seconds or budget.seconds)


def resolve_options(given: dict[str, Any]) -> ResolvedOptions:
    """Give what the options of `model_options` come to."""
    from mkdocs_roaming.config import load_settings

    return ResolvedOptions(load_settings(given.pop("config")), **given)


@click.command(context_settings=FREE_TEXT)
@LIBRARY
@click.argument("question")
@model_options
@click.option("--page", help="The page that the reader is on: its path or address.")
@click.option("--no-docs", is_flag=True, help="Ask the model without the docs, for comparison.")
@click.option("--trace", type=click.Path(dir_okay=False, path_type=Path), help="Keep the whole answer in this file.")
@TRUST_RULES
@AS_JSON
def ask(
    lib: str,
    question: str,
    page: str | None,
    no_docs: bool,
    trace: Path | None,
    trust_rules: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Ask a question.

    Without a key and a model the answer is made of the docs' own sentences, word for word, each cited.
    """
    import anyio

    from mkdocs_roaming.answer.events import Answer
    from mkdocs_roaming.answer.replay import Recording
    from mkdocs_roaming.answer.trace import check_writable, write_trace
    from mkdocs_roaming.cli.output import Trail, format_age, one_line, print_answer
    from mkdocs_roaming.library.targets import open_target

    options = resolve_options(given)
    model, budget = options.answering()
    if trace is not None:
        check_writable(trace)

    def answered(asking: Candidate, budget: Budget) -> Trace:
        site = asking.site
        if site and not as_json:
            click.echo(f"Asking {site.key} ({one_line(site.title)}), crawled {format_age(site.crawled)}", err=True)
        recording = Recording(
            asking.question,
            options.navigator(asking.library),
            model,
            docs=not no_docs,
            page=asking.page,
            budget=budget,
            whole_site_tokens=options.whole_site,
        )
        anyio.run(_walk, recording, Trail(quiet=as_json, site=site.key if site else ""))
        return recording.trace()

    candidates = open_target(lib, trust_rules=trust_rules).candidates(question, page, warn=warn)
    site, recorded = _until_known(candidates, answered, budget)
    if recorded is None and not as_json:
        click.echo(f"roaming: {lib}: no site in it speaks of that; name one: `roaming ask {lib} 'SITE: …'`", err=True)
    elif trace is not None and recorded is not None:
        write_trace(trace, [recorded])
    result = recorded.answer if recorded else Answer("", "not_found", model.name)
    if as_json:
        print_json(_answer_as_json(result.to_dict(), site))
    elif recorded:
        print_answer(result)
    if result.state == "error":
        sys.exit(1)
    if not result.text or result.state in ("not_found", "refused"):
        sys.exit(NOTHING_FOUND)


def _answer_as_json(answer: dict[str, Any], site: SiteInfo | None) -> dict[str, Any]:
    """Return the JSON of an answer; in an answer from a store every section id names its site."""
    if site is None:
        return answer
    text = re.sub(r"\[\^([0-9a-f]{8})\]", rf"[^{site.key}:\1]", answer["text"])
    return {**_namespace(answer, site.key), "text": text, **site_as_json(site)}


def _namespace(data: Any, site: str) -> Any:
    if isinstance(data, dict):
        return {
            name: f"{site}:{value}" if name in ("id", "section") and isinstance(value, str) else _namespace(value, site)
            for name, value in data.items()
        }
    return [_namespace(one, site) for one in data] if isinstance(data, (list, tuple)) else data


async def _walk(recording: Recording, trail: Trail) -> None:
    async with aclosing(recording.events()) as events:
        async for event in events:
            trail.show(event)


def _until_known(
    libraries: Iterable[Candidate], answered: Callable[[Candidate, Budget], Trace], budget: Budget
) -> tuple[SiteInfo | None, Trace | None]:
    """Ask one library after the other until one knows, all of them within one budget; give the last, and its answer."""
    last: tuple[SiteInfo | None, Trace | None] = (None, None)
    left: Budget | None = budget
    for asking in libraries:
        if left is None:
            break
        began = time.monotonic()
        trace = answered(asking, left)
        last = asking.site, trace
        if trace.answer.state != "not_found":
            break
        left = _less(left, time.monotonic() - began, trace.answer.cost or 0.0)
    return last


def _less(budget: Budget, seconds: float, cost: float) -> Budget | None:
    """Give what is left of a budget; None where that is nothing."""
    left = budget.seconds - seconds
    money = None if budget.cost is None else budget.cost - cost
    return replace(budget, seconds=left, cost=money) if left > 0 and (money is None or money > 0) else None


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="[LIB] TRACE")
@TRUST_RULES
@AS_JSON
def replay(files: tuple[str, ...], trust_rules: bool, as_json: bool) -> None:
    """Show a recorded answer, or play it again.

    TRACE alone is shown: the trail and the answer. With LIB the recorded replies go through the loop again, and it is
    told whether the same events and the same answer come of it, or where they part. No model is asked.
    """
    from mkdocs_roaming.answer.trace import read_trace

    if len(files) > 2:
        raise click.UsageError("give LIB and one TRACE, or TRACE alone")
    traces = read_trace(Path(files[-1]))
    if len(files) == 1:
        _show(traces, as_json=as_json)
    elif not _play(open_lib(files[0], trust_rules=trust_rules), traces, as_json=as_json):
        sys.exit(FAULTS_FOUND)


def _show(traces: tuple[Trace, ...], *, as_json: bool) -> None:
    from mkdocs_roaming.cli.output import Trail, print_answer, print_line, sanitize

    if as_json:
        print_json([{"question": trace.question, **trace.answer.to_dict()} for trace in traces])
        return
    for at, trace in enumerate(traces):
        print_line(f"{chr(10) if at else ''}Question: {sanitize(trace.question)} ({sanitize(trace.site)})")
        trail = Trail()
        for event in trace.events:
            trail.show(event)
        print_answer(trace.answer)


def _play(library: Library, traces: tuple[Trace, ...], *, as_json: bool) -> bool:
    """Play traces again and tell what differs; give whether nothing does."""
    import anyio

    from mkdocs_roaming.answer.replay import replay_trace as play
    from mkdocs_roaming.cli.output import sanitize
    from mkdocs_roaming.library.navigator import Navigator
    from mkdocs_roaming.library.search import Search

    search = Search(library)
    found = [anyio.run(play, trace, Navigator(library, search=search)) for trace in traces]
    if as_json:
        print_json(
            [
                {"question": trace.question, "same": not one.differences, "differences": one.differences}
                for trace, one in zip(traces, found, strict=True)
            ]
        )
        return not any(one.differences for one in found)
    for trace, one in zip(traces, found, strict=True):
        if not one.differences:
            click.echo(f"The same: {len(trace.events)} events, {len(trace.answer.text)} characters of answer.")
        for difference in one.differences:
            click.echo(f"Different: {sanitize(difference)}")
    return not any(one.differences for one in found)
