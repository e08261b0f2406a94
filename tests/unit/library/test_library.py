"""Opening a library from a folder, over HTTP and from a Markdown file; sections are verified by their digests."""

from __future__ import annotations

import gzip
import json
import os
import re
import socket
import threading
import tomllib
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import httpx2
import pytest
from dripping import BODY, HEADERS, dripping
from msgspec.structs import replace

from mkdocs_roaming._guard import PrivateAddressError
from mkdocs_roaming._http import GuardedConnections
from mkdocs_roaming.errors import DigestMismatchError, LibraryError, RoamingError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.readers import FolderReader, MemoryReader, WebReader
from mkdocs_roaming.library.targets import library_from_markdown, open_library
from mkdocs_roaming.manifest.io import dump_manifest

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

PAGES = TABLES["pages"]


@pytest.fixture
def site(make_site: Callable):
    return make_site(PAGES)


def texts(library: Library) -> list[str]:
    return [library.text(section) for section in library.sections]


def open_error(where: str | Path) -> str:
    """Return the class and the message of the error that `open_library` raises."""
    with pytest.raises(RoamingError) as caught:
        open_library(where)
    assert "\n" not in str(caught.value)
    return f"{type(caught.value).__name__}: {caught.value}"


# Folders


@pytest.mark.parametrize("named", ["", "roaming/manifest.json"])
def test_open_library_accepts_folder_and_manifest_path(site, tmp_path: Path, named: str) -> None:
    """The texts of all sections joined are the pages."""
    folder = site.publish(tmp_path / "site")
    library = open_library(folder / named)
    assert "".join(texts(library)) == "".join(text for _, text in PAGES)
    assert library.where == str(folder)
    assert texts(open_library(str(folder))) == texts(library)


def test_open_library_without_site_raises_error_with_hint(site, tmp_path: Path) -> None:
    folder = site.publish(tmp_path / "site")
    assert (
        open_error(tmp_path / "none")
        == f"LibraryError: {tmp_path / 'none'}: no such folder or file; check the path; a URL starts with https://"
    )
    bare = tmp_path / "bare"
    bare.mkdir()
    assert open_error(bare).startswith(f"ManifestNotFoundError: {bare}: no roaming/manifest.json in this folder; ")
    assert "; build the site first, then name its folder, such as site/; `roaming index" in open_error(bare)
    (tmp_path / "mkdocs.yml").write_text("site_name: x")
    assert "mkdocs.yml: a settings file; build the site, then name the folder" in open_error(tmp_path / "mkdocs.yml")
    manifest = folder / "roaming" / "manifest.json"
    for text, said in [
        ("{", "not JSON"),
        ("<!doctype html><title>x</title>", "not JSON"),
        ("[]", "not a roaming manifest"),
        (
            json.dumps({**json.loads(dump_manifest(site.manifest)), "version": 2}),
            "version 2, this reads up to 1; upgrade",
        ),
        ("[" * 100_000, "not a roaming manifest"),
    ]:
        manifest.write_text(text)
        assert said in open_error(folder)
        assert open_error(folder).startswith("ManifestError: ")
    assert "http:// and https://" in open_error("ftp://docs.example/")
    assert "no such" in open_error("x" * 5000)
    assert "no such" in open_error("a\0b")


@pytest.mark.parametrize("path", TABLES["text_with_path_outside_of_site_raises_error_without_request"])
def test_text_with_path_outside_of_site_raises_error_without_request(site, tmp_path: Path, server, path: str) -> None:
    """In a folder and over HTTP: the manifest may be somebody else's."""
    (tmp_path / "secret.md").write_text("# Home\n\nWelcome to the boat.\n")
    folder = site.publish(tmp_path / "site")
    page = replace(site.manifest.pages[0], markdown=path)
    for reader in (FolderReader(folder), WebReader(server.url + "site/")):
        library = Library(replace(site.manifest, pages=(page,)), reader)
        with pytest.raises(LibraryError, match="outside of the site"):
            texts(library)
    assert server.asked == []


