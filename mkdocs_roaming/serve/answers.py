"""Answers to first questions, kept for as long as the site's digest stands."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.events import Event, Finished, SectionsFound
from mkdocs_roaming.answer.models import UNUSED
from mkdocs_roaming.manifest import Manifest
from mkdocs_roaming.places import Place
from mkdocs_roaming.roam.tools import TOOLS
from mkdocs_roaming.serve.question import Question

KEPT = 1_000
KEPT_STATES = frozenset({"answered", "partial", "not_found"})
"""The ends that are worth keeping: the others may come out better the next time."""


@dataclass(frozen=True, slots=True)
class Key:
    """What an answer depends on: the site's digest, which its rules count in; `how` is of prompts and budget."""

    digest: str
    question: str
    page: str
    language: str
    model: str
    how: str


class Answers:
    """Answers by what they depend on, at most so many, the least recently given dropped first."""

    def __init__(self, most: int = KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[Key, tuple[Event, ...]] = OrderedDict()

    def get(self, key: Key) -> tuple[Event, ...] | None:
        """Give the events of an answer from before, which cost nothing now."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def keep(self, key: Key, events: Sequence[Event]) -> None:
        """Keep an answer that ended well, and whose searches did not have to do without meaning."""
        end = events[-1] if events else None
        if not isinstance(end, Finished) or end.state not in KEPT_STATES:
            return
        if any(isinstance(event, SectionsFound) and event.words_only for event in events):
            return
        self._kept[key] = tuple(map(free, events))
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)


def free(event: Event) -> Event:
    """Give an event as those are told it who pay nothing."""
    if isinstance(event, Finished):
        return replace(event, usage=UNUSED, cost=None if event.cost is None else 0.0)
    return event


def key_of(question: Question, page: Place | None, digest: str, model: str, how: str) -> Key:
    """Give what a first question's answer depends on; all names of a page are one, an unknown page is none."""
    return Key(digest, " ".join(question.text.split()), page.id if page else "", question.language, model, how)


def how_of(manifest: Manifest, budget: Budget, whole_site_tokens: int) -> str:
    """Give the digest of what is said to a model about a site, whatever is asked, and of what an answer may take."""
    said = (prompts.rules(manifest.site), prompts.rules(manifest.site, whole=True), TOOLS, budget, whole_site_tokens)
    return hashlib.sha256(repr(said).encode("utf-8")).hexdigest()
