"""`roaming describe`: let a model write what pages and sections are for, and readers' questions."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import click

from mkdocs_roaming.answer.budget import Prices
from mkdocs_roaming.answer.models.base import BatchModel, Model
from mkdocs_roaming.cli.common import CONFIG, FAULTS_FOUND, FILE, FOLDER, LIBRARY, progress, sanitize, warn
from mkdocs_roaming.cli.session import ResolvedOptions
from mkdocs_roaming.cli.sites import open_lib
from mkdocs_roaming.config import load_settings
from mkdocs_roaming.describe.requests import DescriptionRequest, Missing, Selection, find_missing, make_requests
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

_MAX_SHOWN = 20


@dataclass(frozen=True, slots=True)
class _Project:
    """The site, its file of descriptions, and what the file lacks."""

    library: Library
    file: Path
    selection: Selection
    descriptions: Descriptions
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
@click.option("--apply", "applied", type=FOLDER, help="Check and merge the replies in this folder.")
@click.option("--check", is_flag=True, help="Exit with 4 if descriptions are missing or stale; needs no model.")
@click.option("--dry-run", is_flag=True, help="Show what would be requested, and its cost.")
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
@click.option("--batch", is_flag=True, help="Send the requests as a batch of a Claude model, for half the price.")
@click.option("--parallel", type=click.IntRange(1, 16), default=4, show_default=True, help="Concurrent requests.")
def describe(lib: str, file: Path, **given: Any) -> None:
    """Describe sections in readers' words, with a model.

    It writes what each section is for, and questions that it answers, asked by somebody who does not know the docs.
    The file belongs next to the configuration of the site, under version control. The build publishes its entries
    without a model; `roaming describe` writes those that are missing or whose section has changed.
    """
    library = open_lib(lib)
    descriptions = _read_file(file)
    selection = Selection(given["pages_only"], given["top"], given["redo"])
    missing = find_missing(library, descriptions, selection)
    project = _Project(library, file, selection, descriptions, missing, list(make_requests(library, missing)))
    if given["check"]:
        _check(project)
    elif given["plan"] is not None:
        command = f"roaming describe {lib} --file {file} --apply {given['plan']}"
        count = ReplyFolder(given["plan"]).write_requests(project.requests, command)
        click.echo(f"{given['plan']}: {count} requests about {_summarize(project)}; README.md there says what to do")
    elif given["applied"] is not None:
        folder = ReplyFolder(given["applied"])
        run = apply_replies(library, project.requests, folder)
        _merge(project, run)
        folder.remove(run.done)
    else:
        _ask_model(project, given)


def _read_file(file: Path) -> Descriptions:
    return read_descriptions(file) if file.exists() else Descriptions()


def _summarize(project: _Project) -> str:
    missing = project.missing
    stale = f" ({len(missing.stale)} stale)" if missing.stale else ""
    return f"{len(missing.sections)} sections{stale} and {len(missing.pages)} pages"


def _check(project: _Project) -> None:
    missing = project.missing
    if missing.edited:
        warn(f"{len(missing.edited)} sections changed after a person edited their texts: edit them again, or --redo")
    if not project.requests and not missing.edited:
        click.echo(f"{project.file}: complete")
        return
    for request in project.requests[:_MAX_SHOWN]:
        what = [section.id for section in request.sections] + ["page"] * request.wants_description
        click.echo(sanitize(f"/{request.page.path}: {', '.join(what)}"))
    click.echo(f"{project.file}: {_summarize(project)} have no current description; run `roaming describe`")
    sys.exit(FAULTS_FOUND)


def _ask_model(project: _Project, given: dict[str, Any]) -> None:
    requests = project.requests
    if not requests:
        click.echo(f"{project.file}: nothing to describe")
        return
    options = ResolvedOptions(load_settings(given["config"]), given["model"], given["base_url"])
    model, budget = options.create_model()
    if model.name == "offline":
        raise UsageError("--model: descriptions need a language model; without a key, use --plan and a coding agent")
    if given["batch"] and not isinstance(model, BatchModel):
        raise UsageError(f"--batch: {model.name} has no batches; leave the option out, or choose a Claude model")
    prices = _check_prices(model, budget.prices)
    prices = prices.halved if prices and given["batch"] else prices
    tokens = sum(request.input_tokens for request in requests)
    cost = f", up to {estimate_cost(requests, prices):.2f} {prices.currency}" if prices else ""
    click.echo(f"{_summarize(project)}: {len(requests)} requests, ~{tokens} input tokens{cost}", err=True)
    if not given["dry_run"]:
        check_writable(project.file)
        _run(project, options, prices, given)


def _run(project: _Project, options: ResolvedOptions, prices: Prices | None, given: dict[str, Any]) -> None:
    """Send the requests, and merge what was written, also if the run was interrupted."""
    requests, folder = project.requests, ReplyFolder(Path(".cache/roaming/describe"))
    folder.create()
    if folder.batch_file.exists() and not given["batch"]:
        raise UsageError(f"a batch is paid for: use --batch to get its replies, or delete {folder.batch_file}")
    if given["batch"]:
        click.echo("Waiting for the batch, up to a day; after Ctrl+C, the next run continues with it", err=True)
    with progress("Describing") as steps:
        runner = ModelRunner(project.library, lambda: options.create_model()[0], folder, prices, given["max_cost"])
        runner.parallel, runner.on_progress = given["parallel"], steps(len(requests))
        interrupted = False
        try:
            anyio.run(runner.send_batches if given["batch"] else runner.send, requests)
        except KeyboardInterrupt:
            interrupted = True
    run = runner.run
    _merge(project, run)
    if not (interrupted or run.stop_reason):
        folder.remove(run.done)
    if prices and (spent := prices.cost(run.usage)) is not None:
        click.echo(f"{run.sent} requests, {spent:.4f} {prices.currency}", err=True)
    if run.stop_reason or interrupted:
        warn(f"{run.stop_reason or 'interrupted'}; run the command again to go on")
        sys.exit(1)


def _check_prices(model: Model, prices: Prices | None) -> Prices | None:
    """Return the prices of a model that costs money, None for one that does not."""
    if prices is None and getattr(model, "is_hosted", False):
        raise UsageError(f"--max-cost needs the prices of {model.name}: set [prices] in roaming.toml")
    return None if prices is None or prices.is_free else prices


def _merge(project: _Project, run: DescribeRun) -> None:
    """Write the texts of a run into the file."""
    texts, current = run.texts, _read_file(project.file)  # a person may have edited it during the run
    missing = find_missing(project.library, current, project.selection)
    sections = {id_: one for id_, one in texts.sections.items() if id_ in missing.sections}
    pages = {path: one for path, one in texts.pages.items() if path in missing.pages}
    if sections or pages:
        merged = merge_texts(current, project.library.manifest, sections, pages)
        write_text_file(project.file, render_descriptions(merged).decode())
    described = sum(1 for page in pages.values() if page.description)
    refused = f", {len(texts.refused)} texts refused" if texts.refused else ""
    left = len({request.name for request in project.requests} - {request.name for request in run.done})
    click.echo(
        f"{project.file}: {len(sections)} sections and {described} pages described{refused}"
        + (f"; {left} requests without a reply" if left else "")
    )
    for problem in [*run.problems, *map(str, texts.refused)][:_MAX_SHOWN]:
        warn(problem)
