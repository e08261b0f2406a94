"""Running an evaluation: cost limits and failures."""

from __future__ import annotations

import pytest
from kettle import QUESTIONS

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.answer.results import Offline
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.library import Library

from .evaluation import PRICES, expand_reply, make_evaluation, run_evaluation, text_reply


def test_max_cost_reached_leaves_questions_unasked(library: Library) -> None:
    script = [text_reply(library, "Server", text) for text in ("no call", "none", "none")]
    (row,) = run_evaluation(library, ScriptedModel(script), max_cost=0.002).rows
    assert [result is not None for result in row.results] == [True, True, False, False, False]
    assert "--max-cost" in row.stop_reason


def test_own_cost_budget_reached_is_no_error(library: Library) -> None:
    script = [expand_reply(library, "Server"), text_reply(library, "Server", "It is 8642.")]
    budget = Budget(prices=PRICES, cost=0.001, whole_site_tokens=0)
    (row,) = run_evaluation(library, ScriptedModel(script), max_cost=0.01, budget=budget).rows
    assert row.results[0] is not None
    assert (row.results[0].state, row.results[0].error) == ("budget", "")


def test_max_cost_without_prices_raises(library: Library) -> None:
    with pytest.raises(UsageError, match="prices"):
        make_evaluation(library, ScriptedModel([]), budget=Budget(), max_cost=1.0)
    assert make_evaluation(library, "search", Offline(), budget=Budget(), max_cost=1.0)


def test_repeated_failures_stop_system(library: Library) -> None:
    text = QUESTIONS + "".join(f"  - ask: teapot {at}\n    answerable: false\n" for at in range(4))
    (row,) = run_evaluation(library, ScriptedModel([]), text=text).rows
    assert (len(row.asked), row.errors, row.figures) == (5, 5, ())
    assert "5 answers in a row failed" in row.stop_reason
