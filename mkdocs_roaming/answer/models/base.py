"""The interface of a language model, how a plugin provides one, and selection by name.

A model reads a `ModelRequest` and streams its reply in parts. It keeps no state between two replies: each request
holds the whole conversation.

A plugin is a factory in the entry point group `roaming.models`. The factory takes a `ModelConfig` and returns a
`Model`; a class whose constructor takes a `ModelConfig` is a factory, too:

    class EchoModel:
        def __init__(self, config: ModelConfig) -> None:
            self.name = config.name

        async def reply(self, request: ModelRequest) -> AsyncIterator[Part]:
            yield Text(f"You asked: {request.question} [^none]")
            yield Stop()

With the entry point `echo = "my_package:EchoModel"`, the model is selected by `--model echo:NAME`.
"""

from __future__ import annotations

import json
import pkgutil
import re
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from operator import add
from typing import Any, Literal, Protocol

import msgspec

from mkdocs_roaming._http import check_api_key
from mkdocs_roaming.errors import ModelError, PluginError, RoamingError, UsageError
from mkdocs_roaming.library.tools import Tool, ToolOutput
from mkdocs_roaming.plugins import entry_point_names, load_entry_point

NO_SOURCE = "none"
"""A model cites `[^none]` where the documentation does not answer the question."""

_UNSAFE = re.compile(r"[^a-zA-Z0-9_-]")
"""What names of tools and ids of calls may not contain: the dot of `call.1`."""


JsonObject = Mapping[str, Any]
"""An object of JSON data, as APIs send and receive them."""


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
        calls: The tools that the model called. Their ids are unique in the conversation, and consist of ASCII letters,
            digits, `-` and `_`.
        provider_state: The `provider_state` of the reply's `Stop`, unchanged; None once earlier turns were changed,
            because sections were closed to make room.
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
class ModelRequest:
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
        site: All sections of a small site, for models that do not read `outline`.
    """

    rules: str
    outline: str
    turns: tuple[Turn, ...]
    tools: tuple[Tool, ...] = ()
    note: str = ""
    output_tokens: int = 700
    site: tuple[OpenSection, ...] = ()

    @property
    def question(self) -> str:
        """The question to answer."""
        return next((turn.question for turn in reversed(self.turns) if isinstance(turn, UserTurn)), "")

    @property
    def has_results(self) -> bool:
        """Whether there are calls with their results in the conversation."""
        return any(isinstance(turn, ToolTurn) for turn in self.turns)


# The reply


class Text(msgspec.Struct, frozen=True):
    """A piece of the reply's text, with `[^id]` after each statement for the section that supports it."""

    text: str


class Citation(msgspec.Struct, frozen=True):
    """A native citation: the text so far is supported by this section. Other models write `[^id]` into the text."""

    id: str


class ToolCall(msgspec.Struct, frozen=True):
    """A call of one of the request's tools; `arguments` is what the model wrote, valid or not."""

    id: str
    name: str
    arguments: Any


class Usage(msgspec.Struct, frozen=True):
    """Tokens as the provider counts them."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0

    def __add__(self, other: Usage) -> Usage:
        """Return the sum of two usages."""
        return Usage(*map(add, msgspec.structs.astuple(self), msgspec.structs.astuple(other)))


NO_USAGE = Usage()


def to_identifier(value: object, max_chars: int) -> str:
    """Return what a model or server wrote as a name, in characters that every provider accepts."""
    return _UNSAFE.sub("_", str(value))[:max_chars]


StopReason = Literal["end", "tools", "length", "refusal"]


class Stop(msgspec.Struct, frozen=True):
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

        from mkdocs_roaming.answer.models.base import Part, ModelRequest, Stop, Text

        class OutlineModel:
            name = "outline"

            async def reply(self, request: ModelRequest) -> AsyncIterator[Part]:
                yield Text(request.outline.splitlines()[0])
                yield Stop()

        answer = mkdocs_roaming.ask(library, "What is this?", model=OutlineModel())
        ```
    """

    @property
    def name(self) -> str:
        """The name that answers are labelled with."""
        ...

    def reply(self, request: ModelRequest) -> AsyncIterator[Part]:
        """Stream the reply to a request.

        An async generator: it is closed when the reader leaves. It must not hold a cancel scope or a task group open
        while it yields.

        Raises:
            ContextError: The request does not fit into the context. A server that cuts requests without a word is
                only noticed at the end of the reply, after its text.
            ToolsUnsupportedError: The model cannot call tools.
            ModelError: The provider refused or failed in another way; the message is one line with a fix.
        """
        ...


async def find_context(model: Model) -> int | None:
    """Return the tokens that request and reply of a model may have together, or None if that is not known.

    It is the setting, or what the server has loaded, never the most that the model could do. The first call may ask
    the server, for at most two seconds; the result is kept. A model of a plugin may have this method, too.
    """
    find = getattr(model, "find_context", None)
    return await find() if find is not None else None


@dataclass(frozen=True, slots=True)
class UnavailableModel:
    """A hosted model that cannot be created, for example without its key. Its replies are errors."""

    name: str
    problem: str
    is_hosted: bool = True

    def reply(self, request: ModelRequest) -> AsyncIterator[Part]:
        """Raise the error."""
        raise ModelError(self.problem)


# Creating models

