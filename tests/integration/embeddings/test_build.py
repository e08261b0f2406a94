"""A build publishes vectors beside the manifest, asks only for what is new, and does without where it must."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from embeddings_api import EmbeddingsApi, ToyEmbedder

from mkdocs_roaming.embeddings.store import EmbeddingsOptions, decode_vectors, parse_embeddings_options
from mkdocs_roaming.library.library import open_library
from mkdocs_roaming.library.validate import validate_site
from mkdocs_roaming.manifest.io import load_manifest, validate_manifest

Serve = Callable[..., EmbeddingsApi]
LONG = "# Long\n\n" + "\n\n".join(f"Paragraph {at} tells of " + "water and pumps " * 20 for at in range(9))


def tree(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_every_section_has_its_vectors(build: Any, configured: EmbeddingsOptions, api: EmbeddingsApi) -> None:
    """The manifest says whose they are; the site is valid; a long section has several."""
    report = build(configured, {"": "# Home\n\nHello.\n", "long/": LONG})
    manifest = load_manifest((build.site / "roaming/manifest.json").read_bytes())
    found = decode_vectors((build.site / "roaming/vectors.bin").read_bytes())
    assert manifest.vectors is not None
    assert (manifest.vectors.model, manifest.vectors.dimensions) == ("toy", 256)
    assert manifest.vectors.windows == len(found.scales) == len(api.texts) > 4
    assert [id_ for id_, _ in found.sections] == [section.id for section in manifest.sections()]
    assert validate_manifest((build.site / "roaming/manifest.json").read_bytes()) == []
    assert validate_site(open_library(build.site)).faults == ()
    assert api.texts[0] == "Home\n\nHello."
    assert f"vectors of toy: {len(api.texts)} windows, {len(api.texts)} of them new" in report.notes[-1]


def test_what_takes_a_while_is_told_before(build: Any, api: EmbeddingsApi) -> None:
    """Many windows take a model minutes: nobody should think that the build hangs. Few are asked for without a word."""
    asked_before: list[tuple[str, int]] = []
    told = parse_embeddings_options(
        {"model": "toy", "base_url": api.url}, {}, "e", lambda line: asked_before.append((line, len(api.texts)))
    )
    page = "# Home\n\n" + "".join(f"## Pump {at}\n\nIt has {at} valves.\n\n" for at in range(400))
    build(told, {"": page})
    assert asked_before == [("requesting 401 vectors of toy; this may take minutes", 0)]
    build(told, {"": page, "a/": "# A\n\nText.\n"})
    assert len(asked_before) == 1


def test_two_builds_give_the_same_bytes(build: Any, configured: EmbeddingsOptions, tmp_path: Path) -> None:
    """With a cache and without."""
    build(configured)
    build(configured, site=tmp_path / "again")
    build(configured, site=tmp_path / "apart", cache=None)
    assert tree(build.site) == tree(tmp_path / "again") == tree(tmp_path / "apart")


def test_a_rebuild_asks_for_new_windows_alone(build: Any, configured: EmbeddingsOptions, api: EmbeddingsApi) -> None:
    """A page is edited and another one added: so many texts are asked for. Nothing new: no request, no client."""
    build(configured)
    before = len(api.texts)
    pages = {"": "# Home\n\nHello.\n", "a/": "# A\n\nText.\n\n## B\n\nMore.\n"}
    build(configured, pages)
    build(configured, {**pages, "a/": "# A\n\nText.\n\n## B\n\nMuch more.\n", "c/": "# C\n\nNew.\n"})
    assert api.texts[before + 3 :] == ["A › B\n\nMuch more.", "C\n\nNew."]
    requests = len(api.requests)

    def nobody() -> Any:
        raise AssertionError("nothing is new")

    build(
        EmbeddingsOptions("toy", nobody), {**pages, "a/": "# A\n\nText.\n\n## B\n\nMuch more.\n", "c/": "# C\n\nNew.\n"}
    )
    assert len(api.requests) == requests
    assert (build.site / "roaming/vectors.bin").exists()


def test_without_a_cache_what_is_published_serves(
    build: Any, configured: EmbeddingsOptions, api: EmbeddingsApi
) -> None:
    """`roaming index` on a folder that was published before."""
    build(configured, cache=None)
    before = len(api.texts)
    build(configured, cache=None)
    assert len(api.texts) == before


def test_an_endpoint_that_is_away_costs_the_vectors_alone(build: Any, configured: EmbeddingsOptions, away: str) -> None:
    """One warning; the site is published, claims no vectors, and those of the build before are gone."""
    build(configured)
    meaning = parse_embeddings_options({"model": "other", "base_url": away}, {}, "e")
    slept = EmbeddingsOptions("other", lambda: _patient(meaning))
    build(slept)
    (warning,) = build.warned
    assert warning.startswith(f"hybrid search: other: cannot connect to {away} (")
    assert warning.endswith("no vectors are published, search uses words only")
    assert "vectors" not in json.loads((build.site / "roaming/manifest.json").read_bytes())
    assert not (build.site / "roaming/vectors.bin").exists()
    assert validate_site(open_library(build.site)).faults == ()


def _patient(meaning: EmbeddingsOptions) -> Any:
    from mkdocs_roaming.embeddings.client import EmbeddingsClient

    made: Any = meaning.create_embedder()
    return EmbeddingsClient(made.model, base_url=made.address, retries=0)


def test_what_came_before_a_failure_is_not_asked_for_again(build: Any, serve: Serve) -> None:
    """The endpoint fails at the second batch; the next build asks for the rest."""
    api = serve(key_expires_after=32)
    meaning = parse_embeddings_options({"model": "toy", "base_url": api.url}, {}, "e")
    pages = {f"p{at}/": f"# Page {at}\n\nText {at}.\n" for at in range(40)}
    build(meaning, pages)
    assert (len(api.texts), len(build.warned)) == (32, 1)
    api.key_expires_after = None
    build(meaning, pages)
    assert (len(api.texts), build.warned) == (40, [])


def test_another_model_is_asked_for_everything(build: Any, configured: EmbeddingsOptions, api: EmbeddingsApi) -> None:
    """Vectors of two models cannot be compared; nor can those of a model that changed under its name."""
    build(configured)
    count = len(api.texts)
    build(parse_embeddings_options({"model": "other", "base_url": api.url}, {}, "e"))
    assert len(api.texts) == 2 * count
    api.embedder = ToyEmbedder(32)
    pages = {"": "# Home\n\nHello.\n", "a/": "# A\n\nText.\n"}
    build(parse_embeddings_options({"model": "other", "base_url": api.url}, {}, "e"), pages)
    build(parse_embeddings_options({"model": "other", "base_url": api.url}, {}, "e"), {**pages, "b/": "# B\n\nMore.\n"})
    assert build.warned == []
    assert decode_vectors((build.site / "roaming/vectors.bin").read_bytes()).dimensions == 32
    assert validate_site(open_library(build.site)).faults == ()


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_vectors_without_numbers_are_not_published(build: Any, serve: Serve, number: float) -> None:
    """A model that fails like that is told of."""
    api = serve(transform={"vectors": lambda vectors: [[number, *vector[1:]] for vector in vectors]})
    build(parse_embeddings_options({"model": "toy", "base_url": api.url}, {}, "e"))
    assert "a vector that contains NaN or infinity" in build.warned[0]
    assert not (build.site / "roaming/vectors.bin").exists()


def test_a_cache_that_is_broken_is_made_anew(build: Any, configured: EmbeddingsOptions, api: EmbeddingsApi) -> None:
    """Cut short, say, by a full disk."""
    build(configured)
    count = len(api.texts)
    (build.cache / "vectors.bin").write_bytes((build.cache / "vectors.bin").read_bytes()[:-5])
    (build.site / "roaming/vectors.bin").unlink()
    build(configured)
    assert (len(api.texts), build.warned) == (2 * count, [])


def test_validate_sees_vectors_that_do_not_fit(build: Any, configured: EmbeddingsOptions) -> None:
    """Half a file, none at all."""
    build(configured)
    file = build.site / "roaming/vectors.bin"
    file.write_bytes(file.read_bytes()[:-1])
    assert validate_site(open_library(build.site)).faults == (
        "roaming/vectors.bin: missing, or does not fit its digest",
    )
    file.unlink()
    assert len(validate_site(open_library(build.site)).faults) == 1


def test_what_stands_before_texts_is_sent(build: Any, api: EmbeddingsApi) -> None:
    """Some models want to be told that it is a text, and not a question."""
    build(parse_embeddings_options({"model": "toy", "base_url": api.url, "text_prefix": "passage: "}, {}, "e"))
    assert all(text.startswith("passage: ") for text in api.texts)