def test_text_with_symlink_out_of_folder_raises_error(site, tmp_path: Path) -> None:
    """A link within the folder is followed."""
    folder = site.publish(tmp_path / "site")
    home = folder / "index.md"
    home.rename(tmp_path / "secret.md")
    home.symlink_to(tmp_path / "secret.md")
    with pytest.raises(LibraryError, match="leads out of the folder"):
        texts(open_library(folder))
    home.unlink()
    (tmp_path / "secret.md").rename(folder / "kept.md")
    home.symlink_to("kept.md")
    assert texts(open_library(folder))[0] == PAGES[0][1]
    (folder / "loop.md").symlink_to("loop.md")
    library = Library(
        replace(site.manifest, pages=(replace(site.manifest.pages[0], markdown="loop.md"),)), FolderReader(folder)
    )
    with pytest.raises(LibraryError):
        texts(library)


def test_text_with_named_pipe_raises_error(site, tmp_path: Path) -> None:
    folder = site.publish(tmp_path / "site")
    (folder / "index.md").unlink()
    os.mkfifo(folder / "index.md")
    with pytest.raises(LibraryError, match="no such file"):
        texts(open_library(folder))


def test_text_with_changed_page_raises_error_for_changed_sections_only(site, tmp_path: Path) -> None:
    folder = site.publish(tmp_path / "site")
    page = folder / "guide/pumps/index.md"
    page.write_bytes(page.read_bytes().replace(b"Below.", b"Above!"))
    library = open_library(folder)
    by_title = {section.section.title: section for section in library.sections}
    assert library.text(by_title["Pumps"]) == "# Pumps\n\nAll of them.\n\n"
    assert library.text(by_title["Ölpumpe"]) == "## Ölpumpe\n\nFür Öl.\n"
    with pytest.raises(DigestMismatchError, match="publish it again"):
        library.text(by_title["Bilge pump"])


def test_text_after_new_deployment_returns_cached_or_new_text(make_site: Callable, tmp_path: Path) -> None:
    """A page that is not cached is read as the new manifest describes it."""
    folder = make_site(PAGES).publish(tmp_path / "site")
    library = open_library(folder)
    sections = {section.section.title: section for section in library.sections}
    assert "come" in library.text(sections["Tides"])
    changed = [
        (path, text.replace("All of them.", "All of them, and more.").replace("come", "go")) for path, text in PAGES
    ]
    make_site(changed).publish(folder)
    assert library.text(sections["Pumps"]) == "# Pumps\n\nAll of them, and more.\n\n"
    assert library.text(sections["Bilge pump"]) == "## Bilge pump\n\nBelow.\n\n"
    assert "come" in library.text(sections["Tides"])


# Over HTTP


@pytest.mark.parametrize(
    "asked", ["docs/", "docs", "docs/index.html", "docs/llms.txt", "docs/roaming/manifest.json", "docs/?x=1#y"]
)
def test_open_library_accepts_any_url_of_site(site, server, asked: str) -> None:
    """Pages are read from the manifest's location, whatever URL the manifest contains."""
    server.put({**site.files, "roaming/manifest.json": dump_manifest(site.manifest)}, "/docs/")
    library = open_library(server.url + asked)
    assert texts(library) == [text for section in library.sections for text in [site.library().text(section)]]
    assert library.where == server.url + "docs/"


def test_open_library_follows_redirects(site, server, reply: Callable) -> None:
    """Redirects of the manifest and of the site's own URL; a redirect loop raises an error."""
    server.put({**site.files, "roaming/manifest.json": dump_manifest(site.manifest)}, "/latest/")
    server.replies["/docs/roaming/manifest.json"] = reply(
        status=302, headers={"Location": "/latest/roaming/manifest.json"}
    )
    server.replies["/home/"] = reply(status=301, headers={"Location": server.url + "latest/"})
    server.replies["/latest/"] = reply(b"<!doctype html><p>Docs")
    for asked in ("docs/", "home/"):
        library = open_library(server.url + asked)
        assert library.where == server.url + "latest/"
        assert texts(library)[0] == PAGES[0][1]
    server.replies["/round/roaming/manifest.json"] = reply(
        status=302, headers={"Location": "/round/roaming/manifest.json"}
    )
    assert "more than 5 redirects" in open_error(server.url + "round/")
    server.replies["/out/roaming/manifest.json"] = reply(status=302, headers={"Location": "file:///etc/passwd"})
    assert "cannot be fetched" in open_error(server.url + "out/")


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "[::1]", "169.254.169.254", "0"]
)
def test_open_library_follows_no_redirect_to_another_private_address(server, reply: Callable, host: str) -> None:
    """Neither a redirect nor HTML leads from the address that the user named to another port or host."""
    with socket.create_server(("127.0.0.1", 0)) as inside:
        target = f"http://{host}:{inside.getsockname()[1]}/roaming/manifest.json"
        for path in ("a/roaming/manifest.json", "llms-full.txt"):
            server.replies["/" + path] = reply(status=307, headers={"Location": target})
        server.replies["/refresh/"] = reply(REFRESH % target.encode())
        for asked in ("a/", "llms-full.txt", "refresh/"):
            said = open_error(server.url + asked)
            assert re.search(" is (not a public|an IPv4) address", said)
            assert said.endswith("; if you trust it, use that address itself")
        inside.settimeout(0.05)
        with pytest.raises(TimeoutError):
            inside.accept()


