"""The question files of the sample site."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

if TYPE_CHECKING:
    from .conftest import RenderedPage

SITE = Path(__file__).parents[3] / "sample_site"
FILES = ("questions.yml", "questions-held-out.yml")


@pytest.mark.parametrize("name", FILES)
def test_gold_section_is_a_heading_of_a_published_page(name: str, rendered: dict[str, RenderedPage]) -> None:
    for question, source, anchor in _gold(name):
        assert source in rendered, f"{question['ask']!r}: no page {source}"
        page = rendered[source]
        assert not anchor or anchor in page.sections, f"{question['ask']!r}: {source} has no #{anchor}"
        assert anchor != page.own_anchor, f"{question['ask']!r}: write {source} alone for the page's own section"
        assert "llms: false" not in (SITE / "docs" / source).read_text(encoding="utf-8"), question


@pytest.mark.parametrize("name", FILES)
def test_literals_occur_in_gold_section(name: str, rendered: dict[str, RenderedPage]) -> None:
    """Each gold section is enough for an answer, unless the note says that both are needed."""
    texts: dict[str, list[str]] = {}
    together = set()
    literals = {question["ask"]: question.get("contains", []) for question in _questions(name)}
    for question, source, anchor in _gold(name):
        page = rendered[source]
        texts.setdefault(question["ask"], []).append(_plain(page.sections[anchor or page.own_anchor]))
        if question.get("note", "").startswith("needs both"):
            together.add(question["ask"])
    for ask, sections in texts.items():
        for text in ["\n".join(sections)] if ask in together else sections:
            missing = [literal for literal in literals[ask] if not _contains(text, literal)]
            assert not missing, f"{ask!r}: {missing} not in {text[:80]!r}"


def _questions(name: str) -> list[dict[str, Any]]:
    questions: list[dict[str, Any]] = yaml.safe_load((SITE / name).read_text(encoding="utf-8"))["questions"]
    return questions


def _gold(name: str) -> Iterator[tuple[dict[str, Any], str, str]]:
    for question in _questions(name):
        for address in question.get("sections", ()):
            source, _, anchor = address.partition("#")
            yield question, source, anchor


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _contains(text: str, literal: str) -> bool:
    """Return whether a text contains a literal that is not part of a longer word or number."""
    literal = literal.casefold()
    before, after = (
        r"\d" if end.isdigit() else r"\w" if end.isalpha() else r"(?!)" for end in (literal[0], literal[-1])
    )
    return re.search(rf"(?<!{before})(?<!\d[.,]){re.escape(literal)}(?!{after})", text) is not None
