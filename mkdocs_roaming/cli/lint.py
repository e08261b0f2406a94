"""`roaming lint`: report content that is hard to navigate."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import click

from mkdocs_roaming.cli.common import AS_JSON, CONFIG, FAULTS_FOUND, LIBRARY, print_json, warn
from mkdocs_roaming.cli.sites import open_lib
from mkdocs_roaming.config import load_settings
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.lint.context import LintContext, SourceReader
from mkdocs_roaming.lint.runner import (
    format_github,
    format_text,
    lint_site,
    open_sources,
    parse_config,
    report_to_dict,
)
from mkdocs_roaming.text.markdown import sanitize


@click.command()
@LIBRARY
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "github"]),
    default="text",
    show_default=True,
    help="Output format. github: annotations of a workflow.",
)
@click.option("--strict", is_flag=True, help="Exit with 4 if there are errors or warnings.")
@click.option("--disable", multiple=True, metavar="RULE", help="Disable a rule. Repeatable.")
@click.option(
    "--docs",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of the Markdown sources, to report their lines.",
)
@CONFIG
@AS_JSON
def lint(
    lib: str,
    form: str,
    strict: bool,
    disable: tuple[str, ...],
    docs: Path | None,
    config: Path | None,
    as_json: bool,
) -> None:
    """Report content that is hard to navigate.

    The score is 100 if nothing is found.
    """
    if docs is not None and not docs.is_dir():
        raise UsageError(f"{docs}: no such folder; pass the folder of the Markdown sources to --docs")
    settings = load_settings(config)
    configured = parse_config(settings.serving.get("lint", "warn"), f"{settings.where}: [lint]")
    lint_config = configured.override(disable=disable, strict=strict)
    library = open_lib(lib)
    read_source = open_sources(docs) if docs else None
    context = LintContext(library.sections, lambda page: library.file(page.markdown).decode("utf-8", "replace"))
    report = lint_site(context, lint_config, read_source)
    if read_source is not None:
        _check_sources(library, read_source, docs)
    if not library.is_published and report.pages == 1:  # the Markdown file itself is the source
        findings = [replace(finding, source=lib, source_line=finding.line) for finding in report.findings]
        report = replace(report, findings=tuple(findings))
    folder = docs.as_posix() if docs else ""
    if as_json:
        print_json(report_to_dict(report))
    else:
        for line in format_github(report, folder) if form == "github" else format_text(report, folder, lib):
            click.echo(sanitize(line.replace("\n", " ")))  # a title with a line break must not look like a line of ours
    if lint_config.level == "strict" and report.has_faults:
        sys.exit(FAULTS_FOUND)


def _check_sources(library: Library, read_source: SourceReader, docs: Path | None) -> None:
    """Print a warning if a folder contains no source of a site."""
    sources = [page.source for page in library.manifest.pages if page.source]
    if all(read_source(source) is None for source in sources):
        example = f", such as {sources[0]}" if sources else ""
        warn(f"{docs} contains none of the site's sources{example}; findings have no lines")
