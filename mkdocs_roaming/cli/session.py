"""Options of commands that use the configuration file, combined with it: the model, its budget, and embeddings."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import click

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.models.base import Model
from mkdocs_roaming.cli.common import CONFIG, combine_options, given_settings, setting_options, warn
from mkdocs_roaming.config import Settings, load_settings
from mkdocs_roaming.embeddings.config import EmbeddingsConfig, ModelFinder
from mkdocs_roaming.library.index_cache import IndexCache
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Search

model_options = combine_options(
    click.option(
        "--model",
        metavar="MODEL",
        help="claude, claude:MODEL, openai:MODEL (any compatible server), offline, scripted:FILE, or "
        "PLUGIN:MODEL. [env var: ROAMING_MODEL]",
    ),
    click.option("--base-url", metavar="URL", help="URL of the model's server. [env var: ROAMING_BASE_URL]"),
    setting_options(Budget, "rounds", "seconds", "whole_site_tokens", environment=True),
    CONFIG,
)
"""The options for the model and the limits of its answers."""


@dataclass(frozen=True, slots=True)
class ResolvedOptions:
    """The options of `model_options`, combined with environment and configuration file."""

    settings: Settings
    model: str | None = None
    base_url: str | None = None

    @classmethod
    def from_options(cls, given: dict[str, Any]) -> ResolvedOptions:
        """Combine the options of `model_options` with the configuration file that they name."""
        settings = load_settings(given["config"])
        budget = replace(settings.budget, **given_settings(Budget, given))
        return cls(replace(settings, budget=budget), given["model"], given["base_url"])

    def search_factory(
        self, on_warning: Callable[[str], None] = warn, *, prepare: bool = False
    ) -> Callable[[Library], Search]:
        """Return the constructor of the configured search, whose indexes are cached.

        Args:
            on_warning: Called with a line when hybrid search falls back to words.
            prepare: See `Settings.search_factory`.
        """
        cache = IndexCache.from_environment(os.environ)
        return self.settings.search_factory(os.environ, on_warning, cache, prepare=prepare)

    def create_model(self, name: str | None = None, *, checks_only: bool = False) -> tuple[Model, Budget]:
        """Create a model and the budget of its answers.

        Args:
            name: The model; None for the selected one.
            checks_only: See `Settings.create_model`.
        """
        model, budget = self.settings.create_model(
            name or self.model, self.base_url, os.environ, checks_only=checks_only
        )
        if self.settings.cost is not None and budget.cost is None and model.name != "offline":
            warn(f"{self.settings.where} has no prices for {model.name}: its cost is neither shown nor limited")
        return model, budget


def embeddings_options(given: dict[str, Any]) -> ModelFinder | None:
    """Return the model whose vectors are published, from `--search` and `--config`; None for lexical search."""
    if given["search"] != "hybrid":
        return None
    return ModelFinder(load_settings(given["config"]).embeddings or EmbeddingsConfig(), os.environ)
