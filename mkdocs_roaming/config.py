"""The configuration file `roaming.toml`.

[model]
name = "openai:qwen3"
base_url = "http://127.0.0.1:11434/v1"
key_env = "MY_KEY"          # variable with the API key; the key itself is never part of the file

[prices]                    # per million tokens
input = 1.0
cache_read = 0.1
cache_write = 1.25
output = 5.0
currency = "USD"

[budget]                    # per answer
rounds = 4
seconds = 45
open_chars = 60000
output_tokens = 700
whole_site_tokens = 8000
cost = 0.05
support = "words"           # or "model": one more call, which checks each sentence of an answer

[search]
mode = "hybrid"             # or "lexical": ignore [embeddings]

[embeddings]
model = "nomic-embed-text"
base_url = "http://127.0.0.1:11434/v1"
key_env = "MY_OTHER_KEY"
text_prefix = "search_document: "   # for `roaming index` and `roaming crawl`
query_prefix = "search_query: "
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from mkdocs_roaming.answer.budget import SMALL_SITE_TOKENS, Budget, Prices, SupportMethod
from mkdocs_roaming.answer.models.base import Model, create_model, split_model_name
from mkdocs_roaming.embeddings.client import EmbeddingsConfig, parse_embeddings_config
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.index import IndexCache
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.settings import decode_table

FILE = "roaming.toml"

T = TypeVar("T")
Amount = Annotated[float, msgspec.Meta(ge=0, le=1e15)]
Count = Annotated[int, msgspec.Meta(ge=0, le=10**15)]


class ModelTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table [model]."""

    name: str = ""
    base_url: str = ""
    key_env: str = ""


class PricesTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table [prices], per million tokens."""

    input: Amount = 0.0
    cache_read: Amount = 0.0
    cache_write: Amount = 0.0
    output: Amount = 0.0
    currency: str = "USD"


class BudgetTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The table [budget], per answer."""

    rounds: Count | None = None
    seconds: Amount | None = None
    open_chars: Count | None = None
    output_tokens: Count | None = None
    whole_site_tokens: Count = SMALL_SITE_TOKENS
    cost: Amount | None = None
    support: SupportMethod = "words"


class SearchTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table [search]."""

    mode: Literal["", "lexical", "hybrid"] = ""


TABLES: Mapping[str, type] = {
    "model": ModelTable,
    "prices": PricesTable,
    "budget": BudgetTable,
    "search": SearchTable,
    "embeddings": EmbeddingsConfig,
}
"""The tables that every command reads."""

OTHER_TABLES = ("serve", "limits", "lint", "publish")
"""Tables for single commands, which decode them."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The content of a configuration file.

    Attributes:
        where: The file, for messages; empty without one.
        model: Name of the model, `""` for the default.
        base_url: URL of the model's server.
        key_env: Variable with the API key.
        prices: Prices of the model.
        budget: Limits of an answer.
        whole_site_tokens: Size below which a site is read whole, in estimated tokens.
        search: Search mode, `""` for the default.
        embeddings: The embedding model.
        serving: The tables in `OTHER_TABLES`.
    """

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

    def create_model(self, name: str | None, base_url: str | None, environ: Mapping[str, str]) -> tuple[Model, Budget]:
        """Create the model named by option, environment or file, in this order, and the budget of its answers.

        Prices and the cost limit apply only to the model that the file names; without a name in the file, to every
        model.

        Raises:
            UsageError: The model is unknown, or a setting is missing.
        """
        key = environ.get(self.key_env, "")
        config = {"model": self.model, "base_url": self.base_url, "api_key": key, "key_env": self.key_env}
        try:
            model = create_model(name, environ=environ, base_url=base_url, config=config)
        except UsageError as error:
            if self.key_env and self.key_env not in environ:
                raise UsageError(
                    f"{error} ({self.where} names the variable {self.key_env}, which is not set)"
                ) from None
            raise
        selected = name or environ.get("ROAMING_MODEL") or self.model
        if self.model and split_model_name(selected) != split_model_name(self.model):
            return model, replace(self.budget, prices=None, cost=None)
        return model, self.budget

    def search_factory(
        self, environ: Mapping[str, str], on_warning: Callable[[str], None], cache: IndexCache | None = None
    ) -> Callable[[Library], Search]:
        """Return the constructor of a library's search: hybrid if an embedding model is configured.

        Args:
            environ: The environment.
            on_warning: Called with a line when hybrid search falls back to words.
            cache: Indexes of earlier processes.
        """
        if self.embeddings is None or self.search == "lexical":
            return partial(Search, cache=cache)
        from mkdocs_roaming.embeddings.client import QUERY_TIMEOUT, QueryEmbedder, create_embeddings_client
        from mkdocs_roaming.library.hybrid import HybridSearch  # few sites publish vectors

        client = create_embeddings_client(self.embeddings, environ, timeout=5 * QUERY_TIMEOUT, retries=0)
        queries = QueryEmbedder(client, prefix=self.embeddings.query_prefix, on_warning=on_warning)
        return lambda library: HybridSearch(library, queries, cache=cache)


def load_settings(path: Path | None = None) -> Settings:
    """Load a configuration file.

    Args:
        path: The file; None for `roaming.toml` in the working directory, if it exists.

    Raises:
        UsageError: The file is missing or invalid; the message names file, table and key.
    """
    if path is None:
        path = Path(FILE)
        if not path.is_file():
            return Settings()
    try:
        data = tomllib.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read: {error.strerror}. Pass a configuration file with --config."
        ) from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not TOML ({error})") from None
    return _build_settings(str(path), data)


def _build_settings(where: str, data: dict[str, Any]) -> Settings:
    for name in data:
        if name not in (*TABLES, *OTHER_TABLES):
            known = ", ".join(f"[{table}]" for table in (*TABLES, *OTHER_TABLES))
            raise UsageError(f"{where}: unknown table [{name}]. Known tables: {known}")

    def decode(name: str, kind: type[T]) -> T:
        return decode_table(data.get(name, {}), kind, f"{where}: [{name}]")

    model, limits, mode = decode("model", ModelTable), decode("budget", BudgetTable), decode("search", SearchTable).mode
    embeddings = parse_embeddings_config(data["embeddings"], f"{where}: [embeddings]") if "embeddings" in data else None
    if mode == "hybrid" and embeddings is None:
        raise UsageError(f"{where}: [search]: mode: hybrid needs an embedding model. Configure [embeddings].")
    prices = Prices(**msgspec.structs.asdict(decode("prices", PricesTable))) if "prices" in data else None
    given = {name: value for name, value in msgspec.structs.asdict(limits).items() if value is not None}
    del given["whole_site_tokens"]
    try:
        budget = Budget(**given, prices=prices)
    except UsageError as error:
        raise UsageError(f"{where}: [budget]: {error}") from None
    return Settings(
        where=where,
        model=model.name,
        base_url=model.base_url,
        key_env=model.key_env,
        prices=prices,
        budget=budget,
        whole_site_tokens=limits.whole_site_tokens,
        search=mode,
        embeddings=embeddings,
        serving={name: data[name] for name in OTHER_TABLES if name in data},
    )
