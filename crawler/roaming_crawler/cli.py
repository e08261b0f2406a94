"""`roaming crawl`: publish a documentation site of any origin into a folder."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mkdocs_roaming.cli.common import (
    CONFIG,
    FAULTS_FOUND,
    NOTHING_FOUND,
    given_settings,
    read_age,
    setting_options,
    warn,
)
from mkdocs_roaming.errors import RoamingError, UsageError
from mkdocs_roaming.plugins import load_entry_point
from mkdocs_roaming.publish.options import PublishOptions, parse_options
from mkdocs_roaming.publish.pipeline import LeftOut
from mkdocs_roaming.text.markdown import pluralize, sanitize, to_single_line
from roaming_crawler.config import MEGABYTE, CrawlConfig, CrawlLimits, DiscoveryConfig, Politeness, ScopeConfig

if TYPE_CHECKING:
    from roaming_crawler.publish import CrawlResult


_MAX_REASONS_SHOWN = 12
_MAX_LISTS_SHOWN = 3
_MIN_WAIT_SHOWN = 5.0
_MIN_WAIT_ON_LINE = 1.5
"""Shorter waits are those between two requests."""
_REDRAW_INTERVAL = 0.25
_LINE_INTERVAL = 5.0
_CLEAR_LINE = "\r\x1b[K"
_AT_ONCE = click.IntRange(1, 256)
_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command(context_settings={"show_default": True})
@click.argument("url", required=False)
@click.option("-o", "--output", "folder", required=True, metavar="DIR", help="Output folder.")
@click.option("--many", type=_FILE, help="Crawl the sites in this file: a URL per line, optionally followed by a name.")
@click.option("--at-once", type=_AT_ONCE, default=4, help="With --many: number of concurrent hosts.")
@click.option(
    "--refresh-older-than",
    "older_than",
    metavar="AGE",
    callback=read_age,
    help="With --many: crawl again after this time (7d, 12h, 30m).",
)
@setting_options(CrawlConfig, "name", "description")
@setting_options(ScopeConfig, "include", "exclude", "strict", "prefix", "language", "version")
@setting_options(CrawlConfig, "refresh")
@setting_options(CrawlLimits, "pages", "depth", "seconds", "page_bytes", "total_bytes")
@setting_options(Politeness, "delay", "connections", "seconds", "contact", "user_agent")
@setting_options(CrawlConfig, "allow_private")
@setting_options(DiscoveryConfig, "llms", "manifest", "sitemap")
@setting_options(CrawlConfig, "links", "source")
@setting_options(PublishOptions, "llms_txt", "overwrite", "descriptions")
@setting_options(CrawlConfig, "skip_flagged", "workers")
@setting_options(PublishOptions, "search")
@CONFIG
@click.option("--json", "as_json", is_flag=True, help="Print events as JSON lines.")
def crawl(url: str | None, folder: str, as_json: bool, **options: Any) -> None:
    """Publish an existing documentation site into a folder.

    URL is the site's URL or the folder of a built site. Repeating the command updates the folder, or resumes an
    interrupted crawl. With --many, several sites are published into one store.
    """
    _check_options(url, options)
    if options["many"]:
        crawl_sites = load_entry_point("roaming.crawl", "many")
        if options["workers"] is None:
            options["workers"] = 0  # several sites at once use all processors already
        crawl_sites(
            options["many"],
            folder,
            _make_config(options),
            at_once=options["at_once"],
            older_than=options["older_than"],
            as_json=as_json,
        )
        return
    config = _make_config(options)
    try:
        result = _run_crawl(url or "", Path(folder), config, as_json=as_json)
    except KeyboardInterrupt:
        raise RoamingError(f"{folder}: interrupted; the same command resumes the crawl") from None
    if not as_json:
        _print_result(result, Path(folder))
    if result.stopped:
        warn(result.stopped)
    if not result.pages:
        sys.exit(NOTHING_FOUND)
    if config.scope.strict and result.incomplete:
        sys.exit(FAULTS_FOUND)


def crawl_part(url: str, folder: Path, options: dict[str, Any]) -> tuple[Callable[[str, str], str], list[LeftOut]]:
    """Crawl a part of a site for its preview.

    Args:
        url: The URL of the site.
        folder: An empty folder.
        options: Options of `roaming crawl`.

    Returns:
        A function that returns the HTML of a page by its path and URL, and the pages that were skipped.
    """
    config = _make_config(options)
    from roaming_crawler.state import CrawlState  # needs the extra

    result = _run_crawl(url, folder, config, as_json=False)
    click.echo(sanitize(f"Pages are found by {', '.join(result.found_by)}"), err=True)
    state = CrawlState(folder)
    records = {record.url: record for record in state.old.values() if "html" in record.kind}

    def read_html(path: str, url: str) -> str:
        response = state.load_response(records.get(url))
        return response.text if response else ""

    return read_html, [LeftOut(skipped, reason) for skipped, reason in result.skipped]


def print_event_as_json(name: str, data: dict[str, Any]) -> None:
    """Print an event as a JSON line. Short waits are left out."""
    if name != "wait" or data["seconds"] >= _MIN_WAIT_SHOWN:
        click.echo(json.dumps({"event": name, **data}))


def _run_crawl(url: str, folder: Path, config: CrawlConfig, *, as_json: bool) -> CrawlResult:
    """Crawl a site, and show events: as JSON lines, as one line on a terminal, otherwise as several lines."""
    import anyio

    from roaming_crawler.crawl import crawl as crawl_site

    run = partial(crawl_site, url, folder, config)
    if as_json:
        return anyio.run(partial(run, on_event=print_event_as_json))
    progress = CrawlProgress(redraws=sys.stderr.isatty())
    try:
        return anyio.run(partial(run, on_event=progress.on_event))
    finally:
        progress.clear()


def _check_options(url: str | None, options: dict[str, Any]) -> None:
    """Raise UsageError for options of many sites without `--many`, and the other way round."""
    file = options["many"]
    if file and url:
        raise UsageError(f"{url}: --many takes its sites from {file}; give one or the other")
    if not file:
        if not url:
            raise click.UsageError("give the URL of a site, or --many with a file of them")
        if options["older_than"] is not None:
            raise UsageError("--refresh-older-than: applies to many sites; give them with --many FILE")
    user_agent = (options["user_agent"] or "").strip()
    options["user_agent"] = user_agent
    if not user_agent.isprintable() or not user_agent.isascii():
        raise UsageError("--user-agent: contains characters that are not allowed in headers; give plain ASCII")


def _make_config(options: dict[str, Any]) -> CrawlConfig:
    if find_spec("protego") is None:
        raise UsageError("crawling needs the package protego; pip install 'mkdocs-roaming[crawl]'")
    embeddings = None
    if options.get("search") == "hybrid":
        from mkdocs_roaming.cli.session import embeddings_options  # imports the models that answer

        embeddings = embeddings_options(options)
    publish = {name: options[name] for name in ("llms_txt", "overwrite", "descriptions") if name in options}
    return CrawlConfig(
        scope=ScopeConfig(**given_settings(ScopeConfig, options)),
        limits=CrawlLimits(**given_settings(CrawlLimits, options)),
        politeness=Politeness(**given_settings(Politeness, options)),
        discovery=DiscoveryConfig(**given_settings(DiscoveryConfig, options)),
        options=parse_options(publish | {"similar_pages": False}),
        embeddings=embeddings,
        **given_settings(CrawlConfig, options),
    )


@dataclass(slots=True)
class CrawlProgress:
    """Progress on standard error at events: a line that is redrawn, or one every five seconds."""

    redraws: bool
    pages: int = 0
    skipped: int = 0
    known: int = 0
    waiting: str = ""
    started: float = field(default_factory=time.monotonic)
    shown: float = field(default_factory=time.monotonic)

    def clear(self) -> None:
        """Clear the line that is redrawn."""
        if self.redraws:
            click.echo(_CLEAR_LINE, err=True, nl=False)

    def on_event(self, name: str, data: dict[str, Any]) -> None:
        """Update the numbers, and show them if that is due."""
        if name == "wait":
            seconds = data["seconds"]
            self.waiting = f", waits {seconds:.0f} s for {data['host']}" if seconds >= _MIN_WAIT_ON_LINE else ""
        elif name in ("found", "page", "skipped"):
            self.pages += name == "page"
            self.skipped += name == "skipped"
            known = data.get("known", data.get("pages", 0))
            self.known = max(self.known, known, self.pages + self.skipped)
        elif name == "publish":
            self.waiting = ", publishing"
        now = time.monotonic()
        if now - self.shown >= (_REDRAW_INTERVAL if self.redraws else _LINE_INTERVAL):
            self.shown = now
            self.show()

    def show(self) -> None:
        """Show the numbers and the time."""
        seconds = time.monotonic() - self.started
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        done = self.pages + self.skipped
        counts = f"{done} of {self.known} pages" if self.known else "looking for pages"
        line = sanitize(f"Crawling: {counts}{skipped}{self.waiting}, {seconds:.0f} s")
        if not self.redraws:
            click.echo(line, err=True)
            return
        line = line[: shutil.get_terminal_size().columns - 1]
        click.echo(_CLEAR_LINE + line, err=True, nl=False)


def _print_result(result: CrawlResult, folder: Path) -> None:
    for note in result.notes:
        click.echo(sanitize(note), err=True)
    size = f"{pluralize(result.pages, 'page')}, {pluralize(result.sections, 'section')}"
    click.echo(f"{folder}: {size}; {result.markdown} came as Markdown")
    more = " …" if result.found_by[_MAX_LISTS_SHOWN:] else ""
    click.echo(sanitize(f"  found by {', '.join(result.found_by[:_MAX_LISTS_SHOWN])}{more}"))
    if result.coverage.visible_words:
        click.echo(f"  {100 * result.coverage.share:.1f} % of visible words kept")
    if result.incomplete:
        pages = [f"{path or '/'} ({100 * result.page_coverage[path]:.0f} %)" for path in result.incomplete]
        shown = ", ".join(pages[:_MAX_REASONS_SHOWN])
        more = " …" if pages[_MAX_REASONS_SHOWN:] else ""
        click.echo(sanitize(f"  {pluralize(len(pages), 'page')} lost more than a tenth: {shown}{more}"))
    for name in ("new", "changed", "same", "gone", "kept", "skipped", "flagged"):
        value = getattr(result, name)
        count = value if isinstance(value, int) else len(value)
        if count or name in ("new", "changed", "same", "skipped"):
            click.echo(f"  {name:<8}{count:>6}")
    for option, variants in groupby(result.left_out, key=lambda variant: variant.option):
        counts = {variant.name: variant.pages for variant in variants}
        names = list(counts)
        count = sum(counts.values())
        pages_in = f"{pluralize(count, 'page')} in " if count else ""
        click.echo(sanitize(f"  left out: {pages_in}{', '.join(names)}; --{option} {names[0]}"))
    _print_reasons(result)
    megabytes = result.bytes / MEGABYTE
    click.echo(
        f"  {result.requests} requests ({result.unchanged} not modified), {megabytes:.1f} MB, "
        f"{result.seconds:g} s; {result.written} files written"
    )


def _print_reasons(result: CrawlResult) -> None:
    by_reason: dict[str, list[str]] = {}
    for url, reason in result.skipped:
        kind = "duplicate" if reason.startswith("duplicate of ") else reason
        by_reason.setdefault(kind, []).append(url)
    reasons = sorted(by_reason.items(), key=lambda pair: -len(pair[1]))
    for reason, urls in reasons[:_MAX_REASONS_SHOWN]:
        more = " …" if len(urls) > 1 else ""
        click.echo(f"    {len(urls):>4}  {sanitize(reason)}: {sanitize(urls[0])}{more}")
    if rest := reasons[_MAX_REASONS_SHOWN:]:
        count = sum(len(urls) for _, urls in rest)
        click.echo(f"    {count:>4}  for {pluralize(len(rest), 'more reason')}; --json lists all")
    for flagged in result.flagged[:_MAX_REASONS_SHOWN]:
        click.echo(f"    {flagged.severity} {flagged.kind}: {sanitize(flagged.url)} “{to_single_line(flagged.quote)}”")
    if unshown := result.flagged[_MAX_REASONS_SHOWN:]:
        click.echo(f"    … and {len(unshown)} more")
