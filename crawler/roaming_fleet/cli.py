"""Commands for many sites: `roaming sites`, and the implementation of `roaming crawl --many`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from mkdocs_roaming.cli.common import AS_JSON, NOTHING_FOUND, format_age, print_json
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.text.markdown import pluralize, to_single_line
from roaming_crawler.cli import print_event_as_json
from roaming_crawler.config import MEGABYTE
from roaming_fleet.catalog import read_records, update_catalog
from roaming_fleet.folder import StoreFolder
from roaming_fleet.records import (
    HEAD_PATH,
    SiteNotFoundError,
    SiteRecord,
    format_next_try,
    is_site_key,
    read_record,
    record_as_json,
    record_path,
)

if TYPE_CHECKING:
    from roaming_crawler.config import CrawlConfig
    from roaming_fleet.run import RunReport


def crawl_sites(
    file: Path,
    store: str,
    config: CrawlConfig,
    *,
    at_once: int,
    older_than: float | None,
    as_json: bool,
) -> None:
    """Crawl the sites of a file into a store, and print the report (entry point `roaming.crawl`)."""
    from roaming_fleet import run  # needs packages that `roaming sites` does without

    if config.name or config.description or config.scope.prefix or config.options.descriptions:
        raise UsageError(
            "--name, --description, --descriptions and --prefix apply to a single site; leave them out with --many"
        )
    if config.scope.strict:
        raise UsageError("--strict: a pattern need not match on every site; leave it out with --many")
    # No reader of a store uses files of single sections, nine in ten of all files, and a second file of a page.
    config = replace(config, options=msgspec.structs.replace(config.options, section_files=False), page_copies=False)
    listed = run.read_sites_file(file)
    report = run.crawl_many(
        listed,
        StoreFolder(store),
        config,
        at_once=at_once,
        older_than=older_than,
        on_event=print_event_as_json if as_json else print_event,
    )
    if not as_json:
        _print_report(report, store)
    if report.stopped:
        raise UsageError(report.stopped)
    if report.failed and not report.new + report.changed + report.same + report.fresh:
        sys.exit(NOTHING_FOUND)


def print_event(name: str, data: dict[str, Any]) -> None:
    """Print an event of a run as a line of standard error."""
    if name == "start":
        waiting = f", {data['waiting']} wait for their next try" if data["waiting"] else ""
        click.echo(f"{data['due']} of {data['sites']} sites to crawl; {data['fresh']} are done{waiting}", err=True)
    elif name == "locked":
        click.echo("another sync is running; waiting for it", err=True)
    elif name == "site":
        count = to_single_line(data["error"]) if data["result"] == "failed" else f"{data['pages']} pages"
        stopped = f"; {data['stopped']}" if data["stopped"] else ""
        kept = f"; {_format_kept(data['kept'], data['error'])}" if data["kept"] else ""
        click.echo(f"  {data['result']:<8}{data['key']}: {count}, {data['seconds']:.1f} s{stopped}{kept}", err=True)


def _print_report(report: RunReport, store: str) -> None:
    click.echo(f"{store}: {report.sites} sites")
    for name in ("new", "changed", "same", "failed", "fresh", "waiting"):
        count = getattr(report, name)
        if count or name in ("new", "changed", "same", "failed"):
            click.echo(f"  {name:<8}{count:>6}")
    if report.failed:
        click.echo(f"  reasons and times of the next tries: roaming sites {store} --failed")
    old = f", {report.pages_kept} not fetched" if report.pages_kept else ""
    pages = f"{report.pages_new} pages new, {report.pages_changed} changed, {report.pages_gone} gone{old}"
    click.echo(f"  {pages}; {report.requests} requests, {report.bytes / MEGABYTE:.1f} MB, {report.seconds:g} s")


@click.command()
@click.argument("store", metavar="STORE")
@click.option("--failed", is_flag=True, help="List only sites whose last crawl failed.")
@click.option("--drop", "dropped", metavar="SITE", multiple=True, help="Remove a site from the store. Repeatable.")
@AS_JSON
def sites(store: str, failed: bool, dropped: tuple[str, ...], as_json: bool) -> None:
    """List the sites of a store."""
    if dropped:
        removed = drop_sites(store, dropped)
        if as_json:
            print_json({"dropped": removed})
        else:
            click.echo(f"Dropped {', '.join(removed)}; a crawl whose file lists a site adds it again", err=True)
        return
    records = [record for record in read_records(StoreFolder(store)) if not failed or record.state == "failed"]
    if as_json:
        print_json([record_as_json(record) for record in records])
    else:
        for record in records:
            _print_record(record)
    if not records:
        click.echo("No site.", err=True)
        sys.exit(NOTHING_FOUND)


def drop_sites(where: str, keys: Iterable[str]) -> list[str]:
    """Remove sites from a store, and return their keys in order.

    Args:
        where: Folder of the store.
        keys: Keys of the sites.

    Raises:
        SiteNotFoundError: One of the sites is not in the store; none is removed then.
        StoreError: The store cannot be accessed.
        FolderBusyError: A run uses the store.
    """
    store = StoreFolder(where)
    store.get(HEAD_PATH)  # fails unless this is a store
    wanted = list(dict.fromkeys(keys))
    for key in wanted:
        if not is_site_key(key) or read_record(store, key) is None:
            raise SiteNotFoundError(where, key)
    with store.hold():
        for key in wanted:
            shutil.rmtree(store.root / key, ignore_errors=True)
            store.delete([record_path(key)])  # the last, so that a partly removed site can still be named
        update_catalog(store)
    return wanted


def _print_record(record: SiteRecord) -> None:
    entry = record.entry
    if entry is not None:
        click.echo(f"{click.style(record.key, bold=True)}: {to_single_line(f'{entry.title}, {entry.url}')}")
        click.echo(f"  {entry.pages} pages, {entry.sections} sections, crawled {format_age(entry.crawled)}")
        if entry.summary:
            click.echo(f"  About: {to_single_line(entry.summary)}")  # a line of its own could look like another site
    else:
        click.echo(f"{click.style(record.key, bold=True)}: {to_single_line(record.url)}")
    next_try = format_next_try(record.next_try)
    if record.state == "failed":
        click.echo(f"  failed {format_age(record.at)}: {to_single_line(record.error)}; {next_try}")
    elif record.kept:
        click.echo(f"  tried {format_age(record.at)}: {_format_kept(record.kept, record.error)}; {next_try}")


def _format_kept(count: int, error: str) -> str:
    reason = f" ({to_single_line(error)})" if error else ""
    return f"{pluralize(count, 'page')} not fetched{reason}"
