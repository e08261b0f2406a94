"""The configured embedding model: one that runs in the process, or one of a server.

Published files name only the model. Folder, server and key come from the configuration of the build or of the search.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec
from msgspec.structs import replace

from mkdocs_roaming._http import ApiConfig, check_api_key, parse_base_url
from mkdocs_roaming.embeddings.client import BASE_URL, KEY_VARIABLE, EmbeddingsClient
from mkdocs_roaming.embeddings.embedder import Embedder
from mkdocs_roaming.embeddings.local import CatalogueModel, open_model, read_catalogue, select_default_model
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest.models import Manifest
from mkdocs_roaming.settings import decode_table

URL_VARIABLE = "ROAMING_EMBEDDINGS_URL"
_NO_MODEL = "model is missing. Add it, for example `model: nomic-embed-text`"


class EmbeddingsConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The model and its server.

    Args:
        model: The name of the model, or the path of its folder; empty for the default model of the site's language.
        base_url: The URL of the server; empty for a model in the process, or for OpenAI's.
        key_env: The environment variable that holds the key.
        text_prefix: Precedes each section text; some models need to know what a text is.
        query_prefix: Precedes each query.
    """

    model: str = ""
    base_url: str = ""
    key_env: str = ""
    text_prefix: str = ""
    query_prefix: str = ""

    def is_local(self, environ: Mapping[str, str]) -> bool:
        """Return whether the model runs in the process: a path, one of the catalogue, or none, and no server."""
        if self.base_url or self.key_env or environ.get(URL_VARIABLE):
            return False
        return not self.model or _is_path(self.model) or self.model in read_catalogue()

    def select_model(self, manifest: Manifest, environ: Mapping[str, str]) -> EmbeddingsConfig:
        """Return the configuration with a model for a site: that of its vectors, else the default of its language."""
        if self.model or not self.is_local(environ):
            return self
        named = manifest.vectors.model.partition("@")[0] if manifest.vectors else ""
        if named not in read_catalogue():
            named = select_default_model(manifest.site.language)
        return replace(self, model=named)


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """A model for vectors.

    Args:
        name: The published name.
        create_embedder: Creates the embedder; called only if there are texts.
        text_prefix: Precedes each section text.
        query_prefix: Precedes each query.
        decline: The likelihood (`Search.judge`) below which no section fits a question, if one is known.
    """

    name: str
    create_embedder: Callable[[], Embedder]
    text_prefix: str = ""
    query_prefix: str = ""
    decline: float | None = None


def parse_embeddings_config(config: object, where: str, folder: Path = Path()) -> EmbeddingsConfig:
    """Parse the embeddings table of a configuration; errors begin with `where`.

    Args:
        config: The table.
        where: The place of the table, for messages.
        folder: The folder of the configuration, which a path is relative to.

    Raises:
        UsageError: The table is invalid.
    """
    parsed = decode_table(config, EmbeddingsConfig, where)
    if (parsed.base_url or parsed.key_env) and not parsed.model.strip():
        raise UsageError(f"{where}: {_NO_MODEL}")
    path = folder / Path(parsed.model).expanduser()
    is_folder = _is_path(parsed.model) and not parsed.base_url and path.is_dir()
    return replace(parsed, model=str(path)) if is_folder else parsed


def _is_path(model: str) -> bool:
    return "/" in model or os.sep in model


FindModel = Callable[[Manifest], EmbeddingModel]
"""Returns the model for the vectors of a site. It raises EmbeddingError."""


@dataclass(frozen=True, slots=True)
class ModelFinder:
    """Finds, or downloads, the configured model for the vectors of a site."""

    config: EmbeddingsConfig
    environ: Mapping[str, str]

    def __call__(self, manifest: Manifest) -> EmbeddingModel:
        """Return the model. Raise EmbeddingError if there is none."""
        return find_model(self.config.select_model(manifest, self.environ), self.environ)


def find_model(
    config: EmbeddingsConfig,
    environ: Mapping[str, str],
    *,
    may_download: bool = True,
    retries: int = 3,
) -> EmbeddingModel:
    """Return the configured model.

    Args:
        config: The configuration.
        environ: The environment, for keys and folders.
        may_download: Whether to download a model that is not on this machine.
        retries: Maximum number of retries after a temporary failure of a server.

    Raises:
        EmbeddingError: The model cannot be opened or downloaded.
    """
    if not config.is_local(environ):
        create = partial(create_embeddings_client, config, environ, retries=retries)
        return EmbeddingModel(config.model, create, config.text_prefix, config.query_prefix)
    embedder = open_model(config.model, environ, may_download=may_download)
    known = read_catalogue().get(Path(config.model).name, CatalogueModel())
    text_prefix = config.text_prefix or known.text_prefix
    query_prefix = config.query_prefix or known.query_prefix
    return EmbeddingModel(embedder.model, lambda: embedder, text_prefix, query_prefix, known.decline)


def create_embeddings_client(
    config: EmbeddingsConfig, environ: Mapping[str, str], *, retries: int = 3
) -> EmbeddingsClient:
    """Create a client for the configured server.

    The URL is ROAMING_EMBEDDINGS_URL, else the configured one, else OpenAI's. The key is in the variable that
    `key_env` names, else in ROAMING_EMBEDDINGS_KEY. OPENAI_API_KEY is sent only to OpenAI, never to a server that a
    file names.

    Raises:
        UsageError: The model, the URL or the key is missing or invalid.
    """
    base_url = parse_base_url(environ.get(URL_VARIABLE, "").strip() or config.base_url.strip() or BASE_URL, "/v1")
    if not config.model:
        raise UsageError(f"{URL_VARIABLE}: {_NO_MODEL}")
    is_openai = base_url == BASE_URL
    variables = [config.key_env or KEY_VARIABLE]
    if is_openai and not config.key_env:
        variables.append("OPENAI_API_KEY")
    variable = next((name for name in variables if environ.get(name, "").strip()), variables[-1])
    key = check_api_key(environ.get(variable, "").strip(), variable)
    if config.key_env and not key:
        raise UsageError(f"the key for {config.model} is read from {config.key_env}, which is not set")
    if is_openai and not key:
        raise UsageError(
            f"no server for {config.model}. Set base_url, such as http://localhost:11434/v1, "
            "or set OPENAI_API_KEY for OpenAI"
        )
    return EmbeddingsClient(ApiConfig(config.model, base_url, key, variable, "base_url"), retries=retries)
