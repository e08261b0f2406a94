"""`roaming eval`: how well a site is found by questions, and sets of them to begin with."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mkdocs_roaming.cli.common import (
    AS_JSON,
    FAULTS_FOUND,
    LIBRARY,
    TRUST_RULES,
    ResolvedOptions,
    model_options,
    open_lib,
    print_json,
    progress,
    warn,
)

if TYPE_CHECKING:
    from mkdocs_roaming.cli.common import ResolvedOptions
    from mkdocs_roaming.evals.runner import EvalReport, Evaluation, Regression
    from mkdocs_roaming.evals.systems import Ranking, System
    from mkdocs_roaming.library.library import Library

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("eval")
@LIBRARY
@click.argument("questions", type=_FILE, required=False)
@click.option("--compare", metavar="MODES", help="Several side by side: search, offline, claude, openai:NAME.")
@model_options
@click.option("--only", multiple=True, metavar="WORDS", help="Questions that hold these words; may be repeated.")
@click.option("--limit", type=click.IntRange(min=1), help="Maximum number of questions.")
@click.option("--baseline", type=_FILE, help="Exit with 4 where something can no longer be found that could be then.")
@click.option("--write-baseline", type=_FILE, help="Keep what can be found, for --baseline.")
@click.option("--max-cost", type=click.FloatRange(min=0, min_open=True), help="The most money, for all questions.")
@click.option("--parallel", type=click.IntRange(1, 16), default=1, show_default=True, help="Questions at once.")
@click.option("--keep", type=_FILE, help="Keep each outcome here as it comes; what is there is not asked again.")
@click.option("--html", type=_FILE, help="Write a page with plots and every question's trail.")
@click.option("--generate", type=click.IntRange(min=1), metavar="N", help="Generate N questions with a model instead.")
@click.option("-o", "--output", type=_FILE, help="File for the generated questions.")
@click.option("--seed", type=int, default=0, show_default=True, help="Selects the sections that questions are about.")
@TRUST_RULES
@AS_JSON
def evaluate(
    lib: str,
    questions: Path | None,
    compare: str | None,
    generate: int | None,
    output: Path | None,
    seed: int,
    trust_rules: bool,
    **given: Any,
) -> None:
    """Measure answers and search with a set of questions.

    QUESTIONS is a YAML file; see docs/guides/evaluate.md. Without --compare, the model of `ask` is evaluated. With
    --generate, a model writes a first question file.
    """
    own = {name: given.pop(name) for name in _OWN}
    options = ResolvedOptions.from_options(given)
    library = open_lib(lib, trust_rules=trust_rules)
    if generate is not None:
        if questions is not None or output is None:
            raise click.UsageError("--generate needs -o FILE, and takes no question file")
        _generate(library, options, generate, output, seed, own)
        return
    if questions is None:
        raise click.UsageError("Missing argument 'QUESTIONS'; `--generate N -o FILE` writes a first file")
    _evaluate(library, options, questions, compare, own)


_OWN = ("only", "limit", "baseline", "write_baseline", "max_cost", "parallel", "keep", "html", "as_json")


def _evaluate(library: Library, options: ResolvedOptions, path: Path, compare: str | None, own: dict[str, Any]) -> None:
    from mkdocs_roaming.evals import questions as sets
    from mkdocs_roaming.evals.runner import (
        Evaluation,
        ResultCache,
        check_comparable,
        create_baseline,
        find_regressions,
        read_baseline,
        write_baseline,
    )
    from mkdocs_roaming.evals.systems import Ranking
    from mkdocs_roaming.publish.files import check_writable

    whole = sets.resolve_sections(sets.read_questions(path), library.sections)
    before = read_baseline(own["baseline"]) if own["baseline"] else None
    for file in (own["write_baseline"], own["html"]):
        if file is not None:
            check_writable(file)
    if own["write_baseline"] and (own["only"] or own["limit"]):
        raise click.UsageError("--write-baseline needs all questions: omit --only and --limit")
    ranking = Ranking(library, options.settings.search_factory(os.environ, warn)(library))
    systems = _systems(compare, options, ranking)
    if before is not None:
        check_comparable(before, whole, [system.name for system in systems], str(own["baseline"]))
    with progress("Asking") as steps:
        evaluation = Evaluation(
            questions=sets.select_questions(whole, only=own["only"], limit=own["limit"]),
            systems=systems,
            ranking=ranking,
            set_digest=whole.digest,
            cache=ResultCache(own["keep"]) if own["keep"] else None,
            parallel=own["parallel"],
            max_cost=own["max_cost"],
        )
        evaluation.on_progress = steps(len(evaluation.questions.questions) * len(systems))
        interrupted = not _run(evaluation)
    report = evaluation.report()
    regressions = find_regressions(before, report) if before else []
    if own["html"] is not None:
        _write_html(report, regressions, own["html"])
    _show(report, regressions, as_json=own["as_json"])
    for row in report.rows:
        if row.stop_reason:
            warn(f"{row.mode}: {row.totals.asked} of {len(row.results)} questions asked: {row.stop_reason}")
        elif row.totals.errors:
            warn(f"{row.mode}: {row.totals.errors} answers failed; they count in no figure")
    if ranking.word_only:
        warn(f"{len(ranking.word_only)} questions were searched without embeddings; run again when they are available")
    if own["write_baseline"] is not None and not ranking.word_only:
        write_baseline(own["write_baseline"], create_baseline(report))
    if regressions:
        sys.exit(FAULTS_FOUND)
    if interrupted or ranking.word_only or not all(row.complete for row in report.rows):
        sys.exit(1)


def _run(evaluation: Evaluation) -> bool:
    """Run the evaluation; return False if it was interrupted, since the results so far are still reported."""
    import anyio

    try:
        anyio.run(evaluation.run)
    except KeyboardInterrupt:
        return False
    except BaseExceptionGroup as group:  # what a task raises comes in a group
        raise _first(group) from None
    return True


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _systems(compare: str | None, options: ResolvedOptions, ranking: Ranking) -> list[System]:
    from mkdocs_roaming.errors import UsageError
    from mkdocs_roaming.evals.systems import SEARCH, ModelSystem, SearchSystem

    names = [name.strip() for name in compare.split(",")] if compare is not None else [None]
    found: list[System] = []
    for name in names:
        if name == SEARCH:
            found.append(SearchSystem(ranking))
        else:
            model, budget = options.create_model(name)
            found.append(
                ModelSystem(
                    name or model.name,
                    model,
                    budget,
                    ranking,
                    whole_site_tokens=options.whole_site,
                    seconds_given=options.seconds is not None,
                )
            )
    labels = [mode.name for mode in found]
    if len(set(labels)) < len(labels):
        raise UsageError(f"--compare {compare}: each name may occur once")
    return found


def _show(report: EvalReport, regressions: list[Regression], *, as_json: bool) -> None:
    from mkdocs_roaming.cli.output import sanitize
    from mkdocs_roaming.evals.output import format_report, report_to_dict

    if as_json:
        print_json({**report_to_dict(report), "regressions": [asdict(one) for one in regressions]})
        return
    for line in format_report(report):
        click.echo(sanitize(line))
    if regressions:
        click.echo("\nRegressions")
    for one in regressions:
        click.echo(sanitize(f"  {one.ask}\n      {one.mode}: {one.before} before, {one.after} now"))


def _write_html(report: EvalReport, regressions: list[Regression], path: Path) -> None:
    from mkdocs_roaming.evals.html_report import render_evaluation
    from mkdocs_roaming.publish.files import write_text_file

    write_text_file(path, render_evaluation(report, regressions))


def _generate(
    library: Library, options: ResolvedOptions, count: int, output: Path, seed: int, own: dict[str, Any]
) -> None:
    import anyio

    from mkdocs_roaming.errors import UsageError
    from mkdocs_roaming.evals.generate import generate_questions
    from mkdocs_roaming.publish.files import check_writable, write_text_file

    check_writable(output)
    model, budget = options.create_model()
    generated = anyio.run(
        lambda: generate_questions(library, count, model, budget, seed=seed, max_cost=own["max_cost"])
    )
    questions = len(generated.questions)
    if questions:
        write_text_file(output, generated.to_yaml())
    if own["as_json"]:
        print_json({"questions": questions, "dropped": dict(generated.dropped), "cost": generated.cost})
    elif questions:
        click.echo(f"{output}: {questions} questions about {generated.pages} pages")
    if questions < count and not own["as_json"]:
        warn(f"generated {questions} of {count} questions")
    for reason, times in generated.dropped:
        warn(f"{times} replies discarded: {reason}")
    if generated.error:
        warn(generated.error)
    if not questions:
        raise UsageError(
            f"no question could be generated for {library.where}; {output} is not written. Write questions by hand."
        )
    if generated.error:
        sys.exit(1)
