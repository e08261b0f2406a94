"""`roaming describe`: let a model write what pages and sections are for, and readers' questions."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

import anyio
import click

from mkdocs_roaming.cli.common import CONFIG, FAULTS_FOUND, FILE, FOLDER, LIBRARY, progress, warn
from mkdocs_roaming.cli.session import ResolvedOptions
from mkdocs_roaming.cli.sites import open_lib
from mkdocs_roaming.config import load_settings
from mkdocs_roaming.describe.checks import Checker
from mkdocs_roaming.describe.requests import DescriptionRequest, Missing, find_missing, make_requests
from mkdocs_roaming.describe.run import ModelRunner, ReplyFolder, apply_replies, estimate_cost
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.files import check_writable, write_text_file
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.manifest.descriptions import (
    DESCRIPTIONS_FILE,
    Descriptions,
    merge_texts,
    read_descriptions,
    render_descriptions,
)
from mkdocs_roaming.text.markdown import pluralize, sanitize

_MAX_SHOWN = 20
"""Number of lines about requests or texts that are shown."""

_REPLIES = Path(".cache/roaming/describe")
"""The folder of a model's replies until they are merged, so that an interrupted run pays for nothing twice."""


@dataclass(frozen=True, slots=True)
class _Project:
    """The site, its file of descriptions, and what the file lacks."""

    library: Library
    file: Path
    missing: Missing
    requests: list[DescriptionRequest]


@click.command()
@LIBRARY
@click.option(
    "--file",
    type=FILE,
    default=DESCRIPTIONS_FILE,
    show_default=True,
    help="File with the descriptions; the option `descriptions` of the site names it.",
)
@click.option("--model", metavar="MODEL", help="claude, claude:MODEL, openai:MODEL or PLUGIN:MODEL.")
@click.option("--base-url", metavar="URL", help="URL of the model's server. [env var: ROAMING_BASE_URL]")
@CONFIG
@click.option("--plan", type=FOLDER, help="Write the requests into this folder, for somebody else to answer.")
@click.option(
    "--apply",
    "applied",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Check and merge the replies in this folder.",
)
@click.option("--check", is_flag=True, help="Exit with 4 if descriptions are missing or stale; needs no model.")
@click.option(
    "--max-cost",
    type=click.FloatRange(min=0, min_open=True),
    default=1.0,
    show_default=True,
    help="Stop before the requests cost more.",
)
def describe(
    lib: str,
    file: Path,
    model: str | None,
    base_url: str | None,
    config: Path | None,
    plan: Path | None,
    applied: Path | None,
    check: bool,
    max_cost: float,
) -> None:
    """Describe sections in readers' words, with a model.

    It writes what each section is for, and questions that it answers, asked by somebody who does not know the docs.
    The file belongs next to the configuration of the site, under version control. The build publishes its entries
    without a model; `roaming describe` writes those that are missing or whose section has changed. It exits with 4 if
    some are still missing afterwards.
    """
    library = open_lib(lib)
    missing = find_missing(library, _read_file(file))
    project = _Project(library, file, missing, list(make_requests(library, missing)))
    if check:
        _check(project)
    elif applied is not None:
        _apply(project, ReplyFolder(applied))
    elif not project.requests:
        click.echo(f"{file}: nothing to describe")
    elif plan is not None:
        command = shlex.join(["roaming", "describe", lib, "--file", str(file), "--apply", str(plan)])
        ReplyFolder(plan).write_requests(project.requests, command)
        click.echo(f"{plan}: {_summarize_requests(project)}; README.md there says what to do")
    else:
        options = ResolvedOptions(load_settings(config), model, base_url)
        _ask_model(project, options, max_cost)


def _read_file(file: Path) -> Descriptions:
    return read_descriptions(file) if file.exists() else Descriptions()


def _summarize(missing: Missing) -> str:
    stale = f" ({len(missing.stale)} stale)" if missing.stale else ""
    return f"{pluralize(len(missing.sections), 'section')}{stale} and {pluralize(len(missing.pages), 'page')}"


def _summarize_requests(project: _Project) -> str:
    return f"{pluralize(len(project.requests), 'request')} about {_summarize(project.missing)}"


