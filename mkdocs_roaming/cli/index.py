"""`roaming index` and `roaming validate`: publish a site, check a published one."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from mkdocs_roaming.cli.ask import CONFIG
from mkdocs_roaming.cli.common import (
    AS_JSON,
    FAULTS_FOUND,
    LIBRARY,
    SEARCH_OPTION,
    embeddings_options,
    open_lib,
    print_json,
    progress,
    warn,
)
from mkdocs_roaming.errors import UsageError


@click.command()
@click.argument("site_dir", type=click.Path(path_type=Path))
@click.option("--url", help="The site's address. Else its home page's canonical link says.")
@click.option("--name", help="The site's name. Else its home page's title says.")
@click.option("--description", help="One sentence on the site, for llms.txt.")
@click.option(
    "--include", multiple=True, metavar="GLOB", help="Publish only pages whose path matches. May be repeated."
)
@click.option("--exclude", multiple=True, metavar="GLOB", help="Leave out pages whose path matches. May be repeated.")
@click.option(
    "--previous", metavar="PATH_OR_URL", help="The last manifest: ids of renamed sections live on as aliases."
)
@click.option(
    "--rules",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Publish the rules in this YAML file: which sections a question opens first.",
)
@click.option("--widget", is_flag=True, help="Put the widget on every page; without an endpoint it finds sections.")
@click.option("--endpoint", metavar="URL", help="Where the widget asks its questions; implies --widget.")
@click.option("--outline-tokens", type=click.IntRange(min=200), default=8000, show_default=True)
@click.option(
    "--section-files",
    type=click.Choice(["auto", "yes", "no"]),
    default="auto",
    show_default=True,
    help="Write a file for each section; auto: up to 5,000.",
)
@click.option("--no-full", is_flag=True, help="Write no llms-full.txt.")
@click.option("--no-html", is_flag=True, help="Leave the built pages as they are: no <link> pair, no pointer.")
@SEARCH_OPTION
@CONFIG
@click.option(
    "--class",
    "classes",
    multiple=True,
    metavar="CLASS=ROLE",
    help="Convert elements with this CSS class as the role, such as my-note=admonition. May be repeated.",
)
@click.option("--cache", type=click.Path(path_type=Path), help="Keep conversions in this folder for the next time.")
@AS_JSON
def index(site_dir: Path, as_json: bool, **given: Any) -> None:
    """Publish any built site in place: Markdown, llms.txt, manifest."""
    from mkdocs_roaming.html.themes import parse_class_options
    from mkdocs_roaming.publish.widget import parse_widget_options
    from mkdocs_roaming.publish.writer import PublishOptions
    from mkdocs_roaming.sources.built_site import IndexOptions, index_site

    section_files: Any = {"auto": "auto", "yes": True, "no": False}[given["section_files"]]
    options = IndexOptions(
        url=given["url"],
        name=given["name"],
        description=given["description"],
        include=given["include"],
        exclude=given["exclude"],
        html=not given["no_html"],
        previous=given["previous"],
        cache=given["cache"],
        rules=given["rules"],
        classes=parse_class_options(given["classes"]),
        widget=parse_widget_options({"endpoint": given["endpoint"]} if given["endpoint"] else given["widget"]),
        publish=PublishOptions(not given["no_full"], section_files, given["outline_tokens"], embeddings_options(given)),
    )
    with progress("Converting") as steps:
        report = index_site(site_dir, options, warn=warn, start_progress=steps)
    if as_json:
        print_json(asdict(report))
        return
    for note in report.notes:
        click.echo(note, err=True)
    click.echo(f"{site_dir}: {report}")


@click.command()
@LIBRARY
@AS_JSON
def validate(lib: str, as_json: bool) -> None:
    """Check a published site.

    Schema, digests, slices, ids, and every link within the site.
    """
    from mkdocs_roaming.cli.output import sanitize
    from mkdocs_roaming.library.validate import validate_site

    library = open_lib(lib)
    if not library.is_published:
        raise UsageError(f"{lib}: a Markdown file, not a published site; name a site's folder or address")
    with progress("Checking") as steps:
        result = validate_site(library, steps)
    if as_json:
        print_json(asdict(result))
    else:
        for fault in result.faults:
            click.echo(sanitize(fault))
        click.echo(f"{lib}: {result}", err=bool(result.faults))
    if result.faults:
        sys.exit(FAULTS_FOUND)
