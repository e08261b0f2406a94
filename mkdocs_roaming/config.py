"""The settings in `roaming.toml`: which model answers, what its tokens cost, what one answer may cost, how is searched.

[model]
name = "openai:qwen3"
base_url = "http://127.0.0.1:11434/v1"
key_env = "MY_KEY"          # the name of the variable that holds the key; a key itself never stands here

[prices]                    # of a million tokens
input = 1.0
cache_read = 0.1
cache_write = 1.25
output = 5.0
currency = "USD"

[budget]                    # of one answer
rounds = 4
seconds = 45
open_chars = 60000
output_tokens = 700
whole_site_tokens = 8000
cost = 0.05

[search]
mode = "hybrid"             # or "lexical": by words alone, also where [embeddings] names a model

[embeddings]                # whose vectors search by meaning asks for
model = "nomic-embed-text"
base_url = "http://127.0.0.1:11434/v1"
key_env = "MY_OTHER_KEY"
text_prefix = "search_document: "   # for `roaming index` and `crawl`
query_prefix = "search_query: "
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mkdocs_roaming.answer.budget import SMALL_SITE_TOKENS, Budget, Prices
from mkdocs_roaming.answer.models.base import Model
from mkdocs_roaming.answer.models.registry import DEFAULT_CLAUDE_MODEL, create_model
from mkdocs_roaming.embeddings.client import (
    CONFIG_FIELDS,
    EmbeddingsConfig,
    parse_embeddings_config,
)
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Finder, Search

FILE = "roaming.toml"

TABLES: Mapping[str, Mapping[str, type]] = {
    "model": {"name": str, "base_url": str, "key_env": str},
    "prices": {"input": float, "cache_read": float, "cache_write": float, "output": float, "currency": str},
    "budget": {
        "rounds": int,
        "seconds": float,
        "open_chars": int,
        "output_tokens": int,
        "whole_site_tokens": int,
        "cost": float,
    },
    "search": {"mode": str},
    "embeddings": dict.fromkeys(CONFIG_FIELDS, str),
}
"""What may stand in the file: tables, their keys, the type of each."""

SERVING = ("serve", "limits", "lint")
"""Tables that may stand there too: what `roaming serve` and `roaming lint` read."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a settings file says; `where` is the file, empty where there is none."""

    where: str = ""
    model: str = ""
    base_url: str = ""
    key_env: str = ""
    prices: Prices | None = None
    budget: Budget = field(default_factory=Budget)
    whole_site_tokens: int = SMALL_SITE_TOKENS
    search: str = ""
    embeddings: EmbeddingsConfig | None = None
    serving: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    def choose(self, name: str | None, base_url: str | None, environ: Mapping[str, str]) -> Model:
        """Give the model that option, environment or file name, in this order; raises UsageError where none can be."""
        key = environ.get(self.key_env, "")
        config = {"model": self.model, "base_url": self.base_url, "api_key": key, "key_env": self.key_env}
        try:
            return create_model(name, environ=environ, base_url=base_url, config=config)
        except UsageError as error:
            if self.key_env and self.key_env not in environ:
                raise UsageError(
                    f"{error} ({self.where} takes its key from {self.key_env}, which is not set)"
                ) from None
            raise

    def finding(self, environ: Mapping[str, str], tell: Callable[[str], None]) -> Callable[[Library], Finder]:
        """Give what makes the search of a library; `tell` gets a line when it has to go by words alone.

        It goes by meaning too where a model for that is named, and `mode` does not say otherwise.
        """
        if self.embeddings is None or self.search == "lexical":
            return Search
        from mkdocs_roaming.embeddings.client import QUERY_TIMEOUT, QueryEmbedder, create_embeddings_client
        from mkdocs_roaming.library.hybrid import HybridSearch  # few sites publish vectors

        endpoint = create_embeddings_client(self.embeddings, environ, timeout=5 * QUERY_TIMEOUT, retries=0)
        queries = QueryEmbedder(endpoint, prefix=self.embeddings.query_prefix, on_warning=tell)
        return lambda library: HybridSearch(Search(library), queries)

    def budget_of(self, model: Model) -> Budget:
        """Give the budget for a model: prices are those of the model that the file names, and of no other."""
        name = self.model.partition(":")[2] or self.model
        if self.model and name != model.name and (name, model.name) != ("claude", DEFAULT_CLAUDE_MODEL):
            return replace(self.budget, prices=None, cost=None)
        return self.budget


