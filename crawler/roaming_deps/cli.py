"""`roaming deps`: the documentation of the packages that a project uses, in the versions that it uses."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import msgspec

from mkdocs_roaming.cli.common import (
    AS_JSON,
    FAULTS_FOUND,
    FOLDER,
    format_age,
    given_settings,
    print_json,
    read_age,
    setting_options,
)
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.targets import format_day
from mkdocs_roaming.text.markdown import pluralize, to_single_line
from roaming_crawler.config import MEGABYTE, CrawlConfig, Politeness
from roaming_deps.project import PackageDocs, data_folder, find_root, load_project, locks_changed

_PROJECT = click.argument("folder", type=FOLDER, default=".")


@click.group()
def deps() -> None:
    """Documentation of the packages that a project uses, in the versions that it uses."""


@deps.command("sync", context_settings={"show_default": True})
@_PROJECT
@click.option("--all", "include_all", is_flag=True, help="Include packages that only other packages need.")
@click.option("--refresh", is_flag=True, help="Crawl all sites again.")
@click.option(
    "--refresh-older-than",
    "age",
    metavar="AGE",
    default="7d",
    callback=read_age,
    help="Crawl sites without a fixed version after this time.",
)
@click.option("--at-once", type=click.IntRange(1, 256), default=4, help="Number of concurrent hosts.")
@setting_options(CrawlConfig, "allow_private")
@setting_options(Politeness, "delay", "contact")
@AS_JSON
def sync_project(
    folder: Path, include_all: bool, refresh: bool, age: float, at_once: int, as_json: bool, **options: Any
) -> None:
    """Find the documentation of a project's packages, and crawl what is missing.

    FOLDER is the project, by default the working directory. Its lock files name the packages. Repeating the command
    resumes an interrupted one.
    """
    if find_spec("packaging") is None or find_spec("protego") is None:
        raise UsageError("roaming deps needs the packages packaging and protego; pip install 'mkdocs-roaming[deps]'")
    from roaming_deps.sync import sync
    from roaming_fleet.cli import print_event  # `roaming deps list` does without

    report = sync(
        find_root(folder),
        include_all=include_all,
        refresh=refresh,
        older_than=age,
        allow_private=bool(options["allow_private"]),
        at_once=at_once,
        politeness=Politeness(**given_settings(Politeness, options)),
        on_event=print_event,
    )
    if as_json:
        print_json(msgspec.to_builtins(report))
    else:
        _print_packages(report.packages)
        size = f"{report.bytes / MEGABYTE:.1f} MB"
        click.echo(f"{pluralize(report.crawled, 'site')} crawled, {size} downloaded", err=True)
    if report.stopped:
        raise UsageError(report.stopped)


@deps.command("list")
@_PROJECT
@click.option("--strict", is_flag=True, help="Exit with 4 also if a package has no documentation.")
@AS_JSON
def list_packages(folder: Path, strict: bool, as_json: bool) -> None:
    """List the packages of a project with their documentation.

    The exit code is 4 if the lock file has changed since the last sync, or if documentation could not be updated or is
    that of another version.
    """
    root = find_root(folder)
    project = load_project(data_folder(os.environ), root)
    if project is None:
        raise UsageError(f"{root}: not synced yet; run roaming deps sync")
    has_changed = locks_changed(project)
    if as_json:
        print_json({**msgspec.to_builtins(project), "changed": has_changed})
    else:
        _print_packages(project.packages)
        if has_changed:
            click.echo(f"lock files changed since {format_day(project.synced)}; run roaming deps sync")
    if has_changed or any(_is_faulty(docs, strict=strict) for docs in project.packages):
        sys.exit(FAULTS_FOUND)


def _is_faulty(docs: PackageDocs, *, strict: bool) -> bool:
    return bool(docs.why or docs.info.origin == "latest") if docs.place else strict


def _print_packages(packages: Sequence[PackageDocs]) -> None:
    rows = [_describe(docs) for docs in packages]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for docs, row in zip(packages, rows, strict=True):
        columns = [text.ljust(width) for text, width in zip(row, widths, strict=True)]
        if docs.place:
            columns.append(f"{docs.bytes / MEGABYTE:6.1f} MB")
        if docs.flags:
            columns.append(f"{docs.flags} flagged")
        columns.append(to_single_line(docs.why))
        click.echo("  ".join(filter(None, columns)).rstrip())


def _describe(docs: PackageDocs) -> tuple[str, str, str]:
    """Return name, version in use, and origin of the documentation."""
    info = docs.info
    name = to_single_line(info.name)
    used = to_single_line(info.used) or "-"
    if not docs.place:
        return name, used, "-"
    origin = f"{info.origin} {info.documented}"
    if info.origin == "bundle":
        origin = "in the package"
    elif info.origin != "latest" and info.documented == info.used:
        origin = info.origin
    age = f", {format_age(docs.crawled)}" if docs.crawled else ""
    return name, used, to_single_line(origin.rstrip()) + age
