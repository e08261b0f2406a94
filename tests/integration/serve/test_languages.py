"""A site in several languages: questions are answered from the documentation in their language."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.manifest.models import Alternate, Site
from mkdocs_roaming.serve.deployments import LocalizedSite, SiteWatcher

Start = Callable[..., Any]
URL = "https://docs.example/p/"
QUESTION = "server.port 8642"


@pytest.fixture
def two(tmp_path: Path, make_site: Callable[..., Any], pages: list[tuple[str, str]]) -> Path:
    """Return a site in English and, below it, in German; the English manifest names other sites too."""
    alternates = (
        Alternate(f"{URL}de/{MANIFEST_PATH}", "de"),
        Alternate(f"{URL}old/{MANIFEST_PATH}", "fr", "1.0"),
        Alternate("http://169.254.169.254/" + MANIFEST_PATH, "it"),
        Alternate(f"{URL}../../etc/{MANIFEST_PATH}", "es"),
    )
    english = make_site(pages, site=Site("Kettle", URL, alternates=alternates))
    german = [("einstellungen/", "# Einstellungen\n\n## Server\n\nDer Kessel hört auf `server.port`, das ist 8642.\n")]
    folder: Path = english.publish(tmp_path / "two")
    make_site(german, site=Site("Kessel", f"{URL}de/", language="de")).publish(folder / "de")
    return folder


@pytest.mark.parametrize("published", ["folder", "address"])
def test_request_is_answered_in_its_language(
    start: Start, two: Path, host: Any, files_of: Any, wait_until: Callable[..., Any], published: str
) -> None:
    with host(files_of(two)) as site:
        endpoint = start(two if published == "folder" else site.url, look_every=0.05)
        wait_until(lambda: "Einstellungen" in endpoint.http.get("/v1/outline", params={"lang": "de"}).text)
        for language in ("de", "de-AT", "DE"):
            assert "Kessel" in endpoint.http.post("/v1/ask", json={"question": QUESTION, "lang": language}).text
        for language in ("", "en", "en-GB", "fr", "it", "es", "xx"):
            result = endpoint.http.post("/v1/ask", json={"question": QUESTION, "lang": language}).text
            assert "Kessel" not in result
            assert "8642" in result
        assert "Kessel" in endpoint.http.get("/ask", params={"q": QUESTION, "lang": "de"}).text
        assert endpoint.http.get("/v1/search", params={"q": "Kessel", "lang": "de"}).json()["hits"]
        assert not endpoint.http.get("/v1/search", params={"q": "Kessel"}).json()["hits"]
        requested = {path for path, _ in site.requests}
    assert not {path for path in requested if "etc" in path or path.startswith("old")}


def test_cache_separates_languages(start: Start, two: Path, wait_until: Callable[..., Any]) -> None:
    endpoint = start(two, look_every=0.05)
    wait_until(lambda: "Einstellungen" in endpoint.http.get("/v1/outline", params={"lang": "de"}).text)
    for language in ("de", "en"):
        assert not endpoint.status(QUESTION, lang=language)["cached"]
    for language in ("de", "en"):
        assert endpoint.status(QUESTION, lang=language)["cached"]


@pytest.mark.parametrize("elsewhere", ["{root}/secret/", "%2e%2e/secret/", "..\\secret/", "%2E./secret/", "//secret/"])
@pytest.mark.parametrize("url", ["", URL])
def test_manifest_cannot_refer_to_other_site(
    start: Start, tmp_path: Path, make_site: Callable[..., Any], pages: list[tuple[str, str]], url: str, elsewhere: str
) -> None:
    secret = make_site(pages, site=Site("Secret", "https://x.example/")).publish(tmp_path / "secret")
    english = make_site(pages).publish(tmp_path / "site")
    data = json.loads((english / MANIFEST_PATH).read_text("utf-8"))
    data["site"]["url"] = url
    where = elsewhere.format(root=tmp_path) + MANIFEST_PATH
    data["site"]["alternates"] = [{"manifest": url + where, "language": "de"}]
    (english / MANIFEST_PATH).write_text(json.dumps(data))
    languages = LocalizedSite(SiteWatcher(english), SiteWatcher)
    anyio.run(languages.check)
    assert secret.is_dir()
    assert languages.now("de").library.manifest.site.name != "Secret"
    assert languages.now("de") is languages.now()
