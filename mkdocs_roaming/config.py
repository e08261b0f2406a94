"""The configuration file `roaming.toml`.

[model]
name = "openai:qwen3"
base_url = "http://127.0.0.1:11434/v1"
key_env = "MY_KEY"          # variable with the API key; the key itself is never part of the file
context = 8192              # tokens of a request and its reply, if the server does not say what it has loaded
tools = false               # for a model that cannot call tools
parameters = {reasoning_effort = "low"}     # of each request

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

[search]
mode = "hybrid"             # with a model in the process if there is no [embeddings]; or "lexical"

[embeddings]
model = "nomic-embed-text"
base_url = "http://127.0.0.1:11434/v1"
key_env = "MY_OTHER_KEY"
text_prefix = "search_document: "   # for `roaming index` and `roaming crawl`
query_prefix = "search_query: "
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache as cached
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from mkdocs_roaming.answer.budget import Budget, Prices, find_known_prices
from mkdocs_roaming.answer.models.base import (
    DEFAULT_OPTIONS,
    Model,
    ModelOptions,
    UnavailableModel,
    create_model,
    split_model_name,
)
from mkdocs_roaming.answer.models.context import LEAST_CONTEXT
from mkdocs_roaming.embeddings.client import QUERY_TIMEOUT, QueryEmbedder
from mkdocs_roaming.embeddings.config import EmbeddingsConfig, find_model, parse_embeddings_config
from mkdocs_roaming.embeddings.embedder import EmbeddingError, FailedEmbedder
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.index_cache import IndexCache
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.settings import CONFIG_FILE, decode_table, read_toml

T = TypeVar("T")

FILE = CONFIG_FILE


class ModelTable(msgspec.Struct, frozen=True):
    """The table [model]."""

    name: str = ""
    base_url: str = ""
    key_env: str = ""
    context: Annotated[int, Meta(ge=LEAST_CONTEXT)] | None = None
    tools: bool = True
    parameters: dict[str, Any] = {}


class SearchTable(msgspec.Struct, frozen=True):
    """The table [search]."""

    mode: Literal["", "lexical", "hybrid"] = ""


TABLES: Mapping[str, type] = {
    "model": ModelTable,
    "prices": Prices,
    "budget": Budget,
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
        model: The model, its server, and the variable with its API key.
        budget: Limits of an answer without its cost, with the prices of the model if the file has them.
        cost: Maximum cost of an answer, whose prices may be those that are built in.
        search: Search mode, `""` for the default.
        embeddings: The embedding model.
        serving: The tables in `OTHER_TABLES`.
    """

    where: str = ""
    model: ModelTable = field(default_factory=ModelTable)
    budget: Budget = field(default_factory=Budget)
    cost: float | None = None
    search: str = ""
    embeddings: EmbeddingsConfig | None = None
    serving: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    def create_model(
        self, name: str | None, base_url: str | None, environ: Mapping[str, str], *, checks_only: bool = False
    ) -> tuple[Model, Budget]:
        """Create the model named by option, environment or file, in this order, and the budget of its answers.

        Prices and the cost limit apply only to the model that the file names; without a name in the file, to every
        model. A hosted model without prices gets those that are built in, if it is among them.

        Args:
            name: The model of the option.
            base_url: The base URL of the option.
            environ: The environment.
            checks_only: Whether to return a model whose replies are errors instead of raising one.

        Raises:
            UsageError: The model is unknown, or a setting is missing.
        """
        own = self.model
        key = environ.get(own.key_env, "")
        config = {"model": own.name, "base_url": own.base_url, "api_key": key, "key_env": own.key_env}
        selected = name or environ.get("ROAMING_MODEL") or own.name
        is_own = not own.name or split_model_name(selected) == split_model_name(own.name)
        try:
            options = ModelOptions(own.context, own.tools, own.parameters) if is_own else DEFAULT_OPTIONS
            model = create_model(name, environ=environ, base_url=base_url, config=config, options=options)
        except UsageError as error:
            message = str(error)
            if own.key_env and own.key_env not in environ:
                message += f" ({self.where} names the variable {own.key_env}, which is not set)"
            if not checks_only:
                raise UsageError(message) from None
            model = UnavailableModel(split_model_name(selected)[1], message)
        prices = self.budget.prices if is_own else None
        if prices is None and getattr(model, "is_hosted", False):
            prices = find_known_prices(model.name)
        cost = self.cost if is_own and prices is not None else None
        return model, replace(self.budget, prices=prices, cost=cost)

    def search_factory(
        self,
        environ: Mapping[str, str],
        on_warning: Callable[[str], None],
        cache: IndexCache | None = None,
        *,
        prepare: bool = False,
    ) -> Callable[[Library], Search]:
        """Return the constructor of a library's search: hybrid if an embedding model is configured.

        Args:
            environ: The environment.
            on_warning: Called with a line when hybrid search falls back to words.
            cache: Indexes of earlier processes.
            prepare: Whether to download and load a model in the process now; it is loaded for the first question by
                default, and never downloaded.
        """
        configured = self.embeddings
        if configured is None or self.search == "lexical":
            return partial(Search, cache=cache, with_table=self.search != "lexical")

        @cached  # libraries share a model
        def create_queries(config: EmbeddingsConfig) -> QueryEmbedder:
            model = find_model(config, environ, may_download=prepare, retries=0)
            embedder = model.create_embedder()
            is_local = config.is_local(environ)
            if is_local and prepare:
                embedder.embed([""])
            return QueryEmbedder(
                embedder,
                prefix=model.query_prefix,
                on_warning=on_warning,
                timeout=None if is_local else QUERY_TIMEOUT,
                decline=model.decline,
            )

        def create_search(library: Library) -> Search:
            try:
                queries = create_queries(configured.select_model(library.manifest, environ))
            except EmbeddingError as error:
                published = library.manifest.vectors
                model = published.model if published else configured.model
                queries = QueryEmbedder(FailedEmbedder(model, error), on_warning=on_warning, timeout=None)
                if prepare:
                    queries.embed("")  # the reason is reported at once
            return Search(library, cache=cache, queries=queries)

        if not configured.is_local(environ):
            create_queries(configured)  # a missing key is reported at once
        return create_search


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
    data = read_toml(path)
    known = (*TABLES, *OTHER_TABLES)
    unknown = [name for name in data if name not in known]
    if unknown:
        names = ", ".join(f"[{table}]" for table in known)
        raise UsageError(f"{path}: unknown table [{unknown[0]}]. Known tables: {names}")

    def decode(kind: type[T], name: str, **given: object) -> T:
        return decode_table(data.get(name, {}), kind, f"{path}: [{name}]", **given)

    mode = decode(SearchTable, "search").mode
    embeddings = None
    if "embeddings" in data or mode == "hybrid":
        embeddings = parse_embeddings_config(data.get("embeddings", {}), f"{path}: [embeddings]", path.parent)
    prices = None
    if "prices" in data:
        prices = decode(Prices, "prices")
        if not data["prices"].keys() >= {"input", "output"}:
            raise UsageError(f"{path}: [prices]: needs input and output; write 0 for a free model")
    budget = decode(Budget, "budget", prices=prices or Prices())
    return Settings(
        where=str(path),
        model=decode(ModelTable, "model"),
        budget=replace(budget, prices=prices, cost=None),
        cost=budget.cost,
        search=mode,
        embeddings=embeddings,
        serving={name: data[name] for name in OTHER_TABLES if name in data},
    )
