"""Which model answers, by its name and by what is configured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mkdocs_roaming.answer.models.base import Model
from mkdocs_roaming.errors import UsageError

DEFAULT_CLAUDE_MODEL = "claude-haiku-5-5"
NAMES = "claude, claude:MODEL, openai:MODEL, offline or scripted:FILE"


def create_model(
    name: str | None = None,
    *,
    environ: Mapping[str, str],
    base_url: str | None = None,
    key: str | None = None,
    config: Mapping[str, object] | None = None,
) -> Model:
    """Give the model that a name stands for; raises UsageError where it is unknown or something is missing.

    Name and base URL are taken from the options, else from `environ` (ROAMING_MODEL, ROAMING_BASE_URL, and what the
    provider calls its own), else from `config` (`model`, `base_url`). A key is the option, else the `api_key` of
    `config`, from the variable `key_env`, else the provider's own variable: the general one must not go where another
    one was meant to. Where `config` names a model of another kind, its base URL and key are that one's. Without any
    name it is Claude where ANTHROPIC_API_KEY is set, else offline: no other key says which model is meant.
    """
    config = config or {}
    given = _Given(environ, config)
    name = given.first(name, "ROAMING_MODEL", "model") or ("claude" if environ.get("ANTHROPIC_API_KEY") else "offline")
    kind, rest = _kind_of(name)
    configured = config.get("model")
    if isinstance(configured, str) and configured.strip() and _kind_of(configured)[0] != kind:
        given = _Given(environ, {})
    match kind:
        case "offline" if not rest:
            from mkdocs_roaming.answer.models.extractive import ExtractiveModel

            return ExtractiveModel()
        case "scripted" if rest:
            from mkdocs_roaming.answer.models.scripted import ScriptedModel, read_script

            return ScriptedModel(read_script(Path(rest)))
        case "claude":
            return _claude(rest or DEFAULT_CLAUDE_MODEL, given, base_url, key)
        case "openai":
            return _openai(rest, given, base_url, key)
    raise UsageError(f"there is no model {name!r}; choose {NAMES}")


def _kind_of(name: str) -> tuple[str, str]:
    """Give who is asked, and for which model."""
    kind, _, rest = name.strip().partition(":")
    return ("claude", kind) if kind.startswith("claude-") and not rest else (kind, rest)


class _Given:
    """What environment and configuration say; what is empty says nothing."""

    def __init__(self, environ: Mapping[str, str], config: Mapping[str, object]) -> None:
        self._environ, self._config = environ, config

    def first(self, option: str | None, *names: str) -> str:
        """Give the option, else the first that is set: names of the environment, last one of the configuration."""
        *variables, setting = names
        configured = self._config.get(setting)
        if configured is not None and not isinstance(configured, str):
            raise UsageError(f"the setting {setting!r} must be a text, not {configured!r}")
        said = (option, *(self._environ.get(variable) for variable in variables), configured)
        return next((one.strip() for one in said if one and one.strip()), "")

    def key(self, option: str | None, variable: str) -> tuple[str, str]:
        """Give the key, and the variable that it stands in: the option, the configuration's, or the provider's own."""
        given, configured = (option or "").strip(), self.first(None, "api_key")
        name = (self.first(None, "key_env") or variable) if configured and not given else variable
        key = given or configured or self.first(None, variable, "api_key")
        if not (key.isascii() and key.isprintable()) or " " in key:
            what = "a character that no key has, a curly quotation mark or a line break"
            raise UsageError(f"the key in {name} holds {what}; set it anew")
        return key, name


def _claude(model: str, given: _Given, base_url: str | None, key: str | None) -> Model:
    where = given.first(base_url, "ROAMING_BASE_URL", "ANTHROPIC_BASE_URL", "base_url")
    key, key_name = given.key(key, "ANTHROPIC_API_KEY")
    if not key and not where:
        raise UsageError(f"{model} needs a key; set ANTHROPIC_API_KEY, or choose the model offline")
    from mkdocs_roaming.answer.models.anthropic import AnthropicModel

    # Servers of one's own often ask for no key.
    return AnthropicModel(model, key=key or "none", base_url=where, key_name=key_name)


def _openai(model: str, given: _Given, base_url: str | None, key: str | None) -> Model:
    if not model:
        raise UsageError("which model of the server is meant? name it, such as openai:qwen3")
    where = given.first(base_url, "ROAMING_BASE_URL", "OPENAI_BASE_URL", "base_url")
    key, key_name = given.key(key, "OPENAI_API_KEY")
    if not key and not where:
        raise UsageError(
            f"where is {model}? set ROAMING_BASE_URL, such as http://localhost:11434/v1, or OPENAI_API_KEY for OpenAI"
        )
    from mkdocs_roaming.answer.models.openai import BASE_URL, OpenAIModel

    return OpenAIModel(model, base_url=where or BASE_URL, key=key, key_name=key_name)
