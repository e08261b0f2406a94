"""Reports: one page that asks for nothing, runs nothing, and shows hostile text as text."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import anyio
import lxml.html

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.events import Reference
from mkdocs_roaming.answer.models.extractive import ExtractiveModel
from mkdocs_roaming.evals.metrics import EvalResult, TrailStep
from mkdocs_roaming.evals.questions import parse_questions, resolve_sections
from mkdocs_roaming.evals.report.evaluated import evaluation_page
from mkdocs_roaming.evals.report.linted import Remark, findings_page
from mkdocs_roaming.evals.runner import EvalReport, Evaluation, Regression
from mkdocs_roaming.evals.systems import ModelSystem, OutlineSystem, Ranking, SearchSystem
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Search

from .conftest import KETTLE, QUESTIONS, Roaming

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&\x00\x1b[31m\ud800"


def report(library: Library) -> EvalReport:
    ranking = Ranking(library, Search(library))
    offline = ModelSystem("offline", ExtractiveModel(), Budget(), ranking, whole_site_tokens=0)
    questions = resolve_sections(parse_questions(QUESTIONS, "q.yml"), library.sections)
    evaluating = Evaluation(questions, [SearchSystem(ranking), OutlineSystem(ranking), offline], ranking)
    anyio.run(evaluating.run)
    return evaluating.report()


def check_closed(html: str) -> lxml.html.HtmlElement:
    """Check that a page runs and fetches nothing, by its own policy and by what stands in it; give its tree."""
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


def test_every_question_unfolds(library: Library) -> None:
    """The page has each question with its modes, trails and answers, and plots with their figures as text."""
    made = report(library)
    tree = check_closed(evaluation_page(made))
    unfolding = tree.xpath("//details")
    assert [one.xpath("string(summary/span[1])") for one in unfolding] == [one.ask for one in made.questions.questions]
    assert "← answers" in unfolding[0].text_content()
    assert "8642" in unfolding[0].xpath("string(.//div[@class='text'])")
    labels = tree.xpath("//*[local-name()='svg']/@aria-label")
    assert len(labels) == 6
    assert all(re.search(r"\d", label) for label in labels)
    assert tree.xpath("//table/tbody/tr/th/text()") == ["search", "outline", "offline"]


def test_what_got_worse_stands_on_top(library: Library) -> None:
    """Regressions against a baseline are on the page."""
    worse = [Regression("Which port?", "search", "ranked 1", "ranked 12")]
    text = check_closed(evaluation_page(report(library), worse)).text_content()
    assert "search: ranked 1 before, ranked 12 now" in text


def test_hostile_text_is_text(library: Library) -> None:
    """Whatever questions, answers, titles and addresses hold, it is shown and does nothing."""
    made = report(library)
    outcome = EvalResult(
        HOSTILE,
        text=HOSTILE,
        error=HOSTILE,
        trail=(TrailStep(Reference("0" * 8, HOSTILE, (HOSTILE,), "javascript:alert(1)"), 1),),
        missing=(HOSTILE,),
    )
    question = replace(made.questions.questions[0], ask=HOSTILE, note=HOSTILE, contains=(HOSTILE,))
    row = replace(made.rows[0], mode=HOSTILE, navigator=HOSTILE, outcomes=(outcome,), left=HOSTILE)
    questions = replace(made.questions, questions=(question,), where=HOSTILE)
    html = evaluation_page(replace(made, site=HOSTILE, url="javascript:alert(1)", questions=questions, rows=(row,)))
    tree = check_closed(html)
    assert tree.xpath("string(//summary/span[1])").startswith("<script>alert(1)</script>")
    assert "javascript:" not in "".join(tree.xpath("//@href"))
    html.encode("utf-8")


def test_findings_have_a_page_too() -> None:
    """Findings in docs, given as plain data, are counted by rule and unfold with their place and cure."""
    remarks = [
        Remark(
            "titles", "warning", "two pages are called Notes", "name them", "guide.md:3", "https://d.example/#a", ("A",)
        ),
        Remark("titles", "warning", HOSTILE, HOSTILE, HOSTILE, "javascript:alert(1)", (HOSTILE,), HOSTILE),
        Remark("empty", "hint", "nothing below this heading"),
    ]
    tree = check_closed(
        findings_page("Docs", "https://d.example/", "3 found", remarks, [("titles", "Titles are all one sees.")])
    )
    assert tree.xpath("//*[local-name()='svg']/@aria-label") == ["Findings of each rule. titles: 2, empty: 1."]
    assert [one.text_content().split()[0] for one in tree.xpath("//h2")] == ["titles", "empty"]
    assert len(tree.xpath("//details")) == 3
    assert "Titles are all one sees." in tree.text_content()
    assert not check_closed(findings_page("Docs", "", "nothing found", [])).xpath("//details")


def test_command_writes_the_page(tmp_path: Path, questions: Path, roaming: Roaming) -> None:
    """`--html` writes the page beside what is printed."""
    file = tmp_path / "report.html"
    assert roaming("eval", KETTLE, questions, "--compare", "search,offline", "--html", file).exit_code == 0
    assert len(check_closed(file.read_text("utf-8")).xpath("//details")) == 5


def test_lint_writes_its_page(tmp_path: Path, sample: Path, roaming: Roaming) -> None:
    """`roaming lint --html` shows what it found, with places and reasons."""
    file = tmp_path / "lint.html"
    result = roaming("lint", sample, "--html", file, "--json")
    tree = check_closed(file.read_text("utf-8"))
    findings = json.loads(result.stdout)["findings"]
    assert len(tree.xpath("//details")) == len(findings) > 0
    assert {one["fix"] for one in findings} <= set(tree.xpath("//dt[text()='cure']/following-sibling::dd[1]/text()"))