def load_settings(path: Path | None = None) -> Settings:
    """Read a settings file; without a path `roaming.toml` in the working folder, if there is one.

    Raises UsageError in one line that names the file and the key.
    """
    if path is None:
        path = Path(FILE)
        if not path.is_file():
            return Settings()
    try:
        data = tomllib.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); name a settings file") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not TOML ({error})") from None
    serving = {name: data.pop(name) for name in SERVING if name in data}
    tables = {name: _table(str(path), name, value) for name, value in data.items()}
    return replace(_settings(str(path), tables), serving=serving)


def check_table(where: str, name: str, value: object, keys: Mapping[str, type]) -> dict[str, Any]:
    """Give a table of a settings file; raises UsageError where a key or a type is wrong."""
    if not isinstance(value, dict):
        raise UsageError(f"{where}: {name} is a table; write [{name}] on a line of its own")
    for key, one in value.items():
        if key not in keys:
            raise UsageError(f"{where}: [{name}] has no key {key!r}; it has {', '.join(keys)}")
        kind = keys[key]
        fits = isinstance(one, (int, float) if kind is float else kind) and isinstance(one, bool) == (kind is bool)
        if not fits or (kind is list and not all(isinstance(item, str) for item in one)):
            raise UsageError(f"{where}: [{name}] {key} is {_NAMES[kind]}, not {one!r}")
        if kind in (int, float) and abs(one) > _GREATEST:
            raise UsageError(f"{where}: [{name}] {key} is too great a number")
    return dict(value)


def _table(where: str, name: str, value: object) -> dict[str, Any]:
    if name not in TABLES:
        known = ", ".join(f"[{one}]" for one in (*TABLES, *SERVING))
        raise UsageError(f"{where}: there is no table [{name}]; there are {known}")
    return check_table(where, name, value, TABLES[name])


_GREATEST = 1e15
_NAMES = {bool: "true or false", str: "a text", int: "a whole number", float: "a number", list: "a list of texts"}


def _settings(where: str, tables: Mapping[str, dict[str, Any]]) -> Settings:
    model = tables.get("model", {})
    budget = dict(tables.get("budget", {}))
    whole = budget.pop("whole_site_tokens", SMALL_SITE_TOKENS)
    if whole < 0:
        raise UsageError(f"{where}: [budget] whole_site_tokens is 0 or more, not {whole}")
    search = tables.get("search", {}).get("mode", "")
    if search not in ("", "lexical", "hybrid"):
        raise UsageError(f"{where}: [search] mode is lexical or hybrid, not {search!r}")
    embeddings = (
        parse_embeddings_config(tables["embeddings"], f"{where}: [embeddings]") if "embeddings" in tables else None
    )
    if search == "hybrid" and embeddings is None:
        raise UsageError(f"{where}: [search] mode hybrid needs a model that makes vectors; name one in [embeddings]")
    try:
        prices = Prices(**tables["prices"]) if "prices" in tables else None
    except UsageError as error:
        raise UsageError(f"{where}: [prices]: {error}") from None
    try:
        checked = Budget(**budget, prices=prices)
    except UsageError as error:
        raise UsageError(f"{where}: [budget]: {error}") from None
    return Settings(
        where=where,
        model=model.get("name", ""),
        base_url=model.get("base_url", ""),
        key_env=model.get("key_env", ""),
        prices=prices,
        budget=checked,
        whole_site_tokens=whole,
        search=search,
        embeddings=embeddings,
    )
