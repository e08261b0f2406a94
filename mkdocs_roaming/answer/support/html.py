"""Support as HTML: an answer's paragraphs with what no section supports marked and labelled.

Everything that comes from an answer or a section is escaped; what cannot stand in HTML or UTF-8 is replaced. Nothing is
said by colour alone: each mark has its label as text, and in its title what stands in the sections instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from mkdocs_roaming.answer.support.check import Mark, Sentence, Support, describe_mark


def support_html(support: Support) -> str:
    """Give an answer as safe HTML: a `<p>` for each paragraph, a `<mark>` for each mark."""
    text = support.text.encode("utf-16-le", "surrogatepass")
    paragraphs, edge = [list[str]()], 0
    for sentence in support.sentences:
        _between(_cut(text, edge, sentence.start), paragraphs)
        paragraphs[-1] += _sentence(text, sentence)
        edge = sentence.end
    _between(_cut(text, edge, len(text) // 2), paragraphs)
    bodies = ("".join(parts).strip() for parts in paragraphs)
    written = "".join(f"<p>{body}</p>\n" for body in bodies if body)
    return f'<div class="roaming-support">\n{written}</div>\n'


_GAP = re.compile(r"\n[ \t]*\n\s*")
_UNPRINTABLE = re.compile("[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0010fffd]")


def _between(gap: str, paragraphs: list[list[str]]) -> None:
    """Write what stands between two sentences; a blank line begins a paragraph."""
    first, *others = _GAP.split(gap)
    paragraphs[-1].append(_written(first))
    paragraphs += ([_written(other)] for other in others)


def _sentence(text: bytes, sentence: Sentence) -> Iterator[str]:
    """Give a sentence; one that no section supports is marked as a whole, with the marks inside."""
    source = f' data-section="{escape(sentence.section)}"' if sentence.section else ""
    yield f'<span class="roaming-sentence" data-score="{sentence.score:.2f}"{source}>'
    whole = next((mark for mark in sentence.marks if mark.kind == "sentence"), None)
    if whole:
        yield _open(whole)
    edge = sentence.start
    for mark in sentence.marks:
        if mark is whole:
            continue
        yield _written(_cut(text, edge, mark.start))
        yield f"{_open(mark)}{_written(_cut(text, mark.start, mark.end))}{_close(mark)}"
        edge = mark.end
    yield _written(_cut(text, edge, sentence.end))
    if whole:
        yield _close(whole)
    yield "</span>"


def _open(mark: Mark) -> str:
    return f'<mark class="roaming-{mark.kind}" title="{_safe(describe_mark(mark))}">'


def _close(mark: Mark) -> str:
    return f' <small class="roaming-label">[{_safe(describe_mark(mark))}]</small></mark>'


def _cut(text: bytes, start: int, end: int) -> str:
    return text[2 * start : 2 * end].decode("utf-16-le", "surrogatepass")


def _written(text: str) -> str:
    return _safe(text).replace("\n", "<br>\n")


def _safe(text: str) -> str:
    return escape(_UNPRINTABLE.sub("\ufffd", text))
