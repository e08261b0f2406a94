"""Languages of code that the HTML does not name: they are recorded while the pages are rendered."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from markdown_it import MarkdownIt
from tables import read_tables

from mkdocs_roaming.publish.elements.html import remove_own_elements

if TYPE_CHECKING:
    from .conftest import Built, Project

TABLES = read_tables(__file__)

OPTIONS = ' title="drain.py" linenums="1" hl_lines="2"'
GOLDEN = Path(__file__).parents[2] / "golden" / "code-languages"
PAGE = (GOLDEN / "index.md").read_text("utf-8")
EXTENSIONS: list[Any] = ["admonition", "attr_list", "pymdownx.snippets", "pymdownx.inlinehilite"]
TABS = {"pymdownx.tabbed": {"alternate_style": True}}
LANGUAGES = ["python", "pumpql", "bash", "console", "toml", "", "yaml", ""]

HIGHLIGHTERS: dict[str, list[Any]] = TABLES["highlighters"]


@pytest.fixture(autouse=True)
def included(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files for snippets, which are found relative to the current folder."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(GOLDEN / "more.md", tmp_path)
    (tmp_path / "harbour.yml").write_text("harbour:\n  depth: 3\n")


def find_languages(markdown: str) -> list[str]:
    tokens = MarkdownIt("commonmark").parse(markdown)
    return [token.info.partition(" ")[0] for token in tokens if token.type == "fence"]


def build_with_equal_html(
    mkdocs: Project, sources: dict[str, str], plugins: Sequence[Any] = (), **config: Any
) -> Built:
    """Build a site with and without the plugin, whose links alone may differ; return the one with it."""
    built = mkdocs(sources, plugins=[*plugins, "roaming"], site="a", **config)
    assert_html_is_unchanged(built, mkdocs(sources, plugins=[*plugins], site="b", **config))
    return built


def assert_html_is_unchanged(with_plugin: Built, without: Built) -> None:
    """Compare all HTML of a site built with and without the plugin, except for the plugin's links."""
    files = sorted(file.relative_to(without.folder) for file in without.folder.rglob("*.html"))
    assert len(files) > 1
    for file in files:
        html = remove_own_elements(with_plugin.text(file.as_posix()))
        built_at = re.compile(r"Build Date UTC.*")
        assert built_at.sub("", html) == built_at.sub("", without.text(file.as_posix())), file


@pytest.mark.parametrize(
    "highlighter",
    [pytest.param(name, marks=() if name in ("pymdownx", "guessed") else pytest.mark.slow) for name in HIGHLIGHTERS],
)
def test_every_language_is_published_and_html_is_unchanged(mkdocs: Project, highlighter: str) -> None:
    config = {"markdown_extensions": [*EXTENSIONS, TABS, *HIGHLIGHTERS[highlighter]]}
    page = PAGE.replace(OPTIONS, "") if highlighter == "without Pygments" else PAGE
    built = build_with_equal_html(mkdocs, {"index.md": page}, ["search"], **config)
    assert find_languages(built.text("index.md")) == LANGUAGES


@pytest.mark.parametrize("guess", [True, False])
def test_codehilite_publishes_named_but_no_guessed_languages(mkdocs: Project, guess: bool) -> None:
    page = "```pumpql\nrate(x)\n```\n\n```\n#include <valve.h>\nint main() {}\n```\n\n"
    page += "    :::toml\n    depth = 3\n\nText.\n\n    #!/bin/bash\n    drain\n\nText.\n\n    import valve\n"
    extensions = ["fenced_code", {"codehilite": {"guess_lang": guess}}]
    built = build_with_equal_html(mkdocs, {"index.md": page}, markdown_extensions=extensions)
    assert find_languages(built.text("index.md")) == ["pumpql", "", "toml", "bash", ""]


def test_custom_fences_publish_their_names(mkdocs: Project) -> None:
    page = "```mermaid\ngraph LR\n```\n\n```chart\na: 1\n```\n\n```sh\nls\n```\n"
    fences = [{"name": name, "class": name} for name in ("mermaid", "chart")]
    extensions = {"pymdownx.superfences": {"custom_fences": fences}}
    built = mkdocs({"index.md": page}, markdown_extensions=[extensions])
    assert find_languages(built.text("index.md")) == ["mermaid", "chart", "sh"]


@pytest.mark.slow
def test_code_of_docstrings_has_languages(mkdocs: Project, tmp_path: Path) -> None:
    (tmp_path / "harbour.py").write_text(
        "def drain():\n"
        '    """Drain the harbour.\n\n    ```pumpql\n    rate(x)\n    ```\n\n    Examples:\n        >>> drain()\n        0\n    """\n'
        "    return 0\n"
    )
    docstrings = {"mkdocstrings": {"handlers": {"python": {"paths": [str(tmp_path)]}}}}
    config = {"markdown_extensions": ["pymdownx.superfences"], "theme": {"name": "material", "font": False}}
    page = {"index.md": "# API\n\n::: harbour.drain\n\n```yaml\na: 1\n```\n"}
    built = build_with_equal_html(mkdocs, page, [docstrings], **config)
    assert find_languages(built.text("index.md")) == ["pumpql", "pycon", "python", "yaml"]


def test_blog_lists_have_languages_of_their_posts(mkdocs: Project) -> None:
    head = "---\ndate: 2024-0{at}-01\n---\n# Post {at}\n\n```{language}\ndrain\n```\n\n<!-- more -->\n\nThe rest.\n"
    languages = ("bash", "pumpql", "console")
    posts = {f"blog/posts/{at}.md": head.format(at=at, language=name) for at, name in enumerate(languages, 1)}
    sources = {"index.md": "# Home\n", **posts, "blog/index.md": "# Blog\n"}
    config = {"theme": {"name": "material", "font": False}, "markdown_extensions": ["pymdownx.superfences"]}
    blog = {"blog": {"pagination_per_page": 2, "archive": False}}
    built = build_with_equal_html(mkdocs, sources, [blog], **config)
    assert find_languages(built.text("blog/index.md")) == ["console", "pumpql"]
    assert find_languages(built.text("blog/page/2/index.md")) == ["bash"]


def test_changed_language_with_equal_html_is_published(mkdocs: Project) -> None:
    config = {"markdown_extensions": ["pymdownx.superfences"]}
    first = mkdocs({"index.md": "```pumpql\nrate(x)\n```\n"}, **config)
    html = first.text("index.html")
    second = mkdocs({"index.md": "```tideql\nrate(x)\n```\n"}, **config)
    assert re.sub(r"Build Date.*", "", second.text("index.html")) == re.sub(r"Build Date.*", "", html)
    assert find_languages(second.text("index.md")) == ["tideql"]
