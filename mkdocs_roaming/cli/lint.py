"""`roaming lint`: report content that is hard to navigate."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mkdocs_roaming.cli.common import AS_JSON, FAULTS_FOUND, LIBRARY, open_lib, print_json, warn
from mkdocs_roaming.errors import LibraryError, UsageError

if TYPE_CHECKING:
    from mkdocs_roaming.library.library import Library
    from mkdocs_roaming.lint.context import Docs
    from mkdocs_roaming.lint.runner import Report
    from mkdocs_roaming.manifest.models import PageEntry


@click.command()
@LIBRARY
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github", "gitlab"]),
    default="text",
    show_default=True,
    help="github: workflow commands, which become annotations; gitlab: Code Quality.",
)
@click.option("--strict", is_flag=True, help="Exit with 4 where there is more than hints.")
@click.option("--disable", multiple=True, metavar="RULE", help="Leave a rule out. May be repeated.")
@click.option("--enable", multiple=True, metavar="RULE", help="Ask for a rule that is off. May be repeated.")
@click.option(
    "--docs",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The folder of the sources: findings then name their lines.",
)
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page of the findings, by rule.")
@click.option("--config", type=click.Path(path_type=Path), help="Settings; else roaming.toml in the working folder.")
@AS_JSON
def lint(
    lib: str,
    form: str,
    strict: bool,
    disable: tuple[str, ...],
    enable: tuple[str, ...],
    docs: Path | None,
    html: Path | None,
    config: Path | None,
    as_json: bool,
) -> None:
    """Tell what on a site is hard to roam, and what to do about it.

    Each finding has its place, its reason and a fix; the score is 100 where nothing is found.
    """
    from mkdocs_roaming.config import load_settings
    from mkdocs_roaming.lint.config import config_of, with_options
    from mkdocs_roaming.lint.runner import lint as look
    from mkdocs_roaming.lint.runner import open_sources

    if docs is not None and not docs.is_dir():
        raise UsageError(f"{docs}: no such folder; --docs names the folder of the Markdown sources")
    settings = load_settings(config)
    given = config_of(settings.serving.get("lint", "warn"), f"{settings.where}: [lint]")
    asked = with_options(given, disable, enable, strict=strict)
    library = open_lib(lib)
    sources = open_sources(docs) if docs else None
    report = look(_docs_of(library), asked, sources)
    named = [page.source for page in library.manifest.pages if page.source]
    if sources is not None and not any(sources(source) is not None for source in named):
        such = f", such as {named[0]}" if named else ""
        warn(f"{docs}: holds none of the site's sources{such}; findings name lines of the published Markdown")
    if not library.is_published and report.pages == 1:  # the file that was named, and no page made of it
        report = replace(report, findings=tuple(replace(one, markdown=lib) for one in report.findings))
    if html is not None:
        _write_html(html, report, docs, library.manifest.site.url)
    _print(report, "json" if as_json else form, docs, lib)
    if asked.level == "strict" and report.faulty:
        sys.exit(FAULTS_FOUND)


def _docs_of(library: Library) -> Docs:
    """Give a library as the rules see it; single files are looked up only where they lie on this machine."""
    from mkdocs_roaming.lint.context import docs_of
    from mkdocs_roaming.publish.llms_txt import LLMS_FULL

    @cache
    def file(path: str) -> bytes | None:
        try:
            return library.file(path)
        except LibraryError:
            return None

    distant = library.where.startswith(("http://", "https://"))
    whole = (file(LLMS_FULL) or b"") if distant and len(library.manifest.pages) > 1 else b""

    def text(page: PageEntry) -> str:
        data = whole[page.full : page.full + page.bytes] if page.full is not None else b""
        if "sha256:" + hashlib.sha256(data).hexdigest() != page.digest:
            data = library.file(page.markdown)
        return data.decode("utf-8", "replace")

    return docs_of(library.sections, text, file if library.is_published and not distant else None)


def _write_html(path: Path, report: Report, docs: Path | None, url: str) -> None:
    from mkdocs_roaming.answer.trace import write_atomically
    from mkdocs_roaming.evals.html_report import render_findings

    write_atomically(path, render_findings(report, url, docs.as_posix() if docs else ""))


def _print(report: Report, form: str, docs: Path | None, lib: str) -> None:
    from mkdocs_roaming.cli.output import sanitize
    from mkdocs_roaming.lint import formats

    folder = docs.as_posix() if docs else ""
    if form == "json":
        print_json(formats.report_to_dict(report))
    elif form == "gitlab":
        click.echo(formats.format_gitlab(report, folder))
    else:
        lines = formats.format_github(report, folder) if form == "github" else formats.format_text(report, folder, lib)
        for line in lines:  # a title with a line break in it could else look like a line of ours, or steer a pipeline
            click.echo(sanitize(line.replace("\n", " ")))
