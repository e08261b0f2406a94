"""`roaming eval`: evaluate a site with a set of questions."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import click
import msgspec

from mkdocs_roaming.answer.results import Offline
from mkdocs_roaming.cli.common import AS_JSON, FAULTS_FOUND, FILE, LIBRARY, TRUST_RULES, print_json, progress, warn
from mkdocs_roaming.cli.session import ResolvedOptions, model_options
from mkdocs_roaming.cli.sites import open_lib
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.evals.output import Regression, find_regressions, format_report, read_baseline
from mkdocs_roaming.evals.questions import read_questions, resolve_sections
from mkdocs_roaming.evals.runner import SEARCH, EvalReport, Evaluation, System
from mkdocs_roaming.text.markdown import sanitize

_OFFLINE_SECONDS = 3_600.0
"""Time limit of an answer without a model: a slow machine must not change its results."""


@click.command("eval")
@LIBRARY
@click.argument("questions", type=FILE)
@click.option("--compare", metavar="MODES", help="Systems, separated by commas: search, offline, claude, openai:NAME.")
@model_options
@click.option("--limit", type=click.IntRange(min=1), help="Maximum number of questions.")
@click.option("--baseline", type=FILE, help="Exit with 4 for problems that this output of --json has not.")
@TRUST_RULES
@AS_JSON
def evaluate(
    lib: str,
    questions: Path,
    compare: str | None,
    limit: int | None,
    baseline: Path | None,
    trust_rules: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Measure answers and search with a set of questions.

    QUESTIONS is a YAML file; see docs/guides/evaluate.md. Without --compare, the model of `ask` is evaluated.
    """
    options = ResolvedOptions.from_options(given)
    library = open_lib(lib, trust_rules=trust_rules)
    selected = resolve_sections(read_questions(questions), library.sections)
    selected = replace(selected, questions=selected.questions[:limit])
    search = options.search_factory()(library)
    names: list[str | None] = [None] if compare is None else [name.strip() for name in compare.split(",")]
    if len(set(names)) < len(names):
        raise UsageError(f"--compare {compare}: each name may occur once")
    systems = [_create_system(name, options, has_limit=given["seconds"] is not None) for name in names]
    before = read_baseline(baseline, selected, [system.name for system in systems]) if baseline else None
    evaluation = Evaluation(selected, systems, library, search)
    with progress("Asking") as steps:
        evaluation.on_progress = steps(len(selected.questions) * len(systems))
        try:
            anyio.run(evaluation.run)
        except KeyboardInterrupt:
            warn("interrupted; these are the results so far")
    report = evaluation.report()
    regressions = find_regressions(before, report) if before else []
    _print_report(report, regressions, as_json=as_json)
    words_only = [question for question in selected.questions if search.words_only(question.ask)]
    if words_only:
        warn(f"{len(words_only)} questions were searched without embeddings; run again when they are available")
    if regressions:
        sys.exit(FAULTS_FOUND)
    if words_only or any(row.stop_reason or row.errors for row in report.rows):
        sys.exit(1)


def _create_system(name: str | None, options: ResolvedOptions, *, has_limit: bool) -> System:
    if name == SEARCH:
        return System(SEARCH)
    model, budget = options.create_model(name)
    if model.name == Offline.name and not has_limit:
        budget = replace(budget, seconds=_OFFLINE_SECONDS)
    return System(name or model.name, model, budget)


def _print_report(report: EvalReport, regressions: list[Regression], *, as_json: bool) -> None:
    if as_json:
        print_json(msgspec.to_builtins(report) | {"regressions": msgspec.to_builtins(regressions)})
    else:
        for line in format_report(report):
            click.echo(sanitize(line))
        if regressions:
            click.echo("\nRegressions")
        for regression in regressions:
            click.echo(sanitize(f"  {regression.ask}\n      {regression.mode}: {regression.problem}"))
    for row in report.rows:
        if row.stop_reason:
            warn(f"{row.mode}: {len(row.asked)} of {len(row.results)} questions asked: {row.stop_reason}")
        elif row.errors:
            warn(f"{row.mode}: {row.errors} answers failed; they count in no figure")
