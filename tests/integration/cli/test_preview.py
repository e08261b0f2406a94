"""`roaming preview`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tables import read_tables

from mkdocs_roaming.cli import main

TABLES = read_tables(__file__)

PAGES = TABLES["pages"]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A built site, next to its configuration in the working directory."""
    for path, body in PAGES.items():
        file = tmp_path / "site" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"<html><head><title>{path}</title></head><body><main>{body}</main></body>")
    (tmp_path / "mkdocs.yml").write_text(
        "site_name: Kettle\nsite_url: https://kettle.example/docs/\nplugins:\n- roaming:\n    exclude: [internal/]\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path / "site"


def preview(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["preview", *arguments])


def test_preview_of_a_built_site_writes_a_page_with_its_configuration(site: Path) -> None:
    result = preview("site", "When does it boil?")
    assert (result.exit_code, result.stdout) == (0, "roaming-preview.html\n")
    page = Path("roaming-preview.html").read_text("utf-8")
    assert "<h1>Kettle as agents see it</h1>" in page
    assert "<h3>When does it boil?</h3>" in page
    assert "internal/plan/" in page
    assert "zebra" not in page
    assert sorted(file.name for file in site.iterdir()) == ["guide", "index.html", "internal"]


def test_patterns_replace_what_a_site_has_published(site: Path) -> None:
    CliRunner().invoke(main, ["index", "site"])
    for arguments, shown in (((), True), (("--exclude", "guide/"), False)):
        assert preview("site", "--page", "/", "-o", "page.html", *arguments).exit_code == 0
        assert ("guide/index.md" in Path("page.html").read_text("utf-8")) is shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    TABLES["preview of nothing says what is wrong"],
)
@pytest.mark.usefixtures("site")
def test_preview_of_nothing_says_what_is_wrong(arguments: tuple[str, ...], message: str) -> None:
    result = preview(*arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith("roaming: ")
    assert message in result.stderr
    assert not Path("roaming-preview.html").exists()
