"""`roaming preview`: write a page that shows what agents see of a site."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from mkdocs_roaming.cli.common import CONFIG_FILE, FILE, given_settings, progress, setting_options, warn
from mkdocs_roaming.files import check_writable, write_text_file
from mkdocs_roaming.lint.runner import LintConfig, lint_folder, parse_config
from mkdocs_roaming.plugins import load_entry_point
from mkdocs_roaming.preview.page import render_preview
from mkdocs_roaming.preview.source import PreviewedSite, convert_built, is_published, open_published
from mkdocs_roaming.publish.options import PublishOptions
from mkdocs_roaming.sources.project import IndexOptions, find_project


@click.command()
@click.argument("site")
@click.argument("questions", nargs=-1, metavar="[QUESTION]...")
@click.option("-o", "--output", type=FILE, default="roaming-preview.html", show_default=True, help="File of the page.")
@click.option(
    "--page",
    "addresses",
    multiple=True,
    metavar="ADDRESS",
    help="Show this page: its path, URL or id (default: three pages). Repeatable.",
)
@CONFIG_FILE
@setting_options(PublishOptions, "include", "exclude")
@click.option(
    "--max-pages", type=click.IntRange(1), default=20, show_default=True, help="Maximum number of pages of a URL."
)
@click.option("--allow-private", is_flag=True, help="Allow a private address for the host and port of a URL.")
def preview(
    site: str,
    questions: tuple[str, ...],
    output: Path,
    addresses: tuple[str, ...],
    **given: Any,
) -> None:
    """Write a page that shows what agents see of a site.

    SITE is the folder of a built site, or a URL. A folder that is not published is converted into a temporary folder,
    a part of the site at a URL is crawled into one; the site itself is never changed. The page shows llms.txt, three
    pages as HTML and as Markdown, lint findings, published files, and what search finds for each QUESTION.
    """
    check_writable(output)
    with TemporaryDirectory(prefix="roaming-preview-", ignore_cleanup_errors=True) as temporary:
        open_site = _crawl_part if "://" in site else _open_folder
        html = render_preview(open_site(site, Path(temporary), given), questions=questions, addresses=addresses)
    write_text_file(output, html)
    click.echo(output)


def _open_folder(site: str, target: Path, given: dict[str, Any]) -> PreviewedSite:
    """Return the site in a folder: as it is published, unless patterns are given or there is no manifest."""
    folder = Path(site)
    project = find_project(folder, given["config_file"], warn)
    patterns = given_settings(PublishOptions, given)
    options = IndexOptions(project=project, publish=project.parse_options(patterns))
    lint = parse_config(options.publish.lint, f"{project.file}: lint")
    if is_published(folder) and not (patterns or given["config_file"]):
        return open_published(folder, lint, project.docs)
    with progress("Converting") as steps:
        return convert_built(folder, options, lint, target, warn=warn, start_progress=steps)


def _crawl_part(url: str, target: Path, given: dict[str, Any]) -> PreviewedSite:
    """Return a part of the site at a URL, converted as by `roaming crawl`."""
    crawl_part = load_entry_point("roaming.crawl", "part")
    read_html, left_out = crawl_part(url, target, given)
    note = f"This is what roaming crawl --max-pages {given['max_pages']} would publish."
    return PreviewedSite(target, lint_folder(target, LintConfig()), read_html, left_out, note)
