"""Embedding models in the process: ONNX files of a folder, and the catalogue of models that are downloaded by name.

Each text is a run of its own. Models with eight-bit numbers take twice the time for texts in one batch, and three times
the memory; and the vector of a text does not depend on its neighbors then.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from mkdocs_roaming._http import HttpClient, UnavailableError
from mkdocs_roaming.embeddings.embedder import EmbeddingError, Vector
from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.files import user_cache_folder, write_atomically
from mkdocs_roaming.text.languages import base_language

_log = logging.getLogger(__name__)

HUB = "https://huggingface.co"
HUB_VARIABLE = "HF_ENDPOINT"
"""The environment variable with the URL of a mirror; other tools for models read it, too."""

_PACKAGES = ("numpy", "onnxruntime", "tokenizers")
_MODEL_FILES = ("model.onnx", "onnx/model_quantized.onnx", "onnx/model.onnx", "onnx/*.onnx", "*.onnx")
"""Where the ONNX file of a folder is, by preference."""

_TOKENIZER_FILE = "tokenizer.json"
_POOLING_FILE = "1_Pooling/config.json"
_SENTENCE_OUTPUT = "sentence_embedding"
_MAX_TOKENS = 512
"""Tokens that the common models read of a text."""

_DIGEST_CHARS = 8
_MAX_THREADS = 2
"""Texts that are computed at the same time; each takes up to 20 MB."""

_FATAL = 4
"""The level of messages on the console; errors are raised."""

_MAX_FILE_BYTES = 2**30
_DOWNLOAD_SECONDS = 3_600.0
_READ_SECONDS = 60.0


class CatalogueModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model that a configuration may name.

    Args:
        source: The folder below the URL of the hub.
        licence: The licence of the model.
        files: The SHA-256 of each file by path.
        languages: The languages of sites whose default model it is; none for all.
        text_prefix: Precedes each section text.
        query_prefix: Precedes each query.
        decline: The likelihood (`Search.judge`) below which no section fits a question, if one is known.
    """

    source: str = ""
    licence: str = ""
    files: dict[str, str] = {}
    languages: tuple[str, ...] = ()
    text_prefix: str = ""
    query_prefix: str = ""
    decline: float | None = None


@cache
def read_catalogue() -> Mapping[str, CatalogueModel]:
    """Return the models that a configuration may name."""
    data = resources.files(__package__).joinpath("models.toml").read_bytes()
    return msgspec.toml.decode(data, type=dict[str, CatalogueModel])


def select_default_model(language: str) -> str:
    """Return the name of the default model for sites in a language."""
    models = read_catalogue().items()
    return next(name for name, model in models if base_language(language) in (model.languages or language))


# Inference


