"""Question sets: YAML files of questions and the sections that answer them.

questions:
  - ask: which port is the default
    sections: [reference/settings.md#port]   # each is enough: an id, an old id, source.md#anchor, path/#anchor
    contains: ['8001']                       # literals of a correct answer
    answerable: true                         # false: the documentation does not answer; then no sections
    page: start/                             # the page that the reader is on
    note: anything
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
import yaml

from mkdocs_roaming.answer.events import Reference
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest.lookup import SectionIndex
from mkdocs_roaming.settings import decode_table

MAX_QUESTION_LENGTH = 4_000
"""Maximum length of a question in characters, as in `roaming serve`."""

_Text = Annotated[str, msgspec.Meta(min_length=1)]


class Question(msgspec.Struct, frozen=True):
    """A question.

    Attributes:
        ask: The question in a reader's words.
        sections: Addresses of the sections that answer it, as written; each is enough.
        contains: Literals of a correct answer.
        answerable: Whether the documentation answers the question.
        page: Address of the page that the reader is on.
        note: A comment of the author.
        number: Position in the question file, counted from 1.
        gold: Ids of `sections` on a site; empty until `resolve_sections`.
    """

    ask: Annotated[str, msgspec.Meta(max_length=MAX_QUESTION_LENGTH)] = ""
    sections: tuple[_Text, ...] = ()
    contains: tuple[_Text, ...] = ()
    answerable: bool = True
    page: _Text | None = None
    note: str = ""
    number: int = 0
    gold: tuple[str, ...] = ()

    def has_gold(self, sections: Iterable[Reference]) -> bool:
        """Return whether one of the sections answers the question."""
        return any(section.id in self.gold for section in sections)


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """The questions of a file in file order; `where` names the file."""

    where: str
    questions: tuple[Question, ...]


def read_questions(path: Path) -> QuestionSet:
    """Read a question file.

    Raises:
        UsageError: If the file cannot be read or is invalid; the message names the file and the question.
    """
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    return parse_questions(text, str(path))


def parse_questions(text: str, where: str) -> QuestionSet:
    """Parse the text of a question file; `where` names it in error messages."""
    try:
        data = _Loader(text).get_single_data()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "unknown error"
        raise UsageError(f"{where}:{line}: invalid YAML: {problem}") from None
    except RecursionError:
        raise UsageError(f"{where}: invalid YAML: nested too deeply") from None
    entries = data["questions"] if isinstance(data, dict) and data.keys() == {"questions"} else None
    if not isinstance(entries, list) or not entries:
        raise UsageError(f"{where}: expected a mapping with the key `questions`, a list that is not empty")
    questions = tuple(_to_question(entry, number, where) for number, entry in enumerate(entries, 1))
    asked: dict[str, int] = {}
    for question in questions:
        first = asked.setdefault(question.ask.casefold(), question.number)
        if first != question.number:
            place = f"{where}, question {question.number}"
            raise UsageError(f"{place}: duplicate of question {first}: {question.ask!r}. Delete one of them.")
    return QuestionSet(where, questions)


def resolve_sections(questions: QuestionSet, sections: SectionIndex) -> QuestionSet:
    """Return the set with the gold sections of a site; old ids are resolved through aliases.

    Raises:
        UsageError: If an address names no section, or no page; the message names the file and the question.
    """
    site = sections.manifest.site.name
    resolved = []
    for question in questions.questions:
        place = f"{questions.where}, question {question.number}"
        gold: dict[str, None] = {}
        for address in question.sections:
            section = sections.resolve(address)
            if section is None:
                hint = "`roaming outline` and `roaming search` print ids."
                raise UsageError(f"{place}: {site} has no section {address!r}. {hint}")
            gold[section.id] = None
        if question.page is not None and sections.resolve(question.page) is None:
            raise UsageError(f"{place}: {site} has no page {question.page!r}. `roaming outline` prints the pages.")
        resolved.append(msgspec.structs.replace(question, gold=tuple(gold)))
    return replace(questions, questions=tuple(resolved))


class _Loader(yaml.BaseLoader):
    """A YAML loader that reads scalars as text, since a section id may look like a number.

    It refuses duplicate keys.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        mapping = super().construct_mapping(node, deep)
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"duplicate key `{key.value}`", key.start_mark)
            seen.add(key.value)
        for name in ("sections", "contains"):
            if isinstance(mapping.get(name), str):
                mapping[name] = [mapping[name]]
        answerable = str(mapping.get("answerable")).lower()
        if answerable in yaml.SafeLoader.bool_values:
            mapping["answerable"] = yaml.SafeLoader.bool_values[answerable]
        return mapping


def _to_question(value: object, number: int, where: str) -> Question:
    place = f"{where}, question {number}"
    entry = decode_table(value, Question, place, number=number, gold=())
    ask = " ".join(entry.ask.split())
    if not ask:
        raise UsageError(f"{place}: `ask` is missing or empty. Write the question in a reader's words.")
    if entry.answerable and not entry.sections:
        raise UsageError(
            f"{place}: {ask!r} has no `sections`. List the sections that answer it, or set `answerable: false`."
        )
    if not entry.answerable and (entry.sections or entry.contains):
        raise UsageError(
            f"{place}: {ask!r} is not answerable, but has `sections` or `contains`. "
            "Delete them, or set `answerable: true`."
        )
    return msgspec.structs.replace(entry, ask=ask)