RESERVED_PARAMETERS = frozenset(
    ("model", "messages", "system", "tools", "tool_choice", "stream", "max_tokens", "max_completion_tokens", "n")
)
"""The parameters that a configuration cannot set: requests and replies would no longer be understood."""


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """The settings of a model that do not depend on its provider.

    Attributes:
        context: The tokens of the context.
        tools: Whether the model can call tools.
        parameters: Further parameters of each request, such as `reasoning_effort`.
    """

    context: int | None = None
    tools: bool = True
    parameters: JsonObject = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the parameters."""
        if reserved := RESERVED_PARAMETERS & self.parameters.keys():
            raise UsageError(f"parameters in [model]: {min(reserved)} is set by the product; remove it")
        try:
            json.dumps(self.parameters, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise UsageError(f"parameters in [model]: {error}; use texts, numbers, lists and tables") from None


DEFAULT_OPTIONS = ModelOptions()


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The settings of one model, from command-line options, environment and `roaming.toml`.

    Attributes:
        name: What follows the colon in `--model provider:name`; empty without a colon.
        environ: The environment variables.
        base_url: The base URL of the options.
        settings: The table `[model]` of `roaming.toml`: `model`, `base_url`, `api_key`, `key_env`.
        options: The rest of the table.
    """

    name: str
    environ: Mapping[str, str]
    base_url: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    options: ModelOptions = DEFAULT_OPTIONS

    def get_base_url(self, variable: str = "") -> str:
        """Return the provider's base URL, or "" if none is set.

        The option comes first, then `ROAMING_BASE_URL`, the provider's own environment variable, and `roaming.toml`.
        """
        configured = self.settings.get("base_url")
        return _first(self.base_url, self.environ.get("ROAMING_BASE_URL"), self.environ.get(variable), configured)

    def get_key(self, variable: str) -> tuple[str, str]:
        """Return the API key, or "", and the name of the environment variable that holds it.

        The key of `roaming.toml` comes first, then the provider's own environment variable: the general key must not be
        sent to a server for which another key was set.

        Raises:
            UsageError: The key contains characters that no key has.
        """
        key = _first(self.settings.get("api_key"))
        if key:
            variable = _first(self.settings.get("key_env"), variable)
        return check_api_key(key or _first(self.environ.get(variable)), variable), variable


def _first(*values: str | None) -> str:
    """Return the first value that is set, or ""."""
    return next((value.strip() for value in values if value and value.strip()), "")


ModelFactory = Callable[[ModelConfig], Model]
"""The type of a plugin in the entry point group `roaming.models`."""

ENTRY_POINT_GROUP = "roaming.models"
DEFAULT_CLAUDE_MODEL = "claude-haiku-5-5"

_MODULES = "mkdocs_roaming.answer.models"
_BUILT_IN = {
    "claude": f"{_MODULES}.anthropic:AnthropicModel.from_config",
    "openai": f"{_MODULES}.openai:OpenAIModel.from_config",
    "offline": "mkdocs_roaming.answer.results:Offline.from_config",
    "scripted": f"{_MODULES}.scripted:ScriptedModel.from_config",
}
"""Factories by provider, written like entry points: a module is imported when its model is created."""


def create_model(
    name: str | None = None,
    *,
    environ: Mapping[str, str],
    base_url: str | None = None,
    config: Mapping[str, str] | None = None,
    options: ModelOptions = DEFAULT_OPTIONS,
) -> Model:
    """Create the model for a name such as `claude`, `openai:qwen3` or `myplugin:large`.

    Without a name, `ROAMING_MODEL` or the setting `model` decides; otherwise it is Claude if `ANTHROPIC_API_KEY` is
    set, and `offline` if not.

    Args:
        name: The model, `PROVIDER` or `PROVIDER:MODEL`.
        environ: The environment variables.
        base_url: The base URL of the provider's API.
        config: The settings `model`, `base_url`, `api_key` and `key_env`. If `model` is of another provider than the
            name, the other settings are ignored: they belong to that provider.
        options: The settings that do not depend on the provider.

    Raises:
        UsageError: The model is unknown, or a setting is missing or invalid.
        PluginError: A plugin could not be imported or failed.
    """
    config = config or {}
    configured = _first(config.get("model"))
    default = "claude" if environ.get("ANTHROPIC_API_KEY") else "offline"
    name = _first(name, environ.get("ROAMING_MODEL"), configured, default)
    provider, model = split_model_name(name)
    if configured and split_model_name(configured)[0] != provider:
        config = {}
    settings = ModelConfig(model, environ, base_url or "", config, options)
    if provider in _BUILT_IN:
        factory: ModelFactory = pkgutil.resolve_name(_BUILT_IN[provider])
        return factory(settings)
    return _create_plugin_model(provider, name, settings)


def split_model_name(name: str) -> tuple[str, str]:
    """Return provider and model of a name; the models of Claude need no provider, and Claude has a default model."""
    provider, _, model = name.strip().partition(":")
    if provider.startswith("claude-") and not model:
        return "claude", provider
    return provider, model or (DEFAULT_CLAUDE_MODEL if provider == "claude" else "")


def _create_plugin_model(provider: str, name: str, settings: ModelConfig) -> Model:
    plugins = entry_point_names(ENTRY_POINT_GROUP)
    if provider not in plugins:
        names = ["claude", "claude:MODEL", "openai:MODEL", "offline", "scripted:FILE"]
        names += [f"{plugin}:MODEL" for plugin in plugins]
        raise UsageError(f"unknown model {name!r}; choose {', '.join(names[:-1])} or {names[-1]}")
    factory: ModelFactory = load_entry_point(ENTRY_POINT_GROUP, provider)
    try:
        model = factory(settings)
        if not isinstance(model.name, str) or not callable(model.reply):
            raise TypeError("a model needs a name and a method reply")
    except RoamingError:
        raise
    except Exception as error:  # a plugin may raise anything
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise PluginError(f"the model plugin {provider!r} failed: {reason}; update or uninstall it") from error
    return model
