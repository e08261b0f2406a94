"""Reasoning in the text of a reply, which servers without a parser for the model's template send along."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mkdocs_roaming.text.blocks import follow_fence

_MARK = re.compile(
    r"[<◁\[](?P<closes>/?)\s*(?:\w+:)?(?:(?<!\[)(?:think(?:ing)?|thoughts?|reasoning)|(?-i:THINK))(?:\s[^<>]*)?[>▷\]]"
    r"|<[|｜](?P<token>[^|｜<>\s]+)[|｜]>"
    r"|assistant(?P<channel>final|analysis|commentary)",  # of the token's text, if a server removes the tokens alone
    re.IGNORECASE,
)
"""A mark of reasoning: `<think>`, `[/THINK]`, `<|channel|>`."""

_WORD_STARTS = "|".join("assistant"[:length] for length in range(9, 0, -1))
_PARTIAL_MARK = re.compile(rf"(?:[<◁\[][^<>◁▷\[\]\n]{{0,80}}|assistant[a-z]{{0,10}}|{_WORD_STARTS})\Z", re.IGNORECASE)
"""The start of a mark at the end of a piece: `<thi`."""

_UNFINISHED_MARK = re.compile(r"[<◁]/?\s*think|<[|｜]", re.IGNORECASE)
"""What is no text at the end of a reply: `</think`, `<|`."""

_END_TOKENS = ("im_end", "end", "eom", "eos", "eot", "return", "call")
_HEADER_TOKENS = ("start", "channel")
_ANSWER_HEADERS: tuple[list[str], ...] = ([], ["assistant"])


@dataclass(slots=True)
class ReasoningFilter:
    """Removes reasoning from text that arrives in pieces: `<think>…</think>`, and the channels of the harmony format.

    Marks in code are text. Reasoning that is not closed ends with the reply. The templates of some models contain the
    opening mark, so that the reply begins with reasoning and only the closing mark is seen.

    Attributes:
        is_inside: Whether the text is in reasoning now.
        hides_earlier_text: Whether the last piece closed reasoning that was never opened: all text before is reasoning.
    """

    is_inside: bool = False
    hides_earlier_text: bool = False
    _line: str = ""  # what was returned of the current line
    _fence: str = ""
    _pending: str = ""  # may be the start of a mark
    _header: str = ""  # of a message: its role and channel

    def feed(self, piece: str) -> str:
        """Add a piece; return the text that is known not to be reasoning."""
        self.hides_earlier_text = False
        text = self._pending + piece
        visible = ""
        self._pending = ""
        while text:
            mark = _MARK.search(text)
            start = mark or _PARTIAL_MARK.search(text)  # at the end of the text: searched once
            before = text[: start.start() if start else len(text)]
            if self.is_inside:
                self._header += before
            else:
                visible += before
                self._follow_code(before)
            if mark is None:
                self._pending = text[len(before) :]
                break
            text = text[mark.end() :]
            if self._fence or self._line.endswith("`"):
                visible += mark[0]
                self._follow_code(mark[0])
            elif self._reveals(mark):
                self.hides_earlier_text = True
                visible = ""
        return visible

    def end(self) -> str:
        """End the text; return the rest."""
        pending = self._pending
        self._pending = ""
        return "" if self.is_inside or _UNFINISHED_MARK.match(pending) else pending

    def _reveals(self, mark: re.Match[str]) -> bool:
        """Follow a mark; return whether the answer begins after it, so that all text before was reasoning."""
        was_inside = self.is_inside
        token = (mark["token"] or "").lower()
        if mark["channel"]:
            self.is_inside = mark["channel"].lower() != "final"
            return not self.is_inside
        if token == "message":
            header = self._header.lower().split()
            self.is_inside = header not in _ANSWER_HEADERS and "final" not in header
            return not self.is_inside
        if token in _HEADER_TOKENS:
            self.is_inside = True
            self._header = ""
        elif token and "think" not in token and "thought" not in token:
            self.is_inside = was_inside or token.startswith(_END_TOKENS)
        else:
            closes = bool(mark["closes"]) or token.startswith("end")
            self.is_inside = not closes
            return closes and not was_inside
        return False

    def _follow_code(self, text: str) -> None:
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            self._fence = follow_fence(line, self._fence)


def remove_reasoning(text: str) -> str:
    """Return a whole text without its reasoning."""
    reasoning = ReasoningFilter()
    return reasoning.feed(text) + reasoning.end()
