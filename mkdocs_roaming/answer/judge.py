"""Judges the reply of a model: whether a reader can use it, and whether it answers the question.

A reply without tool calls is usable if it cites an opened section, or says nothing but that the documentation does not
answer. Any other has a *flaw*: nobody can tell what it was written from. The model gets one turn to repair it.

The state of a usable reply follows from its statements. A statement ends with citations. It is a *gap* if it says that
the documentation does not say something: the model cites `[^none]`, or its words say so. Models are told to begin with
the gap if nothing of the question is answered, and to end with it if a part is; others put a related fact before it, or
remark on what nobody asked. Then the words of the question decide: whether the gap contains any, and whether the other
statements contain most of the rest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Literal

from msgspec import Struct

from mkdocs_roaming.answer.models.base import NO_SOURCE, ToolCall
from mkdocs_roaming.answer.models.replies import limit_depth
from mkdocs_roaming.answer.support.check import GAP_CITATION, gap_words
from mkdocs_roaming.library.tools import TOOLS, first_argument, parse_tool_name
from mkdocs_roaming.text.blocks import find_code
from mkdocs_roaming.text.languages import available_languages, load_phrases
from mkdocs_roaming.text.tokenizer import parse_query

_CITATION_GROUP = re.compile(r"(?<!\s)(?:\s*\[\^[^\]\n]{1,200}\])+")
"""What ends a statement: `[^07f3277d] [^none]`."""

# Between `It is not.` and the next sentence, in any script
_SENTENCE_END = re.compile(r"(?<=[.!?;。！？；])\s*(?=\S)|\n")
_TOOL_NAME = re.compile("|".join(tool.name for tool in TOOLS))
"""`expand_sections` in `<call>expand_sections(…)`."""

_QUESTION_END = " \t\n?？.!;:,)"
_MAX_BRACES = 1_000  # each one that begins no JSON costs time that grows with its place

Flaw = Literal["empty", "call", "citations"]
"""Why a reply cannot be used: it has no text, a tool call that cannot be read, or no citation of an opened section."""


class Statement(Struct, frozen=True):
    """The text before one or more citations; `is_gap` if it is a gap."""

    text: str
    is_gap: bool


FLAWS: Mapping[Flaw, str] = {
    "empty": "the reply has no text; raise output_tokens in [budget], or choose another model",
    "call": "the reply contains a tool call as text; let the server parse them, or choose another model",
    "citations": "the reply cites no opened section by its id; choose another model",
}
"""What an operator reads about a reply that cannot be used."""


def find_flaw(reply: str, withheld: Sequence[str]) -> Flaw | None:
    """Return the flaw of a reply of which nothing was released; None if it only says that the documentation is silent.

    Args:
        reply: The text of the reply.
        withheld: Its paragraphs, without invalid citations.
    """
    sentences: list[str] = []
    for text in withheld:
        sentences += filter(str.strip, _SENTENCE_END.split(text))
    says_so = all(map(gap_words().search, sentences)) if sentences else GAP_CITATION.search(reply)
    cites_sources = "[^" in reply.lower().replace(f"[^{NO_SOURCE}]", "")
    if says_so and not cites_sources:
        return None
    if not reply.strip():
        return "empty"
    return "call" if names_tool(reply) else "citations"


def names_tool(text: str) -> bool:
    """Return whether a text names a tool, as a call that is written into it does."""
    return _TOOL_NAME.search(text) is not None


def read_calls(text: str) -> list[ToolCall]:
    """Return the tool calls that a reply contains as JSON in its text, because its server has no parser for them.

    The name of the tool is in the JSON, or before it.
    """
    decoder = json.JSONDecoder()
    calls = list[ToolCall]()
    end = 0
    start = text.find("{")
    for _ in range(_MAX_BRACES):
        if start < 0:
            break
        try:
            value, stop = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            start = text.find("{", start + 1)
            continue
        names = _TOOL_NAME.findall(text, end, start)
        calls += _find_calls(value) or [ToolCall("", name, limit_depth(value)) for name in names[-1:]]
        end = stop
        start = text.find("{", end)
    return calls


def _find_calls(value: object) -> list[ToolCall]:
    """Return the calls in JSON data: objects with a tool and arguments under any usual names, and lists of them."""
    items: Iterable[object] = value if isinstance(value, list) else ()
    if isinstance(value, Mapping):
        name = first_argument(value, "name", "function", "tool", "tool_name", "action")
        if isinstance(name, str) and parse_tool_name(name):
            arguments = first_argument(value, "arguments", "parameters", "input", "args", "tool_input")
            return [ToolCall("", name, limit_depth(arguments))]
        items = value.values()
    calls: list[ToolCall] = []
    for item in items:
        calls += _find_calls(item)
    return calls


def find_statements(paragraph: str) -> Iterator[Statement]:
    """Yield the statements of a paragraph with its citations as the model wrote them."""
    text = paragraph
    start = 0
    for begin, end in reversed(find_code(paragraph)):
        text = text[:begin] + text[end:]
    for group in _CITATION_GROUP.finditer(text):
        statement = text[start : group.start()].strip()
        start = group.end()
        is_marked = GAP_CITATION.search(group[0]) is not None
        prose = "\n".join(line for line in statement.split("\n") if not line.lstrip().startswith("|"))  # no tables
        is_gap = is_marked or gap_words().search(prose) is not None
        if statement or not is_marked:
            yield Statement(statement, is_gap)


def is_refusal(statements: Iterable[Statement]) -> bool:
    """Return whether some statements say nothing but that the documentation does not answer."""
    return all(statement.is_gap for statement in statements)


def judge_state(
    question: str, statements: Sequence[Statement], language: str
) -> Literal["answered", "partial", "not_found"]:
    """Return the state of an answer with some statements to a question on a site in some language."""
    gaps = [statement.text for statement in statements if statement.is_gap]
    facts = [statement.text for statement in statements if not statement.is_gap]
    if not facts:
        return "not_found"
    if not gaps:
        return "answered"
    if _joining_words().search(question.rstrip(_QUESTION_END)):
        return "partial"
    if statements[0].is_gap and not statements[0].text.endswith(","):  # which begins "Although …,"
        return "not_found"
    asked = _find_content(question, language)
    missing = _find_content(" ".join(gaps), language)
    said = _find_content(" ".join(facts), language)
    if not asked & missing - said:
        return "answered"
    rest = asked - missing
    return "partial" if 2 * len(rest & said) > len(rest) else "not_found"


def _find_content(text: str, language: str) -> set[tuple[str, ...]]:
    return {word.parts for word in parse_query(text, language) if not word.stop}


@cache
def _joining_words() -> re.Pattern[str]:
    """Return the pattern of words that join the parts of a question, in any language, or of a second question."""
    words = "|".join(word for code in available_languages() for word in load_phrases(code, "answer.joins"))
    unspaced = "[A-Za-z0-9]と[A-Za-z0-9]|[、和及]|以及|および|それとも"
    return re.compile(rf"\s(?:{words})\s|{unspaced}|[;?？]", re.IGNORECASE)
