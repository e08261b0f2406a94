"""The interface of a language model, and how a plugin provides one.

A model reads a `Request` and streams its reply in parts. It keeps no state between two replies: each request holds the
whole conversation.

A plugin is a factory in the entry point group `roaming.models`. The factory takes a `ModelConfig` and returns a `Model`;
a class whose constructor takes a `ModelConfig` is a factory, too:

    class EchoModel:
        def __init__(self, config: ModelConfig) -> None:
            self.name = config.name

        async def reply(self, request: Request) -> AsyncIterator[Part]:
            yield Text(f"You asked: {request.question} [^none]")
            yield Stop()

With the entry point `echo = "my_package:EchoModel"`, the model is selected by `--model echo:NAME`.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import msgspec

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.tools import Tool, ToolOutput
from mkdocs_roaming.manifest.expand import Expansion

NO_SOURCE = "none"
"""A model cites `[^none]` where the documentation does not answer the question."""


# The request


@dataclass(frozen=True, slots=True)
class UserTurn:
    """The reader's turn.

    Attributes:
        question: The question.
        context: What the site adds to the question, as text: sections that may matter, and the reader's page.
    """

    question: str
    context: str = ""


@dataclass(frozen=True, slots=True)
class AssistantTurn:
    """The model's turn.

    Attributes:
        text: The text with its `[^id]` citations.
        calls: The tools that the model called.
        provider_state: The `provider_state` of the reply's `Stop`, unchanged.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    provider_state: object = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of one tool call."""

    call: ToolCall
    result: ToolOutput


@dataclass(frozen=True, slots=True)
class ToolTurn:
    """The results of all calls of the previous turn, in the same order."""

    results: tuple[ToolResult, ...]


Turn = UserTurn | AssistantTurn | ToolTurn


@dataclass(frozen=True, slots=True)
class OpenSection:
    """The text of one section, with its place in the documentation."""

    id: str
    breadcrumb: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Request:
    """Everything that a model reads before one reply.

    The fields are in the order in which they are worth caching: `rules` and `outline` are the same for all questions
    to a site, `turns` only grows (except for sections that were closed to make room), and `note` is new each time.

    Attributes:
        rules: The instructions.
        outline: The outline of the site, or the whole text of a small site.
        turns: The conversation; the last user turn is the question.
        tools: The tools that may be called; empty in the last round.
        note: A remark on the remaining budget, to be placed after the last turn.
        output_tokens: Maximum length of the reply.
        language: Language of the site.
        site: All sections of a small site, for models that do not read `outline`.
    """

    rules: str
    outline: str
    turns: tuple[Turn, ...]
    tools: tuple[Tool, ...] = ()
    note: str = ""
    output_tokens: int = 700
    language: str = "en"
    site: tuple[OpenSection, ...] = ()

    @property
    def question(self) -> str:
        """The question to answer."""
        return next((turn.question for turn in reversed(self.turns) if isinstance(turn, UserTurn)), "")


# The reply. Traces store these parts: renaming a class needs a `tag` with its old name.


class Text(msgspec.Struct, frozen=True, tag=True):
    """A piece of the reply's text, with `[^id]` after each statement for the section that supports it."""

    text: str


class Citation(msgspec.Struct, frozen=True, tag=True):
    """A native citation: the text so far is supported by this section. Other models write `[^id]` into the text."""

    id: str


class ToolCall(msgspec.Struct, frozen=True, tag=True):
    """A call of one of the request's tools; `arguments` is what the model wrote, valid or not."""

    id: str
    name: str
    arguments: Any


