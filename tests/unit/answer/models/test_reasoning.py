"""Reasoning in text: what a reader sees of a reply, in whatever pieces it arrives."""

from __future__ import annotations

import pytest
from tables import read_tables

from mkdocs_roaming.answer.models.reasoning import ReasoningFilter

TABLES = read_tables(__file__)

ANSWER = "The port is 8642 [^07f3277d]."


@pytest.mark.parametrize("size", [1, 2, 7, 1_000])
@pytest.mark.parametrize("text", TABLES["reader sees answer alone"])
def test_reader_sees_answer_alone(text: str, size: int) -> None:
    assert show(text, size) == ANSWER


@pytest.mark.parametrize(
    "text",
    [
        f"Use `<think>` for it. {ANSWER}",
        f"```\n<|im_end|> assistantfinal\n```\n{ANSWER}",
        f"See [Thinking](07f3277d), a < b > c. {ANSWER}",
    ],
)
def test_marks_in_code_and_links_are_text(text: str) -> None:
    assert {show(text, size) for size in (1, 2, 7, 1_000)} == {text}


@pytest.mark.parametrize("text", ["<think>Hm.", "<|channel|>analysis<|message|>Hm.<|end|>", "<|chan"])
def test_reply_of_reasoning_alone_is_empty(text: str) -> None:
    assert {show(text, size) for size in (1, 2, 7, 1_000)} == {""}


def show(text: str, size: int) -> str:
    """Return what is visible of a text that arrives in pieces of a size."""
    reasoning = ReasoningFilter()
    visible = ""
    for start in range(0, len(text), size):
        piece = reasoning.feed(text[start : start + size])
        visible = piece if reasoning.hides_earlier_text else visible + piece
    return visible + reasoning.end()
