"""The client of the embeddings API: requests, retries, invalid responses, keys."""

from __future__ import annotations

import re
import threading
import tomllib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from dripping import BODY, dripping
from embeddings_api import EmbeddingsApi, ToyEmbedder, connect

from mkdocs_roaming.embeddings.client import BASE_URL
from mkdocs_roaming.embeddings.config import EmbeddingsConfig, create_embeddings_client, parse_embeddings_config
from mkdocs_roaming.embeddings.embedder import EmbeddingError
from mkdocs_roaming.errors import UsageError

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

Serve = Callable[..., EmbeddingsApi]
TEXTS = [f"pump {at} and valve {at * 7}" for at in range(32)]


def embed(api: EmbeddingsApi, texts: list[str] | None = None, **options: Any) -> list[list[float]]:
    client = connect(api.url, **{"sleep": lambda seconds: None, **options})
    return [list(vector) for vector in client.embed(TEXTS if texts is None else texts)]


def test_embed_returns_vectors_in_text_order(serve: Serve) -> None:
    api = serve(transform={"rows": lambda rows: rows[::-1]})
    assert embed(api) == ToyEmbedder().embed(TEXTS)
    assert sorted(api.texts) == sorted(TEXTS)


def test_embed_retries_after_temporary_failures(serve: Serve) -> None:
    """The pause is the one of `Retry-After`, or grows."""
    api = serve(refusals=[(429, {"Retry-After": "7"}, "slow down"), (503, {}, ""), (500, {}, "")])
    pauses: list[float] = []
    assert embed(api, ["a"], sleep=pauses.append) == ToyEmbedder().embed(["a"])
    assert pauses == [7.0, 1.0, 2.0]


@pytest.mark.parametrize(("refusal", "message"), TABLES["refusal_is_reported_in_one_line_without_key"])
def test_refusal_is_reported_in_one_line_without_key(serve: Serve, refusal: Any, message: str) -> None:
    api = serve(key="secret-key", refusals=[refusal])
    with pytest.raises(EmbeddingError) as caught:
        embed(api, ["a"], key="secret-key", key_name="MY_KEY")
    assert message in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(api.requests) == 1


def lengthen_first(vectors: list[list[float]]) -> list[list[float]]:
    return [[*vectors[0], 1.0], *vectors[1:]]


def replace_number(number: float) -> Callable[[list[list[float]]], list[list[float]]]:
    return lambda vectors: [[number, *vectors[0][1:]], *vectors[1:]]


@pytest.mark.parametrize(
    ("transform", "message"),
    [
        ({"vectors": lambda vectors: vectors[:-1]}, "1 vectors for 2 texts"),
        ({"vectors": lengthen_first}, "vectors of different lengths"),
        ({"vectors": lambda vectors: [[] for _ in vectors]}, "vectors of different lengths, or not of 1 to 8192"),
        ({"vectors": replace_number(float("nan"))}, "not of the embeddings API"),
        ({"vectors": replace_number(float("inf"))}, "not of the embeddings API"),
        ({"rows": lambda rows: [{**row, "index": 0} for row in rows]}, "index does not match the texts"),
        ({"rows": lambda rows: [{**row, "embedding": "§"} for row in rows]}, "not of the embeddings API"),
        ({"rows": lambda rows: [{**row, "embedding": None} for row in rows]}, "not of the embeddings API"),
    ],
)
def test_embed_rejects_invalid_vectors(serve: Serve, transform: dict[str, Any], message: str) -> None:
    with pytest.raises(EmbeddingError, match=message):
        embed(serve(transform=transform), ["a", "b"])


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"data": 7}', b'{"data": [7, 7]}', b"[" * 100_000])
def test_embed_rejects_responses_of_another_api(serve: Serve, body: bytes) -> None:
    with pytest.raises(EmbeddingError, match=r"not of the embeddings API|1 vectors|index does not match"):
        embed(serve(body=body), ["a", "b"])


def test_unreachable_or_silent_server_raises_retryable_error(serve: Serve, unreachable_url: str) -> None:
    with pytest.raises(EmbeddingError, match="cannot be fetched") as caught:
        connect(unreachable_url, retries=0).embed(["a"])
    assert caught.value.retryable
    api = serve(stall=threading.Event())
    with pytest.raises(EmbeddingError, match=r"no complete response within 0\.2 seconds"):
        embed(api, ["a"], timeout=0.2, retries=0)


@pytest.mark.parametrize(
    ("head", "chunk", "timeout", "message"),
    [
        (*BODY, 0.5, r"no complete response within 0\.5 seconds"),
        (b"HTTP/1.1 200 OK\r\n", b"A: b\r\n", 0.5, r"no complete response within 0\.5 seconds"),
        (BODY[0], b" " * 2**20, 20.0, "larger than 64 MB"),
    ],
)
def test_endless_response_is_aborted(head: bytes, chunk: bytes, timeout: float, message: str) -> None:
    """Slow headers and bodies after the time limit, large bodies after the size limit."""
    with dripping(head, chunk) as url, pytest.raises(EmbeddingError, match=message):
        connect(f"{url}v1", retries=0, timeout=timeout).embed(["a"])


# Keys


def sent_keys(api: EmbeddingsApi, config: EmbeddingsConfig, environ: dict[str, str]) -> list[str]:
    client = create_embeddings_client(config, environ, retries=0)
    with suppress(EmbeddingError):
        client.embed(["a"])
    return api.keys


def test_key_is_sent_only_to_its_server(serve: Serve) -> None:
    """OPENAI_API_KEY is sent only to OpenAI."""
    environ = {"OPENAI_API_KEY": "sk-general", "ROAMING_EMBEDDINGS_KEY": "own", "MINE": "mine"}
    api = serve()
    assert sent_keys(api, EmbeddingsConfig("toy", api.url), {"OPENAI_API_KEY": "sk-general"}) == [""]
    api = serve()
    assert sent_keys(api, EmbeddingsConfig("toy", api.url), environ) == ["Bearer own"]
    api = serve()
    assert sent_keys(api, EmbeddingsConfig("toy", api.url, "MINE"), environ) == ["Bearer mine"]
    assert create_embeddings_client(EmbeddingsConfig("m"), environ).api.address == BASE_URL


def test_environment_overrides_configured_url(serve: Serve) -> None:
    api = serve()
    environ = {"ROAMING_EMBEDDINGS_URL": api.url.removesuffix("/v1")}
    assert create_embeddings_client(EmbeddingsConfig("toy", "http://127.0.0.1:9/v1"), environ).embed(
        ["a"]
    ) == ToyEmbedder().embed(["a"])


@pytest.mark.parametrize(("config", "environ", "message"), TABLES["urls_and_keys"])
def test_missing_or_invalid_url_and_key_are_reported(config: list[str], environ: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        create_embeddings_client(EmbeddingsConfig(*config), environ)


@pytest.mark.parametrize(("config", "message"), TABLES["invalid_configuration_is_reported_with_location"])
def test_invalid_configuration_is_reported_with_location(config: Any, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_embeddings_config(config, "e")
    assert str(caught.value).startswith(message)
