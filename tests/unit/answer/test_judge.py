"""States of answers: what was asked is answered, partly or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mkdocs_roaming.answer.judge import Flaw, find_flaw, find_statements, judge_state

FACT = "The kettle listens on localhost.[^07f3277d]"
GAP = "The docs do not say which port it uses.[^none]"


def judge(question: str, answer: str) -> str:
    return judge_state(question, list(find_statements(answer)), "en")


def test_labelled_answers_get_the_state_that_readers_gave_them() -> None:
    """The labels are those of somebody who had not read the rules, in six languages."""
    file = Path(__file__).parents[2] / "golden" / "statements" / "answers.jsonl"
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    right = sum(judge(row["question"], row["answer"]) == row["state"] for row in rows)
    assert right >= 0.9 * len(rows) >= 54


@pytest.mark.parametrize(
    ("question", "answer", "state"),
    [
        ("Which port does the kettle use?", FACT, "answered"),
        ("Which port does the kettle use?", GAP, "not_found"),
        ("Which port does the kettle use?", f"{GAP} {FACT}", "not_found"),
        ("Which port does it use?", f"{FACT} {GAP}", "not_found"),
        ("Where does the kettle listen?", f"{FACT} {GAP}", "answered"),
        ("Where does the kettle listen, and on which port?", f"{FACT} {GAP}", "partial"),
        ("Does the kettle listen on localhost, and how do I change the port?", f"{GAP}\n\n{FACT}", "partial"),
        ("On which hosts and ports does it listen?", "It listens nowhere.[^07f3277d]", "answered"),
        ("Which of them lock?", "| a | yes |\n|---|---|\n| b | not documented |\n\n[^07f3277d]", "answered"),
    ],
)
def test_state_follows_from_what_is_asked(question: str, answer: str, state: str) -> None:
    assert judge(question, answer) == state


@pytest.mark.parametrize(
    "gap",
    [
        "The docs don't mention a port.",
        "No section mentions a port.",
        "I found no port.",
        "Not according to this documentation.",
        "Ein Port wird nicht erwähnt.",
        "La documentation ne mentionne pas de port.",
        "La documentación no menciona ningún puerto.",
        "ポートについての記載はありません。",
        "文档没有提到端口。",
    ],
)
def test_gap_is_found_by_its_words_in_any_language(gap: str) -> None:
    (statement,) = find_statements(f"{gap}[^07f3277d]")
    assert (statement.is_gap, statement.is_marked) == (True, False)


@pytest.mark.parametrize(
    ("reply", "withheld", "flaw"),
    [
        ("[^none]", [], None),
        ("The docs don't mention a port.", ["The docs don't mention a port."], None),
        ("The docs do not say it [^1].", ["The docs do not say it."], "citations"),
        ("Yes [^bad].\n\n[^none]", ["Yes."], "citations"),
        ("The docs do not say. Yes.", ["The docs do not say. Yes."], "citations"),
        ("expand_sections(1)", ["expand_sections(1)"], "call"),
        (" ", [], "empty"),
    ],
)
def test_refusal_has_no_flaw_unless_it_cites_unopened_sections(reply: str, withheld: list[str], flaw: Flaw) -> None:
    assert find_flaw(reply, withheld) == flaw
