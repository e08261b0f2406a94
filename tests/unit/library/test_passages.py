"""Passages of sections: whole blocks, with a mark for what is left out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mkdocs_roaming.library.passages import choose_passage
from mkdocs_roaming.library.snippets import GAP, Part, cut_best_part, describe_rest
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


# Parts of long sections

PARTS_CASES = yaml.safe_load((Path(__file__).parents[2] / "golden" / "passages" / "parts.yml").read_text("utf-8"))
ROPES = "\n\n".join(f"Rope {at} of the boat is red." for at in range(40))
ROPE_FILLERS = {
    "{ropes}": ROPES,
    "{commands}": "\n".join(["boat --red"] * 40),
    "{notes}": "\n".join(f"> **Rope {at}**\n>\n> It is red.\n>" for at in range(30)),
    "{rows}": "\n".join(f"| rope{at} | red |" for at in range(60)),
    "{items}": "\n".join(f"  - `rope{at}`: it is red" for at in range(40)),
    "{pairs}": "\n\n".join(f"- **rope {at}**: it is thick and no part of a `shroud` or `stay`" for at in range(40)),
    "{words}": "Rope. " * 40,
}


def cut(markdown: str, query: str, max_chars: int = 400) -> Part:
    return cut_best_part(markdown, parse_query(query, "en"), "en", max_chars)


@pytest.mark.parametrize("case", PARTS_CASES, ids=lambda case: case["name"])
def test_part_of_section(case: dict[str, Any]) -> None:
    markdown = case["text"]
    for name, filler in ROPE_FILLERS.items():
        markdown = markdown.replace(name, filler)
    text = cut(markdown, case["query"], case.get("max_chars", 400)).text
    assert text.startswith(case.get("begins", ""))
    for pattern in case["matches"]:
        assert re.search(pattern, text, re.MULTILINE), text
    for pattern in case.get("excludes", ()):
        assert not re.search(pattern, text, re.MULTILINE)


@pytest.mark.parametrize("max_chars", [60, 120, 240, 480])
@pytest.mark.parametrize(
    "beginning", ["All about ropes.", "All about ropes. " * 14, "- one\n\n- two\n\n- three", "```sh\nboat\n```"]
)
def test_part_begins_with_the_heading(beginning: str, max_chars: int) -> None:
    text = cut(f"## Ropes\n\n{beginning}\n\n{ROPES}\n\nThe shroud has 12 mm.\n\n{ROPES}", "the shroud", max_chars).text
    assert text.startswith("## Ropes\n\n")


def test_source_is_the_part_as_the_section_contains_it() -> None:
    markdown = f"## Ropes\n\n{ROPES}\n\nThe shroud has 12 mm.\n\n{ROPES}"
    source = cut(markdown, "shroud").source
    assert source in markdown
    assert "The shroud has 12 mm." in source


def test_rest_is_described_by_its_size_and_the_beginning_of_its_blocks() -> None:
    rest = "It is *red*, and longer than all the other ropes of the boat.\n\n```sh\nboat --red\n```\n\n- one\n- two\n\nEnd.\n"
    assert re.fullmatch(
        r"… \d+ tokens more: It is \*?red\*?, and longer than all the… · boat --red · one two\n", describe_rest(rest)
    )
