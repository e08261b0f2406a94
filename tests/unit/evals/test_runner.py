"""Running an evaluation: cost limits, failures, and the result cache."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from kettle import QUESTIONS

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.models.extractive import ExtractiveModel
from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.evals.metrics import EvalResult
from mkdocs_roaming.evals.output import report_to_dict
from mkdocs_roaming.evals.runner import ResultCache
from mkdocs_roaming.library.library import Library

from .evaluation import PRICES, expand_reply, make_evaluation, run_evaluation, text_reply, without_seconds

FIRST_QUESTION = QUESTIONS.split("  - ask: at")[0]


def count_lines(file: Path) -> int:
    return len(file.read_text("utf-8").splitlines())


def test_max_cost_reached_leaves_questions_unasked(library: Library) -> None:
    script = [text_reply(library, "Server", text) for text in ("no call", "none", "none")]
    (row,) = run_evaluation(library, ScriptedModel(script), max_cost=0.002).rows
    assert [result is not None for result in row.results] == [True, True, False, False, False]
    assert "--max-cost" in row.stop_reason


def test_max_cost_cuts_answer_short_counts_as_error_and_is_not_cached(library: Library, tmp_path: Path) -> None:
    script = [
        text_reply(library, "Server", "no call"),
        expand_reply(library, "Server"),
        text_reply(library, "Server", "It is 8642."),
    ]
    cache = ResultCache(tmp_path / "results.jsonl")
    (row,) = run_evaluation(library, ScriptedModel(script), max_cost=0.0025, cache=cache).rows
    assert [bool(one and not one.error) for one in row.results] == [True, False, False, False, False]
    assert row.results[1] is not None
    assert "--max-cost" in row.results[1].error
    assert "too little for an answer" in row.stop_reason
    assert (row.totals.errors, row.totals.cost) == (1, pytest.approx(0.003))
    assert [figure.count for figure in row.totals.figures if figure.name == "reached"] == [1]
    assert count_lines(tmp_path / "results.jsonl") == 2


def test_own_cost_budget_reached_is_no_error(library: Library) -> None:
    script = [expand_reply(library, "Server"), text_reply(library, "Server", "It is 8642.")]
    budget = Budget(prices=PRICES, cost=0.001)
    (row,) = run_evaluation(library, ScriptedModel(script), max_cost=0.01, budget=budget).rows
    assert row.results[0] is not None
    assert (row.results[0].state, row.results[0].error) == ("budget", "")


def test_max_cost_is_shared_by_concurrent_answers(library: Library) -> None:
    class CostlySystem:
        name, navigator, configuration, has_known_cost, cacheable = "costly", "", "", True, False

        def __init__(self) -> None:
            self.limits: list[float] = []
            self.spent = self.reserved = 0.0

        async def ask(self, question: Any, max_cost: float | None) -> EvalResult:
            assert max_cost is not None
            self.limits.append(max_cost)
            self.reserved += max_cost
            assert self.spent + self.reserved <= 1.0 + 1e-9
            await anyio.sleep(0.001 * (1 + len(self.limits) % 3))
            self.reserved -= max_cost
            self.spent += 0.02
            return EvalResult(question.ask, cost=0.02)

    system = CostlySystem()
    text = "questions:\n" + "".join(f"- ask: teapot {at}\n  answerable: false\n" for at in range(30))
    evaluation = make_evaluation(library, text=text, max_cost=1.0, parallel=4)
    evaluation.systems = [system]
    anyio.run(evaluation.run)
    assert len(system.limits) == 30
    assert system.limits[:4] == pytest.approx([0.25] * 4)


def test_max_cost_without_prices_raises(library: Library) -> None:
    with pytest.raises(UsageError, match="prices"):
        make_evaluation(library, ScriptedModel([]), budget=Budget(), max_cost=1.0)
    assert make_evaluation(library, "search", ExtractiveModel(), budget=Budget(), max_cost=1.0)


def test_repeated_failures_stop_system(library: Library) -> None:
    text = QUESTIONS + "".join(f"  - ask: teapot {at}\n    answerable: false\n" for at in range(4))
    (row,) = run_evaluation(library, ScriptedModel([]), text=text).rows
    assert (row.totals.asked, row.totals.errors, row.totals.figures) == (5, 5, ())
    assert "5 answers in a row failed" in row.stop_reason


# Result cache


def test_cached_questions_are_not_asked_again(library: Library, tmp_path: Path) -> None:
    script = [
        expand_reply(library, "Server"),
        text_reply(library, "Server", "It is 8642."),
        *[text_reply(library, "Logs", "x")] * 4,
    ]
    file = tmp_path / "results.jsonl"
    whole = run_evaluation(library, ScriptedModel(script))
    run_evaluation(library, ScriptedModel(script[:2]), text=FIRST_QUESTION, cache=ResultCache(file))
    assert count_lines(file) == 2
    later = ScriptedModel(script[2:])
    resumed = run_evaluation(library, later, cache=ResultCache(file))
    assert len(later.requests) == 4
    assert without_seconds(report_to_dict(resumed)) == without_seconds(report_to_dict(whole))


def test_failed_answers_are_not_cached(library: Library, tmp_path: Path) -> None:
    run_evaluation(library, ScriptedModel([]), cache=ResultCache(tmp_path / "results.jsonl"))
    assert count_lines(tmp_path / "results.jsonl") == 1


def test_cached_results_do_not_count_towards_max_cost(library: Library, tmp_path: Path) -> None:
    script = [text_reply(library, "Server", "no call")] * 9
    file = tmp_path / "results.jsonl"
    (row,) = run_evaluation(library, ScriptedModel(script), max_cost=0.002, cache=ResultCache(file)).rows
    assert sum(one is not None for one in row.results) == 2
    (row,) = run_evaluation(library, ScriptedModel(script), max_cost=0.002, cache=ResultCache(file)).rows
    assert sum(one is not None for one in row.results) == 4


def test_search_ranks_are_never_cached(library: Library, tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    run_evaluation(library, "search", cache=ResultCache(file))
    assert count_lines(file) == 1
    run_evaluation(library, ExtractiveModel(), cache=ResultCache(file))
    file.write_text(file.read_text("utf-8").replace('"rank": 1', '"rank": 41'), "utf-8")
    (row,) = run_evaluation(library, ExtractiveModel(), cache=ResultCache(file)).rows
    assert {one.rank for one in row.results if one} & {1, 41} == {1}


@pytest.mark.parametrize("text", ["questions: []", "no line end", "one\ntwo", "é" * 9, "[]\n", '{"version": 1}\n'])
def test_result_cache_leaves_other_file_unchanged(tmp_path: Path, text: str) -> None:
    file = tmp_path / "file"
    file.write_text(text, "utf-8")
    with pytest.raises(UsageError, match="expected cached results of version 1"):
        ResultCache(file)
    assert file.read_text("utf-8") == text


@pytest.mark.parametrize("text", ["", '{"format": "roam'])
def test_result_cache_empty_or_truncated_header_starts_new_file(tmp_path: Path, text: str) -> None:
    file = tmp_path / "file"
    file.write_text(text, "utf-8")
    ResultCache(file)
    assert json.loads(file.read_text("utf-8"))["format"] == "roaming-outcomes"


def test_result_cache_drops_line_truncated_within_a_character(library: Library, tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    run_evaluation(library, ExtractiveModel(), cache=ResultCache(file))
    data = file.read_bytes()
    file.write_bytes(data + '{"key": "é'.encode()[:-1])
    assert len(ResultCache(file)) == 5
    assert file.read_bytes() == data


def test_result_cache_drops_truncated_last_line(library: Library, tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    run_evaluation(library, ExtractiveModel(), cache=ResultCache(file))
    whole = file.read_text("utf-8")
    file.write_text(whole[:-40], "utf-8")
    assert len(ResultCache(file)) == 4
    assert file.read_text("utf-8") == "".join(line + "\n" for line in whole.splitlines()[:-1])


def test_result_cache_keeps_lone_surrogates(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    result = EvalResult("Which \ud800?", text="é \udfff")
    ResultCache(file).put("key", result)
    assert ResultCache(file).get("key") == result


def test_result_cache_invalid_line_is_named(library: Library, tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    run_evaluation(library, ExtractiveModel(), cache=ResultCache(file))
    text = file.read_text("utf-8")
    file.write_text(text.replace('"outcome": {"ask"', '"outcome": {"was"'), "utf-8")
    with pytest.raises(UsageError, match=r"results\.jsonl:2: .*missing required field `ask` - at `\$\.outcome`"):
        ResultCache(file)
    file.write_text(text + "{\n", "utf-8")
    with pytest.raises(UsageError, match=r"results\.jsonl:7: invalid result: "):
        ResultCache(file)
