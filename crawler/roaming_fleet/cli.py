"""Many sites in one store: crawled (`roaming crawl --many`) and listed (`roaming sites`)."""

from __future__ import annotations

import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mkdocs_roaming.cli.common import AS_JSON, FREE_TEXT, NOTHING_FOUND, print_json
from mkdocs_roaming.errors import LibraryError, UsageError

if TYPE_CHECKING:
    from roaming_crawler.crawl import CrawlConfig

    from roaming_fleet.records import SiteRecord
    from roaming_fleet.report import RunReport
    from roaming_fleet.runner import Engine

_MOST_SHOWN = 20


def many_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a crawl of many sites."""
    options = (
        click.option(
            "--many",
            type=click.Path(dir_okay=False, path_type=Path),
            help="Crawl the sites that this file lists: an address a line, and a name.",
        ),
        click.option(
            "--engine",
            metavar="dask[=ADDRESS]",
            help="With --many: crawl in processes of Dask, started here or known to a scheduler (tcp://…).",
        ),
        click.option(
            "--at-once", type=click.IntRange(1, 256), default=4, show_default=True, help="With --many: hosts at once."
        ),
        click.option(
            "--refresh-older-than", metavar="AGE", help="With --many: sites crawled so long ago: 7d, 12h, 30m."
        ),
        click.option(
            "--scratch",
            type=click.Path(file_okay=False, path_type=Path),
            help="With --many and a bucket: crawl here before it is uploaded. Else in the temporary folder.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def crawl_sites(file: Path, store: str, how: CrawlConfig, given: dict[str, Any], *, as_json: bool) -> None:
    """Crawl the sites of a file into a store, and show what came of it."""
    from roaming_crawler.cli import show_progress

    from roaming_fleet.runner import crawl_many
    from roaming_fleet.sites_file import read_sites_file
    from roaming_fleet.staging import default_staging_dir

    if how.name or how.description or how.resume or how.area.prefix:
        raise UsageError("--name, --description, --prefix and --resume are about one site; leave them out with --many")
    how = replace(
        how, options=replace(how.options, section_files=False)
    )  # nine in ten of the files, for no reader here
    sites = read_sites_file(file)
    scratch = (given["scratch"] or default_staging_dir()).absolute()
    age = _age(given["refresh_older_than"])
    engine = _engine(given["engine"], given["at_once"], how)
    with show_progress(as_json) as tell, _interrupted_by_signals():
        show = tell if as_json else _tell
        report = crawl_many(sites, store, how, engine, scratch=scratch, older_than=age, tell=show)
    if not as_json:
        _show(report, store)
    if report.stopped:
        raise UsageError(report.stopped)
    if report.failed and not report.new + report.changed + report.same + report.fresh:
        sys.exit(NOTHING_FOUND)


@contextmanager
def _interrupted_by_signals() -> Iterator[None]:
    """Take a request to end, and a terminal that was closed, for Ctrl-C: what is under way is left in order."""
    named = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {each: signal.getsignal(each) for each in named}
    for each in named:
        if before[each] is not signal.SIG_IGN:  # nohup
            signal.signal(each, signal.default_int_handler)
    try:
        yield
    finally:
        for each in named:
            signal.signal(each, before[each])


def _engine(named: str | None, at_once: int, how: CrawlConfig) -> Engine:
    from roaming_fleet.runner import thread_engine

    if named is None:
        return thread_engine(at_once)
    kind, _, address = named.partition("=")
    if kind != "dask" or (address and not re.match(r"(tcp|tls|ws|wss|ucx)://", address)):
        raise UsageError(f"--engine {named}: give dask, or dask=tcp://HOST:PORT of a scheduler")
    if how.options.embeddings is not None:
        raise UsageError("--search hybrid: its key would go to every worker; crawl without --engine for vectors")
    from roaming_fleet.dask_runner import dask_engine

    return dask_engine(address, at_once)


def _age(text: str | None) -> float | None:
    if text is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw])", text.strip())
    if match is None:
        raise UsageError(f"--refresh-older-than {text}: give a number and s, m, h, d or w: 7d")
    return float(match[1]) * {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}[match[2]]


def _tell(name: str, data: dict[str, Any]) -> None:
    from mkdocs_roaming.cli.output import one_line

    if name == "start":
        waiting = f", {data['waiting']} wait for their next try" if data["waiting"] else ""
        click.echo(f"{data['due']} of {data['sites']} sites to crawl; {data['fresh']} are done{waiting}", err=True)
    elif name == "site":
        count = one_line(data["error"]) if data["result"] in ("failed", "busy") else f"{data['pages']} pages"
        stopped = f"; {data['stopped']}" if data["stopped"] else ""
        kept = f"; {_kept(data['kept'], data['error'])}" if data["kept"] else ""
        click.echo(f"  {data['result']:<8}{data['key']}: {count}, {data['seconds']:.1f} s{stopped}{kept}", err=True)


def _kept(count: int, error: str) -> str:
    from mkdocs_roaming.cli.output import one_line

    why = f" ({one_line(error)})" if error else ""
    return f"{count} {'page' if count == 1 else 'pages'} kept from before{why}"


def _show(report: RunReport, store: str) -> None:
    from mkdocs_roaming.cli.output import one_line

    click.echo(f"{store}: {report.sites} sites")
    for name in ("new", "changed", "same", "failed", "fresh", "waiting", "busy"):
        count = getattr(report, name)
        if count or name in ("new", "changed", "same", "failed"):
            click.echo(f"  {name:<8}{count:>6}")
    for failure in report.failures[:_MOST_SHOWN]:
        kept = "its last good copy stays; " if failure["kept"] else ""
        further = "" if failure["kept"] else ", and until then some of its pages may be missing"
        due = _due(failure["next_try"], f"the same command goes on{further}")
        click.echo(f"    {failure['site']}: {one_line(failure['error'])}; {kept}{due}")
    if len(report.failures) > _MOST_SHOWN:
        click.echo(f"    and {len(report.failures) - _MOST_SHOWN} more: roaming sites {store} --failed")
    old = f", {report.pages_kept} kept from before" if report.pages_kept else ""
    click.echo(
        f"  {report.pages_new} pages new, {report.pages_changed} changed, {report.pages_gone} gone{old}; "
        f"{report.requests} requests, {report.bytes / 1e6:.1f} MB, {report.seconds:g} s"
    )


@click.command(context_settings=FREE_TEXT)
@click.argument("store", metavar="STORE")
@click.argument("words", required=False)
@click.option("--failed", is_flag=True, help="Only those whose last crawl failed.")
@click.option("--limit", type=click.IntRange(min=1), help="So many at most.")
@click.option("--drop", "dropped", metavar="SITE", multiple=True, help="Take a site out of the store. May be repeated.")
@AS_JSON
def sites(
    store: str, words: str | None, failed: bool, limit: int | None, dropped: tuple[str, ...], as_json: bool
) -> None:
    """List the sites of a store, or those that WORDS are about, best first."""
    if dropped:
        _drop(store, dropped, as_json=as_json)
        return
    from roaming_fleet.buckets import open_bucket
    from roaming_fleet.buckets.base import BucketError
    from roaming_fleet.catalog import read_records
    from roaming_fleet.collection import Collection

    try:
        found = [each for each in read_records(open_bucket(store)) if not failed or each.state == "failed"]
    except BucketError as error:
        raise LibraryError(str(error)) from None
    if words:
        by_key = {record.key: record for record in found}
        ranked = Collection(store).rank(words, limit or 10, worth=0.0)
        found = [by_key[each.key] for each in ranked if each.key in by_key]
    found = found[:limit]
    if as_json:
        print_json([_record_as_json(record) for record in found])
    for record in found if not as_json else ():
        _show_record(record)
    if not found:
        click.echo("Nothing found." if words else "No site.", err=True)
        sys.exit(NOTHING_FOUND)


def _drop(store: str, keys: tuple[str, ...], *, as_json: bool) -> None:
    from roaming_fleet.store import drop_sites

    gone = drop_sites(store, keys)
    if as_json:
        print_json({"dropped": gone})
    else:
        click.echo(f"Dropped {', '.join(gone)}; a crawl whose file lists {_it(gone)} brings {_it(gone)} back", err=True)


def _it(keys: list[str]) -> str:
    return "it" if len(keys) == 1 else "them"


def _show_record(record: SiteRecord) -> None:
    from mkdocs_roaming.cli.output import format_age, one_line

    entry = record.entry
    if entry is not None:
        click.echo(f"{click.style(record.key, bold=True)}: {one_line(entry.title)}, {entry.url}")
        click.echo(f"  {entry.pages} pages, {entry.sections} sections, crawled {format_age(entry.crawled)}")
        if entry.summary:
            click.echo(f"  {one_line(entry.summary)}")
    else:
        click.echo(f"{click.style(record.key, bold=True)}: {record.url}")
    due = _due(record.next_try, "tried again by the next crawl")
    if record.state == "failed":
        click.echo(f"  failed {format_age(record.at)}: {one_line(record.error)}; {due}")
    elif record.kept:
        click.echo(f"  tried {format_age(record.at)}: {_kept(record.kept, record.error)}; {due}")


def _due(at: float, at_once: str) -> str:
    """Say when a site is tried again."""
    return at_once if at <= time.time() else time.strftime("tried again after %Y-%m-%d %H:%M", time.localtime(at))


def _record_as_json(record: SiteRecord) -> dict[str, Any]:
    data = asdict(record)
    entry = data.pop("entry") or {}
    return {**data, **{name: value for name, value in entry.items() if name not in ("names", "terms")}}
