"""Text on a single line, its sentences, and characters that are removed or escaped before it is shown."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Text on a single line


_LETTERS = re.compile("[a-z]+")
_VERSION = re.compile(r"[\w.+!-]{0,40}", re.ASCII)
"""The characters of a version: `v1.2.0rc1`."""
_VERSION_WORD = re.compile(
    r"[a-z]|[a-f]+|alpha|beta|rc|pre|preview|dev|post|rev|final|stable|latest|main|master|next|canary|nightly|lts|line|"
    r"experimental|snapshot|release|build|branch|insiders?|milestone|git|cu|cpu|ga|sp|sr"
)
"""A letter, the digits of a digest, or a word that versions have."""


def plain_version(text: str) -> str:
    """Return a version; empty if the text, which others chose, has words that versions do not have."""
    words = _LETTERS.findall(text.lower())
    return text if _VERSION.fullmatch(text) and all(map(_VERSION_WORD.fullmatch, words)) else ""


def truncate_at_word(text: str, limit: int) -> str:
    """Return text in at most `limit` characters, cut between words, with `…` in place of the rest."""
    if len(text) <= limit:
        return text
    head = text[:limit]  # one more than fits next to the ellipsis: a word may end there
    cut = head.rfind(" ")
    kept = head[:cut] if cut > limit // 2 else head[:-1]
    return _DIRECTION.sub("", kept.rstrip(" ,;:.–—-")) + "…"


def to_single_line(text: str) -> str:
    """Return text that is safe on a line next to other text, such as a title, description or breadcrumb.

    White space becomes single spaces. Control characters, lone surrogates, tags and bidirectional controls are
    removed: the latter would affect the rest of the line. Right-to-left text keeps its marks and joiners.
    """
    text = " ".join(text.split())
    return text if text.isprintable() else " ".join(_UNSAFE.sub(r"\1", text).split())


def sanitize(text: str) -> str:
    """Return text that cannot move the cursor of a terminal, change its title, or change or hide what follows.

    Control characters, bidirectional controls and invisible tag characters are removed, but tabs and line feeds stay.
    """
    return CONTROL.sub(r"\1", text)


def remove_invisible(text: str) -> str:
    """Return text without the characters that readers do not see, or that change the order of what they see.

    Tabs and ends of lines stay; Unicode's separators of lines become spaces. Joiners next to a character that is not
    ASCII stay: scripts and emoji need them.
    """
    return _JOINERS.sub("", _INVISIBLE.sub("", _SEPARATOR.sub(" ", text)))


def escape_markup(text: str) -> str:
    """Return text on a single line in which Markdown finds no markup; characters that mean nothing stay as they are."""
    return _SPECIAL.sub(r"\\\g<0>", to_single_line(text))


_SPECIAL = re.compile(r"[\\`*\[\]]|(?<![^\W_])_|_(?![^\W_])|<(?=[a-z/!?])|&(?=#?\w+;)|~(?=~)|(?<=~)~", re.IGNORECASE)
"""A character that is markup where it stands: `_` within a word is not, nor `&` without a name."""
_DIRECTION = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
"""Embeddings, overrides and isolates, and their ends."""
_INVISIBLE = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f"
    r"\u202a-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e01ef]"
)
"""Controls, direction controls, fillers, characters without a width, tags, variation selectors of rare letters."""
_SEPARATOR = re.compile(r"[\u2028\u2029]")
_JOINERS = re.compile(
    r"(?<![^\x00-\x7f])[\u200c\u200d]+(?![^\x00-\x7f])|(?<=[\u200c\u200d])[\u200c\u200d]+"
    r"|(?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]+"
)
FLAG = re.compile("\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]{3,6}\U000e007f")
"""Emoji of flags of regions, which tag characters spell; elsewhere they are invisible text."""
CONTROL = re.compile(rf"({FLAG.pattern})|[\x00-\x08\x0b-\x1f\x7f-\x9f\U000e0000-\U000e007f]|{_DIRECTION.pattern}")
"""Characters to remove; the first group is a flag, which stays."""
_UNSAFE = re.compile(rf"[\ud800-\udfff]|{CONTROL.pattern}")


# Sentences: where the first one ends, and where a text that is too long can be cut


def first_sentence(text: str) -> str:
    """Return a text up to the end of its first sentence; the whole text if no sentence ends in it."""
    return text[: next(_iter_ends(text), len(text))]


def iter_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text without the space between them."""
    while text:
        sentence = first_sentence(text)
        text = text[len(sentence) :].lstrip()
        yield sentence


