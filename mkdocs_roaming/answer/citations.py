"""Holds a model's text back, paragraph by paragraph, until a valid citation covers it.

A paragraph is released once it or the next one cites a section that was opened; others stay here. What belongs
together is one paragraph: a lead-in with the list, table or code it leads to, code with the citation below it, a
heading with what it heads, a list with blank lines between its items.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mkdocs_roaming.answer.conversation import Conversation
from mkdocs_roaming.answer.events import CitationDropped, Event, SectionCited, TextReleased, TextWithheld
from mkdocs_roaming.answer.models.base import NO_SOURCE


@dataclass(frozen=True, slots=True)
class Released:
    """Text for the reader, and the ids of the sections that it cites, in order."""

    text: str
    cited: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dropped:
    """A citation that was removed."""

    id: str


@dataclass(frozen=True, slots=True)
class Withheld:
    """A paragraph that nothing covers."""

    text: str


GateResult = Released | Dropped | Withheld


class CitationGate:
    """The text of one answer. `resolve` gives the id of a section that may be cited, None for any other."""

    def __init__(self, resolve: Callable[[str], str | None]) -> None:
        self.gap = False
        """Whether the model cited `[^none]`: the docs do not say all that was asked."""
        self.released = False
        """Whether anything reached the reader."""
        self._resolve = resolve
        self._waiting = ""  # not yet known to be whole paragraphs
        self._held = ""  # the last whole paragraph, if it had no citation
        self._withheld: list[Withheld] = []

    def feed(self, text: str) -> Iterator[GateResult]:
        """Take more text; give what comes of it."""
        self._waiting = _ONE_END.sub("\n", self._waiting + text)
        yield from self._take(last=False)

    def cite(self, id_: str) -> None:
        """Cite a section for the text so far, as a model with native citations does."""
        body = self._waiting.rstrip()
        gap = self._waiting[len(body) :]
        behind_block = _FENCE_END.search(body) or body.rpartition("\n")[2].lstrip().startswith("|")
        self._waiting = body + ("\n\n" if behind_block else "") + f"[^{id_}]" + gap

    def end(self) -> Iterator[GateResult]:
        """End the answer: what is still unfinished is all there will be. Tells last what was withheld."""
        self._waiting = self._waiting.replace("\r", "\n")
        yield from self._take(last=True)
        self._withhold()
        yield from self._withheld
        self._waiting, self._withheld = "", []

    def discard(self) -> None:
        """Forget what is not released: the model went on to open more sections, it was thinking aloud."""
        self._waiting = self._held = ""
        self._withheld, self.gap = [], False

    def _take(self, *, last: bool) -> Iterator[GateResult]:
        *whole, self._waiting = _paragraphs(self._waiting, last=last)
        if last:
            whole.append(self._waiting)
        for paragraph in whole:
            yield from self._paragraph(paragraph)

    def _paragraph(self, paragraph: str) -> Iterator[GateResult]:
        text, cited, dropped = self._cleaned(paragraph)
        yield from map(Dropped, dropped)
        if not _WORD.search(_CITATION.sub("", text)):
            if not (cited and self._held):
                return  # nothing but what was removed
            text, self._held = f"{self._held} {text}", ""
        if not cited:
            self._withhold()
            self._held = text
            return
        pieces = [piece for piece in (self._held, text) if piece]
        self._held = ""
        yield Released(("\n\n" if self.released else "") + "\n\n".join(pieces), tuple(dict.fromkeys(cited)))
        self.released = True

    def _withhold(self) -> None:
        if self._held:
            self._withheld.append(Withheld(self._held))
        self._held = ""

    def _cleaned(self, paragraph: str) -> tuple[str, list[str], list[str]]:
        """Give the paragraph with its valid citations alone, in their one form; code is left as it stands otherwise."""
        cited: list[str] = []
        dropped: list[str] = []

        def replace(match: re.Match[str]) -> str:
            if match["definition"] is not None:
                return ""
            if match["code"] is not None:
                return match["code"]
            if match["bare"] is not None:
                found = self._resolve(match["bare"])
                names = [match["bare"]] if found else []
                if not found:
                    return match[0]
            else:
                names = [name.lstrip("^") for name in re.split(r"[\s,;]+", match["ids"]) if name.strip("^")]
            kept: list[str] = []
            for name in names:
                if name.lower() == NO_SOURCE:
                    self.gap = True
                elif (found := self._resolve(name)) is None:
                    dropped.append(name)
                elif found not in kept:
                    kept.append(found)
            cited.extend(kept)
            return (match["space"] or "" if kept else "") + "".join(f"[^{id_}]" for id_ in kept)

        def refuse(match: re.Match[str]) -> str:
            if self._resolve(match["id"]) is not None:
                return match[0]
            dropped.append(match["id"])
            return ""

        text, before = _MARKS.sub(replace, paragraph), ""
        while text != before:  # whoever shows it knows nothing of code, and what is taken out may leave a mark behind
            text, before = _ANY_CITATION.sub(refuse, text), text
        return _REPEATED.sub(r"\1", text).strip("\n").rstrip(), cited, dropped


_WORD = re.compile(r"\w")


_CITATION = re.compile(r"\[\^[0-9a-f]{8}\]")


_ANY_CITATION = re.compile(r"\[\^(?P<id>[0-9a-f]{8})\]", re.IGNORECASE)


_ONE_END = re.compile(r"\r\n|\r(?!\Z)")


_REPEATED = re.compile(r"(\[\^[0-9a-f]{8}\])\1+")


_FENCE = re.compile(r"^ {0,3}(?P<mark>`{3,}(?![^\n]*`)|~{3,})(?P<info>[^\n]*)", re.MULTILINE)


_FENCE_END = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*$(?![\s\S])", re.MULTILINE)


_MARKS = re.compile(
    r"(?P<code>^ {0,3}(?P<fence>`{3,}(?![^\n]*`)|~{3,})[\s\S]*?(?:^ {0,3}(?P=fence)[`~]*[ \t]*$|\Z)"
    r"|(?P<tick>`+)(?!`)[\s\S]*?(?<!`)(?P=tick)(?!`))"
    r"|(?P<definition>^\[\^[^\]\n]+\]:[^\n]*\n?)"
    r"|(?P<space>[ \t]*)(?:\[\^(?P<ids>[^\]\n]{1,200})\]|\[(?P<bare>[0-9a-fA-F]{8})\](?![(\[:]))",
    re.MULTILINE,
)


_BLANK = re.compile(r"\n(?:[ \t]*\n)+")


_JOINED_NEXT = re.compile(r"```|~~~|\[\^")


_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s")


_HEADING = re.compile(r"\A\s{0,3}#{1,6}\s[^\n]*\Z")


def _paragraphs(text: str, *, last: bool) -> list[str]:
    """Cut text into paragraphs; unless this is all, the last one may still grow."""
    cut: list[str] = []
    start = 0
    for blank in _BLANK.finditer(text):
        before, behind = text[start : blank.start()], text[blank.end() :]
        if not last and len(behind) < _TELLING and "\n" not in behind:
            break  # too little to see whether it belongs to what stands before
        if before.strip() and not _in_fence(before) and not _belongs(before, behind):
            cut.append(before)
            start = blank.end()
    return [*cut, text[start:]]


_TELLING = 5


def _belongs(before: str, behind: str) -> bool:
    """Tell whether two pieces are one paragraph in spite of the blank line between them."""
    listed = any(_ITEM.match(line.lstrip()) for line in before.split("\n"))
    return (
        before.rstrip().endswith(":")
        or _JOINED_NEXT.match(behind) is not None
        or _HEADING.match(before) is not None
        or (listed and (behind[:1] in " \t" or _ITEM.match(behind) is not None))
    )


def _in_fence(text: str) -> bool:
    """Tell whether text ends inside a fenced block."""
    opened = ""
    for match in _FENCE.finditer(text):
        mark = match["mark"]
        if not opened:
            opened = mark
        elif mark[0] == opened[0] and len(mark) >= len(opened) and not match["info"].strip():
            opened = ""
    return bool(opened)


# MERGED mkdocs_roaming.answer.telling:
# What readers are told of a model's text: what was released, cited, dropped and withheld, as events and as
# counts.


class AnswerText:
    """The text of one answer as it reaches its reader."""

    def __init__(self, conversation: Conversation) -> None:
        self.dropped = self.withheld = 0
        self.cited: dict[str, None] = {}
        self._conversation = conversation
        self._release = CitationGate(conversation.citable)
        self._text: list[str] = []

    @property
    def text(self) -> str:
        """What the reader has."""
        return "".join(self._text)

    @property
    def gap(self) -> bool:
        """Whether the docs do not say all that was asked, or something could not be shown."""
        return self._release.gap or self.withheld > 0

    def feed(self, text: str) -> Iterator[Event]:
        """Take more of the model's text."""
        yield from self._tell(self._release.feed(text))

    def cite(self, id_: str) -> None:
        """Take a native citation."""
        self._release.cite(id_)

    def discard(self) -> None:
        """Forget what was not released: the model goes on to open more."""
        self._release.discard()

    def end(self) -> Iterator[Event]:
        """End the text: what is not covered by now is withheld."""
        yield from self._tell(self._release.end())

    def _tell(self, outcomes: Iterator[GateResult]) -> Iterator[Event]:
        for outcome in outcomes:
            if isinstance(outcome, Dropped):
                self.dropped += 1
                yield CitationDropped(outcome.id)
            elif isinstance(outcome, Released):
                self._text.append(outcome.text)
                yield TextReleased(outcome.text)
                self._conversation.cite(outcome.cited)
                for id_ in outcome.cited:
                    if id_ not in self.cited:
                        self.cited[id_] = None
                        yield SectionCited(self._conversation.reference(id_))
            else:
                self.withheld += 1
                yield TextWithheld(len(outcome.text))
