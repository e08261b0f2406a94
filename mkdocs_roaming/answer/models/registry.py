"""Selection of a model by name: built-in models and plugins of the entry point group `roaming.models`."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping

from mkdocs_roaming.answer.models.base import Model, ModelConfig, ModelFactory
from mkdocs_roaming.errors import PluginError, RoamingError, UsageError
from mkdocs_roaming.plugins import entry_point_names, load_entry_point

ENTRY_POINT_GROUP = "roaming.models"
DEFAULT_CLAUDE_MODEL = "claude-haiku-5-5"

_MODULES = "mkdocs_roaming.answer.models"
_BUILT_IN = {
    "claude": f"{_MODULES}.anthropic:AnthropicModel.from_config",
    "openai": f"{_MODULES}.openai:OpenAIModel.from_config",
    "offline": f"{_MODULES}.extractive:ExtractiveModel.from_config",
    "scripted": f"{_MODULES}.scripted:ScriptedModel.from_config",
}
"""Factories by provider, written like entry points: a module is imported when its model is created."""


def create_model(
    name: str | None = None,
    *,
    environ: Mapping[str, str],
    base_url: str | None = None,
    key: str | None = None,
    config: Mapping[str, object] | None = None,
) -> Model:
    """Create the model for a name such as `claude`, `openai:qwen3` or `myplugin:large`.

    Without a name, `ROAMING_MODEL` or the setting `model` decides; otherwise it is Claude if `ANTHROPIC_API_KEY` is
    set, and `offline` if not.

    Args:
        name: The model, `PROVIDER` or `PROVIDER:MODEL`.
        environ: The environment variables.
        base_url: The base URL of the provider's API.
        key: The API key.
        config: The settings `model`, `base_url`, `api_key` and `key_env`. If `model` is of another provider than the
            name, the other settings are ignored: they belong to that provider.

    Raises:
        UsageError: The model is unknown, or a setting is missing or invalid.
        PluginError: A plugin could not be imported or failed.
    """
    config = config or {}
    configured = config.get("model") or ""
    if not isinstance(configured, str):
        raise UsageError(f"the setting 'model' must be a string, not {configured!r}")
    names = (name, environ.get("ROAMING_MODEL"), configured)
    name = next((text.strip() for text in names if text and text.strip()), "")
    provider, model = _split_name(name or ("claude" if environ.get("ANTHROPIC_API_KEY") else "offline"))
    if configured.strip() and _split_name(configured)[0] != provider:
        config = {}
    settings = ModelConfig(model, environ, base_url or "", key or "", config)
    if provider in _BUILT_IN:
        factory: ModelFactory = pkgutil.resolve_name(_BUILT_IN[provider])
        return factory(settings)
    return _create_plugin_model(provider, name, settings)


def _split_name(name: str) -> tuple[str, str]:
    """Return provider and model; the models of Claude need no provider."""
    provider, _, model = name.strip().partition(":")
    return ("claude", provider) if provider.startswith("claude-") and not model else (provider, model)


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
