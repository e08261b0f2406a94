"""Items of a page's Markdown, parsed as CommonMark with GFM tables, strikethrough and footnotes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from page_content.items import GFM_KINDS, Items, first_words, normalize_text, split_words
from page_content.page import extract_fragment_items, resolve_url
from page_content.parameters import format_parameter


def extract_markdown_items(text: str, base: str, formulas: Counter[str]) -> Items:
    """Return the items of a page's Markdown.

    Args:
        text: The Markdown.
        base: URL of the Markdown, to resolve relative links.
        formulas: Formulas of the HTML page. CommonMark has no math, so each is searched verbatim between dollar signs.
    """
    text = _FRONT_MATTER.sub("", text.replace("\r\n", "\n"))
    items = Items()
    text = _mark_footnotes(_extract_formulas(text, formulas, items))
    root = SyntaxTreeNode(_PARSER.parse(text))
    blocks = list(root.children)
    # The line that refers agents to llms.txt is not content of the page.
    if blocks and blocks[0].type == "blockquote" and any(_links_to_llms_txt(node) for node in blocks[0].walk()):
        blocks = blocks[1:]
    extractor = _Extractor(items, base)
    for word in split_words(" ".join(extractor.extract_block(block) for block in blocks)):
        items.add("words", word)
    return items


class _Extractor:
    """Returns the text of syntax nodes and counts the items in them."""

    def __init__(self, items: Items, base: str) -> None:
        self.items = items
        self.base = base

    def extract_block(self, node: SyntaxTreeNode) -> str:
        items = self.items
        if node.type in ("fence", "code_block"):
            return self._extract_code(node)
        if node.type == "html_block":
            part, text = extract_fragment_items(node.content, self.base)
            part.counts["words"].clear()  # counted with the surrounding text
            items.merge(part)
            return text
        if node.type == "inline":
            return self.extract_inline(node.children)
        if node.type == "table":
            return self._extract_table(node)
        if node.type in ("bullet_list", "ordered_list"):
            return self._extract_list(node)
        text = normalize_text(" ".join(self.extract_block(child) for child in node.children))
        if node.type == "heading":
            items.add_heading(int(node.tag[1]), text)
            items.add("tab labels", text)
            items.add("terms", text)
        elif node.type == "paragraph":
            items.add("tab labels", text)
            items.add("terms", text)
            if text.startswith(_NOTE):
                items.add("footnotes", first_words(text))
        elif node.type == "blockquote" and (mark := _KIND.match(_get_first_line(node))):
            # The kind may be the title: `[!NOTE]` is shown as "Note". Such a title does not count as text.
            items.add("admonitions", first_words(text))
            items.add("admonitions", first_words(f"{mark[1]} {text}"))
            title = next((normalize_text(_get_plain_text(part)) for part in node.walk() if part.type == "strong"), "")
            if title.casefold() in GFM_KINDS and text.startswith(title):
                text = text[len(title) :]
        return text

    def extract_inline(self, nodes: Iterable[SyntaxTreeNode]) -> str:
        pieces: list[str] = []
        tags: list[tuple[str, int]] = []
        for node in nodes:
            if node.type == "html_inline":
                self._extract_tag(node.content, pieces, tags)
            elif node.type == "code_inline":
                self.items.add("code spans", normalize_text(node.content))
                pieces.append(node.content)
            elif node.type in ("softbreak", "hardbreak"):
                pieces.append(" ")
            elif node.type == "image":
                alt = normalize_text("".join(_get_plain_text(child) for child in node.children))
                self.items.add("images", f"{alt} <{resolve_url(self.base, str(node.attrs['src']))}>")
            elif node.type == "text":
                pieces.append(_REFERENCE_OR_KIND.sub("", node.content))
            elif node.type == "text_special":  # an escaped character has no markup meaning
                pieces.append(node.content)
            else:
                pieces.append(self._extract_styled(node))
        return "".join(pieces)

    def _extract_styled(self, node: SyntaxTreeNode) -> str:
        text = self.extract_inline(node.children)
        visible = normalize_text(text)
        if node.type == "link":
            href = str(node.attrs["href"])
            self.items.hrefs.append(href)
            self.items.add("media", resolve_url(self.base, href))
        elif node.type in ("strong", "em"):
            self.items.add("emphasis", visible)
            self.items.add("terms", visible)
        elif node.type == "s":
            self.items.add("marked text", f"del: {visible}")
        return text

    def _extract_tag(self, markup: str, pieces: list[str], tags: list[tuple[str, int]]) -> None:
        """Extract one inline HTML tag."""
        match = _TAG.match(markup)
        if match is None:
            return
        closing, name = match[1], match[2].lower()
        if name == "br":
            pieces.append(" ")
        elif name in ("img", "iframe", "video", "audio"):
            part, _ = extract_fragment_items(markup, self.base)
            self.items.merge(part)
        elif not closing:
            tags.append((name, len(pieces)))
            if name == "a" and (href := re.search(r'href="([^"]*)"', markup)):
                self.items.hrefs.append(href[1])
        elif (start := next((at for tag, at in reversed(tags) if tag == name), None)) is not None:
            text = normalize_text("".join(pieces[start:]))
            tags[:] = [tag for tag in tags if tag[1] != start or tag[0] != name]
            if name in ("strong", "em", "b", "i"):
                self.items.add("emphasis", text)
            elif name != "a":
                self.items.add("marked text", f"{name}: {text}")

    def _extract_code(self, node: SyntaxTreeNode) -> str:
        content = node.content.rstrip("\n")
        self.items.add("code blocks", content)
        title = re.search(r'title="([^"]*)"', node.info)
        language = node.info.split(" ")[0].casefold() if node.info else ""
        if language:
            self.items.add("code languages that the HTML names", f"{language}: {first_words(content)}")
        return f"{title[1] if title else ''} {content}"

    def _extract_table(self, node: SyntaxTreeNode) -> str:
        rows = []
        for row in (child for part in node.children for child in part.children):
            cells = [
                normalize_text(" ".join(self.extract_block(child) for child in cell.children)) for cell in row.children
            ]
            for cell, text in zip(row.children, cells, strict=True):
                if cell.type == "th" and (style := str(cell.attrs.get("style", ""))):
                    self.items.add("alignments", f"{style.partition(':')[2]}: {text}")
                self.items.add("table cells", text)
            if any(cells):
                rows.append(cells)
        if rows:
            width = max(map(len, rows))
            self.items.add("tables", f"{len(rows)} rows, {width} columns: {first_words(' '.join(rows[0]))}")
        return " ".join(" ".join(row) for row in rows)

    def _extract_list(self, node: SyntaxTreeNode) -> str:
        texts = []
        for at, item in enumerate(node.children):
            direct: list[str] = []
            nested: list[str] = []
            for child in item.children:
                (nested if child.type in ("bullet_list", "ordered_list") else direct).append(self.extract_block(child))
            text = " ".join(direct)
            if box := _CHECKBOX.match(text):
                text = text[box.end() :]
                self.items.add("tasks", f"[{box[1].lower()}] {first_words(text)}")
            marker = "-" if node.type == "bullet_list" else f"{int(node.attrs.get('start', 1)) + at}."
            head, _, description = (direct[0] if direct else "").partition(" — ")
            self.items.add("parameters", format_parameter(head, " ".join([description, *direct[1:]])))
            if first_words(text):
                self.items.add("list items", f"{marker} {first_words(text)}")
            texts.append(" ".join([text, *nested]))
        return " ".join(texts)


_PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_NOTE = "\ue000"
_NOTE_LINE = re.compile(r"^([ >]{0,8})\[\^[^\]\s]+\]:[ \t]*")
_REFERENCE_OR_KIND = re.compile(r"\[\^[^\]\s]+\]|^\[!(?:" + "|".join(GFM_KINDS) + r")\]", re.IGNORECASE)
_KIND = re.compile(r"\[!(" + "|".join(GFM_KINDS) + r")\]", re.IGNORECASE)
_TAG = re.compile(r"<(/?)([A-Za-z][\w-]*)")
_CHECKBOX = re.compile(r"\[([ xX])\] ")


def _get_first_line(node: SyntaxTreeNode) -> str:
    line = next((part for part in node.walk() if part.type == "inline"), None)
    return line.content if line is not None else ""


def _get_plain_text(node: SyntaxTreeNode) -> str:
    return (
        node.content if node.type in ("text", "text_special", "code_inline") else " " if "break" in node.type else ""
    ) + "".join(_get_plain_text(child) for child in node.children)


def _links_to_llms_txt(node: SyntaxTreeNode) -> bool:
    return node.type == "link" and str(node.attrs["href"]).endswith("llms.txt")


def _find_code_lines(text: str) -> set[int]:
    numbers: set[int] = set()
    for token in _PARSER.parse(text):
        if token.type in ("fence", "code_block") and token.map:
            numbers.update(range(*token.map))
    return numbers


def _mark_footnotes(text: str) -> str:
    """Mark footnote definitions, which CommonMark parses as link definitions or plain text."""
    code = _find_code_lines(text)
    lines = text.split("\n")
    return "\n".join(line if at in code else _NOTE_LINE.sub(rf"\1{_NOTE}", line) for at, line in enumerate(lines))


def _extract_formulas(text: str, formulas: Counter[str], items: Items) -> str:
    """Count and remove the formulas of the page that occur completely between dollar signs."""
    if not formulas:
        return text
    code = _find_code_lines(text)
    # Longest first, because one formula may be part of another.
    for tex, count in sorted(formulas.items(), key=lambda item: -len(item[0])):
        body = r"[\s>]+".join(re.escape(part) for part in tex.split())
        pattern = re.compile(rf"(\$\$?)[\s>]*{body}[\s>]*\1")
        matches = [match for match in pattern.finditer(text) if text.count("\n", 0, match.start()) not in code][:count]
        for match in reversed(matches):
            items.add("formulas", tex)
            line_ends = "".join("\n" for _ in range(match[0].count("\n")))
            text = text[: match.start()] + line_ends + text[match.end() :]
    return text
