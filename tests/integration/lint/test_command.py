"""`roaming lint` on a terminal and in a pipeline."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mkdocs_roaming.cli import main
from mkdocs_roaming.cli.common import FAULTS_FOUND
from mkdocs_roaming.manifest.models import NavItem, Page, Site
from mkdocs_roaming.publish.cache import ConversionCache
from mkdocs_roaming.publish.pipeline import convert_pages
from mkdocs_roaming.publish.writer import PublishOptions, publish_batch

NAV = (NavItem("Home", ""), NavItem("Pumps", "pumps/"))
PAGES = (
    Page(
        "", "Home", '<h1>Boat</h1><p>See <a href="pumps/#oil">oil</a> and <a href="sails/">sails</a>.</p>', "index.md"
    ),
    Page("pumps/", "Pumps", '<h1>Pumps</h1><p>Two.</p><h2 id="notes">Notes</h2><p>Never dry.</p>', "pumps.md"),
)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "site"
    described = Site("Boat", "https://boat.example/", "Boats and their pumps.", nav=NAV)
    publish_batch(convert_pages(described, PAGES, cache=ConversionCache(None), warn=print), folder, PublishOptions())
    for page in PAGES:
        (folder / page.path / "index.html").write_text(page.article, "utf-8")
    return folder


@pytest.fixture
def served(site: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


def roaming(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["lint", *map(str, arguments)])


def rules(result: Result) -> list[str]:
    return [finding["rule"] for finding in json.loads(result.stdout)["findings"]]


def test_findings_are_printed_with_place_reason_and_fix(site: Path) -> None:
    """Three lines each, and the score last; what is found is no failure by itself."""
    result = roaming(site)
    assert result.exit_code == 0
    assert "index.md:5: error broken-link  Boat [" in result.stdout
    assert "    The link to /sails/ leads nowhere." in result.stdout
    assert result.stdout.splitlines()[-1].startswith(f"{site}: ")
    assert "1 error, 1 warning, 1 hint in 3 sections on 2 pages" in result.stdout


def test_strict_is_for_pipelines(site: Path) -> None:
    """`--strict` ends with 4 where there is more than hints, and with 0 where there are hints alone."""
    assert roaming(site, "--strict").exit_code == FAULTS_FOUND
    kept = roaming(site, "--strict", "--disable", "broken-link", "--disable", "broken-anchor", "--json")
    assert (kept.exit_code, rules(kept)) == (0, ["empty-title"])


def test_a_rule_that_there_is_none_is_named(site: Path) -> None:
    """A slip in a rule's name is told, with the names there are."""
    result = roaming(site, "--disable", "no-openin")
    assert result.exit_code == 1
    assert "there is no rule 'no-openin'; there are" in result.stderr


def test_settings_stand_in_roaming_toml(site: Path) -> None:
    """`[lint]` disables, enables, spares pages and makes strict what the command line may change."""
    Path("roaming.toml").write_text(
        '[lint]\nlevel = "strict"\ndisable = ["broken-link"]\n[lint.pages]\n"pumps.md" = ["empty-title"]\n', "utf-8"
    )
    result = roaming(site, "--json")
    assert (result.exit_code, rules(result)) == (FAULTS_FOUND, ["broken-anchor"])
    assert rules(roaming(site, "--json", "--enable", "broken-link")) == ["broken-anchor", "broken-link"]
    Path("roaming.toml").write_text("[lint]\nquiet = true\n", "utf-8")
    assert "[lint]: has no key 'quiet'" in roaming(site).stderr


def test_sources_are_named_where_they_are(site: Path) -> None:
    """With `--docs` a finding is in the author's file, at the author's line."""
    docs = site.parent / "docs"
    docs.mkdir()
    (docs / "pumps.md").write_text("---\ntags: [a]\n---\n\n# Pumps\n\nTwo.\n\n## Notes\n\nNever dry.\n", "utf-8")
    result = roaming(site, "--docs", "docs", "--format", "github")
    assert "::notice file=docs/pumps.md,line=9,title=roaming empty-title::" in result.stdout
    assert roaming(site, "--docs", "nowhere").exit_code == 1
    (docs / "pumps.md").rename(docs / "pomps.md")
    wrong = roaming(site, "--docs", "docs")
    assert "Warning: docs: holds none of the site's sources, such as" in wrong.stderr
    assert wrong.exit_code == 0


def test_a_site_on_the_web_is_looked_at_without_its_files(site: Path, served: str) -> None:
    """Over HTTP texts come in one piece; links are judged only where files lie on this machine."""
    assert rules(roaming(served, "--json")) == ["empty-title"]
    assert rules(roaming(site, "--json")) == ["broken-anchor", "broken-link", "empty-title"]


def test_a_folder_without_built_pages_has_no_say_on_links(site: Path) -> None:
    """A crawl leaves Markdown alone: what its pages link to may be out there all the same."""
    for page in site.rglob("*.html"):
        page.unlink()
    assert rules(roaming(site, "--json")) == ["empty-title"]


def test_a_single_markdown_file_is_looked_at_too(tmp_path: Path) -> None:
    """A README is a site of one page; its own anchors are known."""
    file = tmp_path / "README.md"
    file.write_text(
        "# Pump\n\nSee [use](#usage) and [gone](#gone).\n\n## Usage\n\nTurn it on.\n\n```sh\npump\n", "utf-8"
    )
    assert rules(roaming(file, "--json")) == ["broken-anchor", "unclosed-fence"]
    assert f"{file}:3: warning broken-anchor" in roaming(file).stdout


def test_a_title_cannot_pass_for_a_line_of_ours(site: Path) -> None:
    """A manifest that somebody made has a line break in a title: a pipeline would take what follows for a command."""
    path = site / "roaming/manifest.json"
    path.write_text(path.read_text("utf-8").replace('"Boat"', '"Boat\\n::error::gotcha\\u001b[2J"'), "utf-8")
    lines = roaming(site).stdout.splitlines()
    assert any("gotcha" in line for line in lines)
    assert not any(line.startswith("::error::gotcha") or "\x1b" in line for line in lines)