class LocalEmbedder:
    """Runs an embedding model in the process. Safe for several threads.

    Args:
        folder: A folder as the hubs of models lay it out: `tokenizer.json`, `model.onnx` or `onnx/model….onnx`, and
            perhaps `1_Pooling/config.json`.

    Raises:
        EmbeddingError: A file is missing or cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        files = [file for pattern in _MODEL_FILES for file in sorted(folder.glob(pattern))]
        if not files or not (folder / _TOKENIZER_FILE).is_file():
            raise EmbeddingError(f"{folder}: a model needs tokenizer.json and model.onnx; check the path")
        with files[0].open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        self.model = f"{folder.absolute().name}@{digest[:_DIGEST_CHARS]}"
        """The name of the folder with the start of the model's SHA-256. It is published; the path is not."""
        self._folder = folder
        self._file = files[0]
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any, bool] | None = None

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text; the first call loads the model.

        Raises:
            EmbeddingError: The model cannot be loaded, or does not suit.
        """
        try:
            with self._lock:
                self._loaded = self._loaded or self._load()
            with ThreadPoolExecutor(min(os.cpu_count() or 1, _MAX_THREADS)) as pool:
                return list(pool.map(partial(_embed_text, *self._loaded), texts))
        except Exception as error:  # onnxruntime and tokenizers have no common base class
            message = " ".join(str(error).split())
            raise EmbeddingError(f"{self._file}: the model cannot be run ({message}); choose another") from error

    def _load(self) -> tuple[Any, Any, bool]:
        """Return the tokenizer, the session, and whether the vector of the first token is that of the text."""
        import onnxruntime  # with tokenizers half a second
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # texts run side by side
        options.enable_cpu_mem_arena = False  # it would never shrink
        options.enable_mem_pattern = False
        options.log_severity_level = _FATAL
        # Loaded first: the memory for its file is free again when the tokenizer needs as much.
        session = onnxruntime.InferenceSession(self._file, options, ["CPUExecutionProvider"])
        tokenizer = Tokenizer.from_file(str(self._folder / _TOKENIZER_FILE))
        tokenizer.no_padding()
        tokenizer.enable_truncation(_MAX_TOKENS)
        pooling = self._folder / _POOLING_FILE
        settings = json.loads(pooling.read_bytes()) if pooling.is_file() else {}
        return tokenizer, session, bool(settings.get("pooling_mode_cls_token"))


def _embed_text(tokenizer: Any, session: Any, uses_first_token: bool, text: str) -> Vector:
    import numpy

    encoding = tokenizer.encode(text.encode("utf-8", "replace").decode())
    values = {
        "input_ids": encoding.ids,
        "attention_mask": encoding.attention_mask,
        "token_type_ids": encoding.type_ids,
    }
    inputs = {node.name: numpy.array([values[node.name]], "int64") for node in session.get_inputs()}
    outputs = [node.name for node in session.get_outputs()]
    output = _SENTENCE_OUTPUT if _SENTENCE_OUTPUT in outputs else outputs[0]
    vector = session.run([output], inputs)[0][0]
    if vector.ndim > 1:  # a vector for each token
        vector = vector[0] if uses_first_token else vector.mean(axis=0)
    numbers: list[float] = vector.tolist()
    return numbers


# Models by name


def open_model(model: str, environ: Mapping[str, str], *, may_download: bool) -> LocalEmbedder:
    """Open a model.

    Args:
        model: The path of its folder, or its name in the catalogue.
        environ: The environment, for the folder of the cache and the URL of the hub.
        may_download: Whether to download a model of the catalogue that is not in the cache.

    Raises:
        EmbeddingError: The model or a package is missing, or cannot be downloaded.
    """
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise EmbeddingError(
            f"models in the process need {' and '.join(missing)}: pip install 'mkdocs-roaming[meaning]'"
        )
    known = read_catalogue().get(model)
    if known is None:
        return LocalEmbedder(Path(model))
    cache = environ.get("ROAMING_CACHE_DIR") or user_cache_folder()
    if cache is None:
        raise EmbeddingError(f"{model}: no folder to store it; set ROAMING_CACHE_DIR, or use the path of a model")
    folder = Path(cache, "models", model)
    if may_download:
        download_model(known, folder, environ.get(HUB_VARIABLE, "") or HUB)
    elif not all((folder / path).is_file() for path in known.files):
        raise EmbeddingError(f"{model}: not on this machine; builds and `roaming serve` download it")
    return LocalEmbedder(folder)


def download_model(model: CatalogueModel, folder: Path, hub: str) -> None:
    """Download the files of a model that are missing in a folder; a failure of the network is retried once.

    Raises:
        EmbeddingError: A file cannot be downloaded, has another digest, or cannot be written.
    """
    for path, digest in model.files.items():
        file = folder / path
        if file.is_file():
            continue
        url = f"{hub.rstrip('/')}/{model.source}/{path}"
        _log.warning("downloading %s", url)
        client = HttpClient(url, seconds=_DOWNLOAD_SECONDS, read_seconds=_READ_SECONDS)
        try:
            try:
                response = client.get(url, _MAX_FILE_BYTES)
            except UnavailableError:
                response = client.get(url, _MAX_FILE_BYTES)
            if hashlib.sha256(response.body).hexdigest() != digest:
                reason = f"not the expected file (status {response.status}); check the network and {HUB_VARIABLE}"
                raise LibraryError(f"{url}: {reason}")
            write_atomically(file, response.body)
        except (OSError, LibraryError) as error:
            raise EmbeddingError(f"{error}; or store it as {file}") from None
