"""A page's Markdown, read as CommonMark with GFM's tables and strikethrough, and with footnotes: the items in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from reading.items import GFM_KINDS, Items, beginning, clean, words
from reading.page import address, read_part


def read_markdown(text: str, base: str, formulas: Counter[str]) -> Items:
    """Give the items of a page's Markdown.

    `formulas` are those of the page: CommonMark knows no math, so each is looked for as it stands, between dollars.
    """
    text = _FRONT_MATTER.sub("", text.replace("\r\n", "\n"))
    items = Items()
    text = _with_notes_marked(_without_formulas(text, formulas, items))
    root = SyntaxTreeNode(_PARSER.parse(text))
    blocks = list(root.children)
    # The line that points agents to llms.txt is for them; it says nothing of the page.
    if blocks and blocks[0].type == "blockquote" and any(_leads_to_llms(node) for node in blocks[0].walk()):
        blocks = blocks[1:]
    reader = _Reader(items, base)
    for word in words(" ".join(reader.block(block) for block in blocks)):
        items.add("words", word)
    return items


class _Reader:
    """Gives the text of what it reads, and counts the items in it."""

    def __init__(self, items: Items, base: str) -> None:
        self.items = items
        self.base = base

    def block(self, node: SyntaxTreeNode) -> str:
        items = self.items
        if node.type in ("fence", "code_block"):
            return self._code(node)
        if node.type == "html_block":
            part, text = read_part(node.content, self.base)
            part.of["words"].clear()  # counted with the text around
            items.join(part)
            return text
        if node.type == "inline":
            return self.line(node.children)
        if node.type == "table":
            return self._table(node)
        if node.type in ("bullet_list", "ordered_list"):
            return self._list(node)
        text = clean(" ".join(self.block(child) for child in node.children))
        if node.type == "heading":
            items.heading(int(node.tag[1]), text)
            items.add("tab labels", text)
            items.add("terms", text)
        elif node.type == "paragraph":
            items.add("tab labels", text)
            items.add("terms", text)
            if text.startswith(_NOTE):
                items.add("footnotes", beginning(text))
        elif node.type == "blockquote" and (mark := _KIND.match(_first_line(node))):
            # Its title may be the mark itself: `[!NOTE]` is drawn as "Note". Such a title is no word of the text.
            items.add("admonitions", beginning(text))
            items.add("admonitions", beginning(f"{mark[1]} {text}"))
            title = next((clean(_plain(part)) for part in node.walk() if part.type == "strong"), "")
            if title.casefold() in GFM_KINDS and text.startswith(title):
                text = text[len(title) :]
        return text

    def line(self, nodes: Iterable[SyntaxTreeNode]) -> str:
        pieces: list[str] = []
        tags: list[tuple[str, int]] = []
        for node in nodes:
            if node.type == "html_inline":
                self._tag(node.content, pieces, tags)
            elif node.type == "code_inline":
                self.items.add("code spans", clean(node.content))
                pieces.append(node.content)
            elif node.type in ("softbreak", "hardbreak"):
                pieces.append(" ")
            elif node.type == "image":
                alt = clean("".join(_plain(child) for child in node.children))
                self.items.add("images", f"{alt} <{address(self.base, str(node.attrs['src']))}>")
            elif node.type == "text":
                pieces.append(_MARK.sub("", node.content))
            elif node.type == "text_special":  # escaped: no mark of anything
                pieces.append(node.content)
            else:
                pieces.append(self._styled(node))
        return "".join(pieces)

    def _styled(self, node: SyntaxTreeNode) -> str:
        text = self.line(node.children)
        seen = clean(text)
        if node.type == "link":
            href = str(node.attrs["href"])
            self.items.hrefs.append(href)
            self.items.add("media", address(self.base, href))
        elif node.type in ("strong", "em"):
            self.items.add("emphasis", seen)
            self.items.add("terms", seen)
        elif node.type == "s":
            self.items.add("marked text", f"del: {seen}")
        return text

    def _tag(self, markup: str, pieces: list[str], tags: list[tuple[str, int]]) -> None:
        """Read one tag within a line."""
        match = _TAG.match(markup)
        if match is None:
            return
        closing, name = match[1], match[2].lower()
        if name == "br":
            pieces.append(" ")
        elif name in ("img", "iframe", "video", "audio"):
            part, _ = read_part(markup, self.base)
            self.items.join(part)
        elif not closing:
            tags.append((name, len(pieces)))
            if name == "a" and (href := re.search(r'href="([^"]*)"', markup)):
                self.items.hrefs.append(href[1])
        elif (start := next((at for tag, at in reversed(tags) if tag == name), None)) is not None:
            text = clean("".join(pieces[start:]))
            tags[:] = [tag for tag in tags if tag[1] != start or tag[0] != name]
            if name in ("strong", "em", "b", "i"):
                self.items.add("emphasis", text)
            elif name != "a":
                self.items.add("marked text", f"{name}: {text}")

    def _code(self, node: SyntaxTreeNode) -> str:
        content = node.content.rstrip("\n")
        self.items.add("code blocks", content)
        title = re.search(r'title="([^"]*)"', node.info)
        language = node.info.split(" ")[0].casefold() if node.info else ""
        if language:
            self.items.add("languages", f"{language}: {beginning(content)}")
        return f"{title[1] if title else ''} {content}"

    def _table(self, node: SyntaxTreeNode) -> str:
        rows = []
        for row in (child for part in node.children for child in part.children):
            cells = [clean(" ".join(self.block(child) for child in cell.children)) for cell in row.children]
            for cell, text in zip(row.children, cells, strict=True):
                if cell.type == "th" and (style := str(cell.attrs.get("style", ""))):
                    self.items.add("alignments", f"{style.partition(':')[2]}: {text}")
                self.items.add("cells", text)
            if any(cells):
                rows.append(cells)
        if rows:
            width = max(map(len, rows))
            self.items.add("tables", f"{len(rows)} rows, {width} columns: {beginning(' '.join(rows[0]))}")
        return " ".join(" ".join(row) for row in rows)

    def _list(self, node: SyntaxTreeNode) -> str:
        whole = []
        for at, item in enumerate(node.children):
            own: list[str] = []
            nested: list[str] = []
            for child in item.children:
                (nested if child.type in ("bullet_list", "ordered_list") else own).append(self.block(child))
            text = " ".join(own)
            if box := _BOX.match(text):
                text = text[box.end() :]
                self.items.add("tasks", f"[{box[1].lower()}] {beginning(text)}")
            sign = "-" if node.type == "bullet_list" else f"{int(node.attrs.get('start', 1)) + at}."
            if beginning(text):
                self.items.add("list items", f"{sign} {beginning(text)}")
            whole.append(" ".join([text, *nested]))
        return " ".join(whole)


_PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_NOTE = "\ue000"
_NOTE_LINE = re.compile(r"^([ >]{0,8})\[\^[^\]\s]+\]:[ \t]*")
_MARK = re.compile(r"\[\^[^\]\s]+\]|^\[!(?:" + "|".join(GFM_KINDS) + r")\]", re.IGNORECASE)
_KIND = re.compile(r"\[!(" + "|".join(GFM_KINDS) + r")\]", re.IGNORECASE)
_TAG = re.compile(r"<(/?)([A-Za-z][\w-]*)")
_BOX = re.compile(r"\[([ xX])\] ")


def _first_line(node: SyntaxTreeNode) -> str:
    line = next((part for part in node.walk() if part.type == "inline"), None)
    return line.content if line is not None else ""


def _plain(node: SyntaxTreeNode) -> str:
    return (
        node.content if node.type in ("text", "text_special", "code_inline") else " " if "break" in node.type else ""
    ) + "".join(_plain(child) for child in node.children)


def _leads_to_llms(node: SyntaxTreeNode) -> bool:
    return node.type == "link" and str(node.attrs["href"]).endswith("llms.txt")


def _code_lines(text: str) -> set[int]:
    found: set[int] = set()
    for token in _PARSER.parse(text):
        if token.type in ("fence", "code_block") and token.map:
            found.update(range(*token.map))
    return found


def _with_notes_marked(text: str) -> str:
    """Mark definitions of footnotes, which CommonMark takes for link definitions or plain text."""
    code = _code_lines(text)
    lines = text.split("\n")
    return "\n".join(line if at in code else _NOTE_LINE.sub(rf"\1{_NOTE}", line) for at, line in enumerate(lines))


def _without_formulas(text: str, formulas: Counter[str], items: Items) -> str:
    """Take the formulas of the page out, where they stand whole and between dollars."""
    if not formulas:
        return text
    code = _code_lines(text)
    # The longest first: one formula may be part of another.
    for tex, count in sorted(formulas.items(), key=lambda item: -len(item[0])):
        wanted = r"[\s>]+".join(re.escape(part) for part in tex.split())
        pattern = re.compile(rf"(\$\$?)[\s>]*{wanted}[\s>]*\1")
        found = [match for match in pattern.finditer(text) if text.count("\n", 0, match.start()) not in code][:count]
        for match in reversed(found):
            items.add("math", tex)
            gap = "".join("\n" for _ in range(match[0].count("\n")))
            text = text[: match.start()] + gap + text[match.end() :]
    return text
