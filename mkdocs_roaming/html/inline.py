"""Text within a line: emphasis, line breaks, task boxes and links."""

from __future__ import annotations

import re

from lxml import etree

from mkdocs_roaming.html.escape import escape_text, format_autolink, format_destination, format_link
from mkdocs_roaming.html.visitor import (
    HARD_BREAK,
    Blocks,
    Element,
    Pieces,
    Visitor,
    element_text,
    is_hidden,
    normalized_text,
    read_label,
    strip_breaks,
)

_PERMALINK_TEXTS = frozenset({"", "#", "¶", "§", "🔗", "⚓", "⚓︎", "permalink", "anchor", "link", "\u200b", "\ufeff"})
"""The text of links from a heading to itself."""
_BACKLINKS = ("#fnref", "#fr-", "#user-content-fnref", "#cite_ref")
"""The targets of links from a footnote back to its use."""
_OPENING = ("(", "[", "{", "“", "‘", "«", "/")
_CLOSING = (".", ",", ";", ":", "!", "?", ")", "]", "}", "”", "’", "»", "/", "…")
_DELIMITED_ROLES = frozenset({"code-span", "image", "math", "footnote-reference", "quotation", "tag"})
"""Roles that are always written with a delimiter in front."""
_TITLES = ("h1", "h2", "h3", "h4", "h5", "h6", "dt", "th", "summary")
_COPIES = etree.XPath("boolean(.//@*[contains(name(), 'clipboard') or contains(., 'opy') or contains(., 'clipboard')])")
"""Whether the attributes of a button say that it copies something."""
_SCRIPT_SCHEMES = frozenset({"javascript", "vbscript", "data", "about"})
_EMPHASIS = {"emphasis": ("*", "em"), "strike": ("~~", "del"), "strong": ("**", "strong")}
"""The Markdown delimiter of each kind of emphasis, and the tag to use where Markdown would misread it."""
_LINE_ENDS = (" ", "\n")
_FOOTNOTE_REFERENCES = re.compile(r"(?:\[\^[^\]]+\][\s,]*)+")
"""`[^1], [^2]`, which need no `<sup>`."""


def write_span(visitor: Visitor, element: Element, pieces: Pieces) -> None:
    """Write the content of an element, unless the page hides it. An icon without content is written as its name."""
    if element.attrib:
        if is_hidden(element):
            return
        if anchor := element.get("id"):
            visitor.output.anchors.setdefault(anchor, len(visitor.output.blocks))
    count = len(pieces)
    visitor.write_inline(element, pieces)
    if len(pieces) == count and element.get("aria-hidden") != "true":
        write_spaced_text(visitor, read_label(element, "aria-label", "title"), element, pieces)


def write_nothing(visitor: Visitor, element: Element, pieces: Pieces) -> None:
    """Write nothing."""


def write_button(visitor: Visitor, element: Element, pieces: Pieces) -> None:
    """Write the words of a button that are content: of one that opens a panel, is all of a title, or is in a sentence.

    Other buttons are tools of the page.
    """
    if _COPIES(element):
        return
    opens_panel = "aria-expanded" in element.attrib and "aria-haspopup" not in element.attrib
    is_in_sentence = bool(pieces and element.tail and element.tail.strip())
    if opens_panel or is_in_sentence or _is_title(element):
        write_spaced(visitor, element, pieces)


def _is_title(button: Element) -> bool:
    """Return whether a button is all of a title."""
    title = next(button.iterancestors(*_TITLES), None)
    if title is None or next(title.iter(button.tag)) is not button:  # to compare many would take quadratic time
        return False
    return normalized_text(title) == normalized_text(button)


def write_gloss(visitor: Visitor, element: Element, pieces: Pieces) -> None:
    """Write what explains the text before it, in parentheses."""
    if element_text(element):
        visitor.write_text(" (", pieces)
        visitor.write_inline(element, pieces)
        visitor.write_text(")", pieces)


