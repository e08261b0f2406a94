"""Question sets: what people ask, and the sections that answer it; a YAML file whose every mistake has its line.

questions:
  - ask: which port is the default
    sections: [reference/settings.md#port]   # each is enough; an id, source.md#anchor, path/#anchor, an old id
    contains: ['8001']                       # literals of a right answer
    answerable: true                         # false: the docs do not say, and there are no sections
    page: start/                             # where the reader is
    note: anything
    synthetic: true                          # a machine wrote it
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from mkdocs_roaming.answer.trace import compute_digest
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.diff import Change, SiteDiff
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.sections import github_slug

MAX_QUESTION_LENGTH = 1_000


"""The most characters of a question: what a served site takes."""


QUESTION_KEYS: Mapping[str, str] = {
    "ask": "a text",
    "sections": "a list of addresses",
    "contains": "a list of texts",
    "answerable": "true or false",
    "page": "a text",
    "note": "a text",
    "synthetic": "true or false",
}


"""What a question may have, and what each is."""


@dataclass(frozen=True, slots=True)
class Address:
    """A section as a question file names it, and the line on which it does."""

    text: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class Question:
    """A question: `sections` as they are written, `gold` the ids that they are on a site, each of them enough."""

    ask: str
    sections: tuple[Address, ...] = ()
    contains: tuple[str, ...] = ()
    answerable: bool = True
    page: str | None = None
    note: str = ""
    synthetic: bool = False
    line: int = 0
    gold: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """The questions of a file, in its order."""

    where: str
    questions: tuple[Question, ...]

    @property
    def digest(self) -> str:
        """What tells this set from others: what is asked, on which page, and whether the docs should answer.

        Which sections answer is left out: they may be named anew when the docs change, and the set stays itself.
        """
        asked = [[one.ask, one.page, one.answerable] for one in self.questions]
        return compute_digest("questions", asked)


def read_questions(path: Path) -> QuestionSet:
    """Read a question file; raises UsageError with file and line of what is wrong in it."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    return parse_questions(text, str(path))


def parse_questions(text: str, where: str) -> QuestionSet:
    """Read the text of a question file; `where` names it in what is raised."""
    reading = _Reading(where)
    questions = tuple(reading.questions(text))
    first: dict[str, int] = {}
    for one in questions:
        key = " ".join(one.ask.casefold().split())
        if key in first:
            raise UsageError(f"{where}:{one.line}: asked in line {first[key]} already: {one.ask!r}; ask it once")
        first[key] = one.line
    return QuestionSet(where, questions)


def resolve_sections(questions: QuestionSet, places: SectionIndex) -> QuestionSet:
    """Give the set with each question's gold sections found on a site, old ids through their aliases.

    Raises UsageError with file and line for an address that names no section, and for a page that is not there.
    """
    return replace(questions, questions=tuple(_resolved(one, places, questions.where) for one in questions.questions))


def select_questions(questions: QuestionSet, *, only: Sequence[str] = (), limit: int | None = None) -> QuestionSet:
    """Give the questions that hold one of some words, and no more than a limit; raises UsageError where none does."""
    words = [word.casefold() for word in only]
    kept = [one for one in questions.questions if not words or any(word in one.ask.casefold() for word in words)]
    if not kept:
        raise UsageError(f"{questions.where}: no question holds {', '.join(map(repr, only))}")
    return replace(questions, questions=tuple(kept[:limit]))


def _resolved(question: Question, places: SectionIndex, where: str) -> Question:
    gold: dict[str, None] = {}
    for address in question.sections:
        place = places.resolve(address.text)
        if place is None:
            raise UsageError(
                f"{where}:{address.line}: {places.manifest.site.name} has no section {address.text!r}"
                f"{_nearest(address.text, places)}"
            )
        gold[place.id] = None
    if question.page is not None and places.resolve(question.page) is None:
        raise UsageError(f"{where}:{question.line}: {places.manifest.site.name} has no page {question.page!r}")
    return replace(question, gold=tuple(gold))


def _nearest(address: str, places: SectionIndex) -> str:
    """Name the address that was meant, where one is near."""
    where, _, anchor = address.partition("#")
    page = places.resolve(where)
    if page is not None and anchor:
        anchors = [section.anchor or github_slug(section.title) for section in page.page.sections]
        near = get_close_matches(anchor, anchors, 1, 0.5)
        return f"; {where}#{near[0]} is near" if near and near[0] else "; `roaming outline` shows what the page has"
    names = [name for one in places.manifest.pages for name in (one.source, one.path) if name]
    near = get_close_matches(where, names, 1, 0.6)
    return f"; {near[0]} is near" if near else "; `roaming outline` and `roaming search` give ids"


def section_address(place: SectionRef, places: SectionIndex) -> str:
    """Give the address by which people would name a section: source and anchor where they lead back, else its id."""
    anchor = f"#{place.section.anchor}" if place.position and place.section.anchor else ""
    for page in (place.page.source, place.page.path):
        if page and (anchor or place.position == 0):
            found = places.resolve(page + anchor)
            if found is not None and found.id == place.id:
                return page + anchor
    return place.id


