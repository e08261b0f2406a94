"""The report of an evaluation: plots, figures, and each question with where each mode went and what it said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mkdocs_roaming.evals.metrics import EvalResult, TrailStep
from mkdocs_roaming.evals.output import COLUMNS, describe_failure, format_cost, format_difference, format_figure
from mkdocs_roaming.evals.questions import Question
from mkdocs_roaming.evals.report import plots
from mkdocs_roaming.evals.report.page import link, only_switch, page, safe, table
from mkdocs_roaming.evals.runner import EvalReport, Regression, ReportRow
from mkdocs_roaming.evals.systems import SEARCH

PLOTTED = {
    "reached": "A section that answers was opened, in % of the questions that the docs answer",
    "answered": "Answered, in % of the questions that the docs answer",
    "cited": "A section that answers was cited, in %",
    "literals": "The answer holds what a right one must, in %",
    "declined": "Declined, in % of the questions that the docs do not answer",
}


def evaluation_page(report: EvalReport, worse: Sequence[Regression] = ()) -> str:
    """Give the page."""
    return page(f"Questions to {report.site}", "".join(_parts(report, worse)))


def _parts(report: EvalReport, worse: Sequence[Regression]) -> Iterator[str]:
    asked = report.questions.questions
    without = sum(not question.answerable for question in asked)
    yield f"<h1>Questions to {safe(report.site)}</h1>\n"
    yield (
        f'<p class="soft">{len(asked)} questions of {safe(report.questions.where)}, {without} of them without an '
        f"answer in the docs. {link(report.url, report.url)}</p>\n"
    )
    if synthetic := sum(question.synthetic for question in asked):
        yield (
            f'<p class="warn">{synthetic} questions were made by a machine from the docs\' own words: figures on them '
            "are better than readers will find.</p>\n"
        )
    yield from _worse(worse)
    yield '<h2>At a glance</h2>\n<div class="plots">\n'
    ranked = [_rank(report, at) for at, question in enumerate(asked) if question.answerable]
    if ranked:
        yield plots.ranks("Where search ranks the first section that answers, in questions", ranked)
    for name, title in PLOTTED.items():
        if bars := [bar for at, row in enumerate(report.rows) if (bar := _bar(row, name, at))]:
            yield plots.shares(title, bars)
    yield '</div>\n<p class="soft small">Lines are 95 % intervals: where a figure would lie for other questions of the '
    yield "same kind.</p>\n"
    yield from _figures(report)
    yield "<h2>Questions</h2>\n"
    yield only_switch("Only those with something to look at")
    for at, question in enumerate(asked):
        yield from _question(report, at, question)
    yield f'<p class="soft small">{safe(report.generator)} · site {safe(report.digest[:19])}</p>\n'


def _worse(worse: Sequence[Regression]) -> Iterator[str]:
    if worse:
        yield "<h2>No longer found</h2>\n"
    for one in worse:
        yield (
            f'<div class="worse"><p><strong>{safe(one.ask)}</strong><br>{safe(one.mode)}: {safe(one.before)} before, '
            f"{safe(one.after)} now</p></div>\n"
        )


def _figures(report: EvalReport) -> Iterator[str]:
    yield "<h2>Figures</h2>\n"
    if report.ranks:
        yield f"<p>Search, {', '.join(f'{safe(one.name)}: {safe(format_figure(one))}' for one in report.ranks)}.</p>\n"
    names = [name for name in COLUMNS if any(row.totals.figure(name) for row in report.rows)]
    rows = [
        [
            f'{safe(row.mode)}<span class="soft"> {safe(row.navigator)}</span>',
            *(_cell(format_figure(row.totals.figure(name))) for name in names),
            str(row.totals.asked) + (f" ({row.totals.errors} failed)" if row.totals.errors else ""),
            safe(format_cost(row.totals)),
            f"{row.totals.seconds:.1f}",
        ]
        for row in report.rows
    ]
    yield table(["mode", *names, "asked", "cost", "seconds"], rows)
    yield from _against(report)
    for row in report.rows:
        if row.left:
            yield f'<p class="bad">{safe(row.mode)}: {safe(row.left)}</p>\n'


def _against(report: EvalReport) -> Iterator[str]:
    told = [
        f"<li>{safe(row.mode)}: {safe(format_difference(one))}</li>\n" for row in report.rows for one in row.against
    ]
    if told:
        yield f"<p>Against {safe(report.rows[0].mode)}, question by question:</p>\n<ul>\n{''.join(told)}</ul>\n"


def _cell(figure: str) -> str:
    value, _, interval = figure.partition(" [")
    return safe(value) + (f'<span class="soft">[{safe(interval)}</span>' if interval else "")


def _question(report: EvalReport, at: int, question: Question) -> Iterator[str]:
    outcomes = [(row, outcome) for row in report.rows if (outcome := row.outcomes[at])]
    wrong = any(describe_failure(question, outcome) for _, outcome in outcomes)
    marks = "".join(_mark(row, question, outcome) for row, outcome in outcomes)
    yield f'<details class="{"wrong" if wrong else "fine"}"><summary><span class="ask">{safe(question.ask)}</span>'
    yield f'<span class="marks">{marks}</span></summary>\n<div class="inside">\n<dl>'
    if question.answerable:
        named = ", ".join(safe(address.text) for address in question.sections)
        yield f"<dt>answered by</dt><dd>{named}</dd>"
        rank = _rank(report, at)
        yield f"<dt>in search</dt><dd>{f'rank {rank}' if rank else 'not among the first fifty'}</dd>"
    else:
        yield "<dt>answered by</dt><dd>nothing in the docs</dd>"
    if question.contains:
        yield f"<dt>a right answer holds</dt><dd>{safe(', '.join(question.contains))}</dd>"
    for name, text in (("asked on", question.page), ("note", question.note)):
        if text:
            yield f"<dt>{name}</dt><dd>{safe(text)}</dd>"
    yield f"<dt>written in</dt><dd>line {question.line}</dd></dl>\n"
    for row, outcome in outcomes:
        yield from _outcome(row, question, outcome)
    yield "</div></details>\n"


def _mark(row: ReportRow, question: Question, outcome: EvalResult) -> str:
    if not question.answerable and outcome.state is None:
        return ""  # nothing to be reached, nothing said
    wrong = describe_failure(question, outcome)
    bad = bool(outcome.error) or (not outcome.reached if question.answerable else outcome.answered)
    kind, sign = ("bad", "✗") if bad else ("warn", "!") if wrong else ("good", "✓")
    return f'<span class="{kind}">{sign} {safe(row.mode)}</span>'


def _outcome(row: ReportRow, question: Question, outcome: EvalResult) -> Iterator[str]:
    wrong = describe_failure(question, outcome)
    yield f"<h3>{safe(row.mode)}</h3>\n"
    told = [outcome.state.replace("_", " ")] if outcome.state else []
    if outcome.reached and row.mode != SEARCH:
        told.append(_reached(outcome))
    if outcome.tokens_read:
        told.append(f"~{outcome.tokens_read} tokens read")
    if outcome.cost is not None:
        told.append(f"{outcome.cost:.4f} {outcome.currency}")
    said = f"{' · '.join(told)}" + (f"{' · ' if told else ''}" if wrong else "")
    yield f'<p class="small">{safe(said)}{f"<span class=bad>{safe(wrong)}</span>" if wrong else ""}</p>\n'
    if outcome.trail:
        steps = "".join(_step(step, question, row.mode != SEARCH) for step in outcome.trail)
        yield f'<ol class="small">{steps}</ol>\n'
    if outcome.text:
        yield f'<div class="text" tabindex="0" role="group" aria-label="Answer">{safe(outcome.text.strip())}</div>\n'


def _reached(outcome: EvalResult) -> str:
    if outcome.whole_site:
        return "all of the site was read"
    return f"reached in call {outcome.calls}" if outcome.calls else "open before the first call"


def _step(step: TrailStep, question: Question, called: bool) -> str:
    section = step.section
    gold = section.id in question.gold
    text = link(section.url, " › ".join(section.breadcrumb) or section.title)
    text += f' <span class="soft">call {step.at}</span>' if called and step.at else ""
    return f"<li{' class=gold' if gold else ''}>{text}{' ← answers' if gold else ''}</li>\n"


def _bar(row: ReportRow, name: str, colour: int) -> plots.Bar | None:
    figure = row.totals.figure(name)
    if figure is None:
        return None
    low, high = figure.interval or (figure.value, figure.value)
    return plots.Bar(row.mode, figure.value, low, high, format_figure(figure), colour)


def _rank(report: EvalReport, at: int) -> int | None:
    return next((outcome.rank for row in report.rows if (outcome := row.outcomes[at])), None)
