"""The systems under test: search, models in the answer loop."""

from __future__ import annotations

from pathlib import Path

import pytest
from kettle import QUESTIONS

from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.answer.results import Offline
from mkdocs_roaming.evals.output import report_to_dict
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.targets import open_library

from .evaluation import expand_reply, run_evaluation, text_reply, without_seconds

SAMPLE = Path(__file__).parents[3] / "sample_site" / "questions.yml"


def test_offline_results_have_trail_rank_and_literals(library: Library) -> None:
    (row,) = run_evaluation(library, Offline()).rows
    port, _, logs, whistle, teapot = row.results
    assert port is not None
    assert (port.reached, port.rank, port.missing, port.state) == (True, 1, (), "results")
    assert port.calls is not None
    gold = next(step for step in port.trail if step.section.title == "Server")
    assert gold.number == port.calls > 0
    assert port.tokens_read > 0
    assert logs is not None
    assert logs.missing == ()
    assert whistle is not None
    assert whistle.missing is None
    assert teapot is not None
    assert (teapot.declined, teapot.reached, teapot.calls) == (True, False, None)
    figures = {figure.name: (figure.value, figure.count) for figure in row.totals.figures}
    assert figures["reached"] == (1.0, 4)
    assert figures["declined"] == (1.0, 1)
    assert figures["literals"][1] == 3


def test_search_has_no_answers(library: Library) -> None:
    search, offline = run_evaluation(library, "search", Offline()).rows
    assert [row.mode for row in (search, offline)] == ["search", "offline"]
    assert search.navigator != offline.navigator
    assert {result.state for result in search.results if result} == {None}
    assert search.totals.figure("answered") is None
    assert [step.number for result in search.results if result for step in result.trail][:3] == [1, 2, 3]
    assert offline.totals.figure("answered") is not None


def test_results_are_equal_from_run_to_run(sample: Path) -> None:
    library = open_library(sample)
    text = "".join(SAMPLE.read_text("utf-8").split("\n\n", 12)[at] + "\n\n" for at in range(12))
    first = run_evaluation(library, "search", Offline(), text=text)
    second = run_evaluation(open_library(sample), "search", Offline(), text=text, parallel=4)
    assert without_seconds(report_to_dict(first)) == without_seconds(report_to_dict(second))
    assert len(first.questions.questions) > 8


def test_section_opened_by_rule_is_reached_before_first_call(sample: Path) -> None:
    text = "questions:\n- ask: roll back to 3.x please\n  sections: operate/upgrade.md#going-back\n"
    (row,) = run_evaluation(open_library(sample), Offline(), text=text).rows
    assert row.results[0] is not None
    assert row.results[0].calls == 0


def test_question_with_page_is_answered(library: Library) -> None:
    text = QUESTIONS.replace("contains: ['8642']", "page: settings/")
    (row,) = run_evaluation(library, Offline(), text=text).rows
    assert row.totals.errors == 0


def test_model_result_has_cost(library: Library) -> None:
    script = [expand_reply(library, "Server"), text_reply(library, "Server", "It is 8642.")]
    report = run_evaluation(library, ScriptedModel(script), text=QUESTIONS.split("  - ask: at")[0])
    (row,) = report.rows
    (result,) = row.results
    assert result is not None
    assert (result.calls, result.missing, result.gold_cited) == (1, (), True)
    assert result.cost == pytest.approx(0.003)
    assert row.totals.cost == pytest.approx(0.003)
    assert report_to_dict(report)["rows"][0]["results"][0]["usage"]["input"] == 2000
