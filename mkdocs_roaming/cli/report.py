"""`roaming report`: what readers asked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import msgspec

from mkdocs_roaming.cli.common import AS_JSON, FILE, parse_age, print_json
from mkdocs_roaming.cli.sites import open_lib
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.files import write_text_file
from mkdocs_roaming.report.log import read_log
from mkdocs_roaming.report.output import format_report, render_report
from mkdocs_roaming.report.report import make_report
from mkdocs_roaming.text.markdown import sanitize


@click.command()
@click.argument("log", type=FILE)
@click.option("--site", metavar="LIB", help="The site, for nearest sections.")
@click.option("--feedback", type=FILE, help="The feedback_log of the endpoint, for ratings and comments.")
@click.option("--since", metavar="TIME", help="Start of the period: 7d, 24h, 2w or a date such as 2026-11-01.")
@click.option("--html", type=FILE, help="Write the report as an HTML page.")
@AS_JSON
def report(
    log: Path,
    site: str | None,
    feedback: Path | None,
    since: str | None,
    html: Path | None,
    as_json: bool,
) -> None:
    """Report what readers asked in vain.

    LOG is the question_log of an endpoint; its rotated files are read as well.
    """
    start = parse_since(since, datetime.now(UTC)) if since else None
    result = make_report(read_log(log, feedback, since=start), open_lib(site) if site else None)
    if html:
        write_text_file(html, render_report(result))
    if as_json:
        print_json(msgspec.to_builtins(result))
        return
    for line in format_report(result):
        click.echo(sanitize(line))


def parse_since(text: str, now: datetime) -> datetime:
    """Return the time that a period or a date means: `7d`, `24h`, `2w` or `2026-11-01`.

    Raises:
        UsageError: It is neither.
    """
    age = parse_age(text)
    if age is not None:
        return now - timedelta(seconds=age)
    try:
        date = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(f"--since {text}: neither a period, such as 7d, nor a date, such as 2026-11-01") from None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
