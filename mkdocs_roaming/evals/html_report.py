"""Render an evaluation or a lint report as one HTML page without scripts or network requests."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib import resources
from urllib.parse import urlsplit

from mkdocs_roaming.evals.metrics import FIGURES, EvalResult, Figure, TrailStep
from mkdocs_roaming.evals.output import describe_failure, format_cost, format_difference, format_figure
from mkdocs_roaming.evals.questions import Question
from mkdocs_roaming.evals.runner import EvalReport, Regression, ReportRow
from mkdocs_roaming.evals.systems import MAX_RANK, SEARCH
from mkdocs_roaming.lint.models import SEVERITIES, Finding
from mkdocs_roaming.lint.rules import load_rules
from mkdocs_roaming.lint.runner import LintReport

RANK_RANGES = ((1, 1), (2, 3), (4, 5), (6, 10), (11, MAX_RANK))


def render_evaluation(report: EvalReport, regressions: Sequence[Regression] = ()) -> str:
    """Return the page of an evaluation: figures, and each question with the result of each system."""
    return _page(f"Questions about {report.site}", _evaluation_body(report, regressions))


def render_findings(report: LintReport, url: str = "", docs: str = "") -> str:
    """Return the page of a lint report: the findings by rule, errors first.

    Args:
        report: The lint report.
        url: The address of the site.
        docs: The folder of the Markdown sources, for the location of each finding.
    """
    return _page(f"Lint report of {report.site}", _findings_body(report, url, docs))


def _evaluation_body(report: EvalReport, regressions: Sequence[Regression]) -> Iterator[str]:
    questions = report.questions.questions
    unanswerable = sum(not question.answerable for question in questions)
    yield f"<h1>Questions about {_escape(report.site)}</h1>\n"
    yield (
        f'<p class="soft">{len(questions)} questions from {_escape(report.questions.where)}, {unanswerable} of them '
        f"without an answer in the documentation. {_link(report.url, report.url)}</p>\n"
    )
    if synthetic := sum(question.synthetic for question in questions):
        yield (
            f'<p class="warn">{synthetic} questions were generated from the words of the documentation: their figures '
            "are better than those of readers' questions.</p>\n"
        )
    if regressions:
        yield "<h2>Regressions</h2>\n"
    for regression in regressions:
        yield (
            f'<div class="regression"><p><strong>{_escape(regression.ask)}</strong><br>{_escape(regression.mode)}: '
            f"{_escape(regression.before)} before, {_escape(regression.after)} now</p></div>\n"
        )
    yield "<h2>Figures</h2>\n"
    yield from _figures(report)
    yield "<h2>Questions</h2>\n"
    yield '<p><label><input type="checkbox" id="only"> Only questions with a problem</label></p>\n'
    for position, question in enumerate(questions):
        yield from _question(report, position, question)
    yield f'<p class="soft small">{_escape(report.generator)} · site {_escape(report.digest[:19])}</p>\n'


def _figures(report: EvalReport) -> Iterator[str]:
    names = [name for name in FIGURES if any(row.totals.figure(name) for row in report.rows)]
    rows = [
        [
            f'{_escape(row.mode)}<span class="soft"> {_escape(row.navigator)}</span>',
            *(_figure_cell(row.totals.figure(name)) for name in names),
            str(row.totals.asked) + (f" ({row.totals.errors} failed)" if row.totals.errors else ""),
            _escape(format_cost(row.totals)),
            f"{row.totals.seconds:.1f}",
        ]
        for row in report.rows
    ]
    yield _table("Figures", ["mode", *names, "asked", "cost", "seconds"], rows)
    yield '<p class="soft small">In brackets: 95 % intervals.</p>\n'
    for row in report.rows:
        if row.stop_reason:
            yield f'<p class="bad">{_escape(row.mode)}: {_escape(row.stop_reason)}</p>\n'
    differences = [(row, difference) for row in report.rows for difference in row.differences]
    if differences:
        items = [f"<li>{_escape(row.mode)}: {_escape(format_difference(one))}</li>\n" for row, one in differences]
        yield f"<p>Compared with {_escape(report.rows[0].mode)}, question by question:</p>\n"
        yield f"<ul>\n{''.join(items)}</ul>\n"
    if report.ranks:
        figures = ", ".join(f"{one.name}: {format_figure(one)}" for one in report.ranks)
        yield f"<p>Search, {_escape(figures)}.</p>\n"
        yield _table("Ranks", ["rank in search", "questions"], list(_rank_rows(report)))


def _figure_cell(figure: Figure | None) -> str:
    value, _, interval = format_figure(figure).partition(" [")
    meter = f"<br>{_meter(figure.value, 1)}" if figure is not None and figure.share else ""
    return _escape(value) + meter + (f'<span class="soft">[{_escape(interval)}</span>' if interval else "")


def _rank_rows(report: EvalReport) -> Iterator[list[str]]:
    """Yield the distribution of the rank at which search finds the first gold section."""
    ranks = [
        _rank(report, position) for position, question in enumerate(report.questions.questions) if question.answerable
    ]
    for low, high in RANK_RANGES:
        count = sum(rank is not None and low <= rank <= high for rank in ranks)
        yield [str(low) if low == high else f"{low}–{high}", f"{_meter(count, len(ranks))} {count}"]
    yield ["not found", f"{_meter(ranks.count(None), len(ranks))} {ranks.count(None)}"]


def _rank(report: EvalReport, position: int) -> int | None:
    return next((result.rank for row in report.rows if (result := row.results[position])), None)


def _question(report: EvalReport, position: int, question: Question) -> Iterator[str]:
    results = [(row, result) for row in report.rows if (result := row.results[position])]
    failed = any(describe_failure(question, result) for _, result in results)
    marks = "".join(_mark(row, question, result) for row, result in results)
    yield f'<details class="{"wrong" if failed else "fine"}"><summary><span class="ask">{_escape(question.ask)}</span>'
    yield f'<span class="marks">{marks}</span></summary>\n<div class="inside">\n<dl>'
    if question.answerable:
        rank = _rank(report, position)
        yield f"<dt>gold sections</dt><dd>{', '.join(_escape(one.text) for one in question.sections)}</dd>"
        yield f"<dt>in search</dt><dd>{f'rank {rank}' if rank else f'not among the first {MAX_RANK}'}</dd>"
    else:
        yield "<dt>gold sections</dt><dd>none: the documentation does not answer</dd>"
    for name, text in (
        ("expected literals", ", ".join(question.contains)),
        ("asked on page", question.page),
        ("note", question.note),
        ("line", str(question.line)),
    ):
        if text:
            yield f"<dt>{name}</dt><dd>{_escape(text)}</dd>"
    yield "</dl>\n"
    for row, result in results:
        yield from _result(row, question, result)
    yield "</div></details>\n"


def _mark(row: ReportRow, question: Question, result: EvalResult) -> str:
    if not question.answerable and result.state is None:
        return ""  # a system without answers has nothing to decline
    failed = bool(result.error) or (not result.reached if question.answerable else result.answered)
    css_class, sign = "good", "✓"
    if failed:
        css_class, sign = "bad", "✗"
    elif describe_failure(question, result):
        css_class, sign = "warn", "!"
    return f'<span class="{css_class}">{sign} {_escape(row.mode)}</span>'


def _result(row: ReportRow, question: Question, result: EvalResult) -> Iterator[str]:
    facts = [result.state.replace("_", " ")] if result.state else []
    if result.reached and row.mode != SEARCH:
        facts.append(_describe_reached(result))
    if result.tokens_read:
        facts.append(f"~{result.tokens_read} tokens read")
    if result.cost is not None:
        facts.append(f"{result.cost:.4f} {result.currency}")
    parts = [_escape(fact) for fact in facts]
    if failure := describe_failure(question, result):
        parts.append(f'<span class="bad">{_escape(failure)}</span>')
    yield f'<h3>{_escape(row.mode)}</h3>\n<p class="small">{" · ".join(parts)}</p>\n'
    if result.trail:
        steps = "".join(_step(step, question, row.mode != SEARCH) for step in result.trail)
        yield f'<ol class="small">{steps}</ol>\n'
    if result.text:
        yield f'<div class="text" tabindex="0" role="group" aria-label="Answer">{_escape(result.text.strip())}</div>\n'


def _describe_reached(result: EvalResult) -> str:
    if result.whole_site:
        return "the whole site was read"
    return f"reached in call {result.calls}" if result.calls else "opened before the first call"


def _step(step: TrailStep, question: Question, show_call: bool) -> str:
    section = step.section
    gold = section.id in question.gold
    text = _link(section.url, " › ".join(section.breadcrumb) or section.title)
    text += f' <span class="soft">call {step.number}</span>' if show_call and step.number else ""
    return f"<li{' class=gold' if gold else ''}>{text}{' ← gold' if gold else ''}</li>\n"


def _findings_body(report: LintReport, url: str, docs: str) -> Iterator[str]:
    yield f"<h1>Lint report of {_escape(report.site)}</h1>\n"
    yield f'<p class="soft">{_escape(str(report))}. {_link(url, url)}</p>\n'
    findings = sorted(report.findings, key=lambda finding: SEVERITIES.index(finding.severity))
    counts = Counter(finding.rule for finding in findings)
    if counts:
        most = max(counts.values())
        rows = [[_escape(rule), f"{_meter(count, most)} {count}"] for rule, count in counts.most_common()]
        yield _table("Findings by rule", ["rule", "findings"], rows)
    rules = load_rules()
    for rule in counts:
        group = [finding for finding in findings if finding.rule == rule]
        yield f'<h2>{_escape(rule)} <span class="soft small">{_escape(group[0].severity)}</span></h2>\n'
        yield f"<p>{_escape(rules[rule].summary)}</p>\n"
        for finding in group:
            yield from _finding(finding, docs)


def _finding(finding: Finding, docs: str) -> Iterator[str]:
    section = " › ".join(finding.breadcrumb) or finding.url
    yield f'<details><summary><span class="ask">{_escape(finding.message)}</span>'
    yield f'<span class="marks soft">{_escape(finding.describe_location(docs))}</span></summary>\n'
    yield '<div class="inside"><dl>'
    if section:
        yield f"<dt>section</dt><dd>{_link(finding.url, section)}</dd>"
    yield f"<dt>fix</dt><dd>{_escape(finding.fix)}</dd></dl>\n"
    if finding.quote:
        yield f'<div class="text">{_escape(finding.quote)}</div>\n'
    yield "</div></details>\n"


def _page(title: str, body: Iterable[str]) -> str:
    """Return a whole page; its content security policy allows nothing but its own style sheet."""
    style = resources.files(__package__).joinpath("report.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="robots" content="noindex">\n'
        f"<title>{_escape(title)}</title>\n<style>{style}</style>\n</head>\n"
        f"<body>\n<main>\n{''.join(body)}</main>\n</body>\n</html>\n"
    )


def _table(label: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a scrollable table; cells are HTML, and the first cell of a row is its heading."""
    top = "".join(f'<th scope="col">{_escape(cell)}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{first}</th>' + "".join(f'<td class="n">{cell}</td>' for cell in rest) + "</tr>\n"
        for first, *rest in rows
    )
    frame = f'<div class="wide" tabindex="0" role="region" aria-label="{_escape(label)}">'
    return f"{frame}<table>\n<thead><tr>{top}</tr></thead>\n<tbody>\n{body}</tbody>\n</table></div>\n"


def _meter(value: float, maximum: float) -> str:
    """Return a bar that is hidden from screen readers, since the number is next to it."""
    return f'<meter value="{value:g}" max="{maximum:g}" aria-hidden="true"></meter>'


def _link(url: str, text: str) -> str:
    """Return a link, or the text alone if the scheme of the URL is not allowed."""
    try:
        allowed = urlsplit(url).scheme in ("http", "https", "file")
    except ValueError:
        allowed = False
    return f'<a href="{_escape(url)}">{_escape(text)}</a>' if allowed else _escape(text)


def _escape(text: str) -> str:
    """Escape text for HTML; characters that HTML forbids become U+FFFD."""
    return escape(_FORBIDDEN.sub("\ufffd", text))


_FORBIDDEN = re.compile("[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0010fffd]")
