"""Parts of long sections: what belongs together, and the marks of what is left out."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from mkdocs_roaming.library.snippets import Part, cut_best_part, describe_rest
from mkdocs_roaming.search.ranking import parse_query

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

FILLER = "".join(f"Rope {at} of the boat is red.\n\n" for at in range(40))


def cut(markdown: str, query: str, max_chars: int = 400) -> Part:
    return cut_best_part(markdown, parse_query(query, "en"), "en", max_chars)


def test_part_names_what_is_left_out_before_and_after_it() -> None:
    text = cut(
        f"## Ropes\n\nAll about ropes.\n\n{FILLER}The shroud has 12 mm.\n\n{FILLER}", "thickness of the shroud"
    ).text
    before, after = re.findall("^… .*", text, re.MULTILINE)
    assert re.match(r"… \d+ tokens more: Rope 0", before)
    assert before.endswith(
        " tokens more: Rope 0 of the boat is red. · Rope 1 of the boat is red. · Rope 2 of the boat is red."
    )
    assert re.fullmatch(r"… \d+ tokens more: Rope \d+ of the boat is red\. · .*", after)
    assert text.startswith("## Ropes\n\nAll about ropes.\n\n… ")
    assert "The shroud has 12 mm." in text


def test_part_below_code_begins_with_the_heading_and_a_mark() -> None:
    text = cut(
        f"## Ropes\n\n```sh\nboat --red\n```\n\n{FILLER}The shroud has 12 mm.\n", "thickness of the shroud", 200
    ).text
    assert re.match(r"## Ropes\n\n… \d+ tokens more: boat --red · Rope 0 of the boat is red. · .*\n\nRope", text)


def test_introduction_of_code_that_is_left_out_opens_no_fence() -> None:
    code = "```sh\n" + "boat --red\n" * 40 + "```"
    text = cut(
        f"## Ropes\n\nSet them as follows:\n\n{code}\n\n{FILLER}The shroud has 12 mm.\n", "thickness of the shroud", 200
    ).text
    assert re.match(r"## Ropes\n\nSet them as follows:\n\n… \d+ tokens more: boat --red boat .*\n\nRope", text)


@pytest.mark.parametrize("max_chars", range(60, 600, 20))
@pytest.mark.parametrize(
    "beginning", ["All about ropes.", "All about ropes. " * 14, "- one\n\n- two\n\n- three", "```sh\nboat\n```"]
)
def test_part_begins_with_the_heading(beginning: str, max_chars: int) -> None:
    text = cut(
        f"## Ropes\n\n{beginning}\n\n{FILLER}The shroud has 12 mm.\n\n{FILLER}", "all of the shroud", max_chars
    ).text
    assert text.startswith("## Ropes\n\n")


def test_whole_text_has_no_mark() -> None:
    assert cut("## Ropes\n\nThey are red.\n", "ropes").text == "## Ropes\n\nThey are red.\n"


@pytest.mark.parametrize(("introduction", "block"), TABLES["introduction_is_not_separated_from_its_block"])
def test_introduction_is_not_separated_from_its_block(introduction: str, block: str) -> None:
    gap = "\n" if block.startswith(">") else "\n\n"
    text = cut(f"## Ropes\n\n{FILLER}{introduction}{gap}{block}\n\n{FILLER}", "shroud", 120).text
    assert f"{introduction}{gap}{block}" in text


def test_title_of_long_note_is_not_separated_from_its_text() -> None:
    notes = "".join(f"> **Rope {at}**\n>\n> It is red.\n>\n" for at in range(30))
    text = cut(
        f"## Ropes\n\nAll of them.\n\n{notes}> **The shroud**\n>\n> It has 12 mm.\n>\n{notes}", "shroud", 160
    ).text
    assert "> **The shroud**\n>\n> It has 12 mm." in text
    assert not re.search(r"\*\*\n(?:>\n)?\n*…", text)


def test_rows_of_table_keep_its_header() -> None:
    rows = "".join(f"| rope{at} | red |\n" for at in range(60))
    table = f"| Rope | Colour |\n|---|---|\n{rows}| shroud | grey |\n{rows}"
    text = cut(f"## Ropes\n\nAll of them.\n\n{table}\nThe end.\n", "colour of the shroud").text
    shown = text[text.index("| Rope") :]
    assert shown.startswith("| Rope | Colour |\n|---|---|\n| … |\n| rope")
    assert "| shroud | grey |\n" in shown


def test_part_within_a_list_begins_with_the_items_around_it() -> None:
    ropes = "".join(f"  - `rope{at}`: it is red\n" for at in range(40))
    text = cut(
        f"## Ropes\n\n- `boat`: its ropes\n{ropes}    - The shroud has 12 mm.\n{ropes}", "thickness of the shroud"
    ).text
    assert re.search(r"^- `boat`: its ropes …\n  - `rope39`: it is red …\n    - The shroud", text, re.MULTILINE)


def test_part_is_the_one_whose_block_begins_with_the_words() -> None:
    pairs = "".join(f"- **rope {at}**: it is red and thick and no part of a `shroud` or `stay`\n\n" for at in range(40))
    text = cut(f"## Ropes\n\n{pairs}- **shroud**: It has 12 mm.\n\n{pairs}", "shroud or stay").text
    assert "It has 12 mm." in text


def test_beginning_of_a_section_is_no_part_of_a_table() -> None:
    row = f"| 2020 | The water. {'Rope. ' * 40} |\n"
    text = cut(f"## Ropes\n\n| Since | By |\n| --- | --- |\n{row}\n{FILLER}The shroud has 12 mm.\n", "the shroud").text
    assert re.match(r"## Ropes\n\n… \d+ tokens more: ", text)


def test_source_is_the_part_as_the_section_contains_it() -> None:
    markdown = f"## Ropes\n\n{FILLER}The shroud has 12 mm.\n\n{FILLER}"
    source = cut(markdown, "shroud").source
    assert source in markdown
    assert "The shroud has 12 mm." in source


def test_rest_is_described_by_its_size_and_the_beginning_of_its_blocks() -> None:
    rest = "It is *red*, and longer than all the other ropes of the boat.\n\n```sh\nboat --red\n```\n\n- one\n- two\n\nEnd.\n"
    assert re.fullmatch(
        r"… \d+ tokens more: It is \*?red\*?, and longer than all the… · boat --red · one two\n", describe_rest(rest)
    )
