"""Checks the citations of a model's text while it arrives, and releases it to the reader paragraph by paragraph.

A paragraph is released once it or the next paragraph cites an opened section, or if it cites `[^none]` and says nothing
but that the documentation does not answer. Others are withheld. The id of an opened section that is a word of its own,
in whatever punctuation or as the address of a link, becomes `[^id]`, unless it is in code. Text that belongs together
is one paragraph: a lead-in with its list, table or code; code with the citation below it; a heading with the text below
it; and a list with blank lines between its items. Inline reasoning, and links to addresses that no opened section
contains, are removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mkdocs_roaming.answer.conversation import Conversation
from mkdocs_roaming.answer.events import CitationDropped, Event, SectionCited, TextReleased, TextWithheld
from mkdocs_roaming.answer.judge import Statement, find_statements, is_refusal, names_tool
from mkdocs_roaming.answer.links import remove_links, resolve_ids
from mkdocs_roaming.answer.models.base import NO_SOURCE
from mkdocs_roaming.answer.models.reasoning import ReasoningFilter
from mkdocs_roaming.answer.support.check import CITATION
from mkdocs_roaming.text.blocks import find_code, follow_fence, sub_outside_code

Match = re.Match[str]

# `[^07F3277D]`, and the same citation twice.
_ANY_CITATION = re.compile(r"\[\^(?P<id>[0-9a-f]{8})\]", re.IGNORECASE)
_REPEATED_CITATION = re.compile(r"(\[\^[0-9a-f]{8}\])\1+")

_MARKS = re.compile(
    r"(?P<definition>^\[\^[^\]\n]+\]:[^\n]*\n?)"
    r"|(?P<space>(?<![ \t])[ \t]*)\[\^(?P<ids>[^\]\n]{1,200})\]",
    re.MULTILINE,
)
"""Citations as models write them, with one or more ids, `[^07f3277d, 9db61152]`; and the definition of a footnote."""

_ID = r"(?<![^\W_])[0-9a-f]{8}(?![^\W_])"
_ANY_ID = re.compile(_ID, re.IGNORECASE)
_WORD_ID = rf"(?<!\w[_@])(?<![/.=-])(?<![\w/]\#)(?<![\w\]]\()(?<!\]\(\#){_ID}(?!_[^\W_]|[/=@(-]|\.\w|\](?=[(:]))"
_BRACKETED_ID = rf"(?<![/.]){_ID}(?![=(-]|/(?!>)|\.\w)"
_LABEL = r"[^\[\](){}<>【】［］〔〕\n]"
_MENTION = re.compile(
    rf"""
    (?P<marked>\[\^[^\]\n]{{1,200}}\](?!:))
    | ^\[\^?\d{{1,3}}\]:?[ \t]+\W?{_WORD_ID}.*  # what a number stands for: [1]: id
    | (?<![=/]) [\[［【〔<{{]{{1,2}} (?:{_LABEL}{{1,40}}{_BRACKETED_ID}{_LABEL}{{0,80}}|{_WORD_ID}{_LABEL}{{1,80}})
      [\]］】〕>}}]{{1,2}} (?![(:])  # in brackets with other words: 【id†lines】, [source: id, id]
    | (?<![\w\]]) [(（] (?:\w{{1,20}}[:.]?[ ]){{0,2}} {_WORD_ID}
      (?:[\s,;&+/^]{{1,3}}(?:\w{{1,5}}[ ])?{_WORD_ID}){{0,7}} [)）]  # a word or two: (see id and id)
    | (?P<before>(?:<\w{{1,20}}>|(?<![\w\]])\(|\[(?!\^)|[^\w\s/.=(\[-]|_){{0,4}})
      {_WORD_ID} (?P<after>(?:</\w{{1,20}}>|[^\w\s\[({{<【［〔]|_){{0,4}})  # by itself
    """,
    re.MULTILINE | re.IGNORECASE | re.VERBOSE,
)
"""An id that is a word of its own, with the brackets, quotation marks, tags or other punctuation that encloses it."""
_LINK_TO_SECTION = re.compile(
    rf"\[(?P<title>[^\[\]\n]{{0,200}})\]\(\#?(?P<id>{_ID})(?:[ \t]+\"[^\"\n]*\")?\)", re.IGNORECASE
)
"""A link that leads to a section: `[Server](07f3277d)`."""

_PAIR = re.compile(r"([^\w\s|])\1|[(\[{<（［【〔「『《〈⟦‹«»›“”„‘’‚][)\]}>）］】〕」』》〉⟧›»«‹”“’‘]")
"""Two signs that enclose an id: `(` and `)`, `**` and `**`."""

_MARK_OF_ID = re.compile(r"[\\^#§:]|</?\w+>")
"""What models write before or after an id: `#07f3277d`, `<b>07f3277d</b>`."""

_CODED = re.compile(rf"[^\w\n]*(?P<id>{_ID})[^\w\n]*", re.IGNORECASE)
"""A citation in code, as models copy it from the rules: `` `[^07f3277d]` ``."""

# These see a piece of a paragraph: no parser reads Markdown that is still incomplete.
_BLANK_LINES = re.compile(r"(?:[ \t]*+\n)+")
_LIST_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s")  # `- `, `12. `
_HEADING = re.compile(r"\A\s{0,3}#{1,6}\s[^\n]*\Z")  # `## Ports` and no other line
_CONTAINERS = re.compile(r"\A(?:[ \t]|(?:[-*+]|\d{1,9}[.)])[ \t])+")  # what is before a fence in a list: `- `
_FENCES = ("```", "~~~")
_LOOKAHEAD_CHARS = 5
_MAX_MARKER_CHARS = 16
_MAX_PASSES = 8


class AnswerText:
    """The text of one answer: paragraphs are held back until a citation supports them.

    Attributes:
        released: The paragraphs that the reader has.
        withheld: The paragraphs without a valid citation, known at the end.
        dropped: The removed citations, as the model wrote them.
        statements: The statements of the released paragraphs.
        removed_links: Number of links and images that were removed.
        buffer: The text whose paragraph has not ended.
    """

    def __init__(self, conversation: Conversation) -> None:
        """Start an answer in a conversation, which knows the sections that may be cited."""
        self.released: list[str] = []
        self.withheld: list[str] = []
        self.dropped: list[str] = []
        self.statements: list[Statement] = []
        self.removed_links = 0
        self._conversation = conversation
        self._cited: set[str] = set()
        self.discard()

    def discard(self, reasoning: ReasoningFilter | None = None) -> None:
        """Discard the text that is not released: the model called tools, so this was not the answer.

        Args:
            reasoning: The filter of the reply, if the reply continues.
        """
        self._reasoning = reasoning or ReasoningFilter()
        self.buffer = ""  # begins with a paragraph, and may end within one
        self._read = 0  # the part of the buffer in which no paragraph ends
        self._fence = ""  # of the code at its end
        self._has_item = False  # whether it contains a list
        self._uncited = ""  # the last paragraph, if it has no citation
        self._held_back: list[str] = []
        self._is_unfounded = False  # whether it cites sections that were not opened, since the last released paragraph

    @property
    def markdown(self) -> str:
        """The Markdown that the reader has."""
        return "\n\n".join(self.released)

    def feed(self, text: str) -> Iterator[Event]:
        """Add text of the model; yield the events of the paragraphs that it completes."""
        text = self._reasoning.feed(text)
        if self._reasoning.hides_earlier_text:
            self.discard(self._reasoning)
        body = self.buffer.removesuffix("\r")
        piece = (self.buffer[len(body) :] + text).replace("\r\n", "\n")
        whole = piece.removesuffix("\r")  # the next piece may begin with its line feed
        self.buffer = body + whole.replace("\r", "\n") + piece[len(whole) :]
        yield from self._process_buffer(is_end=False)

    def cite(self, id_: str) -> None:
        """Add a native citation for the text so far."""
        if self._reasoning.is_inside:
            return
        body = self.buffer.rstrip()
        gap = self.buffer[len(body) :]
        self._read = min(self._read, len(body))
        after_block = body.rpartition("\n")[2].lstrip().startswith(("|", *_FENCES))
        self.buffer = body + ("\n\n" if after_block else "") + f"[^{id_}]" + gap

    def end(self, *, is_refusal: bool = False) -> Iterator[Event]:
        """End the answer; yield the events of the rest, the withheld paragraphs last.

        Args:
            is_refusal: Whether the text is a refusal: without any citation, its first paragraph is released.
        """
        self.buffer = (self.buffer + self._reasoning.end()).replace("\r", "\n")
        yield from self._process_buffer(is_end=True)
        self.withheld = [text for text in (*self._held_back, self._uncited) if text]
        if is_refusal and self.withheld and not self.released:
            yield from self.release(self.withheld.pop(0))
        yield from (TextWithheld(len(text)) for text in self.withheld)

    def _process_buffer(self, *, is_end: bool) -> Iterator[Event]:
        while (end := self.buffer.find("\n", self._read)) >= 0:  # each line is read once: time is linear
            line = self.buffer[self._read : end]
            if line.strip(" \t"):
                inner = line.lstrip(" \t") if self._fence else _CONTAINERS.sub("", line)
                self._fence = follow_fence(inner, self._fence)
                self._has_item = self._has_item or _LIST_ITEM.match(line.lstrip()) is not None
                self._read = end + 1
                continue
            blank = _BLANK_LINES.match(self.buffer, self._read)
            end = blank.end() if blank else end
            after = self.buffer[end : end + _MAX_MARKER_CHARS]
            if not is_end and len(after) < _LOOKAHEAD_CHARS and "\n" not in after:
                return  # too little to see whether it continues the paragraph
            before = "" if self._fence else self.buffer[: max(0, self._read - 1)]
            self._read = end
            is_lead = before.rstrip().endswith(":") or _HEADING.match(before)
            is_in_list = self._has_item and (after[:1] in " \t" or _LIST_ITEM.match(after))
            continues = is_lead or is_in_list or after.startswith((*_FENCES, "[^"))
            if before.strip() and not continues:
                self.buffer = self.buffer[end:]
                self._read = 0
                self._has_item = False
                yield from self._process_paragraph(before)
        if is_end:
            yield from self._process_paragraph(self.buffer)
            self.buffer = ""
            self._read = 0

    def _process_paragraph(self, paragraph: str) -> Iterator[Event]:
        if not names_tool(paragraph):  # such as a call that is written as text
            paragraph = self._respell(paragraph)
        text, cited, dropped, is_gap = self._clean(paragraph)
        self.dropped += dropped
        yield from map(CitationDropped, dropped)
        if not any(map(str.isalnum, CITATION.sub("", text))):  # only citations
            if not (self._uncited and (cited or is_gap)):
                return
            text = f"{self._uncited} {text}".rstrip()
            self._uncited = ""
        statements = list(find_statements(f"{self._uncited} {paragraph}"))
        if cited:
            text = "\n\n".join(filter(None, [self._uncited, text]))
            self._uncited = ""
            self._is_unfounded = False
        else:
            self._held_back.append(self._uncited)
            self._uncited = ""
            self._is_unfounded = self._is_unfounded or not is_refusal(statements)
            if self._is_unfounded or not (is_gap and statements):
                self._uncited = text
                return
        self.statements += statements
        yield from self.release(text, *cited)

    def release(self, text: str, *cited: str) -> Iterator[Event]:
        """Release a text with its citations; yield the events."""
        yield TextReleased(f"\n\n{text}" if self.released else text)
        self.released.append(text)
        if cited:
            self._conversation.mark_cited(cited)
        for id_ in cited:
            if id_ not in self._cited:
                self._cited.add(id_)
                yield SectionCited(self._conversation.make_reference(id_))

    def _respell(self, paragraph: str) -> str:
        """Return the paragraph with `[^id]` for each id of an opened section that is a word of its own."""
        resolve = self._conversation.resolve_citation

        def replace_mention(match: Match) -> str:
            marks = "".join(f"[^{id_}]" for id_ in _ANY_ID.findall(match[0]) if resolve(id_))
            if match["marked"] or not marks:
                return match[0]
            before = _MARK_OF_ID.sub("", match["before"] or "")
            after = _MARK_OF_ID.sub("", match["after"] or "")
            while before and after and _PAIR.fullmatch(before[-1] + after[0]):
                before = before[:-1]
                after = after[1:]
            return before + marks + after

        def replace_link(match: Match) -> str:
            mark = f"[^{match['id']}]"
            if not resolve(match["id"]):
                return match[0]
            if match["id"] in match["title"]:
                return mark
            return match[0] if is_cited else match[0] + mark

        for start, end in reversed(find_code(paragraph)):
            coded = _CODED.fullmatch(paragraph[start:end].strip("`"))
            if coded and resolve(coded["id"]):
                paragraph = paragraph[:start] + coded[0] + paragraph[end:]
        paragraph = sub_outside_code(_MENTION, replace_mention, paragraph)
        marked = (match[0] for match in _ANY_ID.finditer(paragraph) if paragraph[: match.start()].endswith("[^"))
        is_cited = any(map(resolve, marked))
        return sub_outside_code(_LINK_TO_SECTION, replace_link, paragraph)

    def _clean(self, paragraph: str) -> tuple[str, list[str], list[str], bool]:
        """Return the paragraph with valid citations only, their ids, the removed ones, and whether it has `[^none]`."""
        resolve = self._conversation.resolve_citation
        is_gap = False
        cited: list[str] = []
        dropped: list[str] = []

        def replace_mark(match: Match) -> str:
            nonlocal is_gap
            if match["definition"] is not None:
                return ""
            valid: list[str] = []
            for name in match["ids"].replace(",", " ").replace(";", " ").replace("^", " ").split():
                if name.lower() == NO_SOURCE:
                    is_gap = True
                elif (id_ := resolve(name)) is None:
                    dropped.append(name)
                elif id_ not in valid:
                    valid.append(id_)
            cited.extend(valid)
            marks = "".join(f"[^{id_}]" for id_ in valid)
            return match["space"] + marks if marks else ""

        def drop_invalid(match: Match) -> str:
            if resolve(match["id"]):
                return match[0]
            dropped.append(match["id"])
            return ""

        # Clients find citations without parsing code: invalid ones are removed there, too. What is removed may leave
        # another citation or link, so this is repeated until nothing changes.
        text = resolve_ids(sub_outside_code(_MARKS, replace_mark, paragraph), self._conversation.find_url)
        before = ""
        for _ in range(_MAX_PASSES):
            if text == before:
                break
            before = text
            text, removed = remove_links(_ANY_CITATION.sub(drop_invalid, text), self._conversation.knows_address)
            self.removed_links += removed
        else:
            text = text.replace("[^", "")
        cited = [id_ for id_ in cited if f"[^{id_}]" in text]  # others were part of a removed link
        return _REPEATED_CITATION.sub(r"\1", text).strip("\n").rstrip(), cited, dropped, is_gap
