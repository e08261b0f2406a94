"""Commands for many sites: `roaming sites`, and the implementation of `roaming crawl --many`."""

from __future__ import annotations

import re
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from mkdocs_roaming.cli.common import AS_JSON, FREE_TEXT, NOTHING_FOUND, format_age, one_line, print_json
from mkdocs_roaming.errors import LibraryError, UsageError

if TYPE_CHECKING:
    from roaming_crawler.config import CrawlConfig
    from roaming_fleet.records import SiteRecord
    from roaming_fleet.run import Engine, RunReport


def crawl_sites(
    file: Path,
    store: str,
    config: CrawlConfig,
    *,
    engine: str | None,
    at_once: int,
    refresh_older_than: str | None,
    scratch: Path | None,
    as_json: bool,
) -> None:
    """Crawl the sites of a file into a store, and print the report (entry point `roaming.crawl`)."""
    from roaming_crawler.cli import print_event_as_json
    from roaming_fleet.run import crawl_many
    from roaming_fleet.sites_file import read_sites_file
    from roaming_fleet.sync import default_staging_dir

    if config.name or config.description or config.resume or config.scope.prefix:
        raise UsageError(
            "--name, --description, --prefix and --resume apply to a single site; leave them out with --many"
        )
    if config.scope.strict:
        raise UsageError("--strict: a pattern need not match on every site; leave it out with --many")
    # No reader of a store uses files of single sections, nine in ten of all files, and a second file of a page.
    config = replace(config, options=msgspec.structs.replace(config.options, section_files=False), page_copies=False)
    sites = read_sites_file(file)
    older_than = _parse_age(refresh_older_than)
    run_engine = _make_engine(engine, at_once, config)
    with _signals_as_interrupts():
        report = crawl_many(
            sites,
            store,
            config,
            run_engine,
            scratch=(scratch or default_staging_dir()).absolute(),
            older_than=older_than,
            on_event=print_event_as_json if as_json else _print_event,
        )
    if not as_json:
        _print_report(report, store)
    if report.stopped:
        raise UsageError(report.stopped)
    if report.failed and not report.new + report.changed + report.same + report.fresh:
        sys.exit(NOTHING_FOUND)


