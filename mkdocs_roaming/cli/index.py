"""`roaming index`, `roaming validate` and `roaming versions`."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from mkdocs_roaming.cli.common import (
    AS_JSON,
    CONFIG,
    CONFIG_FILE,
    FAULTS_FOUND,
    LIBRARY,
    combine_options,
    given_settings,
    print_json,
    progress,
    setting_options,
    warn,
)
from mkdocs_roaming.cli.session import embeddings_options
from mkdocs_roaming.cli.sites import open_lib
from mkdocs_roaming.embeddings.config import ModelFinder, parse_embeddings_config
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.validate import validate_site
from mkdocs_roaming.lint.runner import format_log, lint_folder, parse_config
from mkdocs_roaming.locks import hold_folder
from mkdocs_roaming.publish.cache import project_cache_folder
from mkdocs_roaming.publish.options import PublishOptions
from mkdocs_roaming.publish.versions import publish_versions
from mkdocs_roaming.sources.project import IndexOptions, Project, find_project
from mkdocs_roaming.sources.publication import index_site
from mkdocs_roaming.text.markdown import sanitize

_SHOWN_LINKS = 20
publishing_options = combine_options(
    CONFIG_FILE,
    click.option("--url", help="URL of the site (default: the home page's canonical link)."),
    click.option("--name", help="Name of the site (default: the home page's title)."),
    setting_options(PublishOptions, "description", "include", "exclude", "previous", "rules", "descriptions", "widget"),
    click.option("--endpoint", metavar="URL", help="URL of the widget's answer endpoint; implies --widget."),
    setting_options(PublishOptions, "page_menu", "llms_txt", "overwrite", "search"),
    click.option("--no-html", is_flag=True, help="Do not change the built pages."),
    CONFIG,
    click.option("--strict", is_flag=True, help="Publish nothing if there are warnings."),
    click.option("-v", "--verbose", is_flag=True, help="List the pages that are left out, with the reasons."),
    click.option(
        "--cache",
        "cache_folder",
        type=click.Path(path_type=Path),
        help="Folder of the cache (default: in .cache/roaming).",
    ),
)
"""The options for publishing."""


@click.command()
@click.argument("site_dir", type=click.Path(path_type=Path))
@publishing_options
@AS_JSON
def index(site_dir: Path, as_json: bool, **given: Any) -> None:
    """Publish a built site: Markdown, llms.txt and manifest."""
    project = find_project(site_dir, given["config_file"], warn)
    publish(site_dir, make_options(site_dir, project, given), given, as_json=as_json)


def make_options(site_dir: Path, project: Project, given: dict[str, Any]) -> IndexOptions:
    """Return the options for publishing the folder of a built site. Raise UsageError for an invalid one.

    Args:
        site_dir: The folder.
        project: The configuration of the site.
        given: The options of `publishing_options`.
    """
    publish = _given_options(given, project)
    cache = given["cache_folder"]
    if not cache and publish.cache and project.file is not None:  # a site that belongs to no project has no cache
        cache = project_cache_folder(project.folder) / "index" / site_dir.resolve().name
    return IndexOptions(
        url=given["url"],
        name=given["name"],
        html=not given["no_html"],
        cache=cache,
        project=project,
        publish=publish,
        strict=given["strict"],
    )


def publish(site_dir: Path, options: IndexOptions, given: dict[str, Any], *, as_json: bool) -> None:
    """Publish the folder of a built site, and print the result on one line or as JSON."""
    settings = options.publish
    if not settings.enabled:
        click.echo(f"{site_dir}: not published, because `enabled` is false in {options.project.file}")
        return
    embeddings = embeddings_options(given)
    if embeddings is None and settings.search != "lexical":
        config = parse_embeddings_config(settings.embeddings, "embeddings", options.project.folder)
        embeddings = ModelFinder(config, os.environ)
    with progress("Converting") as steps:
        report = index_site(site_dir, replace(options, embeddings=embeddings), warn=warn, start_progress=steps)
    if as_json:
        print_json(asdict(report))
        return
    for note in report.notes:
        click.echo(note, err=True)
    for left_out in report.left_out if given["verbose"] else ():
        click.echo(sanitize(f"left out: {left_out}"), err=True)
    summary = f"{site_dir}: {report}"
    file = options.project.file
    if file and file.is_absolute() and not given["config_file"]:  # found outside of the working directory
        summary += f", configured by {file}"
    click.echo(summary)
    if settings.lint not in ("off", False, None):
        _lint(site_dir, settings.lint, options.project.docs)


def _lint(site_dir: Path, option: object, docs: Path | None) -> None:
    """Print the findings of the configured lint; with the level `strict`, faults are an error."""
    config = parse_config(option, "lint")
    report = lint_folder(site_dir, config, docs)
    for _, line in format_log(report):
        click.echo(sanitize(line), err=True)
    if config.level == "strict" and report.has_faults:
        sys.exit(FAULTS_FOUND)


def _given_options(given: dict[str, Any], project: Project) -> PublishOptions:
    """Return the options of a site: those of the command line replace those of its configuration."""
    options = given_settings(PublishOptions, given)
    for name in ("rules", "descriptions", "previous"):  # relative to the working directory, not to the configuration
        if name in options and project.folder != Path() and "://" not in given[name]:
            options[name] = str(Path(given[name]).absolute())
    if given["endpoint"]:
        options["widget"] = {"endpoint": given["endpoint"]}
    return project.parse_options(options)


@click.command()
@LIBRARY
@AS_JSON
def validate(lib: str, as_json: bool) -> None:
    """Validate a published site.

    Checks schema, digests, slices, ids, internal links, and what the pages load. Links that were broken before a site
    was published are listed, and are no faults.
    """
    library = open_lib(lib)
    if not library.is_published:
        raise UsageError(f"{lib}: a Markdown file, not a published site; pass the site's folder or URL")
    with progress("Checking") as steps:
        result = validate_site(library, steps)
    if as_json:
        print_json(asdict(result))
    else:
        for fault in result.faults:
            click.echo(sanitize(fault))
        for note in result.notes[:_SHOWN_LINKS]:
            click.echo(sanitize(f"broken link: {note}"))
        if (more := len(result.notes) - _SHOWN_LINKS) > 0:
            click.echo(f"broken links: {more} more; --json lists all of them")
        click.echo(f"{lib}: {result}", err=bool(result.faults))
    if result.faults:
        sys.exit(FAULTS_FOUND)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=".")
@click.option("--default", metavar="VERSION", help="Version whose pages are listed (default: that of the home page).")
@click.option("--overwrite", is_flag=True, help="Overwrite an llms.txt that something else wrote.")
@AS_JSON
def versions(folder: Path, default: str | None, overwrite: bool, as_json: bool) -> None:
    """Write the root llms.txt of a site with several versions.

    FOLDER contains a versions.json and a folder for each version (default: the current folder).
    """
    with hold_folder(folder, warn):
        report = publish_versions(folder, default=default, overwrite=overwrite)
    if as_json:
        print_json(asdict(report))
    else:
        click.echo(f"{folder}: {report}")
