"""Models in the process: builds and searches with a folder, and models that are downloaded by name."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from onnx_models import write_model
from serving import serve_requests

from mkdocs_roaming.cli import main
from mkdocs_roaming.config import Settings
from mkdocs_roaming.embeddings.config import EmbeddingsConfig, ModelFinder, parse_embeddings_config
from mkdocs_roaming.embeddings.embedder import EmbeddingError
from mkdocs_roaming.embeddings.local import CatalogueModel, LocalEmbedder, download_model, read_catalogue
from mkdocs_roaming.library.targets import open_library

ENGLISH = "all-MiniLM-L6-v2"
OTHERS = "multilingual-e5-small"


@pytest.fixture
def cache(tmp_path: Path) -> dict[str, str]:
    """An environment whose cache has small models with the names of the default ones."""
    for name in (ENGLISH, OTHERS):
        write_model(tmp_path / "models" / name, file="onnx/model_quantized.onnx")
    return {"ROAMING_CACHE_DIR": str(tmp_path), "HF_ENDPOINT": "http://127.0.0.1:9"}


def find(environ: dict[str, str], folder: Path = Path(), **config: str) -> ModelFinder:
    return ModelFinder(parse_embeddings_config(config, "embeddings", folder), environ)


def search(site: Path, query: str, environ: dict[str, str], **config: str) -> tuple[str, list[str]]:
    """Return the title of the best section, and the warnings."""
    warnings: list[str] = []
    settings = Settings(embeddings=parse_embeddings_config(config, "embeddings"))
    hits = settings.search_factory(environ, warnings.append)(open_library(site)).find(query, limit=1)
    return "".join(hit.section.section.title for hit in hits), warnings


# Folders


def test_build_and_search_use_the_model_of_a_folder(build: Any, tmp_path: Path) -> None:
    write_model(tmp_path / "hub" / "words")
    report = build(find({}, tmp_path, model="hub/words"))
    assert build.warnings == []
    assert "vectors of words@" in report.notes[-1]
    assert str(tmp_path) not in (build.site / "roaming/manifest.json").read_text()
    assert search(build.site, "car", {}, model=str(tmp_path / "hub/words")) == ("Fleet", [])


def test_rebuild_computes_only_new_windows(build: Any, tmp_path: Path) -> None:
    finder = find({}, write_model(tmp_path / "words").parent, model="./words")
    build(finder)
    report = build(finder, {"": "# Handbook\n\nWelcome to the workshop.\n", "new/": "# New\n\nThe car.\n"})
    assert "2 windows, 1 of them new" in report.notes[-1]


def test_another_model_than_that_of_the_build_searches_by_words(build: Any, tmp_path: Path) -> None:
    build(find({}, write_model(tmp_path / "words").parent, model="./words"))
    write_model(tmp_path / "other", inputs=["input_ids"])
    _, warnings = search(build.site, "car", {}, model=str(tmp_path / "other"))
    (warning,) = warnings
    assert "the vectors are of the model 'words@" in warning


def test_build_without_the_folder_warns(build: Any, tmp_path: Path) -> None:
    build(find({}, tmp_path, model="./missing"))
    (warning,) = build.warnings
    assert warning.startswith("hybrid search: missing: a model needs tokenizer.json")
    assert not (build.site / "roaming/vectors.bin").exists()


# Names


@pytest.mark.parametrize(("language", "name"), [("en", ENGLISH), ("de", OTHERS)])
def test_default_model_is_that_of_the_language(build: Any, cache: dict[str, str], language: str, name: str) -> None:
    build(find(cache), language=language)
    manifest = json.loads((build.site / "roaming/manifest.json").read_bytes())
    assert manifest["vectors"]["model"].startswith(f"{name}@")
    assert search(build.site, "car", cache) == ("Fleet", [])


def test_search_uses_the_model_that_the_site_names(build: Any, cache: dict[str, str]) -> None:
    build(find(cache, model=OTHERS))
    assert search(build.site, "car", cache) == ("Fleet", [])


def test_catalogue_has_prefixes_and_threshold(build: Any, cache: dict[str, str], tmp_path: Path) -> None:
    """Also for a folder with the name of a model."""
    build(find(cache))
    create_search = Settings(embeddings=EmbeddingsConfig()).search_factory(cache, print)
    by_default = create_search(open_library(build.site))
    assert by_default.published
    assert by_default.published.queries.decline == read_catalogue()[ENGLISH].decline
    named = find({}, tmp_path, model=f"models/{OTHERS}")(by_default.library.manifest)
    assert (named.text_prefix, named.query_prefix) == ("passage: ", "query: ")
    own = find({}, tmp_path, model=f"models/{OTHERS}", text_prefix="text: ")(by_default.library.manifest)
    assert own.text_prefix == "text: "


def test_missing_model_is_not_downloaded_for_a_question(build: Any, cache: dict[str, str], tmp_path: Path) -> None:
    build(find(cache))
    empty = {**cache, "ROAMING_CACHE_DIR": str(tmp_path / "empty")}
    _, warnings = search(build.site, "car", empty)
    assert warnings == [
        f"search works without embeddings: {ENGLISH}: not on this machine; builds and `roaming serve` download it"
    ]


def test_model_that_cannot_be_downloaded_is_a_warning(build: Any, tmp_path: Path, free_port: Callable[[], int]) -> None:
    hub = f"http://127.0.0.1:{free_port()}"
    build(find({"ROAMING_CACHE_DIR": str(tmp_path), "HF_ENDPOINT": hub}))
    (warning,) = build.warnings
    assert warning.startswith(f"hybrid search: {hub}/Xenova/{ENGLISH}/resolve/")
    assert f"or store it as {tmp_path / 'models' / ENGLISH / 'tokenizer.json'}; no vectors are published" in warning


def test_commands_use_the_default_model(cache: dict[str, str], tmp_path: Path) -> None:
    for path, title, text in (("", "Home", "Welcome."), ("fleet", "Fleet", "Each automobile is washed.")):
        head = f'<!doctype html><html lang="en"><head><title>{title}</title></head>'
        page = f"{head}<body><main><h1>{title}</h1><p>{text}</p></main></body></html>"
        (tmp_path / "html" / path).mkdir(parents=True)
        (tmp_path / "html" / path / "index.html").write_text(page)
    (tmp_path / "roaming.toml").write_text('[search]\nmode = "hybrid"\n')

    def run(*arguments: object) -> Result:
        return CliRunner(env=cache).invoke(main, [str(argument) for argument in arguments])

    done = run("index", tmp_path / "html", "--url", "https://docs.example/", "--search", "hybrid")
    assert f"vectors of {ENGLISH}@" in done.stderr
    search = ("search", tmp_path / "html", "car", "--json")
    found = run(*search, "--config", tmp_path / "roaming.toml")
    assert (json.loads(found.stdout)[0]["title"], found.stderr) == ("Fleet", "")


@pytest.mark.parametrize("prepare", [True, False])
def test_broken_model_is_reported_once(build: Any, cache: dict[str, str], tmp_path: Path, prepare: bool) -> None:
    """When it is prepared, or for the first question."""
    build(find(cache))
    (tmp_path / "models" / ENGLISH / "tokenizer.json").write_text("{")
    warnings: list[str] = []
    settings = Settings(embeddings=EmbeddingsConfig())
    search = settings.search_factory(cache, warnings.append, prepare=prepare)(open_library(build.site))
    assert len(warnings) == int(prepare)
    for query in ("car", "price"):
        search.find(query)
    (warning,) = warnings
    assert warning.startswith("search works without embeddings: ")
    assert "the model cannot be run" in warning
    assert search.words_only("car")


# Downloads


FILES = ("tokenizer.json", "onnx/model_quantized.onnx")


@dataclass
class Hub:
    """A server with a model, and the entry of the model in a catalogue."""

    model: CatalogueModel
    url: str = ""
    paths: list[str] = field(default_factory=list)
    """Those requested."""
    broken: int = 0
    """The number of responses that end too early."""


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    folder = write_model(tmp_path / "hub/team/words", file=FILES[1])
    files = {path: hashlib.sha256((folder / path).read_bytes()).hexdigest() for path in FILES}
    hub = Hub(CatalogueModel(source="team/words", files=files))

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            hub.paths.append(self.path.removeprefix("/team/words/"))
            if not hub.broken:
                return super().do_GET()
            hub.broken -= 1
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"{")
            return None

        def log_message(self, *args: object) -> None:
            pass

    with serve_requests(partial(Handler, directory=tmp_path / "hub")) as url:
        hub.url = url
        yield hub


def test_model_is_downloaded_once(hub: Hub, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        download_model(hub.model, tmp_path / "cache", hub.url)
    assert caplog.messages == [f"downloading {hub.url}team/words/{path}" for path in FILES]
    assert hub.paths == list(FILES)
    assert len(LocalEmbedder(tmp_path / "cache").embed(["car"])) == 1


def test_file_with_another_digest_is_not_stored(hub: Hub, tmp_path: Path) -> None:
    """The other files are stored, and not downloaded again."""
    other = CatalogueModel(source="team/words", files={**hub.model.files, FILES[1]: "0" * 64})
    with pytest.raises(EmbeddingError, match=r"not the expected file \(status 200\)"):
        download_model(other, tmp_path / "cache", hub.url)
    assert [path.name for path in (tmp_path / "cache").rglob("*") if path.is_file()] == [FILES[0]]
    download_model(hub.model, tmp_path / "cache", hub.url)
    assert hub.paths == [*FILES, FILES[1]]


def test_file_that_the_hub_does_not_have_is_named(hub: Hub, tmp_path: Path) -> None:
    missing = CatalogueModel(source="team/gone", files=hub.model.files)
    with pytest.raises(EmbeddingError, match=r"team/gone/tokenizer\.json: not the expected file \(status 404\)"):
        download_model(missing, tmp_path / "cache", hub.url)


def test_download_that_breaks_off_is_retried_once(hub: Hub, tmp_path: Path) -> None:
    hub.broken = 1
    download_model(hub.model, tmp_path / "cache", hub.url)
    assert hub.paths == [FILES[0], *FILES]
    hub.broken = 2
    with pytest.raises(EmbeddingError, match="cannot be fetched"):
        download_model(hub.model, tmp_path / "again", hub.url)


def test_missing_packages_are_named_in_the_warning_of_a_build(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text("# Home\n\nHello.\n")
    config = {"site_name": "D", "site_url": "https://docs.example/", "plugins": [{"roaming": {"search": "hybrid"}}]}
    (tmp_path / "mkdocs.yml").write_text(yaml.safe_dump(config))
    code = "import sys; sys.modules['onnxruntime'] = None; from mkdocs.__main__ import cli; cli(['build'])"
    environ = {"ROAMING_CACHE_DIR": str(tmp_path / "cache"), "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "models in the process need onnxruntime: pip install 'mkdocs-roaming[meaning]'" in done.stderr