def write_classifier(visitor: Visitor, element: Element, pieces: Pieces) -> None:
    """Write the classifier of a term after a colon."""
    visitor.write_text(" : ", pieces)
    visitor.write_inline(element, pieces)


def write_abbreviation(visitor: Visitor, element: Element, pieces: Pieces) -> None:
    """Write an abbreviation or a term, and at its first use in a section the meaning that a tooltip shows."""
    meaning = read_label(element, "title")
    use = (len(visitor.output.headings), meaning)
    uses = visitor.output.explained
    is_explained = visitor.context.heading is not None or use in uses or is_repeated(meaning, element, pieces)
    if element.tag == "dfn":
        write_emphasis(visitor, element, pieces)
    else:
        write_link(visitor, element, pieces)
    if not is_explained:
        uses.add(use)
        visitor.write_text(f" ({meaning})", pieces)


def is_repeated(text: str, element: Element, pieces: Pieces) -> bool:
    """Return whether the text right before or after an element contains this text, too."""
    near = [*pieces[-1:], element.tail or ""]
    following = element.getnext()
    if following is not None:
        near.append(element_text(following))
    return text.casefold() in " ".join(near).casefold()


def write_inline_labels(visitor: Visitor, element: Element, pieces: Pieces) -> None:
    """Write the labels of an API object. Those in its heading are written below the heading."""
    if visitor.context.heading is None:
        visitor.write_inline(element, pieces)


def write_emphasis(visitor: Visitor, element: Element, pieces: Pieces) -> None:
    """Write emphasis, a definition as `*term*`. Nested emphasis of the same kind is written once."""
    role = visitor.role(element)
    style = role if role in _EMPHASIS else "emphasis"
    context = visitor.context
    before = context.styles
    if style in before:
        visitor.write_inline(element, pieces)
        return
    context.styles = before | {style}
    text = visitor.render_inline(element)
    context.styles = before
    stripped = strip_breaks(text)
    if text.startswith(_LINE_ENDS) or not stripped:
        add_space(text, pieces)
    if not stripped:
        return
    delimiter, tag = _EMPHASIS[style]
    if _is_ambiguous(visitor, pieces, stripped, element, nested=bool(before)):
        pieces.append(f"<{tag}>{stripped}</{tag}>")
    else:
        pieces.append(f"{delimiter}{stripped}{delimiter}")
    if text.endswith(HARD_BREAK):
        pieces.append(context.line_break)
    elif text.endswith(_LINE_ENDS):
        pieces.append(" ")


def _is_ambiguous(visitor: Visitor, pieces: Pieces, text: str, element: Element, *, nested: bool) -> bool:
    """Return whether Markdown would misread delimiters around the text, given the characters on both sides."""
    before = pieces[-1][-1:] if pieces else ""
    after = (element.tail or "")[:1]
    if before == "*" or "~" in (text[0], text[-1], before, after):
        return True
    if nested:  # adjacent delimiters are counted together
        return bool(before.strip() or _following_text(visitor, element)[:1].strip())
    if before.isalnum() and not text[0].isalnum():
        return True
    return not text[-1].isalnum() and _following_text(visitor, element)[:1].isalnum()


def _following_text(visitor: Visitor, element: Element) -> str:
    """Return some of the text after an element, up to the next delimiter or the end of the line."""
    while not element.tail:
        following = element.getnext()
        if following is None:
            parent = element.getparent()
            if parent is None or visitor.role(parent) not in ("span", "text"):
                return ""
            element = parent
            continue
        role = visitor.role(following)
        if role in _DELIMITED_ROLES:
            return "*"
        text = element_text(following)
        if text and role != "skip":
            return text
        element = following
    return element.tail


def write_tag(visitor: Visitor, element: Element, pieces: Pieces) -> None:
    """Write an element that has no Markdown syntax as an HTML tag."""
    inner = visitor.render_inline(element)
    text = strip_breaks(inner)
    if not text:
        add_space(inner, pieces)
    elif _FOOTNOTE_REFERENCES.fullmatch(text):
        pieces.append(text)
    else:
        pieces.append(f"<{element.tag}>{text}</{element.tag}>")