def _check(project: _Project) -> None:
    missing = project.missing
    if missing.edited:
        changed = pluralize(len(missing.edited), "section")
        warn(f"{changed} changed after a person edited the texts: edit them again, or delete them")
    if not project.requests and not missing.edited:
        click.echo(f"{project.file}: complete")
        return
    for request in project.requests[:_MAX_SHOWN]:
        what = [section.id for section in request.sections] + ["page"] * request.wants_description
        click.echo(sanitize(f"{request}: {', '.join(what)}"))
    click.echo(f"{project.file}: {_summarize(project.missing)} without a current description; run `roaming describe`")
    sys.exit(FAULTS_FOUND)


def _ask_model(project: _Project, options: ResolvedOptions, max_cost: float) -> None:
    """Send the requests, and merge what was written, also if the run was interrupted."""
    requests = project.requests
    model, budget = options.create_model()
    if model.name == "offline":
        raise UsageError("--model: descriptions need a language model; without a key, use --plan and a coding agent")
    prices = budget.prices
    if prices is None and getattr(model, "is_hosted", False):
        raise UsageError(f"--max-cost needs the prices of {model.name}: set [prices] in roaming.toml")
    if prices is not None and prices.is_free:
        prices = None
    tokens = sum(request.input_tokens for request in requests)
    cost = f", up to {estimate_cost(requests, prices):.4f} {prices.currency}" if prices else ""
    click.echo(f"{_summarize_requests(project)}; ~{tokens} input tokens{cost}", err=True)
    check_writable(project.file)
    folder = ReplyFolder(_REPLIES)
    folder.create()
    language = project.library.manifest.site.language
    runner = ModelRunner(lambda: options.create_model()[0], folder, language, prices, max_cost)
    with progress("Describing") as steps:
        runner.on_progress = steps(len(requests))
        try:
            anyio.run(runner.send, requests)
        except KeyboardInterrupt:
            runner.stop_reason = "interrupted"
    if prices:
        click.echo(f"{pluralize(runner.sent, 'request')}, {runner.cost:.4f} {prices.currency}", err=True)
    _apply(project, folder, runner)


def _apply(project: _Project, folder: ReplyFolder, runner: ModelRunner | None = None) -> None:
    """Check the replies of a folder, merge their texts into the file, and exit with the code of the run.

    The replies of a model are deleted afterwards; those of others may be corrected and merged again.
    """
    checker = Checker(project.library)
    problems = apply_replies(checker, project.requests, folder)
    is_complete = _merge(project, checker)
    if runner is not None:
        folder.remove(project.requests)
        problems += runner.problems
    faults = problems + checker.refused
    for fault in faults[:_MAX_SHOWN]:
        warn(fault)
    if len(faults) > _MAX_SHOWN:
        warn(f"{len(faults) - _MAX_SHOWN} more texts were refused, or requests failed")
    if runner is not None and runner.stop_reason:
        warn(f"{runner.stop_reason}; run the command again to go on")
        sys.exit(1)
    if problems:
        sys.exit(1)
    if not is_complete:
        sys.exit(FAULTS_FOUND)


def _merge(project: _Project, checker: Checker) -> bool:
    """Write the texts of replies into the file; return whether nothing is missing any more."""
    current = _read_file(project.file)  # a person may have edited it during the run
    missing = find_missing(project.library, current)
    sections = {id_: texts for id_, texts in checker.sections.items() if id_ in missing.sections}
    pages = {path: texts for path, texts in checker.pages.items() if path in missing.pages}
    if sections or pages:
        merged = merge_texts(current, project.library.manifest, sections, pages)
        write_text_file(project.file, render_descriptions(merged).decode())
    described = f"{pluralize(len(sections), 'section')} and {pluralize(len(pages), 'page')}"
    click.echo(f"{project.file}: {described} described")
    left_sections = len(missing.sections) - len(sections)
    left_pages = len(missing.pages) - len(pages)
    if not (left_sections or left_pages):
        return True
    left = f"{pluralize(left_sections, 'section')} and {pluralize(left_pages, 'page')}"
    warn(f"{project.file}: {left} without a description")
    return False
