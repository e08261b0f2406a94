"""Reasoning in the text of a reply, which servers without a parser for the model's template send along."""

from __future__ import annotations

import re

from mkdocs_roaming.text.markdown import follow_fence

_REASONING_TAG = re.compile(r"<(?P<closes>/?)\s*think(?:ing)?(?:\s[^<>]*)?>", re.IGNORECASE)
_PARTIAL_TAG = re.compile(r"<(?:/?\s*(?:t[a-z]{0,7}|think(?:ing)?\s[^<>]*)?)?\Z", re.IGNORECASE)
_UNFINISHED_TAG = re.compile(r"</?\s*think", re.IGNORECASE)


class ReasoningFilter:
    """Removes inline reasoning, `<think>…</think>`, from text that arrives in pieces.

    Tags in code are text. Reasoning that is not closed ends with the reply. The templates of some models contain the
    opening tag, so that the reply begins with reasoning and only the closing tag is seen.

    Attributes:
        is_inside: Whether the text is in reasoning now.
        hides_earlier_text: Whether the last piece closed reasoning that was never opened: all text before is reasoning.
    """

    def __init__(self) -> None:
        """Start before the first piece."""
        self.is_inside = self.hides_earlier_text = False
        self._line = ""  # what was returned of the current line
        self._fence = ""
        self._pending = ""  # may be the start of a tag

    def feed(self, piece: str) -> str:
        """Add a piece; return the text that is known not to be reasoning."""
        self.hides_earlier_text = False
        text, visible = self._pending + piece, ""
        self._pending = ""
        while text:
            tag = _REASONING_TAG.search(text)
            start = tag or _PARTIAL_TAG.search(text)  # at the end of the text: searched once
            before = text[: start.start() if start else len(text)]
            if not self.is_inside:
                visible += before
                self._follow_code(before)
            if tag is None:
                self._pending = text[len(before) :]
                break
            text = text[tag.end() :]
            if self._fence or self._line.endswith("`"):
                visible += tag[0]
                self._follow_code(tag[0])
            elif tag["closes"] and not self.is_inside:
                self.hides_earlier_text, visible = True, ""
            else:
                self.is_inside = not tag["closes"]
        return visible

    def end(self) -> str:
        """End the text; return the rest."""
        pending, self._pending = self._pending, ""
        return "" if self.is_inside or _UNFINISHED_TAG.match(pending) else pending

    def _follow_code(self, text: str) -> None:
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            self._fence = follow_fence(line, self._fence)


def remove_reasoning(text: str) -> str:
    """Return a whole text without its reasoning."""
    reasoning = ReasoningFilter()
    return reasoning.feed(text) + reasoning.end()
