"""What readers are told of a model's text: what was released, cited, dropped and withheld, as events and as counts."""

from __future__ import annotations

from collections.abc import Iterator

from mkdocs_roaming.answer.conversation import Conversation
from mkdocs_roaming.answer.events import CitationDropped, Event, SectionCited, TextReleased, TextWithheld
from mkdocs_roaming.answer.release import Dropped, Outcome, Release, Released


class Telling:
    """The text of one answer as it reaches its reader."""

    def __init__(self, conversation: Conversation) -> None:
        self.dropped = self.withheld = 0
        self.cited: dict[str, None] = {}
        self._conversation = conversation
        self._release = Release(conversation.citable)
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

    def _tell(self, outcomes: Iterator[Outcome]) -> Iterator[Event]:
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
