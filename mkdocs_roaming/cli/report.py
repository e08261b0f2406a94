"""`roaming report`: what the readers of a site asked."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from mkdocs_roaming.cli.common import AS_JSON, FILE, print_json, sanitize, warn
from mkdocs_roaming.cli.lint import create_context
from mkdocs_roaming.cli.sites import open_lib
from mkdocs_roaming.files import write_text_file
from mkdocs_roaming.lint.runner import lint_site
from mkdocs_roaming.report.output import format_report, render_report
from mkdocs_roaming.report.report import make_report, parse_since, read_log


@click.command()
@click.argument("log", type=FILE)
@click.option("--site", metavar="LIB", help="The site, for titles, nearest sections and findings of the linter.")
@click.option("--feedback", type=FILE, help="The feedback_log of the endpoint, for ratings and comments.")
@click.option("--since", metavar="TIME", help="Leave out older questions: 7d, 24h, 2w or a date such as 2026-11-01.")
@click.option("--html", type=FILE, help="Write the report as an HTML page.")
@AS_JSON
def report(
    log: Path, site: str | None, feedback: Path | None, since: str | None, html: Path | None, as_json: bool
) -> None:
    """Report what readers asked, and what was not answered.

    LOG is the question_log of an endpoint; its rotated files are read as well.
    """
    start = parse_since(since, datetime.now(UTC)) if since else None
    found = read_log(log, feedback, since=start)
    library = open_lib(site) if site else None
    result = make_report(found, library, lambda: lint_site(create_context(library)).findings if library else ())
    if html is not None:
        write_text_file(html, render_report(result))
    if as_json:
        print_json(msgspec.to_builtins(result))
        return
    for line in format_report(result):
        click.echo(sanitize(line))
    if not library and result.groups:
        warn("without --site the report has ids of sections instead of titles, and no advice of the linter")
