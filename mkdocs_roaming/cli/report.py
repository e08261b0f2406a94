"""`roaming report`: what readers asked, and what agents read."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from mkdocs_roaming.cli.common import AS_JSON, FILE, print_json
from mkdocs_roaming.cli.sites import open_lib
from mkdocs_roaming.files import write_text_file
from mkdocs_roaming.report.access import count_requests
from mkdocs_roaming.report.log import Log, parse_since, read_log
from mkdocs_roaming.report.output import format_report, render_report
from mkdocs_roaming.report.report import make_report
from mkdocs_roaming.text.markdown import sanitize


@click.command()
@click.argument("log", type=FILE, required=False)
@click.option("--site", metavar="LIB", help="The site, for nearest sections.")
@click.option("--feedback", type=FILE, help="The feedback_log of the endpoint, for ratings and comments.")
@click.option("--access-log", type=FILE, multiple=True, help="An access log of the web server, for agents; repeatable.")
@click.option("--since", metavar="TIME", help="Start of the period: 7d, 24h, 2w or a date such as 2026-11-01.")
@click.option("--html", type=FILE, help="Write the report as an HTML page.")
@AS_JSON
def report(
    log: Path | None,
    site: str | None,
    feedback: Path | None,
    access_log: tuple[Path, ...],
    since: str | None,
    html: Path | None,
    as_json: bool,
) -> None:
    """Report what readers asked in vain, and what agents read.

    LOG is the question_log of an endpoint; its rotated files are read as well.
    """
    if log is None and not access_log:
        raise click.UsageError("Name the question_log of an endpoint, or an access log with --access-log.")
    start = parse_since(since, datetime.now(UTC)) if since else None
    questions = read_log(log, feedback, since=start) if log else Log()
    access = count_requests(access_log, since=start) if access_log else None
    result = make_report(questions, open_lib(site) if site else None, access)
    if html:
        write_text_file(html, render_report(result))
    if as_json:
        print_json(msgspec.to_builtins(result))
        return
    for line in format_report(result):
        click.echo(sanitize(line))
