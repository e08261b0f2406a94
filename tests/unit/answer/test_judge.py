"""States of answers: what was asked is answered, partly or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tables import read_tables

from mkdocs_roaming.answer.judge import Flaw, find_flaw, find_statements, judge_state

TABLES = read_tables(__file__)


def judge(question: str, answer: str) -> str:
    return judge_state(question, list(find_statements(answer)), "en")


def test_labelled_answers_get_the_state_that_readers_gave_them() -> None:
    """The labels are those of somebody who had not read the rules, in six languages."""
    file = Path(__file__).parents[2] / "golden" / "statements" / "answers.jsonl"
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    right = sum(judge(row["question"], row["answer"]) == row["state"] for row in rows)
    assert right >= 0.9 * len(rows) >= 54


@pytest.mark.parametrize(("question", "answer", "state"), TABLES["state follows from what is asked"])
def test_state_follows_from_what_is_asked(question: str, answer: str, state: str) -> None:
    assert judge(question, answer) == state


@pytest.mark.parametrize("gap", TABLES["gap is found by its words in any language"])
def test_gap_is_found_by_its_words_in_any_language(gap: str) -> None:
    (statement,) = find_statements(f"{gap}[^07f3277d]")
    assert statement.is_gap


@pytest.mark.parametrize(("reply", "withheld", "flaw"), TABLES["refusal has no flaw unless it cites unopened sections"])
def test_refusal_has_no_flaw_unless_it_cites_unopened_sections(reply: str, withheld: list[str], flaw: Flaw) -> None:
    assert find_flaw(reply, withheld) == flaw
