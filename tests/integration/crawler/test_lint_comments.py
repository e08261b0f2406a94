"""Comments that disable lint rules survive a crawl."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs_roaming.lint.context import parse_page_text
from mkdocs_roaming.manifest.models import Manifest
from mkdocs_roaming.sources.project import IndexOptions
from mkdocs_roaming.sources.publication import index_site

SWITCH = "<!-- roaming-lint: off no-opening -->"


def silenced(manifest: Manifest, text: str, path: str) -> frozenset[str]:
    page = next(page for page in manifest.pages if page.path == path)
    return parse_page_text(page, text).disabled_rules


def test_lint_comment_in_html_is_kept(site: Any, run_crawl: Any) -> None:
    site.page("/", "Home", links=("/g/",))
    site.page("/g/", "Guide", f"Some words here. {SWITCH} <!-- another one -->")
    output = run_crawl(site.url)
    assert silenced(output.manifest, output.text("g/"), "g/") == {"no-opening"}
    assert "another one" not in output.text("g/")


def test_lint_comment_in_markdown_is_kept(site: Any, run_crawl: Any) -> None:
    site.put("/llms.txt", "# S\n\n> S.\n\n- [G](g.md)\n- [H](h.md)\n", kind="text/plain")
    site.put("/g.md", f"# G\n\nWords. {SWITCH}\n", kind="text/markdown")
    site.put("/h.md", f"> All pages are in [llms.txt](/llms.txt). {SWITCH}\n\n# H\n\nWords.\n", kind="text/markdown")
    output = run_crawl(site.url)
    texts = {page.path: output.text(page.path) for page in output.manifest.pages}
    assert {path: silenced(output.manifest, text, path) for path, text in texts.items()} == dict.fromkeys(
        texts, frozenset({"no-opening"})
    )
    assert len(texts) == 2


def test_lint_comment_in_built_site_is_kept(tmp_path: Path) -> None:
    article = f"<h1>Home</h1><p>Some words.</p>{SWITCH}<!-- another one -->"
    html = f"<html><head><title>Home</title></head><body><main>{article}</main></body></html>"
    (tmp_path / "index.html").write_text(html, "utf-8")
    index_site(tmp_path, IndexOptions(url="https://docs.example/"), warn=print)
    text = (tmp_path / "index.md").read_text("utf-8")
    assert SWITCH in text.splitlines()[0]
    assert "another one" not in text
