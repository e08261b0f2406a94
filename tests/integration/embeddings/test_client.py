"""Vectors are asked for as OpenAI's embeddings API has it; nothing wrong is taken, and it is told in one line."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from dripping import BODY, dripping
from embeddings_api import EmbeddingsApi, ToyEmbedder

from mkdocs_roaming.embeddings.client import (
    BASE_URL,
    EmbeddingError,
    EmbeddingsClient,
    EmbeddingsConfig,
    create_embeddings_client,
    parse_embeddings_config,
)
from mkdocs_roaming.errors import UsageError

Serve = Callable[..., EmbeddingsApi]
TEXTS = [f"pump {at} and valve {at * 7}" for at in range(70)]


def ask(api: EmbeddingsApi, texts: list[str] | None = None, **how: Any) -> list[list[float]]:
    endpoint = EmbeddingsClient("toy", base_url=api.url, **{"sleep": lambda seconds: None, **how})
    return [list(vector) for vector in endpoint.embed(TEXTS if texts is None else texts)]


@pytest.mark.parametrize("how", [{}, {"base64": True}, {"knows_format": False}, {"max_batch": 8}])
def test_vectors_come_in_the_order_of_the_texts(serve: Serve, how: dict[str, Any]) -> None:
    """As numbers or in base64, from servers that know no `encoding_format`, and from those that take few at once."""
    api = serve(transform={"rows": lambda rows: rows[::-1]}, **how)
    assert ask(api) == ToyEmbedder().embed(TEXTS)
    assert sorted(api.texts) == sorted(TEXTS)


def test_nothing_is_asked_for_nothing(serve: Serve) -> None:
    """No texts, no request."""
    api = serve()
    assert ask(api, []) == []
    assert api.requests == []


def test_a_server_that_is_busy_is_asked_again(serve: Serve) -> None:
    """After as long as it asks for; other failures that pass, after growing pauses."""
    api = serve(refusals=[(429, {"Retry-After": "7"}, "slow down"), (503, {}, ""), (500, {}, "")])
    waited: list[float] = []
    assert ask(api, ["a"], sleep=waited.append) == ToyEmbedder().embed(["a"])
    assert waited == [7.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("refusal", "says"),
    [
        ((429, {"Retry-After": "3600"}, "quota"), "too many requests (quota); try again later"),
        ((401, {}, "no such key: secret-key"), "the key is not accepted (no such key: …); check MY_KEY"),
        ((404, {}, "no model toy"), "does not know this model or URL (no model toy); check model and base_url"),
        ((400, {}, "toy is a chat model"), "the request was refused (400) (toy is a chat model)"),
        ((302, {"Location": "http://127.0.0.1:9/"}, ""), "redirects (302); set base_url"),
    ],
)
def test_a_refusal_is_one_line_that_names_the_cure(serve: Serve, refusal: Any, says: str) -> None:
    """The key is not in it, even where the server repeats it."""
    api = serve(key="secret-key", refusals=[refusal])
    with pytest.raises(EmbeddingError) as caught:
        ask(api, ["a"], key="secret-key", key_name="MY_KEY")
    assert says in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(api.requests) == 1


def lengthen(vectors: list[list[float]]) -> list[list[float]]:
    return [[*vectors[0], 1.0], *vectors[1:]]


def with_number(number: float) -> Callable[[list[list[float]]], list[list[float]]]:
    return lambda vectors: [[number, *vectors[0][1:]], *vectors[1:]]


@pytest.mark.parametrize(
    ("transform", "message"),
    [
        ({"vectors": lambda vectors: vectors[:-1]}, "1 vectors for 2 texts"),
        ({"vectors": lengthen}, "vectors of different lengths"),
        ({"vectors": lambda vectors: [[] for _ in vectors]}, "vectors of different lengths, or not of 1 to 8192"),
        ({"vectors": with_number(float("nan"))}, "contains NaN or infinity"),
        ({"vectors": with_number(float("inf"))}, "contains NaN or infinity"),
        ({"rows": lambda rows: [{**row, "index": 0} for row in rows]}, "index does not match the texts"),
        ({"rows": lambda rows: [{**row, "embedding": "§"} for row in rows]}, "not of the embeddings API"),
        ({"rows": lambda rows: [{**row, "embedding": None} for row in rows]}, "not of the embeddings API"),
    ],
)
def test_wrong_vectors_are_refused(serve: Serve, transform: dict[str, Any], message: str) -> None:
    """Too few, of different lengths, without numbers, numbered wrongly."""
    with pytest.raises(EmbeddingError, match=message):
        ask(serve(transform=transform), ["a", "b"])


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"data": 7}', b'{"data": [7, 7]}', b"[" * 100_000])
def test_what_is_not_the_api_is_refused(serve: Serve, body: bytes) -> None:
    """A web page, say."""
    with pytest.raises(EmbeddingError, match=r"not of the embeddings API|1 vectors|index does not match"):
        ask(serve(body=body), ["a", "b"])


def test_vectors_of_two_batches_have_one_length(serve: Serve) -> None:
    """A model that changes in between is none."""
    lengths = iter([3, 4, 4])

    def other(vectors: list[list[float]]) -> list[list[float]]:
        length = next(lengths)
        return [[1.0] * length for _ in vectors]

    with pytest.raises(EmbeddingError, match="different lengths"):
        ask(serve(transform={"vectors": other}))


def test_a_server_that_is_away_or_silent_is_told_of(serve: Serve, away: str) -> None:
    """With its address, within the time that was given."""
    with pytest.raises(EmbeddingError, match="cannot connect to") as caught:
        EmbeddingsClient("toy", base_url=away, retries=0).embed(["a"])
    assert caught.value.retryable
    api = serve(stall=threading.Event())
    with pytest.raises(EmbeddingError, match=r"did not answer within 0\.2 seconds"):
        ask(api, ["a"], timeout=0.2, retries=0)


@pytest.mark.parametrize(
    ("begins", "piece", "seconds", "says"),
    [
        (*BODY, 0.5, r"did not answer within 0\.5 seconds"),
        (b"HTTP/1.1 200 OK\r\n", b"A: b\r\n", 0.5, r"did not answer within 0\.5 seconds"),
        (BODY[0], b" " * 2**20, 20.0, "a response that is too large"),
    ],
)
def test_an_answer_that_never_ends_is_given_up(begins: bytes, piece: bytes, seconds: float, says: str) -> None:
    """Drop by drop, be it header by header, it takes no longer than the time that was given and the server is left;
    all at once, it takes no more memory than vectors need.
    """
    began = time.monotonic()
    with dripping(begins, piece) as url, pytest.raises(EmbeddingError, match=says):
        EmbeddingsClient("toy", base_url=f"{url}v1", retries=0, timeout=seconds).embed(["a"])
    assert time.monotonic() - began < 10


def test_who_was_given_up_is_asked_again(serve: Serve) -> None:
    """A server that is quick again answers as before."""
    stalled = threading.Event()
    api = serve(stall=stalled)
    endpoint = EmbeddingsClient("toy", base_url=api.url, retries=0, timeout=1.0)
    with pytest.raises(EmbeddingError, match="did not answer within"):
        endpoint.embed(["a"])
    stalled.set()
    assert endpoint.embed(["a"]) == ToyEmbedder().embed(["a"])


# Keys


def keys_sent(api: EmbeddingsApi, said: EmbeddingsConfig, environ: dict[str, str]) -> list[str]:
    endpoint = create_embeddings_client(said, environ, retries=0)
    with suppress(EmbeddingError):
        endpoint.embed(["a"])
    return api.keys


def test_a_key_goes_where_it_is_meant_to_go(serve: Serve) -> None:
    """The variable that `key_env` names, else ROAMING_EMBEDDINGS_KEY; OPENAI_API_KEY only to OpenAI itself."""
    environ = {"OPENAI_API_KEY": "sk-general", "ROAMING_EMBEDDINGS_KEY": "own", "MINE": "mine"}
    api = serve()
    assert keys_sent(api, EmbeddingsConfig("toy", api.url), {"OPENAI_API_KEY": "sk-general"}) == [""]
    api = serve()
    assert keys_sent(api, EmbeddingsConfig("toy", api.url), environ) == ["Bearer own"]
    api = serve()
    assert keys_sent(api, EmbeddingsConfig("toy", api.url, "MINE"), environ) == ["Bearer mine"]
    assert create_embeddings_client(EmbeddingsConfig("m"), environ).address == BASE_URL


def test_the_environment_says_where_the_server_is(serve: Serve) -> None:
    """ROAMING_EMBEDDINGS_URL counts before what a file says."""
    api = serve()
    environ = {"ROAMING_EMBEDDINGS_URL": api.url.removesuffix("/v1")}
    assert create_embeddings_client(EmbeddingsConfig("toy", "http://127.0.0.1:9/v1"), environ).embed(
        ["a"]
    ) == ToyEmbedder().embed(["a"])


@pytest.mark.parametrize(
    ("said", "environ", "says"),
    [
        (EmbeddingsConfig("m"), {}, "no server for m. Set base_url"),
        (EmbeddingsConfig("m", "localhost:1"), {}, "is not a server address"),
        (EmbeddingsConfig("m", "http://127.0.0.1:9", "MINE"), {}, "the key for m is read from MINE, which is not set"),
        (
            EmbeddingsConfig("m", "http://127.0.0.1:9", "MINE"),
            {"MINE": "“k”"},
            "the key in MINE contains an invalid character",
        ),
    ],
)
def test_what_is_missing_is_named(said: EmbeddingsConfig, environ: dict[str, str], says: str) -> None:
    """One line."""
    with pytest.raises(UsageError, match=says.replace("?", r"\?")):
        create_embeddings_client(said, environ)


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ("toy", "e: expected a table such as"),
        ({}, "e: model is missing"),
        ({"model": " "}, "e: model is missing"),
        ({"model": "m", "modle": "x"}, "e: unknown key 'modle'. Available keys: model, base_url"),
        ({"model": "m", "key": "sk"}, "e: unknown key 'key'"),
        ({"model": 7}, "e: model must be a string, not 7"),
    ],
)
def test_a_mistake_in_the_configuration_is_named(said: Any, says: str) -> None:
    """With the place that it stands in."""
    with pytest.raises(UsageError) as caught:
        parse_embeddings_config(said, "e")
    assert str(caught.value).startswith(says)


def test_the_toy_knows_synonyms_and_nothing_else() -> None:
    """Words said to mean the same lead the same way; the same text always gives the same vector."""
    toy = ToyEmbedder(128, [("car", "automobile")])
    one, other, third = toy.embed(["the cars", "an automobile", "a boat"])
    assert one == other != third
    assert json.dumps(toy.embed(["x y"])) == json.dumps(ToyEmbedder(128).embed(["x y"]))
