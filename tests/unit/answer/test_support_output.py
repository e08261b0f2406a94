"""Support reports on terminals, with and without color."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
from hypothesis import given, settings
from hypothesis import strategies as st

from mkdocs_roaming.answer.events import Answer
from mkdocs_roaming.answer.support.check import Support, check_support
from mkdocs_roaming.cli.output import answer_lines

DOCS = {"07f3277d": "The server listens on port 8000. Do not restart it before the drain has ended. Set `a<b>` to 5."}
ANSWER = (
    "😀 The server listens on port 8001.[^07f3277d]\n\nRestart it before\nthe drain has ended.\n\n"
    "Whales migrate thousands of miles every winter."
)


def support_lines(support: Support) -> Iterator[str]:
    """Return what is shown of an answer without sources."""
    return answer_lines(Answer(support.text or " ", "answered", "m", support=support))


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.sampled_from("a1 <>&\"'`\n\t\x00\x1b\ud800😀.漢"), max_size=80))
def test_support_lines_show_the_whole_answer_once(answer: str) -> None:
    found = check_support(answer, DOCS)
    shown = re.sub(r"⟧\d+", "", click.unstyle(next(iter(support_lines(found)))))
    assert re.sub(r"[^\w]", "", shown) == re.sub(r"[^\w]", "", found.text)


def test_support_lines_show_marks_with_and_without_color() -> None:
    text = "\n".join(support_lines(check_support(ANSWER, DOCS)))
    plain = click.unstyle(text)
    assert text != plain
    assert "port ⟦8001⟧1." in plain
    assert plain.endswith(
        "Not supported\n"
        "  1  8001: not in the sections\n"
        "  -  Whales migrate thousands of miles every winter.: no section says this"
    )


def test_support_lines_show_only_the_answer_if_supported() -> None:
    assert list(support_lines(check_support("The server listens on port 8000.[^07f3277d]", DOCS))) == [
        "The server listens on port 8000."
    ]


def test_support_lines_remove_control_characters() -> None:
    docs = {"07f3277d": "The server listens on port 80\x1b[2J00 or `a\x9bb`."}
    text = "\n".join(support_lines(check_support("The server \x1b]0;x\x07 listens on port `c\u202e\x1b[2J`.", docs)))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", click.unstyle(text))
