"""A brain that navigates by shared words only; it understands nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from messages_api.parts import Call, Cite, Part, Say, View
from messages_api.reading import LINE

AT_ONCE = 3
NEEDED = 0.34


class Navigator:
    """Opens the sections that share most words with the question, and quotes the sentences that share most."""

    def reply(self, view: View) -> Iterable[Part]:
        """Search, open sections, or quote."""
        question = _words(view.question)
        best = _best(question, view.opened)
        if best and (best[0][0] >= NEEDED or not view.tools):
            return _quoted(best)
        if view.tools:
            if view.rounds == 0:
                shown = _lines(view.system, view.context)
                return [
                    Call("expand_sections", {"ids": _ranked(question, shown)[:AT_ONCE]}),
                    Call("search_sections", {"query": view.question, "limit": 5}),
                ]
            fresh = [id_ for id_ in _lines(*view.results) if id_ not in view.opened]
            if fresh and view.rounds < 3:
                return [Call("expand_sections", {"ids": fresh[:AT_ONCE]})]
        return [Say("The documentation does not say [^none].")]


def _lines(*texts: str) -> dict[str, str]:
    return dict(line for text in texts for line in LINE.findall(text))


def _ranked(question: frozenset[str], lines: Mapping[str, str]) -> list[str]:
    return sorted(lines, key=lambda id_: (-len(question & _words(lines[id_])), id_))


def _best(question: frozenset[str], opened: Mapping[str, str]) -> list[tuple[float, str, str]]:
    """Return the sentences of open sections with their share of the question's words, best first."""
    found = [
        (len(question & _words(sentence)) / max(len(question), 1), id_, sentence)
        for id_, text in opened.items()
        for sentence in _sentences(text)
    ]
    return sorted((one for one in found if one[0] > 0.1), key=lambda one: (-one[0], one[1], one[2]))


def _quoted(best: list[tuple[float, str, str]]) -> Iterator[Part]:
    for at, (_, id_, sentence) in enumerate(best[:2]):
        yield Say(("\n\n" if at else "") + sentence)
        yield Cite(id_, late=at == 0)


def _sentences(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith(("#", "`", "|", "<", "[")):
            yield from (piece.strip() for piece in re.split(r"(?<=[.!?]) ", line) if piece.strip())


def _words(text: str) -> frozenset[str]:
    words = {word.strip(".-") for word in re.findall(r"[a-z0-9_.-]{2,}", text.lower())} - _EMPTY
    return frozenset(word.rstrip("s") or word for word in words)


_EMPTY = frozenset(["", "the", "is", "it", "of", "to", "in", "on", "what", "which", "who", "how", "does", "do", "for"])