def ends_sentence(text: str) -> bool:
    """Return whether a text ends where a sentence does."""
    return text.rstrip(_CLOSING)[-1:] in _TERMINATORS


def pluralize(count: int, noun: str) -> str:
    """Return a number with its noun, such as `2 pages`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def to_italics(text: str) -> str:
    """Return a text in italics, as lines that a model has written are marked."""
    return "*{}*".format(text.replace("*", "\\*"))


def shorten(text: str, limit: int) -> str:
    """Return a single line in at most `limit` characters: its first sentences, or else its first clauses and `…`.

    The text is cut between words only if no clause ends in its second half.
    """
    if len(text) <= limit:
        return text
    head = text[:limit]
    end = max((end for end in _iter_ends(text[: limit + 2]) if end <= limit), default=0)
    if end >= limit * _MIN_SENTENCES:
        return text[:end]
    for pattern, share in _CLAUSE_ENDS:
        cut = max((match.start() for match in pattern.finditer(head[: limit - 1])), default=0)
        if head.count("(", 0, cut) > head.count(")", 0, cut):
            cut = head.rindex("(", 0, cut)
        if cut >= limit * share:
            return _DANGLING.sub("…", head[:cut].rstrip(_PUNCTUATION) + "…")
    return _DANGLING.sub("…", truncate_at_word(text, limit))


# Ends of sentences

# The set of all first characters, without alternatives, lets `re` skip other text quickly.
_END = re.compile(
    r"[.!?…؟۔।॥።։။។。！？｡](?:(?:(?<=[.!?…])[.!?…]*[\"'”’»)\]]*|(?<=[؟۔।॥።։။។])[؟۔।॥።։။។]*)(?=\s|$)"
    r"|(?<=[。！？｡])[。！？｡]*[」』）”]*)"  # a space does not follow
)
"""What may end a sentence, with the quotation marks and brackets after it."""
_TERMINATORS = tuple(".!?…。！？｡؟۔।॥።։။។")
_CLOSING = "\"'”’»)]」』）"
_ABBREVIATION = re.compile(
    r"(?:^|(?<=[\s(\[/]))(?:e\.g|i\.e|eg|ie|vs|cf|viz|approx|resp|incl|excl|esp|al|figs?|eqs?|sec|vol|pp|eds?|dr|mrs?|ms|prof|st|mt"
    r"|z\.b|d\.h|u\.a|i\.d\.r|o\.ä|bzw|ggf|evtl|vgl|ca|p\.ex|p\.ej|[^\W\d_])$",
    re.IGNORECASE,
)
"""A word after which a dot does not end a sentence: `e.g`, `Fig`, a single letter."""
_MAX_ABBREVIATION = 8
_NUMBER_SIGN = re.compile(r"(?i)\b(?:no|nr|núm|fig|eq)$")
"""A word after which a dot does not end a sentence if a number follows: `No. 5`."""


def _iter_ends(text: str) -> Iterator[int]:
    """Yield the offsets after the sentences of a text."""
    for mark in _END.finditer(text):
        if _is_end(text, mark.start(), mark.end()):
            yield mark.end()


def _is_end(text: str, start: int, end: int) -> bool:
    following = text[end : end + 2].lstrip()
    if not following:
        return True
    if following[0].islower() or text.count("(", 0, end) > text.count(")", 0, end):
        return False
    if text[start:end] != ".":
        return True
    before = text[max(0, start - _MAX_ABBREVIATION) : start]
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
"""Where a clause ends, and the least share of the limit at which it is cut there."""
_DANGLING = re.compile(
    r"(?: (?:an?|the|except|than|not|also|of|to|in|on|at|by|for|from|with|and|or|is|are|be|its|your|this|that))+…$"
)
"""Words at the end of a clause that say nothing without the next one: ` of the…`."""