class _Reading:
    """A file while it is read: values with the lines that they stand on."""

    def __init__(self, where: str) -> None:
        self._where = where

    def questions(self, text: str) -> Iterator[Question]:
        try:
            root = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            problem = getattr(error, "problem", None) or "what it is cannot be told"
            raise self._wrong(mark.line + 1 if mark else 1, f"not YAML ({problem})") from None
        except RecursionError:
            raise self._wrong(1, "nested too deep") from None
        if root is None:
            raise UsageError(f"{self._where}: empty; write questions, or have some made with `roaming eval --generate`")
        entries = self._fields(root, {"questions": "a list"}, "the file").get("questions")
        if not isinstance(entries, yaml.SequenceNode) or not entries.value:
            raise self._wrong(_line(entries or root), "`questions` is not a list of at least one question")
        return (self._question(entry) for entry in entries.value)

    def _question(self, node: yaml.Node) -> Question:
        line = _line(node)
        fields = self._fields(node, QUESTION_KEYS, "a question")
        given = {name: self._value(name, value) for name, value in fields.items()}
        ask = " ".join(given.get("ask", "").split())
        if not 0 < len(ask) <= MAX_QUESTION_LENGTH:
            raise self._wrong(line, f"`ask` has 1 to {MAX_QUESTION_LENGTH} characters, not {len(ask)}")
        sections = given.get("sections", ())
        answerable = given.get("answerable", True)
        if answerable and not sections:
            raise self._wrong(line, f"no `sections` answer {ask!r}; name them, or write `answerable: false`")
        if not answerable and (sections or given.get("contains")):
            raise self._wrong(line, f"{ask!r} is not answerable: it has neither `sections` nor `contains`")
        return Question(
            ask=ask,
            sections=sections,
            contains=tuple(one.text for one in given.get("contains", ())),
            answerable=answerable,
            page=given.get("page"),
            note=given.get("note", ""),
            synthetic=given.get("synthetic", False),
            line=line,
        )

    def _fields(self, node: yaml.Node, known: Mapping[str, str], what: str) -> dict[str, yaml.Node]:
        if not isinstance(node, yaml.MappingNode):
            raise self._wrong(_line(node), f"{what} is not a mapping; it has the keys {', '.join(known)}")
        found: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else "…"  # a key may be a list itself
            if name not in known:
                raise self._wrong(_line(key), f"{what} has no key {name!r}; it has {', '.join(known)}")
            if name in found:
                raise self._wrong(_line(key), f"`{name}` stands there twice")
            found[name] = value
        return found

    def _value(self, name: str, node: yaml.Node) -> Any:
        if QUESTION_KEYS[name].startswith("a list"):
            items = node.value if isinstance(node, yaml.SequenceNode) else [node]
            texts = [Address(self._text(name, item), _line(item)) for item in items]
            twice = next((one for at, one in enumerate(texts) if one.text in [two.text for two in texts[:at]]), None)
            if twice:
                raise self._wrong(twice.line, f"`{name}` names {twice.text!r} twice")
            return tuple(texts)
        if QUESTION_KEYS[name] == "a text":
            return self._text(name, node)
        if not isinstance(node, yaml.ScalarNode) or node.tag != "tag:yaml.org,2002:bool":
            raise self._wrong(_line(node), f"`{name}` is true or false")
        return node.value.lower() in ("true", "yes", "on")

    def _text(self, name: str, node: yaml.Node) -> str:
        """Give a text; an address such as 12345678 may look like a number, and is none."""
        if not isinstance(node, yaml.ScalarNode) or node.tag == "tag:yaml.org,2002:null" or not node.value.strip():
            raise self._wrong(_line(node), f"`{name}` is {QUESTION_KEYS[name]}, none of them empty")
        return str(node.value)

    def _wrong(self, line: int, what: str) -> UsageError:
        return UsageError(f"{self._where}:{line}: {what}")


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


# MERGED mkdocs_roaming.evals.touched:
# Which questions of a set a change of the site touches.


@dataclass(frozen=True, slots=True)
class AffectedQuestion:
    """A question and what became of the sections that answer it."""

    question: Question
    changes: tuple[Change, ...]


def find_affected_questions(
    questions: QuestionSet, comparison: SiteDiff, before: Library, after: Library
) -> tuple[AffectedQuestion, ...]:
    """Give the questions whose gold sections changed, moved or are gone, in the order of the file.

    The file may have been written for either version. Raises UsageError with the line of an address that neither has.
    """
    return tuple(_iter_affected(questions, comparison, before, after))


def _iter_affected(
    questions: QuestionSet, comparison: SiteDiff, before: Library, after: Library
) -> Iterator[AffectedQuestion]:
    by_new = {change.after.id: change for change in comparison.sections if change.after is not None}
    for question in questions.questions:
        changes: dict[str, Change] = {}
        for address in question.sections:
            old = before.sections.resolve(address.text)
            new = after.sections.resolve(address.text)
            if old is None and new is None:
                raise UsageError(
                    f"{questions.where}:{address.line}: neither version has a section {address.text!r}; "
                    "`roaming outline` gives ids"
                )
            change = comparison.became(old.id) if old is not None else by_new.get(new.id) if new is not None else None
            if change is not None:
                changes[address.text] = change
        if changes:
            yield AffectedQuestion(question, tuple(changes.values()))