def write_line_break(visitor: Visitor, element: Element, pieces: Pieces) -> None:
    """Write a line break as its surroundings allow: a hard break, a tag in a table, a space in a heading."""
    visitor.record_plain(" ")
    line_break = visitor.context.line_break
    if line_break == " ":
        add_space(" ", pieces)
        return
    if pieces and pieces[-1].endswith(" "):
        pieces[-1] = pieces[-1].rstrip(" ")
    pieces.append(line_break)


def write_line(visitor: Visitor, element: Element, pieces: Pieces) -> None:
    """Write a line of a line block, which may consist of further lines."""
    if text := strip_breaks(visitor.render_inline(element)):
        pieces += [text, visitor.context.line_break]


def write_checkbox(visitor: Visitor, element: Element, pieces: Pieces) -> None:
    """Write the box of a task at the beginning of its list item."""
    is_first = not "".join(pieces).strip()
    if is_first and element.get("type") == "checkbox" and next(element.iterancestors("li"), None) is not None:
        pieces[:] = ["[ ] " if element.get("checked") is None else "[x] "]


def write_quotation(visitor: Visitor, element: Element, pieces: Pieces) -> None:
    """Write a quotation in quotation marks."""
    pieces.append(f'"{strip_breaks(visitor.render_inline(element))}"')


def add_space(text: str, pieces: Pieces) -> None:
    """Add a space for non-empty text (white space), unless there is one already."""
    if text and not (pieces and pieces[-1].endswith(_LINE_ENDS)):
        pieces.append(" ")


def write_spaced(visitor: Visitor, element: Element, pieces: Pieces) -> None:
    """Write text that only its style separates from its neighbours, with spaces around."""
    add_space_before(visitor, pieces)
    visitor.write_inline(element, pieces)
    add_space_after(visitor, element, pieces)


def write_spaced_text(visitor: Visitor, text: str, element: Element, pieces: Pieces) -> None:
    """Write the text that replaces an icon or an image, with spaces around."""
    if text.strip():
        add_space_before(visitor, pieces)
        visitor.write_text(" ".join(text.split()), pieces)
        add_space_after(visitor, element, pieces)


def add_space_before(visitor: Visitor, pieces: Pieces) -> None:
    """Add a space, except after an opening bracket or the like."""
    visitor.record_plain(" ")
    if pieces and not pieces[-1].endswith(_OPENING):
        add_space(" ", pieces)


def add_space_after(visitor: Visitor, element: Element, pieces: Pieces) -> None:
    """Add a space after an element, except before a full stop, a closing bracket or the like."""
    while not element.tail:
        parent = element.getparent()
        is_last = element.getnext() is None
        if not is_last or parent is None or visitor.role(parent) != "span":
            break
        element = parent
    tail = element.tail or ""
    if not tail.startswith(_CLOSING):
        visitor.record_plain(" ")
        pieces.append(" ")


def write_link(visitor: Visitor, element: Element, pieces: Pieces) -> None:
    """Write a link. Links from a heading to itself and from a footnote to its use are dropped."""
    href = element.get("href")
    if href is None or visitor.context.in_link:
        visitor.record_anchor(element)
        visitor.write_inline(element, pieces)
        return
    role = element.get("role")
    if role == "doc-noteref" or element.get("data-footnote-ref") is not None:
        visitor.inline_writers["footnote-reference"](visitor, element, pieces)
        return
    leads_back = role == "doc-backlink" or element.get("data-footnote-backref") is not None
    if leads_back or href.startswith(_BACKLINKS):
        if any(map(str.isalnum, element_text(element))):  # more than an arrow
            visitor.write_inline(element, pieces)
        return
    heading = visitor.context.heading
    if heading is None or not href.startswith("#"):
        write_plain_link(visitor, element, href, pieces)
    elif _is_permalink(element):
        title = element.get("title")
        if title and any(visitor.role(child) == "emoji" for child in element.iterdescendants()):
            write_spaced_text(visitor, title, element, pieces)
    elif href[1:] == heading.anchor:
        visitor.write_inline(element, pieces)
    else:
        write_plain_link(visitor, element, href, pieces)


