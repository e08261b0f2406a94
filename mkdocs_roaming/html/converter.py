"""Rendered HTML of one page to Markdown that says the same, by one walk of its tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mkdocs_roaming.errors import ConversionError
from mkdocs_roaming.html import admonitions as callouts
from mkdocs_roaming.html import api_docs as objects
from mkdocs_roaming.html import blocks, code, inline, tables
from mkdocs_roaming.html import footnotes as notes
from mkdocs_roaming.html import inline as hyperlinks
from mkdocs_roaming.html import math as formula
from mkdocs_roaming.html import media as pictures
from mkdocs_roaming.html.code import source_language_lookup
from mkdocs_roaming.html.document import parse_body
from mkdocs_roaming.html.escape import escape_text, format_heading
from mkdocs_roaming.html.visitor import BlockWriter, Element, InlineWriter, Visitor
from mkdocs_roaming.manifest.models import Heading


@dataclass(frozen=True, slots=True)
class ConvertedArticle:
    """A page as Markdown: `# Title` first, one line end last. `headings` are those of its top level, in order."""

    markdown: str
    headings: tuple[Heading, ...]


def convert(
    article: str | Element,
    *,
    title: str,
    link: Callable[[str], str] = str,
    image: Callable[[str], str] = str,
    source: str | None = None,
) -> ConvertedArticle:
    """Give an article's HTML as Markdown.

    `title` stands where the article has no title of its own. `link` and `image` give the address to write for an
    attribute. `source` is the Markdown that the page was rendered from; it is asked for the languages of code only.
    """
    root = parse_body(article) if isinstance(article, str) else article
    walk = Visitor(BLOCKS, INLINES, link, image, source_language_lookup(source, root))
    try:
        walk.block(root, walk.top)
    except RecursionError as error:
        raise ConversionError("the page nests too deep here: convert it with fewer callers around") from error
    return _assembled(walk, title)


BLOCKS: dict[str, BlockWriter] = {
    "callout": callouts.write_admonition,
    "callout title": callouts.write_admonition_title,
    "caption": blocks.write_caption,
    "code": code.write_code_block,
    "code table": code.write_code_table,
    "code title": code.write_code_title,
    "code wrapper": code.write_code_wrapper,
    "definitions": objects.write_definition_list,
    "display math": blocks.write_display_math,
    "file tree": blocks.write_file_tree,
    "group": blocks.write_group,
    "heading": blocks.write_heading,
    "line block": blocks.write_line_block,
    "list": blocks.write_list,
    "mermaid": code.write_mermaid,
    "notes": notes.collect_footnotes,
    "object heading": objects.write_object_heading,
    "pager": blocks.write_pager,
    "quote": blocks.write_quote,
    "rubric": blocks.write_rubric,
    "rule": blocks.write_rule,
    "signature": code.write_signature,
    "table": tables.write_table,
    "tabs": callouts.write_tabs,
}

INLINES: dict[str, InlineWriter] = {
    "apart": inline.write_spaced,
    "break": inline.write_line_break,
    "card": hyperlinks.write_card,
    "classifier": inline.write_classifier,
    "code span": code.write_code_span,
    "emoji": pictures.write_emoji,
    "emphasis": inline.emphasis_writer("emphasis", "*", "em"),
    "image": pictures.write_image,
    "input": inline.write_checkbox,
    "labels": inline.write_inline_labels,
    "link": hyperlinks.write_anchor,
    "math": formula.write_math,
    "media": pictures.write_media,
    "note label": notes.write_footnote_label,
    "note reference": notes.write_footnote_reference,
    "permalink": hyperlinks.write_permalink,
    "quotation": inline.write_quotation,
    "script": formula.write_script,
    "self link": hyperlinks.write_self_link,
    "skip": inline.write_nothing,
    "span": inline.write_span,
    "strike": inline.emphasis_writer("strike", "~~", "del"),
    "strong": inline.emphasis_writer("strong", "**", "strong"),
    "tag": inline.write_tag,
    "text": inline.write_span,
}


def _assembled(walk: Visitor, title: str) -> ConvertedArticle:
    """Put the title first, the footnotes where they are used, and further titles a level lower."""
    plain = " ".join(title.split()) or "Untitled"
    headings = [Heading(1, plain, None)]
    parts = [format_heading(1, escape_text(plain)), *walk.top]
    for at, heading in walk.marks:
        if at == walk.title:
            headings[0], parts[0] = heading, parts[at + 1]
            continue
        if heading.level == 1:
            heading = Heading(2, heading.text, heading.anchor)
            parts[at + 1] = "#" + parts[at + 1]
        headings.append(heading)
    if walk.title is not None:
        parts[walk.title + 1] = ""
    for at, definitions in notes.place_footnotes(walk).items():
        parts[at + 1 : at + 2] = ["\n\n".join((*definitions, *filter(None, parts[at + 1 : at + 2])))]
    return ConvertedArticle("\n\n".join(filter(None, parts)) + "\n", tuple(headings))
