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
from mkdocs_roaming.embeddings.store import EmbeddingsOptions, parse_embeddings_options
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.validate import validate_site
from mkdocs_roaming.lint.runner import format_log, lint_folder, parse_config
from mkdocs_roaming.locks import hold_folder
from mkdocs_roaming.publish.cache import project_cache_folder
from mkdocs_roaming.publish.options import PublishOptions
from mkdocs_roaming.publish.versions import publish_versions
from mkdocs_roaming.publish.writer import PublishReport
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
    Publication(site_dir, project, given).run(as_json=as_json)


class Publication:
    """Publication of the folder of a built site with the options of a command.

    Args:
        site_dir: The folder.
        project: The configuration of the site.
        given: The options of `publishing_options`.

    Raises:
        UsageError: An option is invalid.
    """

    def __init__(self, site_dir: Path, project: Project, given: dict[str, Any]) -> None:
        publish = _given_options(given, project)
        self._site_dir = site_dir
        self._given = given
        self._options = IndexOptions(
            url=given["url"],
            name=given["name"],
            html=not given["no_html"],
            cache=given["cache_folder"] or _find_cache(site_dir, project, publish),
            project=project,
            publish=publish,
            strict=given["strict"],
        )

    def run(self, *, as_json: bool) -> None:
        """Publish the site, and print the result on one line or as JSON."""
        publish = self._options.publish
        project = self._options.project
        if not publish.enabled:
            click.echo(f"{self._site_dir}: not published, because `enabled` is false in {project.file}")
            return
        report = self._publish()
        if as_json:
            print_json(asdict(report))
            return
        for note in report.notes:
            click.echo(note, err=True)
        for left_out in report.left_out if self._given["verbose"] else ():
            click.echo(sanitize(f"left out: {left_out}"), err=True)
        click.echo(f"{self._site_dir}: {report}")
        if publish.lint not in ("off", False, None):
            _lint(self._site_dir, publish.lint, project.docs)

    def _publish(self) -> PublishReport:
        embeddings = embeddings_options(self._given) or _configured_embeddings(self._options.publish)
        options = replace(self._options, embeddings=embeddings)
        with progress("Converting") as steps:
            return index_site(self._site_dir, options, warn=warn, start_progress=steps)


def _find_cache(site_dir: Path, project: Project, options: PublishOptions) -> Path | None:
    """Return the cache folder of a site in its project; None for a site that belongs to no project."""
    if not options.cache or project.file is None:
        return None
    return project_cache_folder(project.folder) / "index" / site_dir.resolve().name


def _configured_embeddings(options: PublishOptions) -> EmbeddingsOptions | None:
    if options.search == "lexical":
        return None
    return parse_embeddings_options(options.embeddings, os.environ, "embeddings")


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