@contextmanager
def _signals_as_interrupts() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP like Ctrl-C, so that the run stops in order."""
    signals = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in signals}
    for number in signals:
        if before[number] is not signal.SIG_IGN:  # set by nohup
            signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in signals:
            signal.signal(number, before[number])


def _make_engine(name: str | None, at_once: int, config: CrawlConfig) -> Engine:
    from roaming_fleet.engines import dask_engine, process_engine, thread_engine

    if name in (None, "threads"):
        return thread_engine(at_once)
    if name == "processes":
        return process_engine(at_once)
    kind, _, address = name.partition("=")
    if kind != "dask" or not re.match(r"(tcp|tls|ws|wss|ucx)://", address):
        raise UsageError(f"--engine {name}: give threads, processes, or dask=tcp://HOST:PORT of a scheduler")
    if config.embeddings is not None:
        raise UsageError("--search hybrid: its key would be sent to all workers; leave out --engine, or --search")
    return dask_engine(address)


def _parse_age(text: str | None) -> float | None:
    if text is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw])", text.strip())
    if match is None:
        raise UsageError(f"--refresh-older-than {text}: give a number and s, m, h, d or w: 7d")
    return float(match[1]) * {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}[match[2]]


def _print_event(name: str, data: dict[str, Any]) -> None:
    if name == "start":
        waiting = f", {data['waiting']} wait for their next try" if data["waiting"] else ""
        click.echo(f"{data['due']} of {data['sites']} sites to crawl; {data['fresh']} are done{waiting}", err=True)
    elif name == "site":
        count = one_line(data["error"]) if data["result"] == "failed" else f"{data['pages']} pages"
        stopped = f"; {data['stopped']}" if data["stopped"] else ""
        kept = f"; {_format_kept(data['kept'], data['error'])}" if data["kept"] else ""
        click.echo(f"  {data['result']:<8}{data['key']}: {count}, {data['seconds']:.1f} s{stopped}{kept}", err=True)


def _print_report(report: RunReport, store: str) -> None:
    click.echo(f"{store}: {report.sites} sites")
    for name in ("new", "changed", "same", "failed", "fresh", "waiting"):
        count = getattr(report, name)
        if count or name in ("new", "changed", "same", "failed"):
            click.echo(f"  {name:<8}{count:>6}")
    for failure in report.failures[:_MAX_FAILURES_SHOWN]:
        kept = "its last good copy stays; " if failure["kept"] else ""
        warning = "" if failure["kept"] else "; until then some of its pages may be missing"
        next_try = _format_next_try(failure["next_try"], f"the same command retries it{warning}")
        click.echo(f"    {failure['site']}: {one_line(failure['error'])}; {kept}{next_try}")
    if len(report.failures) > _MAX_FAILURES_SHOWN:
        click.echo(f"    and {len(report.failures) - _MAX_FAILURES_SHOWN} more: roaming sites {store} --failed")
    old = f", {report.pages_kept} kept from before" if report.pages_kept else ""
    click.echo(
        f"  {report.pages_new} pages new, {report.pages_changed} changed, {report.pages_gone} gone{old}; "
        f"{report.requests} requests, {report.bytes / 1e6:.1f} MB, {report.seconds:g} s"
    )


@click.command(context_settings=FREE_TEXT)
@click.argument("store", metavar="STORE")
@click.argument("words", required=False)
@click.option("--failed", is_flag=True, help="List only sites whose last crawl failed.")
@click.option("--limit", type=click.IntRange(min=1), help="Maximum number of sites (default: all; 10 with WORDS).")
@click.option("--drop", "dropped", metavar="SITE", multiple=True, help="Remove a site from the store. Repeatable.")
@AS_JSON
def sites(
    store: str, words: str | None, failed: bool, limit: int | None, dropped: tuple[str, ...], as_json: bool
) -> None:
    """List the sites of a store, or those that match WORDS, best first."""
    if dropped:
        _drop(store, dropped, as_json=as_json)
        return
    found = _find_records(store, words, failed=failed, limit=limit)
    if as_json:
        print_json([_record_as_json(record) for record in found])
    for record in found if not as_json else ():
        _print_record(record)
    if not found:
        click.echo("Nothing found." if words else "No site.", err=True)
        sys.exit(NOTHING_FOUND)


def _find_records(store: str, words: str | None, *, failed: bool, limit: int | None) -> list[SiteRecord]:
    from roaming_fleet.buckets import BucketError
    from roaming_fleet.catalog import read_records
    from roaming_fleet.collection import Collection
    from roaming_fleet.objects import open_bucket

    try:
        found = [record for record in read_records(open_bucket(store)) if not failed or record.state == "failed"]
    except BucketError as error:
        raise LibraryError(str(error)) from None
    if words:
        by_key = {record.key: record for record in found}
        ranked = Collection(store).rank(words, limit or 10, min_score=0.0)
        found = [by_key[site.key] for site in ranked if site.key in by_key]
    return found[:limit]


def _drop(store: str, keys: tuple[str, ...], *, as_json: bool) -> None:
    from roaming_fleet.run import drop_sites

    removed = drop_sites(store, keys)
    if as_json:
        print_json({"dropped": removed})
    else:
        pronoun = "it" if len(removed) == 1 else "them"
        click.echo(f"Dropped {', '.join(removed)}; a crawl whose file lists {pronoun} adds {pronoun} again", err=True)


def _print_record(record: SiteRecord) -> None:
    entry = record.entry
    if entry is not None:
        click.echo(f"{click.style(record.key, bold=True)}: {one_line(entry.title)}, {entry.url}")
        click.echo(f"  {entry.pages} pages, {entry.sections} sections, crawled {format_age(entry.crawled)}")
        if entry.summary:
            click.echo(f"  {one_line(entry.summary)}")
    else:
        click.echo(f"{click.style(record.key, bold=True)}: {record.url}")
    next_try = _format_next_try(record.next_try, "tried again by the next crawl")
    if record.state == "failed":
        click.echo(f"  failed {format_age(record.at)}: {one_line(record.error)}; {next_try}")
    elif record.kept:
        click.echo(f"  tried {format_age(record.at)}: {_format_kept(record.kept, record.error)}; {next_try}")


def _format_kept(count: int, error: str) -> str:
    reason = f" ({one_line(error)})" if error else ""
    return f"{count} {'page' if count == 1 else 'pages'} kept from before{reason}"


def _format_next_try(at: float, now: str) -> str:
    """Return when a site is tried again, or `now` if that time has passed."""
    return now if at <= time.time() else time.strftime("tried again after %Y-%m-%d %H:%M", time.localtime(at))


def _record_as_json(record: SiteRecord) -> dict[str, Any]:
    data = msgspec.to_builtins(record)
    entry = data.pop("entry") or {}
    return {**data, **{name: value for name, value in entry.items() if name not in ("names", "terms")}}


_MAX_FAILURES_SHOWN = 20
