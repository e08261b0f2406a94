"""`roaming eval`: evaluate a site with a set of questions."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import anyio
import click

from mkdocs_roaming.cli.common import AS_JSON, FAULTS_FOUND, FILE, LIBRARY, TRUST_RULES, print_json, progress, warn
from mkdocs_roaming.cli.session import ResolvedOptions, model_options
from mkdocs_roaming.cli.sites import open_lib
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.evals.output import (
    Regression,
    check_comparable,
    find_regressions,
    format_report,
    read_baseline,
    render_evaluation,
    report_to_dict,
)
from mkdocs_roaming.evals.questions import read_questions, resolve_sections, select_questions
from mkdocs_roaming.evals.runner import (
    SEARCH,
    EvalReport,
    Evaluation,
    ModelSystem,
    Ranking,
    SearchSystem,
    System,
    replace_descriptions,
)
from mkdocs_roaming.files import check_writable, write_text_file
from mkdocs_roaming.manifest.descriptions import Descriptions
from mkdocs_roaming.text.markdown import sanitize


@click.command("eval")
@LIBRARY
@click.argument("questions", type=FILE)
@click.option("--compare", metavar="MODES", help="Systems, separated by commas: search, offline, claude, openai:NAME.")
@model_options
@click.option("--only", multiple=True, metavar="WORDS", help="Ask only questions with these words. Repeatable.")
@click.option("--limit", type=click.IntRange(min=1), help="Maximum number of questions.")
@click.option("--without-descriptions", is_flag=True, help="Compare with the site without descriptions by a model.")
@click.option("--baseline", type=FILE, help="Exit with 4 for problems that this output of --json has not.")
@click.option("--max-cost", type=click.FloatRange(min=0, min_open=True), help="Maximum cost of all questions.")
@click.option("--parallel", type=click.IntRange(1, 16), default=1, show_default=True, help="Concurrent questions.")
@click.option("--html", type=FILE, help="Write an HTML page with the result of every question.")
@TRUST_RULES
@AS_JSON
def evaluate(lib: str, questions: Path, trust_rules: bool, **given: Any) -> None:
    """Measure answers and search with a set of questions.

    QUESTIONS is a YAML file; see docs/guides/evaluate.md. Without --compare, the model of `ask` is evaluated.
    """
    options = ResolvedOptions.from_options(given)
    library = open_lib(lib, trust_rules=trust_rules)
    whole = resolve_sections(read_questions(questions), library.sections)
    selected = select_questions(whole, only=given["only"], limit=given["limit"])
    before = read_baseline(given["baseline"]) if given["baseline"] else None
    if given["html"] is not None:
        check_writable(given["html"])
    make_search = options.search_factory()
    ranking, plain = Ranking(library, make_search(library)), None
    if given["without_descriptions"]:
        other = replace_descriptions(library, Descriptions())
        if other.manifest == library.manifest:
            raise UsageError(f"{lib}: has no descriptions by a model; omit --without-descriptions")
        plain = Ranking(other, make_search(other), " without descriptions")
        plain.word_only = ranking.word_only
    rankings = [ranking, plain] if plain else [ranking]
    systems = _create_systems(given["compare"], options, rankings, seconds_given=given["seconds"] is not None)
    if before is not None:
        check_comparable(before, selected, [system.name for system in systems], str(given["baseline"]))
    evaluation = Evaluation(
        questions=selected,
        systems=systems,
        ranking=ranking,
        plain=plain,
        parallel=given["parallel"],
        max_cost=given["max_cost"],
    )
    with progress("Asking") as steps:
        evaluation.on_progress = steps(len(evaluation.questions.questions) * len(systems))
        interrupted = not _run(evaluation)
    report = evaluation.report()
    regressions = find_regressions(before, report) if before else []
    if given["html"] is not None:
        write_text_file(given["html"], render_evaluation(report, regressions))
    _show(report, regressions, as_json=given["as_json"])
    _warn_about_gaps(report, ranking)
    if regressions:
        sys.exit(FAULTS_FOUND)
    if interrupted or ranking.word_only or not all(row.complete for row in report.rows):
        sys.exit(1)


def _warn_about_gaps(report: EvalReport, ranking: Ranking) -> None:
    """Print a warning for questions that were not asked, not answered, or searched without embeddings."""
    for row in report.rows:
        if row.stop_reason:
            warn(f"{row.mode}: {row.totals.asked} of {len(row.results)} questions asked: {row.stop_reason}")
        elif row.totals.errors:
            warn(f"{row.mode}: {row.totals.errors} answers failed; they count in no figure")
    if ranking.word_only:
        warn(f"{len(ranking.word_only)} questions were searched without embeddings; run again when they are available")


def _run(evaluation: Evaluation) -> bool:
    """Run the evaluation; return False if it was interrupted, since the results so far are still reported."""
    try:
        anyio.run(evaluation.run)
    except KeyboardInterrupt:
        return False
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None
    return True


def _create_systems(
    compare: str | None, options: ResolvedOptions, rankings: Sequence[Ranking], *, seconds_given: bool
) -> list[System]:
    names = [name.strip() for name in compare.split(",")] if compare is not None else [None]
    if len(set(names)) < len(names):
        raise UsageError(f"--compare {compare}: each name may occur once")
    systems: list[System] = []
    for name in names:
        if name == SEARCH:
            systems += map(SearchSystem, rankings)
            continue
        model, budget = options.create_model(name)
        systems += [
            ModelSystem(
                name or model.name,
                model,
                budget,
                ranking,
                whole_site_tokens=budget.whole_site_tokens,
                seconds_given=seconds_given,
            )
            for ranking in rankings
        ]
    return systems


def _show(report: EvalReport, regressions: list[Regression], *, as_json: bool) -> None:
    if as_json:
        print_json({**report_to_dict(report), "regressions": [asdict(regression) for regression in regressions]})
        return
    for line in format_report(report):
        click.echo(sanitize(line))
    if regressions:
        click.echo("\nRegressions")
    for regression in regressions:
        click.echo(sanitize(f"  {regression.ask}\n      {regression.mode}: {regression.problem}"))