class Usage(msgspec.Struct, frozen=True, tag=True, omit_defaults=True):
    """Tokens as the provider counts them."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0

    def __add__(self, other: Usage) -> Usage:
        """Return the sum of two usages."""
        return Usage(
            self.input + other.input,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.output + other.output,
        )


NO_USAGE = Usage()

StopReason = Literal["end", "tools", "length", "refusal"]


class Stop(msgspec.Struct, frozen=True, tag=True, omit_defaults=True):
    """The end of the reply.

    Attributes:
        reason: Why it ended; `length` if the model reached its maximum output.
        provider_state: Data that the model needs with this turn in later requests of the same answer. It comes back as
            `AssistantTurn.provider_state` and is never stored.
    """

    reason: StopReason = "end"
    provider_state: Any = None


Part = Text | Citation | ToolCall | Usage | Stop


class Model(Protocol):
    """A language model, or anything else that can answer from the documentation.

    Example:
        ```python
        from collections.abc import AsyncIterator

        from mkdocs_roaming.answer.models.base import Part, Request, Stop, Text

        class OutlineModel:
            name = "outline"

            async def reply(self, request: Request) -> AsyncIterator[Part]:
                yield Text(request.outline.splitlines()[0])
                yield Stop()

        answer = mkdocs_roaming.ask(library, "What is this?", model=OutlineModel())
        ```
    """

    @property
    def name(self) -> str:
        """The name that answers are labelled with."""
        ...

    def reply(self, request: Request) -> AsyncIterator[Part]:
        """Stream the reply to a request.

        An async generator: it is closed when the reader leaves. It must not hold a cancel scope or a task group open
        while it yields.

        Raises:
            ModelError: The provider refused or failed; the message is one line with a fix.
        """
        ...


# Creating models


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The settings of one model, from command-line options, environment and `roaming.toml`.

    Attributes:
        name: What follows the colon in `--model provider:name`; empty without a colon.
        environ: The environment variables.
        base_url: The base URL of the options.
        key: The API key of the options.
        settings: The table `[model]` of `roaming.toml`: `model`, `base_url`, `api_key`, `key_env`.
    """

    name: str
    environ: Mapping[str, str]
    base_url: str = ""
    key: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)

    def get_base_url(self, variable: str = "") -> str:
        """Return the provider's base URL, or "" if none is set.

        The option comes first, then `ROAMING_BASE_URL`, the provider's own environment variable, and `roaming.toml`.
        """
        return self._first(self.base_url, "ROAMING_BASE_URL", variable, setting="base_url")

    def get_key(self, variable: str) -> tuple[str, str]:
        """Return the API key, or "", and the name of the environment variable that holds it.

        The option comes first, then the key of `roaming.toml`, and the provider's own environment variable: the
        general key must not be sent to a server for which another key was set.

        Raises:
            UsageError: The key contains characters that no key has.
        """
        key, configured = self.key.strip(), self._first(setting="api_key")
        name = variable
        if configured and not key:
            name = self._first(setting="key_env") or variable
        key = key or configured or self._first("", variable)
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise UsageError(
                f"the key in {name} contains a character that no key has, such as a typographic quotation mark or a "
                "line break; set it again"
            )
        return key, name

    def _first(self, option: str = "", *variables: str, setting: str = "") -> str:
        configured = self.settings.get(setting, "")
        if configured is not None and not isinstance(configured, str):
            raise UsageError(f"the setting {setting!r} must be a string, not {configured!r}")
        values = (option, *(self.environ.get(variable) for variable in variables), configured)
        return next((value.strip() for value in values if value and value.strip()), "")


ModelFactory = Callable[[ModelConfig], Model]
"""The type of a plugin in the entry point group `roaming.models`."""


# Helpers for models that call a provider's API

MAX_ARGUMENT_CHARS = 65_536
"""Maximum length of a call's arguments; real calls need less than a hundredth of it."""

_MAX_ECHOED_CHARS = 500
_MAX_HEADING_CHARS = 120


class CallIds:
    """Tool call ids of one request: unique and in plain characters, and the same for the same turns."""

    def __init__(self) -> None:
        """Start without ids."""
        self._assigned: dict[str, str] = {}
        self._used: set[str] = set()

    def get(self, call: ToolCall) -> str:
        """Return the id of a call for the provider."""
        if call.id not in self._assigned:
            plain = re.sub(r"[^a-zA-Z0-9_-]", "_", str(call.id))[:60] or "call"
            unique, number = plain, 1
            while unique in self._used:
                number += 1
                unique = f"{plain}_{number}"
            self._used.add(unique)
            self._assigned[call.id] = unique
        return self._assigned[call.id]


def parse_arguments(text: str) -> object:
    """Return a call's arguments as an object if they are JSON, otherwise the text itself."""
    if not text.strip():
        return {}
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def arguments_as_object(arguments: object) -> dict[str, object]:
    """Return arguments as the JSON object that providers require when a call is sent back."""
    if isinstance(arguments, str):
        arguments = parse_arguments(arguments)
    if isinstance(arguments, dict):
        return {str(name): value for name, value in arguments.items()}
    return {"arguments": arguments if not isinstance(arguments, str) else arguments[:_MAX_ECHOED_CHARS]}


def replace_surrogates(value: Any) -> Any:
    """Return JSON data with lone surrogates replaced: pages may contain them, but UTF-8 cannot encode them."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {replace_surrogates(name): replace_surrogates(item) for name, item in value.items()}
    return [replace_surrogates(item) for item in value] if isinstance(value, (list, tuple)) else value


def split_expansion(expansion: Expansion) -> Iterator[OpenSection]:
    """Return the sections of an expansion one by one; the breadcrumb of a subsection ends with its heading."""
    for shown in expansion.shown:
        if shown.text.strip():
            heading = shown.text.lstrip().partition("\n")[0].strip("# \t")
            inside = () if shown.id == expansion.id else (heading[:_MAX_HEADING_CHARS],)
            yield OpenSection(shown.id, tuple(filter(None, (*expansion.breadcrumb, *inside))), shown.text)
