"""Answers to first questions, kept for as long as the site's digest stands."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.events import Event, Finished
from mkdocs_roaming.answer.models import UNUSED
from mkdocs_roaming.places import Places
from mkdocs_roaming.roam.tools import TOOLS
from mkdocs_roaming.serve.question import Question

KEPT = 1_000
KEPT_STATES = frozenset({"answered", "partial", "not_found"})
"""The ends that are worth keeping: the others may come out better the next time."""


@dataclass(frozen=True, slots=True)
class Key:
    """What an answer depends on beside the site, whose digest holds its rules too; `how` is of prompts and budget."""

    question: str
    page: str
    language: str
    model: str
    how: str


class Answers:
    """Answers by what they depend on, at most so many, the least recently given dropped first."""

    def __init__(self, most: int = KEPT) -> None:
        self._most = most
        self._digest = ""
        self._kept: OrderedDict[Key, tuple[Event, ...]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, digest: str, key: Key) -> tuple[Event, ...] | None:
        """Give the events of an answer from before, which cost nothing now; those of other digests are forgotten."""
        if digest != self._digest:
            self._kept.clear()
            self._digest = digest
        if key not in self._kept:
            return None
        self._kept.move_to_end(key)
        return self._kept[key]

    def keep(self, digest: str, key: Key, events: Sequence[Event]) -> None:
        """Keep an answer that ended well, unless the site has changed in the meantime."""
        end = events[-1] if events else None
        if digest != self._digest or not isinstance(end, Finished) or end.state not in KEPT_STATES:
            return
        free = replace(end, usage=UNUSED, cost=None if end.cost is None else 0.0)
        self._kept[key] = (*events[:-1], free)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)


def key_of(question: Question, places: Places, model: str, budget: Budget, whole_site_tokens: int) -> Key:
    """Give what a first question's answer depends on; all names of a page are one, an unknown page is none."""
    place = places.address(question.page) if question.page else None
    site = places.manifest.site
    said = (prompts.rules(site), prompts.rules(site, whole=True), TOOLS, budget, whole_site_tokens)
    how = hashlib.sha256(repr(said).encode("utf-8")).hexdigest()
    text = " ".join(question.text.split())
    return Key(text, place.id if place else "", question.language, model, how)
