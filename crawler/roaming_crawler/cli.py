"""Shows a crawl while it goes on: a bar on a terminal, a line now and then elsewhere, or JSON lines."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from roaming_fleet.buckets.base import is_bucket_url
from roaming_fleet.cli import crawl_sites, many_options

from mkdocs_roaming.cli.common import CONFIG, NOTHING_FOUND, SEARCH_OPTION, embeddings_options, warn
from mkdocs_roaming.errors import RoamingError, UsageError

if TYPE_CHECKING:
    from roaming_crawler.crawl import CrawlConfig
    from roaming_crawler.publish import CrawlResult


EventHandler = Callable[[str, dict[str, Any]], None]


_REDRAWN = 0.25


_LINES = 10.0


_LONG = 5.0


_WIDTH = 24


@contextmanager
def show_progress(as_json: bool) -> Iterator[EventHandler]:
    """Give what shows events."""
    if as_json:
        yield _as_json
        return
    progress = CrawlProgress(bar=sys.stderr.isatty(), said=time.monotonic())
    try:
        yield progress.tell
    finally:
        progress.end()


def _as_json(name: str, data: dict[str, Any]) -> None:
    if name != "wait" or data["seconds"] >= _LONG:
        click.echo(json.dumps({"event": name, **data}, ensure_ascii=False))


@dataclass(slots=True)
class CrawlProgress:
    """What is known of a crawl. The bar is redrawn a few times a second; elsewhere a line is said every ten."""

    bar: bool
    said: float
    pages: int = 0
    skipped: int = 0
    known: int = 0
    waits: str = ""
    shown: int = 0

    def tell(self, name: str, data: dict[str, Any]) -> None:
        """Take note of an event, and show where the crawl stands if that is due."""
        now = time.monotonic()
        if name == "wait":
            seconds = data["seconds"]
            self.waits = f", waits {seconds:.0f} s for {data['host']}" if seconds >= 1.5 else ""
        elif name in ("found", "page", "skipped"):
            self.pages += name == "page"
            self.skipped += name == "skipped"
            self.known = max(self.known, data.get("known", data.get("pages", 0)), self.pages + self.skipped)
        else:
            return
        long = self.waits and name == "wait"
        if now - self.said >= (_REDRAWN if self.bar and not long else 0.0 if self.bar else _LINES):
            self.said = now
            self._show()

    def end(self) -> None:
        """Leave the terminal as it was found."""
        if self.shown:
            click.echo("\r" + " " * self.shown + "\r", err=True, nl=False)

    def _show(self) -> None:
        from mkdocs_roaming.cli.output import sanitize

        done = self.pages + self.skipped
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        line = sanitize(f"{done} of {self.known} pages{skipped}{self.waits}")
        if not self.bar:
            click.echo(f"Crawling: {line}", err=True)
            return
        full = _WIDTH * done // max(1, self.known)
        line = f"[{'#' * full}{'-' * (_WIDTH - full)}] {line}"[: shutil.get_terminal_size().columns - 1]
        click.echo(f"\r{line.ljust(self.shown)}", err=True, nl=False)
        self.shown = len(line)


# MERGED mkdocs_roaming.cli.crawling:
# `roaming crawl`: a site that somebody else made, as a published folder.


_MOST_SHOWN = 12


@click.command()
@click.argument("url", required=False)
@click.option(
    "-o", "--output", "folder", required=True, metavar="DIR", help="Publish into this folder; many sites: or s3://…."
)
@many_options
@click.option("--name", help="The site's name. Else its llms.txt or its pages say.")
@click.option("--description", help="One sentence on the site, for llms.txt.")
@click.option("--include", multiple=True, metavar="GLOB", help="Only pages whose paths match; may be repeated.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="No pages whose paths match; may be repeated.")
@click.option("--same-host", is_flag=True, help="The whole host, not only what lies below URL.")
@click.option("--prefix", default="", metavar="PATH", help="What lies below this path or address, wherever URL is.")
@click.option("--resume", is_flag=True, help="Go on with a crawl that was interrupted; an error where none was.")
@click.option("--refresh", is_flag=True, help="Ask for news, also where a crawl was interrupted.")
@click.option("--max-pages", type=click.IntRange(min=1), default=5000, show_default=True)
@click.option("--max-depth", type=click.IntRange(min=0), default=20, show_default=True, help="Links followed in a row.")
@click.option("--max-seconds", type=click.FloatRange(min=0), help="Stop after this time.")
@click.option(
    "--max-page-bytes",
    type=click.IntRange(min=1000),
    default=10_000_000,
    show_default=True,
    help="Of one page, unpacked.",
)
@click.option(
    "--max-bytes", type=click.IntRange(min=1000), default=1_000_000_000, show_default=True, help="Of all pages."
)
@click.option("--max-redirects", type=click.IntRange(min=0, max=20), default=5, show_default=True)
@click.option("--max-header-bytes", type=click.IntRange(min=1000, max=100_000), default=65_536, show_default=True)
@click.option("--delay", type=click.FloatRange(min=0), default=1.0, show_default=True, help="Seconds between requests.")
@click.option("--connections", type=click.IntRange(1, 8), default=2, show_default=True, help="At once, to one host.")
@click.option(
    "--timeout", type=click.FloatRange(min=0.1), default=60.0, show_default=True, help="Seconds for one answer."
)
@click.option("--contact", default="", envvar="ROAMING_CONTACT", help="Your address or page, told to the host.")
@click.option("--user-agent", default="", help="Who asks; its first word is looked for in robots.txt.")
@click.option("--allow-private", is_flag=True, help="Crawl hosts of your own: on this machine, on private networks.")
@click.option("--no-llms", is_flag=True, help="Do not ask for llms.txt.")
@click.option("--no-manifest", is_flag=True, help="Do not mirror a site that publishes a manifest; crawl it.")
@click.option("--no-sitemap", is_flag=True, help="Do not ask for sitemaps.")
@click.option("--no-links", is_flag=True, help="Do not follow the links on pages.")
@click.option("--no-markdown", is_flag=True, help="Convert every page from its HTML.")
@click.option("--no-anchors", is_flag=True, help="Do not fetch a page's HTML where its Markdown is there.")
@click.option("--workers", type=click.IntRange(0, 64), default=2, show_default=True, help="Processes that read pages.")
@SEARCH_OPTION
@CONFIG
@click.option("--json", "as_json", is_flag=True, help="Print what happens as JSON, a line each.")
def crawl(url: str | None, folder: str, as_json: bool, **given: Any) -> None:
    """Publish a site that somebody else made into a folder.

    URL is where its documentation lives, or a built site's folder. The same command again asks only for what has
    changed, or goes on where it was interrupted. With --many a file's sites are published, each below -o.
    """
    import anyio

    from roaming_crawler.crawl import crawl as crawl_site

    _check_many(url, folder, given)
    if given["many"]:
        if click.get_current_context().get_parameter_source("workers") is ParameterSource.DEFAULT:
            given["workers"] = 0  # several sites at once are work enough
        crawl_sites(given["many"], folder, _how(given), given, as_json=as_json)
        return
    how = _how(given)
    with show_progress(as_json) as tell:
        try:
            outcome = anyio.run(lambda: crawl_site(url or "", Path(folder), how, tell=tell))
        except KeyboardInterrupt:
            raise RoamingError(f"{folder}: interrupted; the same command goes on where it was") from None
        except OSError as error:
            if error.filename is None:  # no room, or nobody who reads the output any more
                raise
            place, why = error.filename2 or error.filename, error.strerror or error
            raise RoamingError(
                f"{place}: cannot be written to ({why}); see to that, and give the command again"
            ) from None
    if not as_json:
        _show(outcome, Path(folder))
    if outcome.stopped:
        warn(outcome.stopped)
    if not outcome.pages:
        sys.exit(NOTHING_FOUND)


def _check_many(url: str | None, folder: str, given: dict[str, Any]) -> None:
    """Refuse what is said of many sites without them, and the other way round."""
    if given["many"] and url:
        raise UsageError(f"{url}: --many takes its sites from {given['many']}; give one or the other")
    if not given["many"]:
        if not url:
            raise click.UsageError("give the URL of a site, or --many with a file of them")
        for name in ("engine", "refresh_older_than", "scratch"):
            if given[name]:
                raise UsageError(f"--{name.replace('_', '-')}: is about many sites; give them with --many FILE")
        if is_bucket_url(folder):
            raise UsageError(f"{folder}: one site is published into a folder; list it in a file for --many")


def _how(given: dict[str, Any]) -> CrawlConfig:
    from mkdocs_roaming.publish.writer import PublishOptions
    from roaming_crawler.crawl import CrawlConfig
    from roaming_crawler.discover import DiscoveryConfig
    from roaming_crawler.fetch import Politeness
    from roaming_crawler.scope import ScopeConfig
    from roaming_crawler.session import Limits

    if given["prefix"] and given["same_host"]:
        raise UsageError("--prefix and --same-host exclude each other; give one of them")
    if not given["user_agent"].isprintable() or not given["user_agent"].isascii():
        raise UsageError("--user-agent: has letters that no header can carry; give plain ASCII")
    return CrawlConfig(
        area=ScopeConfig(given["prefix"], given["same_host"], given["include"], given["exclude"]),
        name=given["name"],
        description=given["description"],
        limits=Limits(
            pages=given["max_pages"],
            depth=given["max_depth"],
            seconds=given["max_seconds"],
            page_bytes=given["max_page_bytes"],
            total_bytes=given["max_bytes"],
        ),
        manners=Politeness(
            delay=given["delay"],
            connections=given["connections"],
            seconds=given["timeout"],
            redirects=given["max_redirects"],
            header_bytes=given["max_header_bytes"],
            contact=given["contact"],
            user_agent=given["user_agent"].strip(),
        ),
        sources=DiscoveryConfig(not given["no_manifest"], not given["no_llms"], not given["no_sitemap"]),
        links=not given["no_links"],
        prefer_markdown=not given["no_markdown"],
        anchors=not given["no_anchors"],
        resume=given["resume"],
        refresh=given["refresh"],
        allow_private=given["allow_private"],
        workers=given["workers"],
        options=PublishOptions(embeddings=embeddings_options(given)),
    )


def _show(outcome: CrawlResult, folder: Path) -> None:
    from mkdocs_roaming.cli.output import sanitize

    for note in outcome.notes:
        click.echo(sanitize(note), err=True)
    reasons: dict[str, list[str]] = {}
    for address, why in outcome.skipped:
        reasons.setdefault(why, []).append(address)
    pages, sections = _counted(outcome.pages, "page"), _counted(outcome.sections, "section")
    click.echo(f"{folder}: {pages}, {sections}; {outcome.markdown} came as Markdown")
    for name, count in (
        ("new", len(outcome.new)),
        ("changed", len(outcome.changed)),
        ("same", outcome.same),
        ("gone", len(outcome.gone)),
        ("kept", len(outcome.kept)),
        ("skipped", len(outcome.skipped)),
    ):
        if count or name in ("new", "changed", "same", "skipped"):
            click.echo(f"  {name:<8}{count:>6}")
    for why, addresses in sorted(reasons.items(), key=lambda pair: -len(pair[1]))[:_MOST_SHOWN]:
        click.echo(
            f"    {len(addresses):>4}  {sanitize(why)}: {sanitize(addresses[0])}{' …' if len(addresses) > 1 else ''}"
        )
    click.echo(
        f"  {outcome.requests} requests ({outcome.unchanged} not modified), {outcome.bytes / 1e6:.1f} MB, "
        f"{outcome.seconds:g} s; {outcome.written} files written"
    )


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
