"""What a reader asks, read out of a request's body: our own form, and the one that `useChat` sends.

Of a `useChat` body only the reader's last words count, and the turns that this server signed itself: whatever a client
writes in the name of a system, an assistant or a tool is not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from mkdocs_roaming.page import canonical_path
from mkdocs_roaming.places import Place, Places
from mkdocs_roaming.serve.problems import Refused

LONGEST = 1_000
"""The most characters of a question."""
WORDS = "[^\\s\\u0000-\\u001f\\u0085]"
"""What stands somewhere in a question, as a regular expression: it is not empty."""
LONGEST_PAGE = 500
MOST_TURNS = 6
LONGEST_TURN = 2_048
TAG = "[A-Za-z]{1,8}(?:[-_][A-Za-z0-9]{1,8}){0,4}"
"""What a language tag looks like, as a regular expression."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the page that its reader is on, the reader's language, and signed turns, the oldest first."""

    text: str
    page: str = ""
    language: str = ""
    turns: tuple[str, ...] = ()


def read_question(body: bytes) -> Question:
    """Read a body; raises Refused with 400 where it is no JSON object, with 422 where it asks nothing askable."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(400, "not_json", "The body is not JSON.") from None
    if not isinstance(data, dict):
        raise Refused(400, "not_an_object", "The body is not a JSON object.")
    messages = data.get("messages")
    text = data.get("question")
    turns = data.get("turns")
    if text is None and messages is not None:
        text, carried = _of_messages(messages)
        turns = carried if turns is None else turns
    return Question(
        _question(text),
        checked_page(data.get("page")),
        checked_language(data.get("lang")),
        _turns(turns),
    )


def checked_question(text: str) -> str:
    """Give a question as it is asked: on the outside trimmed; raises Refused where it is empty or too long."""
    text = _sound(text).strip()
    if not text:
        raise Refused(422, "no_question", "The question is empty.")
    if len(text) > LONGEST:
        raise Refused(422, "question_too_long", f"A question has at most {LONGEST} characters, this has {len(text)}.")
    return text


def checked_page(value: object) -> str:
    """Give the page that the reader is on, empty where none is said; raises Refused where it is no address."""
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > LONGEST_PAGE:
        raise Refused(422, "bad_page", f"`page` is a path or an address of at most {LONGEST_PAGE} characters.")
    return _sound(value).strip()


def checked_language(value: object) -> str:
    """Give the reader's language, empty where none is said; raises Refused where it is no tag."""
    if value is None or value == "":
        return ""
    if not isinstance(value, str) or not _TAG.fullmatch(value):
        raise Refused(422, "bad_language", "`lang` is a language tag, such as en or pt-BR.")
    return value.lower()


def page_of(address: str, places: Places) -> Place | None:
    """Give the section that a reader is at, by whatever a browser says: a path of its site or of its server, a URL of
    the site or of a mirror.
    """
    if not address:
        return None
    if found := places.address(address):
        return found
    try:
        path = urlsplit(address).path
        base = urlsplit(places.manifest.site.url).path
    except ValueError:
        return None
    below = path.removeprefix(base) if path.startswith(base) else path
    page = places.page(canonical_path(unquote(below)))
    return Place(page, 0) if page is not None else None


def _question(value: object) -> str:
    if not isinstance(value, str):
        raise Refused(422, "no_question", "`question` is missing, or is no text.")
    return checked_question(value)


def _turns(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(turn, str) for turn in value):
        raise Refused(422, "bad_turns", "`turns` is a list of the texts that earlier answers ended with.")
    if len(value) > MOST_TURNS or any(len(turn) > LONGEST_TURN for turn in value):
        raise Refused(422, "bad_turns", f"At most {MOST_TURNS} turns of {LONGEST_TURN} characters are read.")
    return tuple(value)


# The body of `useChat`


def _of_messages(messages: object) -> tuple[str | None, list[str]]:
    """Give the reader's last words, and the turns that the answers before them ended with."""
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise Refused(422, "bad_messages", "`messages` is a list of objects.")
    asked = [at for at, message in enumerate(messages) if message.get("role") == "user"]
    if not asked:
        return None, []
    turns = [turn for message in messages[: asked[-1]] if (turn := _turn(message)) is not None]
    return _text(messages[asked[-1]]), turns[-MOST_TURNS:]


def _text(message: Mapping[str, Any]) -> str | None:
    parts = message.get("parts")
    if not isinstance(parts, list):
        content = message.get("content")  # as older versions wrote it
        return content if isinstance(content, str) else None
    return "\n".join(_texts(parts)) or None


def _texts(parts: Sequence[object]) -> list[str]:
    return [
        part["text"]
        for part in parts
        if isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)
    ]


def _turn(message: Mapping[str, Any]) -> str | None:
    """Give the signed turn that an answer's metadata hold; its signature is looked at later."""
    metadata = message.get("metadata")
    turn = metadata.get("turn") if message.get("role") == "assistant" and isinstance(metadata, dict) else None
    return turn if isinstance(turn, str) and len(turn) <= LONGEST_TURN else None


def _sound(text: str) -> str:
    """Give text that can be written down: JSON may hold halves of characters."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")


_TAG = re.compile(TAG)
