"""`roaming eval`: how well a site is found by questions, and sets of them to begin with."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mkdocs_roaming.cli.ask import model_options, resolve_options
from mkdocs_roaming.cli.common import AS_JSON, FAULTS_FOUND, LIBRARY, TRUST_RULES, open_lib, print_json, progress, warn

if TYPE_CHECKING:
    from mkdocs_roaming.cli.ask import ResolvedOptions
    from mkdocs_roaming.evals.runner import EvalReport, Evaluation, Regression
    from mkdocs_roaming.evals.systems import Ranking, System
    from mkdocs_roaming.library.library import Library

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("eval")
@LIBRARY
@click.argument("questions", type=_FILE, required=False)
@click.option("--compare", metavar="MODES", help="Several side by side: search, outline, offline, claude, openai:NAME.")
@model_options
@click.option("--only", multiple=True, metavar="WORDS", help="Questions that hold these words; may be repeated.")
@click.option("--limit", type=click.IntRange(min=1), help="The first so many questions.")
@click.option("--baseline", type=_FILE, help="Exit with 4 where something can no longer be found that could be then.")
@click.option("--write-baseline", type=_FILE, help="Keep what can be found, for --baseline.")
@click.option("--max-cost", type=click.FloatRange(min=0, min_open=True), help="The most money, for all questions.")
@click.option("--parallel", type=click.IntRange(1, 16), default=1, show_default=True, help="Questions at once.")
@click.option("--keep", type=_FILE, help="Keep each outcome here as it comes; what is there is not asked again.")
@click.option("--html", type=_FILE, help="Write a page with plots and every question's trail.")
@click.option("--generate", type=click.IntRange(min=1), metavar="N", help="Make a first set of N questions instead.")
@click.option("-o", "--output", type=_FILE, help="Where the questions that are made go.")
@click.option("--seed", type=int, default=0, show_default=True, help="Another number makes other questions.")
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
    """Put questions to a site and tell how well it is found.

    QUESTIONS is a YAML file: docs/guides/evaluate.md tells its form. Without --compare the model that `ask` would ask is
    asked. With --generate a first set is made: from headings, definitions, tables and code, or by --model.
    """
    own = {name: given.pop(name) for name in _OWN}
    options = resolve_options(given)
    library = open_lib(lib, trust_rules=trust_rules)
    if generate is not None:
        if questions is not None or output is None:
            raise click.UsageError("--generate needs -o FILE for the questions, and no other questions")
        _generate(library, options, generate, output, seed, own)
        return
    if questions is None:
        raise click.UsageError("Missing argument 'QUESTIONS'; `--generate N -o FILE` makes a first set")
    _evaluate(library, options, questions, compare, own)


_OWN = ("only", "limit", "baseline", "write_baseline", "max_cost", "parallel", "keep", "html", "as_json")


def _evaluate(library: Library, options: ResolvedOptions, path: Path, compare: str | None, own: dict[str, Any]) -> None:
    from mkdocs_roaming.answer.trace import check_writable
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

    whole = sets.resolve_sections(sets.read_questions(path), library.sections)
    before = read_baseline(own["baseline"]) if own["baseline"] else None
    for file in (own["write_baseline"], own["html"]):
        if file is not None:
            check_writable(file)
    if own["write_baseline"] and (own["only"] or own["limit"]):
        raise click.UsageError("--write-baseline is of all questions; leave --only and --limit out")
    ranking = Ranking(library, options.settings.finding(os.environ, warn)(library))
    modes = _modes(compare, options, ranking)
    if before is not None:
        check_comparable(before, whole, [mode.name for mode in modes], str(own["baseline"]))
    with progress("Asking") as steps:
        evaluation = Evaluation(
            questions=sets.select_questions(whole, only=own["only"], limit=own["limit"]),
            modes=modes,
            ranking=ranking,
            set_digest=whole.digest,
            kept=ResultCache(own["keep"]) if own["keep"] else None,
            parallel=own["parallel"],
            max_cost=own["max_cost"],
        )
        evaluation.step = steps(len(evaluation.questions.questions) * len(evaluation.modes))
        broken_off = not _run(evaluation)
    report = evaluation.report()
    worse = find_regressions(before, report) if before else []
    if own["html"] is not None:
        _write_html(report, worse, own["html"])
    _show(report, worse, as_json=own["as_json"])
    for row in report.rows:
        if row.left:
            warn(f"{row.mode}: {row.totals.asked} of {len(row.outcomes)} questions asked: {row.left}")
        elif row.totals.errors:
            warn(f"{row.mode}: {row.totals.errors} answers failed; they count in no figure")
    if ranking.by_words:
        warn(f"{len(ranking.by_words)} questions were searched by words alone; ask again when meaning can be had")
    if own["write_baseline"] is not None and not ranking.by_words:
        write_baseline(own["write_baseline"], create_baseline(report))
    if worse:
        sys.exit(FAULTS_FOUND)
    if broken_off or ranking.by_words or not all(row.whole for row in report.rows):
        sys.exit(1)


def _run(evaluation: Evaluation) -> bool:
    """Ask; give whether it came to its end: what there is so far is told either way."""
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


def _modes(compare: str | None, options: ResolvedOptions, ranking: Ranking) -> list[System]:
    from mkdocs_roaming.errors import UsageError
    from mkdocs_roaming.evals.systems import OUTLINE, SEARCH, ModelSystem, OutlineSystem, SearchSystem

    names = [name.strip() for name in compare.split(",")] if compare is not None else [None]
    found: list[System] = []
    for name in names:
        if name == SEARCH:
            found.append(SearchSystem(ranking))
        elif name == OUTLINE:
            found.append(OutlineSystem(ranking))
        else:
            model, budget = options.answering(name)
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
        raise UsageError(f"--compare {compare}: each mode stands there once")
    return found


def _show(report: EvalReport, worse: list[Regression], *, as_json: bool) -> None:
    from mkdocs_roaming.cli.output import sanitize
    from mkdocs_roaming.evals.output import format_report, report_to_dict

    if as_json:
        print_json({**report_to_dict(report), "regressions": [asdict(one) for one in worse]})
        return
    for line in format_report(report):
        click.echo(sanitize(line))
    if worse:
        click.echo("\nNo longer found")
    for one in worse:
        click.echo(sanitize(f"  {one.ask}\n      {one.mode}: {one.before} before, {one.after} now"))


def _write_html(report: EvalReport, worse: list[Regression], path: Path) -> None:
    from mkdocs_roaming.answer.trace import write_atomically
    from mkdocs_roaming.evals.report.evaluated import evaluation_page

    write_atomically(path, evaluation_page(report, worse))


def _generate(
    library: Library, options: ResolvedOptions, count: int, output: Path, seed: int, own: dict[str, Any]
) -> None:
    import anyio

    from mkdocs_roaming.answer.trace import check_writable, write_atomically
    from mkdocs_roaming.errors import UsageError
    from mkdocs_roaming.evals.generating.asking import generate_by_model
    from mkdocs_roaming.evals.generating.drawing import generate
    from mkdocs_roaming.evals.generating.made import written

    check_writable(output)
    if options.model is None:
        made = generate(library, count, seed=seed)
    else:
        model, budget = options.answering()
        made = anyio.run(lambda: generate_by_model(library, count, model, budget, seed=seed, max_cost=own["max_cost"]))
    if made.questions:
        write_atomically(output, written(made))
    if own["as_json"]:
        print_json({"questions": len(made.questions), "dropped": dict(made.dropped), "cost": made.cost})
    elif made.questions:
        click.echo(f"{output}: {len(made.questions)} questions about {made.pages} pages")
    if len(made.questions) < count and not own["as_json"]:
        warn(f"{count} were asked for; the site has no more to ask about in this way")
    for why, times in made.dropped:
        warn(f"{times} dropped: {why}")
    if made.error:
        warn(made.error)
    if not made.questions:
        raise UsageError(f"{library.where}: no question could be made, and {output} is not written; write some by hand")
    if made.error:
        sys.exit(1)
