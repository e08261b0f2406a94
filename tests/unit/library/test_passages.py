"""Passages of sections: whole blocks, with a mark for what is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mkdocs_roaming.library.passages import choose_passage
from mkdocs_roaming.library.snippets import GAP
from mkdocs_roaming.search.ranking import parse_query

CASES = yaml.safe_load((Path(__file__).parents[2] / "golden" / "passages" / "cases.yml").read_text("utf-8"))
SENTENCE = "The keeper writes what he sees into the book of the day. "
FILLERS = {
    "{filler}": SENTENCE * 13,
    "{half}": SENTENCE * 6,
    "{filler_address}": "x" * 900,
    "{rows}": "\n".join(f"| `key_{number}` | {SENTENCE}|" for number in range(40)),
    "{items}": "\n".join(f"- {SENTENCE}" for _ in range(40)),
    "{questions}": "\n\n".join(f"Sluice {number}: {SENTENCE}:" for number in range(80)),
    "{code}": "\n".join(f"value_{number} = {number}  # some value" for number in range(80)),
}


def _passage(text: str, query: str) -> str:
    return choose_passage(f"## Title\n\n{text}", parse_query(query, "en"), "en")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_passage_of_section(case: dict[str, Any]) -> None:
    text = case["text"]
    for name, filler in FILLERS.items():
        text = text.replace(name, filler)
    passage = _passage(text, case["query"])
    if case.get("same"):
        assert passage == text.strip()
    assert passage.startswith(case.get("begins", ""))
    assert passage.endswith(case.get("ends", ""))
    for part in case.get("contains", ()):
        assert part in passage
    for part in case.get("excludes", ()):
        assert part not in passage


BLOCKS = [
    "Word.",
    "- item",
    "> note",
    "| a |\n| - |\n| b |",
    "```\ncode\n```",
    "<p>x</p>",
    "# h",
    "[^1]",
    f"word:\n{SENTENCE * 30}",
]
PARTS = [
    *(
        "Word.\n",
        "\n",
        "\n\n",
        "- item ",
        "  ",
        "    code\n",
        "> note ",
        "# h\n",
        "===\n",
        "***\n",
        "| a |\n| - |\n| word |\n",
    ),
    *("```\n", "```", "~~~ a`b\n", "   ~~~\n", "`", "\x0c```\n", "\t", "\r\n"),
    *("<div>\n", "</div>", "<!-- ", "-->", "<pre>\n", "<script>", "<?x", "<![CDATA["),
    *("[^1]", "[^1]: ", "[^deadbeef]", "[^[^a]deadbeef]", "![x](y)", "[](z)", "[a]: b\n", "word:\n"),
    *(SENTENCE * 30, "code\n" * 400, "- item of a list\n" * 100, "| a row |\n" * 200, "> note of a keeper\n" * 100),
]


@given(st.lists(st.sampled_from(BLOCKS)))
def test_passage_of_any_text_has_its_blocks(blocks: list[str]) -> None:
    text = "\n\n".join(blocks)
    passage = _passage(text, "word item code")
    for block in passage.split("\n\n"):
        assert block.removesuffix(GAP).rstrip() in text


@given(st.lists(st.sampled_from(PARTS), max_size=12))
def test_passage_of_any_text_ends_before_text_below_it(parts: list[str]) -> None:
    passage = _passage("".join(parts), "word item code")
    assert len(passage) < 6_000
    tokens = MarkdownIt("commonmark").enable("table").parse(f"Above.\n\n{passage}\n\n[^0badcafe]\n\nBelow.")
    first, *_, citation, last = [token.content for token in tokens if token.type == "inline" and token.level == 1]
    assert (first, citation, last) == ("Above.", "[^0badcafe]", "Below.")


@pytest.mark.parametrize("heading", ["## Title", "Title\n=====", "The *title*\n---"])
def test_passage_does_not_repeat_heading(heading: str) -> None:
    assert choose_passage(f"{heading}\n\nWord.\n", parse_query("word", "en"), "en") == "Word."


def test_section_without_text_has_no_passage() -> None:
    assert _passage("![only an image](image.png)", "image") == ""
    assert choose_passage("## Title\n", parse_query("title", "en"), "en") == ""
