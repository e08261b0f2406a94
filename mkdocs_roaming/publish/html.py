"""Rendered HTML of one page to Markdown that says the same, by one walk of its tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mkdocs_roaming.errors import ConversionError
from mkdocs_roaming.page import Heading
from mkdocs_roaming.publish import blocks, callouts, code, formula, hyperlinks, inline, notes, objects, pictures, tables
from mkdocs_roaming.publish.article import article_of, parse, visible_words
from mkdocs_roaming.publish.escape import escape, heading_line
from mkdocs_roaming.publish.fences import source_languages
from mkdocs_roaming.publish.walk import Block, Element, Inline, Walk

__all__ = ["Converted", "article_of", "convert", "visible_words"]


@dataclass(frozen=True, slots=True)
class Converted:
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
) -> Converted:
    """Give an article's HTML as Markdown.

    `title` stands where the article has no title of its own. `link` and `image` give the address to write for an
    attribute. `source` is the Markdown that the page was rendered from; it is asked for the languages of code only.
    """
    root = parse(article) if isinstance(article, str) else article
    walk = Walk(BLOCKS, INLINES, link, image, source_languages(source, root))
    try:
        walk.block(root, walk.top)
    except RecursionError as error:
        raise ConversionError("the page nests too deep here: convert it with fewer callers around") from error
    return _assembled(walk, title)


BLOCKS: dict[str, Block] = {
    "callout": callouts.callout,
    "callout title": callouts.callout_title,
    "caption": blocks.caption,
    "code": code.block,
    "code table": code.table,
    "code title": code.title,
    "code wrapper": code.wrapper,
    "definitions": objects.listing,
    "display math": blocks.display_math,
    "file tree": blocks.file_tree,
    "group": blocks.group,
    "heading": blocks.heading,
    "line block": blocks.line_block,
    "list": blocks.listing,
    "mermaid": code.mermaid,
    "notes": notes.definitions,
    "object heading": objects.heading,
    "pager": blocks.pager,
    "quote": blocks.quote,
    "rubric": blocks.rubric,
    "rule": blocks.rule,
    "signature": code.signature,
    "table": tables.table,
    "tabs": callouts.tabs,
}

INLINES: dict[str, Inline] = {
    "apart": inline.apart,
    "break": inline.line_break,
    "card": hyperlinks.card,
    "classifier": inline.classifier,
    "code span": code.span,
    "emoji": pictures.emoji,
    "emphasis": inline.emphasis("emphasis", "*", "em"),
    "image": pictures.image,
    "input": inline.checkbox,
    "labels": inline.labels,
    "link": hyperlinks.link,
    "math": formula.math,
    "media": pictures.media,
    "note label": notes.label,
    "note reference": notes.reference,
    "permalink": hyperlinks.permalink,
    "quotation": inline.quotation,
    "script": formula.script,
    "self link": hyperlinks.self_link,
    "skip": inline.skip,
    "span": inline.span,
    "strike": inline.emphasis("strike", "~~", "del"),
    "strong": inline.emphasis("strong", "**", "strong"),
    "tag": inline.tag,
    "text": inline.span,
}


def _assembled(walk: Walk, title: str) -> Converted:
    """Put the title first, the footnotes where they are used, and further titles a level lower."""
    plain = " ".join(title.split()) or "Untitled"
    headings = [Heading(1, plain, None)]
    parts = [heading_line(1, escape(plain)), *walk.top]
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
    for at, definitions in notes.placed(walk).items():
        parts[at + 1 : at + 2] = ["\n\n".join((*definitions, *filter(None, parts[at + 1 : at + 2])))]
    return Converted("\n\n".join(filter(None, parts)) + "\n", tuple(headings))
