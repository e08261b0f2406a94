"""HTML reports: closed pages that show hostile text as text."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace

import anyio
import lxml.html
import pytest
from kettle import QUESTIONS

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.events import Reference
from mkdocs_roaming.answer.results import Offline
from mkdocs_roaming.evals.metrics import EvalResult, TrailStep
from mkdocs_roaming.evals.output import Regression, describe_failure, format_figure, render_evaluation
from mkdocs_roaming.evals.questions import parse_questions, resolve_sections
from mkdocs_roaming.evals.runner import EvalReport, Evaluation, ModelSystem, Ranking, SearchSystem
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Search

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&\x00\x1b[31m\ud800"


@pytest.fixture(scope="module")
def report(library: Library) -> EvalReport:
    ranking = Ranking(library, Search(library))
    offline = ModelSystem("offline", Offline(), Budget(), ranking, whole_site_tokens=0)
    questions = resolve_sections(parse_questions(QUESTIONS, "q.yml"), library.sections)
    evaluation = Evaluation(questions, [SearchSystem(ranking), offline], ranking)
    anyio.run(evaluation.run)
    return evaluation.report()


def parse_closed_page(html: str) -> lxml.html.HtmlElement:
    """Check that a page runs and fetches nothing, by its policy and by its elements, and return its tree."""
    tree = lxml.html.document_fromstring(html.encode("utf-8", "replace"))
    (policy,) = tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    (style,) = tree.xpath("//style")
    digest = base64.b64encode(hashlib.sha256((style.text or "").encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert not tree.xpath("//script | //link | //img | //iframe | //object | //embed | //form | //base")
    assert not [name for element in tree.iter() for name in element.attrib if name.startswith("on") or name == "style"]
    assert not [url for url in tree.xpath("//@href") if not re.match("https?:|file:", url)]
    assert not re.search(r"url\(|@import", style.text or "")
    return tree


def test_render_evaluation_lists_every_question_with_results(report: EvalReport) -> None:
    tree = parse_closed_page(render_evaluation(report))
    details = tree.xpath("//details")
    assert [one.xpath("string(summary/span[1])") for one in details] == [one.ask for one in report.questions.questions]
    for one in details:
        assert one.xpath(".//tbody/tr/th/text()") == ["search", "offline"]
    assert "← gold" in details[0].text_content()
    assert "8642" in details[0].xpath("string(.//div[@class='text'])")


def test_render_evaluation_marks_systems_with_problems(report: EvalReport) -> None:
    tree = parse_closed_page(render_evaluation(report))
    marks = [details.xpath("summary/span/text()")[1:] for details in tree.xpath("//details")]
    questions = report.questions.questions
    assert marks == [
        [
            f"{'✗' if describe_failure(question, result) else '✓'} {row.mode}"
            for row in report.rows
            if (result := row.results[position])
        ]
        for position, question in enumerate(questions)
    ]


def test_render_evaluation_shows_figures_with_intervals_and_meters(report: EvalReport) -> None:
    figures = parse_closed_page(render_evaluation(report)).xpath("//h2[.='Figures']/following::table[1]")[0]
    assert figures.xpath("tbody/tr/th/text()") == ["search", "offline"]
    head = figures.xpath("thead/tr/th/text()")
    cells = dict(zip(head[1:], figures.xpath("tbody/tr[2]/td/text()[1]"), strict=True))
    for figure in report.rows[1].totals.figures:
        assert cells[figure.name] == format_figure(figure)
    meters = figures.xpath("tbody/tr[2]//meter/@value")
    assert [float(value) for value in meters] == [one.value for one in report.rows[1].totals.figures if one.interval]
    assert (cells["asked"], cells["failed"]) == ("5", "0")


def test_render_evaluation_shows_regressions(report: EvalReport) -> None:
    regressions = [Regression("Which port?", "search", "not reached")]
    table = parse_closed_page(render_evaluation(report, regressions)).xpath("//table")[0]
    assert table.xpath("tbody/tr/*/text()") == ["Which port?", "search", "not reached"]


def test_render_evaluation_escapes_hostile_text(report: EvalReport) -> None:
    result = EvalResult(
        HOSTILE,
        text=HOSTILE,
        error=HOSTILE,
        trail=(TrailStep(Reference("0" * 8, HOSTILE, (HOSTILE,), "javascript:alert(1)"), 1),),
        missing=(HOSTILE,),
    )
    question = replace(report.questions.questions[0], ask=HOSTILE, note=HOSTILE, contains=(HOSTILE,))
    row = replace(report.rows[0], mode=HOSTILE, navigator=HOSTILE, results=(result,), stop_reason=HOSTILE)
    questions = replace(report.questions, questions=(question,), where=HOSTILE)
    html = render_evaluation(replace(report, site=HOSTILE, url="javascript:alert(1)", questions=questions, rows=(row,)))
    tree = parse_closed_page(html)
    assert tree.xpath("string(//summary/span[1])").startswith("<script>alert(1)</script>")
    assert "javascript:" not in "".join(tree.xpath("//@href"))
    html.encode("utf-8")
