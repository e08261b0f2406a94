"""`roaming describe`: let a model write what pages and sections are for, and readers' questions."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import click

from mkdocs_roaming.answer.budget import Prices
from mkdocs_roaming.cli.common import CONFIG, FAULTS_FOUND, FILE, FOLDER, LIBRARY, progress, warn
from mkdocs_roaming.cli.session import ResolvedOptions
from mkdocs_roaming.cli.sites import open_lib
from mkdocs_roaming.config import load_settings
from mkdocs_roaming.describe.checks import Checker
from mkdocs_roaming.describe.requests import (
    MAX_SECTION_TOKENS,
    DescriptionRequest,
    Missing,
    Selection,
    count_retries,
    find_missing,
    make_requests,
)
from mkdocs_roaming.describe.run import DescribeRun, ModelRunner, ReplyFolder, apply_replies, estimate_cost
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


@dataclass(frozen=True, slots=True)
class _Project:
    """The site, its file of descriptions, and what the file lacks."""

    library: Library
    file: Path
    selection: Selection
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
@click.option("--dry-run", is_flag=True, help="Show what would be requested, and its cost; needs no key.")
@click.option("--pages-only", is_flag=True, help="Describe pages only.")
@click.option("--top", type=click.IntRange(min=1), metavar="N", help="Describe the N sections with most links to them.")
@click.option("--redo", is_flag=True, help="Write existing descriptions again, also those that a person edited.")
@click.option(
    "--max-cost",
    type=click.FloatRange(min=0, min_open=True),
    default=1.0,
    show_default=True,
    help="Stop before the requests cost more.",
)
@click.option("--parallel", type=click.IntRange(1, 16), default=4, show_default=True, help="Concurrent requests.")
def describe(lib: str, file: Path, **given: Any) -> None:
    """Describe sections in readers' words, with a model.

    It writes what each section is for, and questions that it answers, asked by somebody who does not know the docs.
    The file belongs next to the configuration of the site, under version control. The build publishes its entries
    without a model; `roaming describe` writes those that are missing or whose section has changed. It exits with 4 if
    some are still missing afterwards.
    """
    library = open_lib(lib)
    selection = Selection(given["pages_only"], given["top"], given["redo"])
    missing = find_missing(library, _read_file(file), selection)
    project = _Project(library, file, selection, missing, list(make_requests(library, missing)))
    if given["check"]:
        _check(project)
    elif given["applied"] is not None:
        _apply(project, given["applied"])
    elif not project.requests:
        click.echo(f"{file}: nothing to describe")
    elif given["plan"] is not None:
        command = shlex.join(["roaming", "describe", lib, "--file", str(file), "--apply", str(given["plan"])])
        removed = ReplyFolder(given["plan"]).write_requests(project.requests, command)
        earlier = f"; removed {pluralize(removed, 'request')} of an earlier plan" if removed else ""
        click.echo(f"{given['plan']}: {_summarize_requests(project)}; README.md there says what to do{earlier}")
    else:
        _ask_model(project, given)


def _read_file(file: Path) -> Descriptions:
    return read_descriptions(file) if file.exists() else Descriptions()


def _summarize(missing: Missing) -> str:
    stale = f" ({len(missing.stale)} stale)" if missing.stale else ""
    return f"{pluralize(len(missing.sections), 'section')}{stale} and {pluralize(len(missing.pages), 'page')}"


def _summarize_requests(project: _Project) -> str:
    sections = project.missing.sections.values()
    long = sum(section.section.tokens > MAX_SECTION_TOKENS for section in sections)
    excerpts = f", with excerpts of {pluralize(long, 'section')} too long for a request" if long else ""
    return f"{pluralize(len(project.requests), 'request')} about {_summarize(project.missing)}{excerpts}"


def _check(project: _Project) -> None:
    missing = project.missing
    if missing.edited:
        changed = pluralize(len(missing.edited), "section")
        warn(f"{changed} changed after a person edited the texts: edit them again, or --redo")
    if not project.requests and not missing.edited:
        click.echo(f"{project.file}: complete")
        return
    for request in project.requests[:_MAX_SHOWN]:
        what = [section.id for section in request.sections] + ["page"] * request.wants_description
        click.echo(sanitize(f"{request}: {', '.join(what)}"))
    click.echo(f"{project.file}: {_summarize(project.missing)} without a current description; run `roaming describe`")
    sys.exit(FAULTS_FOUND)


def _apply(project: _Project, path: Path) -> None:
    folder, checker = ReplyFolder(path), Checker(project.library)
    run = apply_replies(checker, project.requests, folder)
    if unused := folder.count_unused(project.requests):
        warn(f"{path}: unused replies: {unused}; their sections are described, or have changed since the plan")
    _finish(run, _merge(project, checker, run))


def _ask_model(project: _Project, given: dict[str, Any]) -> None:
    requests = project.requests
    options = ResolvedOptions(load_settings(given["config"]), given["model"], given["base_url"])
    is_dry = given["dry_run"]
    model, budget = options.create_model(checks_only=is_dry)
    if model.name == "offline" and not is_dry:
        raise UsageError("--model: descriptions need a language model; without a key, use --plan and a coding agent")
    prices = budget.prices
    if prices is None and getattr(model, "is_hosted", False) and not is_dry:
        raise UsageError(f"--max-cost needs the prices of {model.name}: set [prices] in roaming.toml")
    if prices is not None and prices.is_free:
        prices = None
    tokens = sum(request.input_tokens for request in requests)
    cost = f", up to {estimate_cost(requests, prices):.4f} {prices.currency}" if prices else ""
    retries = f"up to {count_retries(requests)} more for what the replies leave out"
    click.echo(f"{_summarize_requests(project)}, {retries}; ~{tokens} input tokens{cost}", err=True)
    if not is_dry:
        check_writable(project.file)
        _run(project, options, prices, given)


def _run(project: _Project, options: ResolvedOptions, prices: Prices | None, given: dict[str, Any]) -> None:
    """Send the requests, and merge what was written, also if the run was interrupted."""
    folder = ReplyFolder(Path(".cache/roaming/describe"))
    folder.create()
    checker = Checker(project.library)
    with progress("Describing") as steps:
        runner = ModelRunner(checker, lambda: options.create_model()[0], folder, prices, given["max_cost"])
        runner.parallel, runner.on_progress = given["parallel"], steps(len(project.requests))
        run = runner.run
        try:
            anyio.run(runner.send, project.requests)
        except KeyboardInterrupt:
            run.stop_reason = "interrupted"
    is_complete = _merge(project, checker, run)
    folder.remove(run.done)
    if prices and (spent := prices.cost(run.usage)) is not None:
        click.echo(f"{pluralize(run.sent, 'request')}, {spent:.4f} {prices.currency}", err=True)
    _finish(run, is_complete)


def _finish(run: DescribeRun, is_complete: bool) -> None:
    """Exit with the code of a run."""
    if run.stop_reason:
        warn(f"{run.stop_reason}; run the command again to go on")
    if run.stop_reason or run.problems:
        sys.exit(1)
    if not is_complete:
        sys.exit(FAULTS_FOUND)


def _merge(project: _Project, checker: Checker, run: DescribeRun) -> bool:
    """Write the texts of a run into the file; return whether nothing is missing any more."""
    checked, current = checker.checked, _read_file(project.file)  # a person may have edited it during the run
    missing = find_missing(project.library, current, project.selection)
    sections = {id_: texts for id_, texts in checked.sections.items() if id_ in missing.sections}
    pages = {path: texts for path, texts in checked.pages.items() if path in missing.pages}
    if sections or pages:
        merged = merge_texts(current, project.library.manifest, sections, pages)
        write_text_file(project.file, render_descriptions(merged).decode())
    described = f"{pluralize(len(sections), 'section')} and {pluralize(len(pages), 'page')}"
    click.echo(f"{project.file}: {described} described")
    faults = [*run.problems, *map(str, checked.refused)]
    for fault in faults[:_MAX_SHOWN]:
        warn(fault)
    if len(faults) > _MAX_SHOWN:
        warn(f"{len(faults) - _MAX_SHOWN} more texts were refused, or requests failed")
    names = {request.name for request in run.done}
    unanswered = sum(request.name not in names for request in project.requests)
    left_sections = len(missing.sections) - len(sections)
    left_pages = len(missing.pages) - len(pages)
    is_complete = not (left_sections or left_pages or unanswered)
    if not is_complete:
        requests = f"; {unanswered} of {len(project.requests)} requests have no valid reply" if unanswered else ""
        left = f"{pluralize(left_sections, 'section')} and {pluralize(left_pages, 'page')}"
        warn(f"{project.file}: {left} without a description{requests}")
    return is_complete