def test_connection_to_private_address_of_public_name_is_refused() -> None:
    """The name may have got another address after it was checked. The address of a proxy is not checked."""
    connections, peer, is_closed = GuardedConnections("http://docs.example/"), ("10.0.0.1", 80), threading.Event()
    stream = SimpleNamespace(get_extra_info={"server_addr": peer}.get, close=is_closed.set)
    connections.check_request(httpx2.Request("GET", "http://8.8.8.8/"))
    for proxy in ("proxy.example", ""):
        connections.trace("connection.connect_tcp.started", {"host": proxy or "8.8.8.8", "port": 80})
        with (
            nullcontext() if proxy else pytest.raises(PrivateAddressError, match=r"10\.0\.0\.1 is not a public address")
        ):
            connections.trace("connection.connect_tcp.complete", {"return_value": stream})
        assert is_closed.is_set() != bool(proxy)


REFRESH = b'<!doctype html><meta http-equiv="refresh" content="0; url=%s">'


def test_open_library_follows_html_redirects_of_home_page(site, server, reply: Callable, tmp_path: Path) -> None:
    files = {**site.files, "roaming/manifest.json": dump_manifest(site.manifest)}
    pages = {"": b"latest/", "latest/": b"../2.0/index.html", "round/": b"../round/", "out/": b"file:///etc/"}
    pages |= {"bad/": b"http://["}
    server.put(files, "/2.0/")
    server.put({"2.0/index.html": "<p>Docs"})
    for path, target in pages.items():
        server.replies["/" + path] = reply(REFRESH % target)
    server.put({"llms.txt": "# Docs\n"})
    for asked in ("", "llms.txt", "latest/"):
        assert open_library(server.url + asked).where == server.url + "2.0/"
    for path in ("round/", "out/", "bad/"):
        assert "publishes no roaming/manifest.json" in open_error(server.url + path)
    assert server.asked.count("/round/") <= 4


def test_open_library_with_broken_site_raises_error_with_reason(
    site, server, refused: Callable, reply: Callable
) -> None:
    """No manifest, HTML for every path, server errors, closed ports, invalid URLs."""
    server.put({"llms.txt": "# Docs\n\n- [A](a.md)\n", "index.html": "<html>"}, "/indexed/")
    server.replies["/indexed/"] = reply(b"<!doctype html><p>Docs", headers={"Content-Type": "text/html"})
    said = open_error(server.url + "indexed/")
    assert said.startswith("ManifestNotFoundError: ")
    assert "publishes no roaming/manifest.json" in said
    assert f"crawl it with `roaming crawl {server.url}indexed/ -o DIR`" in said
    assert open_error(server.url + "indexed/llms.txt") == said
    for path in ("/app/", "/app/roaming/manifest.json", "/app/llms.txt"):
        server.replies[path] = reply(b"\n<!DOCTYPE html><p>Not found", headers={"Content-Type": "text/html"})
    for asked in ("app/", "app/roaming/manifest.json"):
        said = open_error(server.url + asked)
        assert f"ManifestNotFoundError: {server.url}app/: publishes no roaming/manifest.json; crawl it" in said
    assert "not found (404)" in open_error(server.url + "roaming/manifest.json")
    assert "not found (404)" in open_error(server.url + "gone/")
    server.replies["/down/roaming/manifest.json"] = reply(status=503)
    assert "answered 503" in open_error(server.url + "down/")
    server.replies["/cut/roaming/manifest.json"] = reply(b"{}", headers={"Content-Length": "90"})
    assert "cannot be fetched" in open_error(server.url + "cut/")
    assert "cannot be fetched" in open_error(refused())
    assert "LibraryError" in open_error("http://[::1/")
    assert "LibraryError" in open_error("http:///")