def write_permalink(visitor: Visitor, element: Element, pieces: Pieces) -> None:
    """Write a link that usually leads from a heading to itself, if it has a text of its own."""
    if not _is_permalink(element):
        write_link(visitor, element, pieces)


def write_self_link(visitor: Visitor, element: Element, pieces: Pieces) -> None:
    """Write a heading's link to itself as its text. In the index of a blog it leads to the post, and stays a link."""
    href = element.get("href", "")
    heading = visitor.context.heading
    anchor = heading.anchor if heading is not None else None
    is_own = href.startswith("#")
    if not is_own and href.partition("#")[2] == anchor:
        is_own = visitor.link(href) == visitor.link(f"#{anchor}")
    if is_own:
        visitor.write_inline(element, pieces)
    else:
        write_link(visitor, element, pieces)


def write_block_link(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write a link around blocks: the first line of text becomes the link."""
    href = element.get("href") or ""
    if is_script_url(href):
        visitor.write_blocks(element, out)
        return
    url = visitor.link(href)
    with visitor.within(block_link=format_destination(url), in_link=True):
        visitor.write_blocks(element, out)
        unused = visitor.context.block_link is not None
    if unused:
        out.append(format_link(url, url))


def write_plain_link(visitor: Visitor, element: Element, href: str, pieces: Pieces) -> None:
    """Write a link without a special role."""
    context = visitor.context
    if context.in_link or is_script_url(href):
        visitor.write_inline(element, pieces)
        return
    context.in_link = True
    written = visitor.render_inline(element)
    context.in_link = False
    text = strip_breaks(written)
    url = visitor.link(href.strip())
    if not text:
        _write_icon_link(visitor, element, href, url, pieces)
        return
    if written[:1].isspace():
        add_space(written, pieces)
    target = format_destination(url)
    short = None
    if target.startswith((text[:3], "mailto:")):
        raw = element_text(element).strip()
        if text == escape_text(raw, brackets=True):
            short = format_autolink(target, raw)
    if text.startswith("![") and text.endswith(f"]({target})"):  # the image in full size
        short = text
    escape_exclamation_mark(pieces)
    pieces.append(short or f"[{text}]({target})")
    if written[-1:].isspace():
        pieces.append(" ")


def escape_exclamation_mark(pieces: Pieces) -> None:
    """Escape a `!` before a link, which would make it an image."""
    if pieces and pieces[-1].endswith("!"):
        pieces[-1] = pieces[-1][:-1] + "\\!"


def is_script_url(href: str) -> bool:
    """Return whether a URL runs a script or contains data instead of leading to a page."""
    scheme, colon, _ = href.partition(":")
    return colon != "" and scheme.lstrip().casefold() in _SCRIPT_SCHEMES


def _is_permalink(element: Element) -> bool:
    """Return whether the text of a link is only a sign for a link to the place where it is."""
    if element.get("aria-hidden") == "true":
        return True
    return element_text(element).strip().casefold() in _PERMALINK_TEXTS and element.find(".//img") is None


def _write_icon_link(visitor: Visitor, element: Element, href: str, url: str, pieces: Pieces) -> None:
    """Write a link without text under its accessible name. A link that shows nothing is dropped."""
    label = read_label(element, "aria-label", "title")
    if not label and (href.startswith("#") or not len(element)):
        return
    label = label or url
    add_space_before(visitor, pieces)
    visitor.record_plain(label)
    pieces.append(format_link(url, label))
    add_space_after(visitor, element, pieces)
