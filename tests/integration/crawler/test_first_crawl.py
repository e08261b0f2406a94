"""First crawls and usual mistakes on the command line."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mkdocs_roaming import publish_site
from mkdocs_roaming.cli import main
from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.publish.options import PublishOptions
from roaming_crawler.variants import find_version_folder

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def test_text_outside_of_the_article_counts_as_lost_unless_pages_repeat_it(site: Any, run_crawl: Any) -> None:
    lost = " ".join(f"Reef {at} is a knot." for at in range(60))
    for name, outside in {"a": "", "b": lost, "c": "", "d": ""}.items():
        menu = "".join(f"<p>Words that all pages have {at}</p>" for at in range(60))
        site.put(
            f"/{name}/", f"<title>{name}</title>{menu}<main><h1>{name}</h1><p>Rope {name}.</p></main><p>{outside}</p>"
        )
    site.page("/", "Home", links=("a/", "b/", "c/", "d/"))
    result = run_crawl(site.url).result
    assert result.incomplete == ("b/",)
    assert result.page_coverage["b/"] < 0.1
    assert result.page_coverage["a/"] == 1
    assert 0.2 < result.coverage.share < 0.9


def test_strict_crawl_exits_with_4_if_a_page_lost_words(site: Any, tmp_path: Path) -> None:
    lost = " ".join(f"Reef {at} is a knot." for at in range(60))
    site.put("/", f"<title>Home</title><main><h1>Home</h1><p>Rope.</p></main><p>{lost}</p>")
    command = ["crawl", site.url, "-o", str(tmp_path / "out"), "--allow-private", "--delay", "0", "--workers", "0"]
    assert CliRunner().invoke(main, command).exit_code == 0
    result = CliRunner().invoke(main, [*command, "--strict"])
    assert (result.exit_code, "1 page lost more than a tenth: / (" in result.output) == (4, True)


def test_boilerplate_is_learned_once_and_again_on_refresh(site: Any, run_crawl: Any, tmp_path: Path) -> None:
    def put(banner: str) -> None:
        for at in range(9):
            site.put(f"/p{at}/", f"<title>Page {at}</title><p>{banner}</p><h1>Rope {at}</h1><p>Rope {at} is red.</p>")
        site.put("/", "".join(f"<a href='p{at}/'>{at}</a>" for at in range(9)) + "<p>Home of the ropes</p>")

    put("Old banner of the site")
    assert "banner" not in run_crawl(site.url).text("p3/")
    put("New banner of the site")
    assert "banner" in run_crawl(site.url).text("p3/")
    assert "banner" not in run_crawl(site.url, refresh=True).text("p3/")


@pytest.mark.parametrize(("path", "version"), TABLES["version_folder_may_follow_a_language"])
def test_version_folder_may_follow_a_language(path: str, version: str) -> None:
    base = "https://docs.example/"
    assert find_version_folder(base + path, base).removeprefix(base) == version


def test_crawl_refuses_folder_with_other_files(site: Any, run_crawl: Any, tmp_path: Path) -> None:
    site.page("/", "Home")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "index.md").write_text("My own words.")
    (tmp_path / "file").write_text("")
    for name, message in (
        ("mine", "contains files that no crawl has written; give a new or"),
        ("file", "is a file; give a"),
    ):
        with pytest.raises(RoamingError, match=f"{name}: {message}"):
            run_crawl(site.url, tmp_path / name)
    assert [file.name for file in (tmp_path / "mine").iterdir()] == ["index.md"]
    assert not site.requests
    (tmp_path / "new" / ".git").mkdir(parents=True)
    assert run_crawl(site.url, tmp_path / "new").paths == [""]
    shutil.rmtree(tmp_path / "new" / ".roaming")  # as in a copy of the published files
    assert run_crawl(site.url, tmp_path / "new").result.same == 1


def test_crawl_refuses_folder_of_built_site_or_of_another_site(site: Any, run_crawl: Any, tmp_path: Path) -> None:
    site.page("/", "Home")
    site.page("/docs/", "Docs")
    built, other = tmp_path / "built", tmp_path / "other"
    built.mkdir()
    (built / "index.html").write_text("<html><head><title>Home</title></head><body><h1>Home</h1></body></html>")
    publish_site(built, url=site.url)
    before = (built / "index.md").read_bytes()
    with pytest.raises(RoamingError, match="built: contains files that no crawl has written; give a new or empty"):
        run_crawl(site.url, built)
    assert (built / "index.md").read_bytes() == before
    run_crawl(f"{site.url}docs/", other)
    shutil.rmtree(other / ".roaming")
    with pytest.raises(RoamingError, match=f"other: contains the files of {site.url}docs/; give a new or empty folder"):
        run_crawl(site.url, other)
    run_crawl(f"{site.url}docs/", other)
    with pytest.raises(RoamingError, match="was published by `roaming crawl`, which updates it"):
        publish_site(other)


def test_crawl_neither_overwrites_nor_removes_files_of_others(site: Any, run_crawl: Any, tmp_path: Path) -> None:
    site.page("/", "Home", links=("a", "b"))
    site.page("/a", "A")
    site.page("/b", "B")
    output = run_crawl(site.url)
    (output.folder / "a.md").write_text("Changed by hand.")
    (output.folder / "NOTES.md").write_text("Not published.")
    site.page("/", "Home", links=("b",))
    del site.responses["/a"]
    assert run_crawl(site.url).paths == ["", "b"]
    assert (output.folder / "a.md").read_text() == "Changed by hand."
    assert (output.folder / "NOTES.md").read_text() == "Not published."
    (output.folder / "b.md").write_text("Changed by hand.")
    site.page("/b", "B", text="Something new.")
    with pytest.raises(RoamingError, match=r"would overwrite b\.md, which something else wrote or changed"):
        run_crawl(site.url)
    assert (output.folder / "b.md").read_text() == "Changed by hand."
    assert "Something new." in run_crawl(site.url, options=PublishOptions(overwrite=True)).text("b")


def test_error_for_url_with_password_does_not_show_it(run_crawl: Any) -> None:
    with pytest.raises(RoamingError, match="user name") as error:
        run_crawl("https://tide:secret@docs.example/")
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(("given", "message"), TABLES["crawl_refuses_invalid_url"])
def test_crawl_refuses_invalid_url(given: str, message: str, run_crawl: Any) -> None:
    with pytest.raises(RoamingError) as error:
        run_crawl(given)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("given", ["docs", "docs/index.md", "mkdocs.yml"])
def test_crawl_of_folder_without_site_has_hint(given: str, run_crawl: Any, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# Home\n")
    (tmp_path / "mkdocs.yml").write_text("site_name: x\n")
    missing = "no page to publish; found no index.html, llms.txt or roaming/manifest.json there"
    folder = tmp_path if given == "mkdocs.yml" else tmp_path / "docs"
    with pytest.raises(RoamingError) as error:
        run_crawl(str(tmp_path / given))
    assert str(error.value) == f"{folder}: {missing}; build the site first, then name its folder"
    (folder / "site").mkdir()
    (folder / "site" / "index.html").write_text("<title>x</title>")
    with pytest.raises(RoamingError) as error:
        run_crawl(str(tmp_path / given))
    assert str(error.value) == f"{folder}: {missing}; name the folder of a site, such as {folder / 'site'}"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signal for a group")
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGHUP, marks=pytest.mark.slow)])
def test_interrupted_crawl_reports_how_to_resume(
    site: Any, tmp_path: Path, html: Any, reply: Any, number: signal.Signals
) -> None:
    site.page("/", "Home", links=tuple(f"p{at}/" for at in range(30)))
    half = threading.Event()

    def slow(handler: Any) -> Any:
        if handler.path == "/p20/":
            half.set()
            time.sleep(0.3)
        return reply(html(f"Page {handler.path}")) if re.fullmatch(r"/p\d+/", handler.path) else reply("", 404)

    site.default = slow
    options = ["--allow-private", "--delay", "0", "--workers", "1", "--connections", "1"]
    command = [sys.executable, "-m", "mkdocs_roaming", "crawl", site.url, "-o", str(tmp_path / "out"), *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert half.wait(30)
    os.killpg(process.pid, number)
    message = process.communicate(timeout=30)[1]
    assert (process.returncode, message) == (
        1,
        f"roaming: {tmp_path / 'out'}: interrupted; the same command resumes the crawl\n",
    )
    before = len(site.requests)
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout.startswith(f"{tmp_path / 'out'}: 31 pages, ")
    assert "/p19/" not in [request.path for request in site.requests[before:]]


def test_crawl_reports_folder_in_place_of_file(site: Any, tmp_path: Path) -> None:
    site.page("/", "Home")
    (tmp_path / "out" / ".roaming").mkdir(parents=True)
    (tmp_path / "out" / "index.md").mkdir()
    command = ["crawl", site.url, "-o", str(tmp_path / "out"), "--allow-private", "--delay", "0", "--workers", "0"]
    for option, message in (
        ("--llms-txt=yes", f"{tmp_path / 'out'}: publishing would overwrite index.md, which something else wrote"),
        ("--overwrite", f"{tmp_path / 'out' / 'index.md'}: cannot be used ("),
    ):
        result = CliRunner().invoke(main, [*command, option])
        assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
        assert result.stderr.startswith(f"roaming: {message}")