def test_get_with_large_response_raises_error(server, reply: Callable) -> None:
    """The limit is for the decompressed body."""
    web = WebReader(server.url)
    server.replies["/big"] = reply(b"x" * 3_000_000)
    server.replies["/bomb"] = reply(gzip.compress(b"\0" * 40_000_000), headers={"Content-Encoding": "gzip"})
    for path in ("big", "bomb"):
        with pytest.raises(LibraryError, match="larger than 2 MB"):
            web.get(server.url + path, 2 * 2**20)


@pytest.mark.parametrize("drops", [HEADERS, BODY], ids=["headers", "body"])
def test_file_with_slow_response_raises_error_and_next_request_succeeds(drops: tuple[bytes, bytes]) -> None:
    """A header or a body that comes byte by byte; its connection is closed."""
    with dripping(*drops, then=b"# Pump") as address:
        web = WebReader(address, seconds=0.6)
        with pytest.raises(LibraryError, match=r"/a\.md: no complete response within 0\.6 seconds; try again later$"):
            web.file("a.md")
        assert web.file("a.md") == b"# Pump"


def test_prefetch_requests_llms_full_then_missing_pages(make_site: Callable, server) -> None:
    """Without prefetch, reading a section requests its page once."""
    site = make_site([(f"p{at}/", f"# Page {at}\n\nText.\n\n## Part {at}\n\nText.\n") for at in range(12)])
    server.put({**site.files, "roaming/manifest.json": dump_manifest(site.manifest)})
    library = open_library(server.url)
    assert server.asked == ["/roaming/manifest.json"]
    first = list(library.sections)[:2]
    assert [library.text(section) for section in first] == ["# Page 0\n\nText.\n\n", "## Part 0\n\nText.\n"]
    assert server.asked[1:] == ["/p0/index.md"]
    library.prefetch()
    texts(library)
    assert server.asked[2:] == ["/llms-full.txt"]
    server.asked.clear()
    server.put({"llms-full.txt": site.files["llms-full.txt"].replace("# Page 7", "# Page X")})
    changed_library = open_library(server.url)
    changed_library.prefetch()
    assert texts(changed_library) == texts(library)
    assert server.asked == ["/roaming/manifest.json", "/llms-full.txt", "/p7/index.md"]
    server.asked.clear()
    del server.replies["/llms-full.txt"], server.replies["/p3/index.md"]
    library_without_full = open_library(server.url)
    library_without_full.prefetch()
    assert sorted(server.asked) == sorted(
        ["/roaming/manifest.json", "/llms-full.txt", *(f"/p{at}/index.md" for at in range(12))]
    )


def test_text_evicts_least_recently_used_page(make_site: Callable) -> None:
    site = make_site([(f"p{at}/", f"# Page {at}\n\n" + "x" * 1000) for at in range(5)])
    asked: list[str] = []

    class CountingReader(MemoryReader):
        def file(self, path: str, cache_key: str = "") -> bytes:
            asked.append(path)
            return super().file(path, cache_key)

    library = Library(
        site.manifest,
        CountingReader({path: text.encode() for path, text in site.files.items()}, where="memory"),
        cache_bytes=2500,
    )
    sections = list(library.sections)
    for at in (0, 1, 0, 2, 0, 1):
        library.text(sections[at])
    assert asked == ["p0/index.md", "p1/index.md", "p2/index.md", "p1/index.md"]


def test_text_with_digest_mismatch_requests_page_and_manifest_again(
    make_site: Callable, server, reply: Callable
) -> None:
    """During a deployment, a URL may return the old page."""
    old, new = make_site(PAGES), make_site([(path, text.replace("Below.", "Far below.")) for path, text in PAGES])
    server.put({**old.files, "roaming/manifest.json": dump_manifest(new.manifest)})
    library = open_library(server.url)
    section = next(section for section in library.sections if section.section.title == "Bilge pump")
    digest = section.section.digest
    server.replies[f"/guide/pumps/index.md?v={digest}"] = reply(new.files["guide/pumps/index.md"].encode())
    assert library.text(section) == "## Bilge pump\n\nFar below.\n\n"
    assert server.asked[1:] == ["/guide/pumps/index.md", f"/guide/pumps/index.md?v={digest}"]
    server.asked.clear()
    del server.replies[f"/guide/pumps/index.md?v={digest}"]
    library = open_library(server.url)
    with pytest.raises(DigestMismatchError):
        library.text(section)
    assert server.asked[1:] == [
        "/guide/pumps/index.md",
        f"/guide/pumps/index.md?v={digest}",
        f"/roaming/manifest.json?v={digest}",
    ]
    server.asked.clear()
    server.replies[f"/roaming/manifest.json?v={digest}"] = reply(dump_manifest(old.manifest).encode())
    assert open_library(server.url).text(section) == "## Bilge pump\n\nBelow.\n\n"


