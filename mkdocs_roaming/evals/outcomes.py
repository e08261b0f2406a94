"""What comes of one question put to one navigator, and what counts as right."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mkdocs_roaming.answer.events import (
    Answer,
    Event,
    Reference,
    SectionOpened,
    SiteRead,
    State,
    ToolCalled,
    summarise,
)
from mkdocs_roaming.answer.models import UNUSED, Usage
from mkdocs_roaming.evals.questions import Question
from mkdocs_roaming.roam.rules import CALL as PINNED
from mkdocs_roaming.words import fold

FIRST = 10
"""Search counts as having reached a section that is among its first ten: what one call of a tool can show."""


@dataclass(frozen=True, slots=True)
class Step:
    """A section on the trail: in which tool call it was opened (0: before the first), or its rank in a search."""

    section: Reference
    at: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a question. `rank` is where search ranks the first gold section, None where it is not found.

    `reached` tells whether a gold section was opened, `calls` in which tool call. `state` is empty where no answer was
    looked for; `missing` are the literals that the answer lacks, None where none were to be looked for.
    """

    ask: str
    rank: int | None = None
    reached: bool = False
    calls: int | None = None
    trail: tuple[Step, ...] = ()
    state: State | None = None
    text: str = ""
    missing: tuple[str, ...] | None = None
    cited: tuple[Reference, ...] = ()
    gold_cited: bool = False
    whole_site: bool = False
    tokens_read: int = 0
    usage: Usage = UNUSED
    cost: float | None = None
    currency: str = ""
    error: str = ""
    seconds: float = 0.0

    @property
    def declined(self) -> bool:
        """Whether it was said that the docs do not answer, or nothing."""
        return self.state is not None and self.state != "error" and not self.text

    @property
    def answered(self) -> bool:
        """Whether readers got an answer, whatever it is worth."""
        return bool(self.text)


def outcome_of(question: Question, events: Sequence[Event], *, rank: int | None, seconds: float) -> Outcome:
    """Give what came of a question, by the events of its answer."""
    answer = summarise(events)
    trail = tuple(_trail(events))
    gold = set(question.gold)
    hits = [step.at for step in trail if step.section.id in gold]
    whole = any(isinstance(event, SiteRead) for event in events)
    if whole and gold:
        hits.append(0)
    looked = bool(question.contains) and answer.state != "error"
    return Outcome(
        ask=question.ask,
        rank=rank,
        reached=bool(hits),
        calls=min(hits, default=None),
        trail=trail,
        state=answer.state,
        text=answer.text,
        missing=tuple(missing(answer.text, question.contains)) if looked else None,
        cited=answer.citations,
        gold_cited=any(section.id in gold for section in answer.citations),
        whole_site=whole,
        tokens_read=answer.tokens_read,
        usage=answer.usage,
        cost=answer.cost,
        currency=answer.currency,
        error=_error(answer),
        seconds=seconds,
    )


def missing(text: str, literals: Iterable[str]) -> list[str]:
    """Give the literals that a text does not hold, whatever its case, white space and marks of emphasis or code."""
    plain = _plain(_CITATION.sub("", text))
    bare = _MARKS.sub("", plain)
    return [literal for literal in literals if not (holds(plain, literal) or holds(bare, literal))]


def holds(text: str, literal: str) -> bool:
    """Tell whether a literal stands in a text by itself, and not within a longer word or number."""
    text, literal = _plain(text), _plain(literal)
    if not literal:
        return False
    before, after = (_beside(end) for end in (literal[0], literal[-1]))
    return re.search(rf"(?<!{before})(?<!\d[.,]){re.escape(literal)}(?!{after})", text) is not None


def _trail(events: Iterable[Event]) -> Iterable[Step]:
    """Give each section when it was first opened; what rules open stands before the first call."""
    calls = {PINNED: 0}
    seen: set[str] = set()
    for event in events:
        if isinstance(event, ToolCalled):
            calls.setdefault(event.call, len(calls))
        elif isinstance(event, SectionOpened):
            for section in (event.section, *event.inside):
                if section.id not in seen:
                    seen.add(section.id)
                    yield Step(section, calls.get(event.call, 0))


def _error(answer: Answer) -> str:
    return (answer.error or "it failed") if answer.state == "error" else ""


def _plain(text: str) -> str:
    return " ".join(fold(text).split())


def _beside(end: str) -> str:
    """Give what may not stand beside a literal's end; a script without spaces has its words side by side."""
    if end.isdigit():
        return r"\d"
    return r"[^\W\d_]" if end.isalpha() and end.isascii() else r"(?!)"


_CITATION = re.compile(r"\[\^[0-9a-z]{1,8}\]")
_MARKS = re.compile(r"[*`]|(?<![^\W_])_+(?=\w)|(?<=\w)_+(?![^\W_])")
