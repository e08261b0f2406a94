"""Conversion of an article's HTML to Markdown."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import accumulate
from operator import itemgetter
from typing import Any

from lxml import etree
from msgspec import Struct

from mkdocs_roaming.errors import ConversionError
from mkdocs_roaming.html import api_docs, blocks, code, embedded, footnotes, formulas, inline, parameters, tables, tabs
from mkdocs_roaming.html.document import parse_body
from mkdocs_roaming.html.embedded import shorten_address
from mkdocs_roaming.html.escape import escape_text, format_heading
from mkdocs_roaming.html.themes import ThemeSet, load_themes
from mkdocs_roaming.html.visitor import Blocks, BlockWriter, Element, InlineWriter, Output, Visitor
from mkdocs_roaming.manifest.models import Heading
from mkdocs_roaming.manifest.sections import find_parents
from mkdocs_roaming.text.blocks import find_titles, strip_markup

BLOCK_WRITERS: dict[str, BlockWriter] = {
    "admonition": blocks.write_admonition,
    "admonition-title": blocks.write_admonition_title,
    "api-heading": api_docs.write_api_heading,
    "block-link": inline.write_block_link,  # not a role: a link that contains blocks
    "caption": blocks.write_caption,
    "code": code.write_code_block,
    "code-table": code.write_code_table,
    "code-title": code.write_code_title,
    "code-wrapper": code.write_code_wrapper,
    "definitions": api_docs.write_definition_list,
    "display-math": formulas.write_display_math,
    "footnotes": footnotes.collect_footnotes,
    "grid": tables.write_grid,
    "group": Visitor.write_group,
    "heading": blocks.write_heading,
    "line": Visitor.write_group,
    "line-block": blocks.write_line_block,
    "list": parameters.write_list,
    "media": embedded.write_media_block,
    "member": api_docs.write_member,
    "mermaid": code.write_mermaid,
    "pager": blocks.write_pager,
    "prototype": api_docs.write_prototype,
    "quote": blocks.write_quote,
    "raw-math": formulas.write_raw_math,
    "rubric": blocks.write_rubric,
    "rule": blocks.write_rule,
    "signature": code.write_signature,
    "table": parameters.write_parameters_or_table,
    "tablist": tabs.write_tab_list,  # not a role: a WAI-ARIA role, as is tabpanel
    "tabpanel": tabs.write_tab_panel,
    "tabs": tabs.write_tabs,
    "terminal": code.write_terminal,
}

INLINE_WRITERS: dict[str, InlineWriter] = {
    "abbreviation": inline.write_abbreviation,
    "button": inline.write_button,
    "classifier": inline.write_classifier,
    "code-span": code.write_code_span,
    "drawing": embedded.write_drawing,
    "emoji": embedded.write_emoji,
    "emphasis": inline.write_emphasis,
    "footnote-label": footnotes.write_footnote_label,
    "footnote-reference": footnotes.write_footnote_reference,
    "gloss": inline.write_gloss,
    "image": embedded.write_image,
    "input": inline.write_checkbox,
    "labels": inline.write_inline_labels,
    "line": inline.write_line,
    "line-break": inline.write_line_break,
    "link": inline.write_link,
    "math": formulas.write_math,
    "member-name": inline.write_span,
    "media": embedded.write_media,
    "permalink": inline.write_permalink,
    "quotation": inline.write_quotation,
    "script": formulas.write_script,
    "self-link": inline.write_self_link,
    "skip": inline.write_nothing,
    "spaced": inline.write_spaced,
    "span": inline.write_span,
    "strike": inline.write_emphasis,
    "strong": inline.write_emphasis,
    "tag": inline.write_tag,
    "text": inline.write_span,
}


_BLANK_LINE = "\n\n"
_TITLE_LEVEL = 2
_MIN_TITLES = 3
_LOWEST_LEVEL = 6
_PANELS = etree.XPath("id(//*[@aria-expanded]/@aria-controls)")
"""Finds what buttons of the page show and hide."""


class ConvertedArticle(Struct, frozen=True):
    """An article as Markdown: `# Title` first, with one final line break."""

    markdown: str
    headings: tuple[Heading, ...]
    """The headings that are not nested in lists, quotes or the like, in order."""
    offsets: tuple[int, ...]
    """The offset of each heading in the Markdown."""


def convert(
    article: str | Element,
    *,
    title: str,
    link: Callable[[str], str] = str,
    image: Callable[[str], str] = str,
    code_languages: Sequence[tuple[str, str]] = (),
    themes: ThemeSet | None = None,
) -> ConvertedArticle:
    """Convert an article to Markdown.

    Args:
        article: The HTML, or its tree, which is not changed.
        title: The title to write if the article has none of its own.
        link: Maps the target of a link to the address to write.
        image: Maps the source of an image to the address to write.
        code_languages: Code of the page with its language, for code blocks whose HTML names no language.
        themes: The themes in use (default: `load_themes()`).

    Raises:
        ConversionError: The page is nested too deeply for the remaining call stack.
    """
    root = parse_body(article) if isinstance(article, str) else deepcopy(article)
    themes = themes or load_themes()
    panels: Any = _PANELS(root)
    for panel in panels:
        panel.set("hidden", "until-found")
    visitor = Visitor(
        article=root,
        block_writers=BLOCK_WRITERS,
        inline_writers=INLINE_WRITERS,
        themes=themes,
        link=lambda href: shorten_address(link(href)),
        image=image,
        recorded_languages=code.index_languages(code_languages),
    )
    try:
        visitor.write_block(root, visitor.output.blocks)
    except RecursionError as error:
        raise ConversionError(
            "the page is nested too deeply: call the converter from fewer nested functions"
        ) from error
    outer = root[0] if root.tag == "body" and len(root) == 1 else root
    visitor.output.anchors.pop(outer.get("id") or "", None)  # the theme's id of the whole article
    return _assemble(visitor.output, title)


def _assemble(output: Output, title: str) -> ConvertedArticle:
    """Put the title first, footnotes at the end of their sections, and further titles with what is below them lower."""
    plain = " ".join(title.split()) or "Untitled"
    _merge_repeated_headings(output, plain)
    if all(index == output.title for index, _ in output.headings):
        _add_titles(output)
        _merge_repeated_headings(output, plain)
    headings = [Heading(1, plain, None)]
    parts = [format_heading(1, escape_text(plain)), *output.blocks, ""]
    if output.title is not None:
        headings[0] = dict(output.headings)[output.title]
        parts[0] = parts[output.title + 1]
        parts[output.title + 1] = ""
        _move_text_of_title(output, parts, output.title)
    below = [(index, heading) for index, heading in output.headings if index != output.title]
    parents = find_parents([1, *(heading.level for _, heading in below)])
    for (index, heading), parent in zip(below, parents[1:], strict=True):
        level = min(max(heading.level, headings[parent or 0].level + 1), _LOWEST_LEVEL)
        parts[index + 1] = "#" * (level - heading.level) + parts[index + 1]
        headings.append(replace(heading, level=level))
    notes = footnotes.place_footnotes(output)
    heading_indexes = {0, *(index + 1 for index, _ in below)}
    positions: list[int] = []
    written: Blocks = []
    for index, part in enumerate(parts):
        written += filter(None, [*notes.get(index - 1, []), part])
        if index in heading_indexes:
            positions.append(len(written) - 1)
    offsets = list(accumulate((len(block) + len(_BLANK_LINE) for block in written), initial=0))
    return ConvertedArticle(
        markdown=_BLANK_LINE.join(written) + "\n",
        headings=tuple(_add_anchors(output, headings)),
        offsets=tuple(offsets[position] for position in positions),
    )


def _add_titles(output: Output) -> None:
    """Make headings of the lines in bold or in capitals that stand in place of them; one or two may be labels."""
    blocks = output.blocks
    titles = find_titles(blocks)
    for index in titles if len(titles) >= _MIN_TITLES else ():
        text = blocks[index].strip("*")
        blocks[index] = format_heading(_TITLE_LEVEL, text)
        output.headings.append((index, Heading(_TITLE_LEVEL, strip_markup(text), None)))
    output.headings.sort(key=itemgetter(0))


def _move_text_of_title(output: Output, parts: list[str], title: int) -> None:
    """Move the text below a title, and its anchors, before the headings that the page has above the title."""
    first, _ = output.headings[0]
    if first == title:
        return
    end = next((index for index, _ in output.headings if index > title), len(output.blocks))
    text = parts[title + 2 : end + 1]
    parts[title + 2 : end + 1] = [""] * len(text)
    parts[first] = _BLANK_LINE.join(filter(None, [parts[first], *text]))
    for places in (output.anchors, output.footnotes.uses):
        for name, index in places.items():
            if title < index < end:
                places[name] = -1


def _merge_repeated_headings(output: Output, title: str) -> None:
    """Remove headings that only repeat the heading above them. Their anchors remain.

    An article that begins with a heading that is equal to `title` has a title that is not marked as such. A heading is
    removed below a title with the same text, and a lower one below any heading with exactly the same text, such as that
    of an API object below the heading of its section. Text between them is allowed only if both are titles.
    """
    blocks = output.blocks
    if output.title is None and output.headings:
        index, heading = output.headings[0]
        begins_with_heading = not any(blocks[:index])
        if begins_with_heading and _title_key(heading.text) == _title_key(title):
            output.title = index
            output.headings[0] = (index, replace(heading, level=1))
            blocks[index] = "#" + blocks[index].lstrip("#")
    kept = output.headings[:1]
    for index, heading in output.headings[1:]:
        above_index, above = kept[-1]
        if above_index == output.title:
            is_repeated = _title_key(heading.text) == _title_key(above.text)
        else:
            is_repeated = heading.text == above.text and heading.level > above.level
        has_text_between = heading.level > 1 and any(blocks[above_index + 1 : index])
        if has_text_between or not is_repeated:
            kept.append((index, heading))
            continue
        blocks[index] = ""
        if heading.anchor:
            output.anchors[heading.anchor] = index
    output.headings = kept


def _title_key(text: str) -> str:
    """Return a title without what may differ in a heading that repeats it: case, spaces, parentheses of a function."""
    return "".join(letter for letter in text.casefold() if letter.isalnum() or letter in "+#")


def _add_anchors(output: Output, headings: Sequence[Heading]) -> Iterator[Heading]:
    """Yield the headings, the title first, each with the further anchors of its section.

    A heading without an id has the one right before it as its anchor. Anchors of tabs, lines of code and the like are
    dropped: nobody links to them.
    """
    starts = [index for index, _ in output.headings if index != output.title]
    known = {heading.anchor for heading in headings}
    last_anchors: dict[int, str] = {}
    sections: list[list[str]] = [[] for _ in headings]
    for anchor, index in output.anchors.items():
        is_generated = anchor.startswith("__") or (anchor.startswith("id") and anchor[2:].isdecimal())
        if anchor not in known and not is_generated:
            last_anchors[index] = anchor
            sections[bisect_right(starts, index)].append(anchor)
    for heading, start, further in zip(headings, [None, *starts], sections, strict=True):
        if start in last_anchors and not heading.anchor:
            own = last_anchors[start]
            further.remove(own)
            heading = replace(heading, anchor=own)
        yield replace(heading, anchors=tuple(further)) if further else heading