def test_text_with_invalid_utf8_replaces_characters(make_site: Callable) -> None:
    """The digest is of the bytes."""
    from mkdocs_roaming.manifest.models import slice_digest

    site = make_site([("", "# Home\n\nx\n")])
    data = b"# Home\n\n\xff\n"
    page = site.manifest.pages[0]
    section = replace(page.sections[0], digest=slice_digest(data))
    library = Library(
        replace(site.manifest, pages=(replace(page, sections=(section,)),)),
        MemoryReader({"index.md": data}, where="memory"),
    )
    assert texts(library) == ["# Home\n\n\ufffd\n"]


# One Markdown file

GOLDEN = Path(__file__).parents[2] / "golden" / "single"


@pytest.mark.parametrize("file", sorted(GOLDEN.glob("*.md")), ids=lambda file: file.stem)
def test_library_from_markdown_matches_golden_file(file: Path) -> None:
    """The `.txt` file lists pages, URLs and sections; no text is lost or duplicated."""
    markdown = file.read_bytes().decode()
    library = library_from_markdown(markdown, name=file.stem, url=f"https://raw.example/{file.name}")
    lines = [f"site {library.manifest.site.url}"]
    for page in library.manifest.pages:
        lines.append(
            f"page {page.path or '(home)'} {library.sections.url(next(p for p in library.sections if p.page is page))}"
        )
        lines += [f"  {'#' * section.level} {section.title} | {section.opening}" for section in page.sections]
    assert "\n".join(lines) + "\n" == file.with_suffix(".txt").read_text()
    assert len({section.id for section in library.sections}) == len(library.sections)
    for text in texts(library):
        assert text in re.sub("(?<=\n)\n?Source: .*\n", "", markdown)


def test_open_library_with_markdown_returns_same_ids_from_disk_and_http(
    tmp_path: Path, server, reply: Callable
) -> None:
    markdown = "# Pumps\n\nAll.\n\n## Bilge\n\nBelow.\n"
    (tmp_path / "README.md").write_text(markdown)
    server.replies["/x/README.md"] = reply(markdown.encode())
    server.replies["/x/readme"] = reply(markdown.encode(), headers={"Content-Type": "text/markdown; charset=utf-8"})
    opened = [
        open_library(where) for where in (tmp_path / "README.md", server.url + "x/README.md", server.url + "x/readme")
    ]
    assert [texts(library) for library in opened] == [["# Pumps\n\nAll.\n\n", "## Bilge\n\nBelow.\n"]] * 3
    assert len({tuple(section.id for section in library.sections) for library in opened}) == 1
    assert opened[0].manifest.site.name == "Pumps"
    assert opened[0].sections.url(next(iter(opened[0].sections))) == (tmp_path / "README.md").as_uri()
    assert opened[1].sections.url(next(iter(opened[1].sections))) == server.url + "x/README.md"


def test_open_library_with_html_or_binary_file_raises_error(tmp_path: Path, server, reply: Callable) -> None:
    (tmp_path / "page.md").write_text("<!doctype html><p>Not found")
    (tmp_path / "photo.md").write_bytes(b"\x89PNG\0\0\0")
    server.replies["/page.md"] = reply(b"<html><p>Not found")
    assert "a web page, not Markdown" in open_error(tmp_path / "page.md")
    assert "not a text file" in open_error(tmp_path / "photo.md")
    assert "a web page, not Markdown" in open_error(server.url + "page.md")
    assert re.search(r"not found \(404\)", open_error(server.url + "none.md"))
    assert texts(library_from_markdown("")) in ([""], [])


def test_navigator_import_does_not_load_http_client() -> None:
    import subprocess
    import sys

    code = "import sys, mkdocs_roaming.library.navigator; sys.exit('httpx2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
