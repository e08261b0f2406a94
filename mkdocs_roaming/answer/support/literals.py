"""Which numbers, names, quotations and lines of code of a sentence do not stand in the opened sections."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mkdocs_roaming.answer.support.sentences import code_spans
from mkdocs_roaming.answer.support.slots import alike
from mkdocs_roaming.answer.support.statements import Near, Statements
from mkdocs_roaming.answer.support.tokens import Token


@dataclass(frozen=True, slots=True)
class Unfound:
    """A literal that stands nowhere, or elsewhere only: `instead` is what stands in its place."""

    kind: str
    start: int
    end: int
    instead: str = ""


def unfound(text: str, ours: Sequence[Token], near: Sequence[Near], open_: Statements) -> list[Unfound]:
    """Give the literals of a sentence that no section supports; offsets are the sentence's own."""
    missing = {at for at in range(len(ours)) if not _stands(ours, at, open_)}
    missing -= {at for at in missing if at - 1 in missing and _is_unit(ours, at)}
    found = [
        Unfound(_kind(ours[at]), ours[at].start, ours[at].end, _instead(ours, at, near) if number < _MOST else "")
        for number, at in enumerate(sorted(missing))
    ]
    present = [at for at, token in enumerate(ours) if token.family and at not in missing]
    for at in present[:_MOST]:
        token = ours[at]
        if other := _mistaken(ours, at, near, open_):
            found.append(Unfound(_kind(token), token.start, token.end, other))
    return [*found, *_phrases(text, found, open_)]


def unfound_line(text: str, ours: Sequence[Token], open_: Statements) -> list[Unfound]:
    """Give what of a line of code no section supports: names and numbers, else the line where it stands nowhere."""
    bare = _COMMENT.sub("", text).rstrip() if not _COMMENT.match(text) else ""
    if not bare or open_.has_line(text) or open_.has_line(bare):
        return []
    found = [
        Unfound(_kind(token), token.start, token.end)
        for at, token in enumerate(ours)
        if token.end <= len(bare) and not _stands(ours, at, open_)
    ]
    return found or ([Unfound("code", 0, len(bare))] if re.search(r"\w", bare) else [])


def _kind(token: Token) -> str:
    return token.kind if token.kind != "word" else "identifier" if token.code else "number"  # a number's unit


def _stands(ours: Sequence[Token], at: int, open_: Statements) -> bool:
    """Tell whether a literal stands anywhere; a unit must stand behind its number."""
    token = ours[at]
    if _is_unit(ours, at):
        return any(open_.has_name(ours[at - 1].text + gap + token.text) for gap in ("", " ", "\u00a0"))
    if not token.family:
        return True
    if token.family == "number":
        return open_.has_number(token)
    if token.kind == "url":
        return open_.has_name(token.key)
    written = token.text.replace("\\", "").removesuffix("()")
    return open_.has_name(written) or (token.text != written and open_.has_name(token.text))


def _is_unit(ours: Sequence[Token], at: int) -> bool:
    """Tell whether a token is the unit of the number right before it: `30s`."""
    before = ours[at - 1] if at else None
    return bool(before and before.family == "number" and before.end == ours[at].start and ours[at].text.isalpha())


def _instead(ours: Sequence[Token], at: int, near: Sequence[Near]) -> str:
    """Give what the nearest statement has in a literal's place, if that can be told."""
    other = _other(ours, at, near[:1], 0.0) if near and near[0].covered >= _NEAR else None
    return other.text if other else ""


def _mistaken(ours: Sequence[Token], at: int, near: Sequence[Near], open_: Statements) -> str:
    """Give what stands in a literal's place where the literal itself stands elsewhere only."""
    if not near or near[0].covered < _NEAR:
        return ""
    others = [other for other in near if other.covered >= near[0].covered - _AS_NEAR]
    other = _other(ours, at, others, _own(ours, at, open_))
    if other is None or other.spare:
        return other.text if other else ""
    for there, token in enumerate(ours):  # both must be out of place where one stands for the other
        if token.text == other.text and _other(ours, there, others, _own(ours, there, open_)):
            return other.text
    return ""


@dataclass(frozen=True, slots=True)
class _Other:
    """What a statement has in a literal's place; `spare` tells that it has more of it than the sentence."""

    text: str
    spare: bool


def _own(ours: Sequence[Token], at: int, open_: Statements) -> float:
    """Give how well a literal stands in its best place."""
    places = open_.literals(ours[at].family, ours[at].key)
    return max((alike(ours, at, statement.tokens, there) for statement, there in places), default=0.0)


def _other(ours: Sequence[Token], at: int, near: Sequence[Near], own: float) -> _Other | None:
    token = ours[at]
    here = Counter(each.key for each in ours)
    best, found = own + _CLEARLY, None
    for other in near:
        theirs = other.statement.tokens
        held = Counter(each.key for each in theirs)
        places = [there for there, each in enumerate(theirs) if each.family == token.family]
        for there in places[:_MOST]:
            candidate = theirs[there]
            if candidate.key == token.key:
                continue
            spare = held[candidate.key] > here[candidate.key]
            if not spare and not held[token.key]:
                continue  # it has its own place
            likeness = alike(ours, at, theirs, there)
            if likeness >= (_SAME_ROW if other.statement.is_row else _SAME_PLACE) and likeness > best:
                best, found = likeness, _Other(candidate.text, spare)
    return found


def _phrases(text: str, found: Sequence[Unfound], open_: Statements) -> Iterator[Unfound]:
    """Find inline code and quotations that stand nowhere as they are written."""
    for start, end, ticks in code_spans(text):
        inner = text[start + ticks : end - ticks].strip()
        known = open_.has_line(inner) or open_.has_name(inner) or not re.search(r"\w", inner)
        if not known and not any(start <= each.start < end for each in found):
            yield Unfound("code", start, end)
    for match in _QUOTATION.finditer(text):
        inner = match[0][1:-1].strip(" .,;:!?")
        known = not re.search(r"\w", inner) or open_.has_phrase(inner)
        if not known and not any(match.start() <= each.start < match.end() for each in found):
            yield Unfound("quote", match.start(), match.end())


_NEAR = 0.6
_AS_NEAR = 0.05
_MOST = 24  # literals that are compared, of a sentence and of a statement
_CLEARLY = 0.15
_SAME_PLACE = 0.9
_SAME_ROW = 0.4  # a row has few words
_QUOTATION = re.compile(r"\"[^\"\n]{2,300}\"|“[^”\n]{2,300}”|„[^“”\n]{2,300}[“”]|«[^»\n]{2,300}»|「[^」\n]{2,300}」")
_COMMENT = re.compile(r"(?:^|(?<=\s))(?:#|//|--\s|;)\s?.*$")
