"""The systems under test: search, models in the answer loop."""

from __future__ import annotations

from pathlib import Path

import pytest
from kettle import QUESTIONS

from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.answer.results import Offline
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.targets import open_library

from .evaluation import expand_reply, run_evaluation, text_reply


def test_offline_results_have_opened_sections_rank_and_literals(library: Library) -> None:
    (row,) = run_evaluation(library, Offline()).rows
    port, _, logs, _, teapot = row.asked
    assert (port.reached, port.rank, port.missing, port.state) == (True, 1, (), "results")
    assert "Server" in [section.title for section in port.opened]
    assert port.tokens_read > 0
    assert logs.missing == ()
    assert (teapot.declined, teapot.reached) == (True, False)
    figures = {figure.name: (figure.value, figure.count) for figure in row.figures}
    assert figures["reached"] == (1.0, 4)
    assert figures["declined"] == (1.0, 1)
    assert figures["literals"][1] == 3


def test_search_has_no_answers(library: Library) -> None:
    search, offline = run_evaluation(library, "search", Offline()).rows
    assert [row.mode for row in (search, offline)] == ["search", "offline"]
    assert {result.state for result in search.asked} == {None}
    assert [figure.name for figure in search.figures] == ["reached"]
    assert "answered" in [figure.name for figure in offline.figures]


def test_section_opened_by_rule_is_reached(sample: Path) -> None:
    text = "questions:\n- ask: roll back to 3.x please\n  sections: operate/upgrade.md#going-back\n"
    (row,) = run_evaluation(open_library(sample), Offline(), text=text).rows
    assert row.asked[0].reached


def test_question_with_page_is_answered(library: Library) -> None:
    text = QUESTIONS.replace("contains: ['8642']", "page: settings/")
    (row,) = run_evaluation(library, Offline(), text=text).rows
    assert row.errors == 0


def test_model_result_has_cost_and_cited_sections(library: Library) -> None:
    script = [expand_reply(library, "Server"), text_reply(library, "Server", "It is 8642.")]
    (row,) = run_evaluation(library, ScriptedModel(script), text=QUESTIONS.split("  - ask: at")[0]).rows
    (result,) = row.asked
    assert (result.reached, result.missing, row.problems) == (True, (), ("",))
    assert [figure.value for figure in row.figures if figure.name == "cited"] == [1.0]
    assert (result.cost, row.cost) == (pytest.approx(0.003), pytest.approx(0.003))
