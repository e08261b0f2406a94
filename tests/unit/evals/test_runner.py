"""Running an evaluation: cost limits and failures."""

from __future__ import annotations

from kettle import QUESTIONS

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.library.library import Library

from .evaluation import PRICES, expand_reply, run_evaluation, text_reply


def test_own_cost_budget_reached_is_no_error(library: Library) -> None:
    script = [expand_reply(library, "Server"), text_reply(library, "Server", "It is 8642.")]
    budget = Budget(prices=PRICES, cost=0.001, whole_site_tokens=0)
    (row,) = run_evaluation(library, ScriptedModel(script), budget=budget).rows
    assert row.results[0] is not None
    assert (row.results[0].state, row.results[0].error) == ("budget", "")


def test_repeated_failures_stop_system(library: Library) -> None:
    text = QUESTIONS + "".join(f"  - ask: teapot {at}\n    answerable: false\n" for at in range(4))
    (row,) = run_evaluation(library, ScriptedModel([]), text=text).rows
    assert (len(row.asked), row.errors, row.figures) == (5, 5, ())
    assert "5 answers in a row failed" in row.stop_reason
