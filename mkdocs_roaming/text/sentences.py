"""Sentences of plain text: where the first one ends, and where a text that is too long can be cut."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mkdocs_roaming.text.markdown import strip_direction_overrides, truncate_at_word


def first_sentence(text: str) -> str:
    """Return a text up to the end of its first sentence; the whole text if no sentence ends in it."""
    return text[: next(_iter_ends(text), len(text))]


def ends_sentence(text: str) -> bool:
    """Return whether a text ends where a sentence does."""
    return text.rstrip(_CLOSING)[-1:] in _TERMINATORS


def shorten(text: str, limit: int) -> str:
    """Return a single line in at most `limit` characters: its first sentences, or else its first clauses and `…`.

    The text is cut between words only if no clause ends in its second half.
    """
    if len(text) <= limit:
        return text
    head = text[:limit]
    if end := max((end for end in _iter_ends(text[: limit + 2]) if end <= limit), default=0):
        kept = strip_direction_overrides(text[:end])
        if end >= limit * _MIN_SENTENCES and len(kept) <= limit:
            return kept
    for pattern, share in _CLAUSE_ENDS:
        cut = max((found.start() for found in pattern.finditer(head[: limit - 1])), default=0)
        if head.count("(", 0, cut) > head.count(")", 0, cut):
            cut = head.rindex("(", 0, cut)
        if cut >= limit * share:
            return _DANGLING.sub("…", strip_direction_overrides(head[:cut].rstrip(_PUNCTUATION)) + "…")
    return _DANGLING.sub("…", truncate_at_word(text, limit))


# Ends of sentences

_END = re.compile(
    r"(?:[.!?…]+[\"'”’»)\]]*|[؟۔।॥።։။។]+)(?=\s|$)"
    r"|[。！？｡]+[」』）”]*"  # a space does not follow
)
_TERMINATORS = tuple(".!?…。！？｡؟۔।॥።։။។")
_CLOSING = "\"'”’»)]」』）"
_ABBREVIATION = re.compile(
    r"(?:^|(?<=[\s(\[/]))(?:e\.g|i\.e|eg|ie|vs|cf|viz|approx|resp|incl|excl|esp|al|figs?|eqs?|sec|vol|pp|eds?|dr|mrs?|ms|prof|st|mt"
    r"|z\.b|d\.h|u\.a|i\.d\.r|o\.ä|bzw|ggf|evtl|vgl|ca|p\.ex|p\.ej|[^\W\d_])$",
    re.IGNORECASE,
)
_NUMBER_SIGN = re.compile(r"\b(?:no|nr|núm|fig|eq)$", re.IGNORECASE)


def _iter_ends(text: str) -> Iterator[int]:
    """Yield the offsets after the sentences of a text."""
    for found in _END.finditer(text):
        if _is_end(text, found.start(), found.end()):
            yield found.end()


def _is_end(text: str, start: int, end: int) -> bool:
    following = text[end : end + 2].lstrip()
    if not following:
        return True
    if following[0].islower() or text.count("(", 0, end) > text.count(")", 0, end):
        return False
    if text[start:end] != ".":
        return True
    before = text[max(0, start - 8) : start]
    if following[0].isdigit() and _NUMBER_SIGN.search(before):
        return False
    return not _ABBREVIATION.search(before) or before.endswith(" I")


# Ends of clauses

_PUNCTUATION = " ,;:.–—-，、；：("
_MIN_SENTENCES = 0.4
"""Minimum share of the limit that whole sentences use. Below, more of the text is worth an ellipsis."""

_CLAUSE_ENDS = (
    (
        re.compile(r"[;:,](?=\s)|[；：，、]|\s[–—-](?=\s)|\s(?=\(|(?:which|that|because|although|while|where|so)\s)"),
        0.5,
    ),
    (re.compile(r"\s(?=(?:and|or|but|if|when|unless|until|by|for|from|with|without|using|to|in|as|such)\s)"), 0.6),
)
_DANGLING = re.compile(
    r"(?: (?:an?|the|except|than|not|also|of|to|in|on|at|by|for|from|with|and|or|is|are|be|its|your|this|that))+…$"
)
