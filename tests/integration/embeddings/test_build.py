"""Vectors of a build: new, cached, or missing because the server fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from embeddings_api import EmbeddingsApi, ToyEmbedder, connect

from mkdocs_roaming.embeddings.config import EmbeddingModel, FindModel, ModelFinder, parse_embeddings_config
from mkdocs_roaming.embeddings.store import decode_vectors
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.library.validate import validate_site
from mkdocs_roaming.manifest.io import load_manifest, validate_manifest

Serve = Callable[..., EmbeddingsApi]
PAGES = {"": "# Home\n\nHello.\n", "a/": "# A\n\nText.\n\n## B\n\nMore.\n"}
LONG = "# Long\n\n" + "\n\n".join(f"Paragraph {at} describes " + "water and pumps " * 20 for at in range(9))


def find(config: dict[str, str]) -> FindModel:
    return ModelFinder(parse_embeddings_config(config, "e"), {})


def test_build_publishes_vectors_of_all_sections(build: Any, configured: FindModel, api: EmbeddingsApi) -> None:
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


def test_rebuild_requests_only_new_windows(build: Any, configured: FindModel, api: EmbeddingsApi) -> None:
    """Without new windows no client is created."""
    build(configured)
    before = len(api.texts)
    pages = {"": "# Home\n\nHello.\n", "a/": "# A\n\nText.\n\n## B\n\nMore.\n"}
    build(configured, pages)
    build(configured, {**pages, "a/": "# A\n\nText.\n\n## B\n\nMuch more.\n", "c/": "# C\n\nNew.\n"})
    assert api.texts[before + 3 :] == ["A › B\n\nMuch more.", "C\n\nNew."]
    requests = len(api.requests)

    def fail() -> Any:
        raise AssertionError("no window is new")

    build(
        lambda manifest: EmbeddingModel("toy", fail),
        {**pages, "a/": "# A\n\nText.\n\n## B\n\nMuch more.\n", "c/": "# C\n\nNew.\n"},
    )
    assert len(api.requests) == requests
    assert (build.site / "roaming/vectors.bin").exists()


def test_rebuild_without_cache_reuses_published_vectors(build: Any, configured: FindModel, api: EmbeddingsApi) -> None:
    build(configured, cache=None)
    before = len(api.texts)
    build(configured, cache=None)
    assert len(api.texts) == before


def test_vectors_are_the_same_bytes_with_and_without_cache(build: Any, configured: FindModel, tmp_path: Path) -> None:
    build(configured, PAGES)
    published = (build.site / "roaming/vectors.bin").read_bytes()
    for name, options in {"cached": {}, "without": {"cache": None}}.items():
        build(configured, PAGES, site=tmp_path / name, **options)
        assert (tmp_path / name / "roaming/vectors.bin").read_bytes() == published


def test_unreachable_server_causes_warning_and_site_without_vectors(
    build: Any, configured: FindModel, unreachable_url: str
) -> None:
    build(configured)
    build(lambda manifest: EmbeddingModel("other", lambda: connect(unreachable_url, model="other", retries=0)))
    (warning,) = build.warnings
    assert warning.startswith(f"hybrid search: other: {unreachable_url}/embeddings: cannot be fetched (")
    assert warning.endswith("no vectors are published, search works without embeddings")
    assert "vectors" not in json.loads((build.site / "roaming/manifest.json").read_bytes())
    assert not (build.site / "roaming/vectors.bin").exists()
    assert validate_site(open_library(build.site)).faults == ()


def test_vectors_received_before_a_failure_are_cached(build: Any, serve: Serve) -> None:
    api = serve(key_expires_after=32)
    options = find({"model": "toy", "base_url": api.url})
    pages = {f"p{at}/": f"# Page {at}\n\nText {at}.\n" for at in range(40)}
    build(options, pages)
    assert (len(api.texts), len(build.warnings)) == (32, 1)
    api.key_expires_after = None
    build(options, pages)
    assert (len(api.texts), build.warnings) == (40, [])


def test_changed_model_recomputes_all_vectors(build: Any, configured: FindModel, api: EmbeddingsApi) -> None:
    """Also if a model returns vectors of another length under the same name."""
    build(configured)
    count = len(api.texts)
    build(find({"model": "other", "base_url": api.url}))
    assert len(api.texts) == 2 * count
    api.embedder = ToyEmbedder(32)
    pages = {"": "# Home\n\nHello.\n", "a/": "# A\n\nText.\n"}
    build(find({"model": "other", "base_url": api.url}), pages)
    build(find({"model": "other", "base_url": api.url}), {**pages, "b/": "# B\n\nMore.\n"})
    assert build.warnings == []
    assert decode_vectors((build.site / "roaming/vectors.bin").read_bytes()).dimensions == 32
    assert validate_site(open_library(build.site)).faults == ()


def test_truncated_cache_is_recomputed(build: Any, configured: FindModel, api: EmbeddingsApi) -> None:
    build(configured)
    count = len(api.texts)
    (build.cache / "vectors.bin").write_bytes((build.cache / "vectors.bin").read_bytes()[:-5])
    (build.site / "roaming/vectors.bin").unlink()
    build(configured)
    assert (len(api.texts), build.warnings) == (2 * count, [])


def test_validate_reports_truncated_and_missing_vectors(build: Any, configured: FindModel) -> None:
    build(configured)
    file = build.site / "roaming/vectors.bin"
    file.write_bytes(file.read_bytes()[:-1])
    assert validate_site(open_library(build.site)).faults == (
        "roaming/vectors.bin: missing, or does not match its digest",
    )
    file.unlink()
    assert len(validate_site(open_library(build.site)).faults) == 1


def test_text_prefix_is_sent(build: Any, api: EmbeddingsApi) -> None:
    build(find({"model": "toy", "base_url": api.url, "text_prefix": "passage: "}))
    assert all(text.startswith("passage: ") for text in api.texts)
