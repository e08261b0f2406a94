"""`roaming report`: what readers asked, and what agents read."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import msgspec

from mkdocs_roaming.cli.common import AS_JSON, FILE, print_json, warn
from mkdocs_roaming.cli.sites import open_lib
from mkdocs_roaming.files import write_text_file
from mkdocs_roaming.report.access import read_access
from mkdocs_roaming.report.log import Log, parse_since, read_log
from mkdocs_roaming.report.output import format_report, render_report
from mkdocs_roaming.report.report import make_report
from mkdocs_roaming.text.markdown import sanitize


@click.command()
@click.argument("log", type=FILE, required=False)
@click.option("--site", metavar="LIB", help="The site, for titles and nearest sections.")
@click.option("--feedback", type=FILE, help="The feedback_log of the endpoint, for ratings and comments.")
@click.option("--access-log", type=FILE, multiple=True, help="An access log of the web server, for agents; repeatable.")
@click.option("--since", metavar="TIME", help="Start of the period: 7d, 24h, 2w or a date such as 2026-11-01.")
@click.option("--html", type=FILE, help="Write the report as an HTML page.")
@AS_JSON
def report(log: Path | None, access_log: tuple[Path, ...], **given: Any) -> None:
    """Report what readers asked, what was not answered, and what agents read.

    LOG is the question_log of an endpoint; its rotated files are read as well. With --since, the period is compared
    with the one of the same length before it.
    """
    if log is None and not access_log:
        raise click.UsageError("Name the question_log of an endpoint, or an access log with --access-log.")
    now = datetime.now(UTC)
    start = parse_since(given["since"], now) if given["since"] else None
    found = read_log(log, given["feedback"], since=start, now=now) if log else Log()
    library = open_lib(given["site"]) if given["site"] else None
    access = read_access(access_log, library, since=start) if access_log else None
    result = make_report(found, library, access)
    if given["html"]:
        write_text_file(given["html"], render_report(result))
    if given["as_json"]:
        print_json(msgspec.to_builtins(result))
        return
    for line in format_report(result):
        click.echo(sanitize(line))
    if not library and result.groups:
        warn("without --site the report has ids of sections instead of titles")
