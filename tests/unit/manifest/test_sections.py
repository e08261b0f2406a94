"""Sections: slices, headings, anchors and ids."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mkdocs_roaming.manifest.models import Heading
from mkdocs_roaming.manifest.sections import github_slug, split_sections
from mkdocs_roaming.text.blocks import find_headings

POINTER = "> This page belongs to X. All its pages are listed in [llms.txt](https://x.example/llms.txt).\n\n"
LINES = st.sampled_from(
    [
        "# A", "## B", "### C", "text", "", "```", "````", "~~~", "> # quoted", "- # item", "  # indented",
        "    # code", "Setext", "===", "---", "<div>", "</div>", "| a |", "|---|", "###### six", "####### seven",
        "#no", "#\tTab", "\u2028# sep", "é # ü", "\x0b# vt", "# \x85 next", "1. # one", "# ", "## closed ##",
        "\\# esc",
    ]
)  # fmt: skip


def join_slices(markdown: str) -> str:
    data = markdown.encode()
    return b"".join(data[section.start : section.end] for section in split_sections(markdown)).decode()


@given(st.lists(LINES, max_size=30), st.sampled_from(["\n", "\r\n", "\r"]))
def test_joined_slices_equal_the_file(lines: list[str], end: str) -> None:
    markdown = "# Title" + end + end.join(lines)
    assert join_slices(markdown) == markdown


@given(st.text(max_size=400))
def test_split_sections_accepts_any_text(text: str) -> None:
    markdown = "# Title\n\n" + text.encode("utf-8", "replace").decode()
    assert join_slices(markdown) == markdown


@given(st.lists(LINES, max_size=30))
def test_sections_start_at_commonmark_headings(lines: list[str]) -> None:
    markdown = "# Title\n\n" + "\n".join(lines)
    wanted = [
        int(token.tag[1])
        for token in MarkdownIt("commonmark").enable("table").parse(markdown)
        if token.type == "heading_open" and token.level == 0
    ]
    assert [section.level for section in split_sections(markdown)] == wanted


MORE_LINES = LINES | st.sampled_from(
    [
        "- a", "  b", "   ```", "  ~~~", "> ```", "1. ```", "   # three", "\t# tab", "* * *", "***", "<b>x</b>",
        "</p>", "<!-- c", "-->", "<pre>", "</pre>", "<https://x.example/>", "[a]: /u", "'title", "===", "``` a`b",
        "`````", "a | b", "- | -", "#", "## #", "# a #b", "# a#", "#\ta\t#\t", "    - deep", "    ```", "  ## ind",
        "+", "=", "-",
    ]
)  # fmt: skip


@given(st.lists(MORE_LINES, max_size=24))
@example(["- a", "   ```", "| a |", "==="])
@example(["- a", "", "   ```", "=x", "==="])
@example(["</p>", "   ```", "", "   # three"])
@example(["   ```", "    ```", "# A"])
def test_headings_are_those_of_commonmark(lines: list[str]) -> None:
    markdown = "\n".join(lines)
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    wanted = [
        (*token.map, int(token.tag[1]), text.content)
        for token, text in pairwise(tokens)
        if token.type == "heading_open" and token.level == 0 and token.map
    ]
    assert [(block.start, block.end, block.level, block.text) for block in find_headings(markdown)] == wanted


def test_llms_txt_pointer_is_not_part_of_a_section() -> None:
    sections = split_sections(POINTER + "# Title\n\ntext\n")
    assert sections[0].start == len(POINTER)


def test_text_before_the_title_belongs_to_the_page() -> None:
    sections = split_sections("Hello.\n\n# Title\n\ntext\n")
    assert (sections[0].start, sections[0].title) == (0, "Title")


def test_front_matter_is_skipped() -> None:
    markdown = "---\ntitle: x\n---\n# Title\n"
    assert split_sections(markdown)[0].start == markdown.index("# Title")


def test_page_without_headings_is_one_section() -> None:
    (section,) = split_sections("Just text.\n", title="Notes")
    assert (section.title, section.level, section.end) == ("Notes", 1, 11)


def test_offsets_are_in_bytes() -> None:
    markdown = "# Zürich\n\nGrüße 東京\n\n## Ende\n\nß\n"
    last = split_sections(markdown)[-1]
    assert markdown.encode()[last.start : last.end].decode() == "## Ende\n\nß\n"


def test_titles_have_no_markup() -> None:
    titles = [section.title for section in split_sections("# The `port` *option* & [more](x.md)\n\n## a\\_b &amp; c\n")]
    assert titles == ["The port option & more", "a_b & c"]


def test_anchors_are_matched_by_text_if_headings_differ() -> None:
    headings = [Heading(1, "T", "t"), Heading(4, "Only there", "x"), Heading(2, "A", "a"), Heading(3, "B", "b")]
    sections = split_sections("# T\n\n## A\n\n## New\n\n### B\n", headings=headings)
    assert [section.anchor for section in sections] == ["t", "a", None, "b"]


def test_link_targets_in_code_are_ignored() -> None:
    (section,) = split_sections("# T\n\n[a](https://x/a.md#b) <https://x/c>\n\n```\n[no](https://x/no)\n```\n")
    assert section.targets == ("https://x/a.md#b", "https://x/c")


def test_github_slug_returns_the_anchor_of_github() -> None:
    assert [github_slug(text) for text in ("What's new?", "A  B", "snake_case", "Über 5.2")] == [
        "whats-new",
        "a--b",
        "snake_case",
        "über-52",
    ]
