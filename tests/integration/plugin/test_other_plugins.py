"""Plugins that make navs, pages or text: the nav and the Markdown are what they made of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mkdocs_roaming.manifest.models import iter_nav

if TYPE_CHECKING:
    from mkdocs_roaming.manifest.models import NavEntry

    from .conftest import Built, Project

SOURCES = {
    "index.md": "# Welcome\n",
    "guide/index.md": "# The guide\n",
    "guide/install.md": "# Install\n\nSee [use](use.md).\n",
    "guide/use.md": "# Use\n",
    "lost.md": "# Lost\n",
}


def shape(nav: tuple[NavEntry, ...]) -> list[object]:
    """Give a nav as titles and paths alone."""
    return [
        (entry.title, entry.page, shape(entry.children)) if entry.children else (entry.title, entry.page)
        for entry in nav
    ]


def test_awesome_nav_sets_order_and_titles(mkdocs: Project) -> None:
    (mkdocs.folder / "docs/guide").mkdir(parents=True)
    (mkdocs.folder / "docs/.nav.yml").write_text("nav:\n  - Start: index.md\n  - guide\n  - '*'\n")
    (mkdocs.folder / "docs/guide/.nav.yml").write_text("title: All of it\nnav:\n  - use.md\n  - '*'\n")
    built = mkdocs(SOURCES, plugins=["awesome-nav", "roaming"])
    children = [("Use", "guide/use/"), ("The guide", "guide/"), ("Install", "guide/install/")]
    assert shape(built.manifest.nav) == [("Start", ""), ("All of it", None, children), ("Lost", "lost/")]
    assert built.faults == ()


def test_section_index_page_is_its_section(mkdocs: Project) -> None:
    """SUMMARY.md defines the nav and is not a page."""
    summary = "* [Start](index.md)\n* [Manual](guide/)\n* [Out](https://out.example/)\n"
    built = mkdocs(
        {**SOURCES, "SUMMARY.md": summary},
        plugins=[{"literate-nav": {"nav_file": "SUMMARY.md"}}, "section-index", "roaming"],
        exclude_docs="SUMMARY.md",
        theme={"name": "material", "font": False},
    )
    children = [("Install", "guide/install/"), ("Use", "guide/use/")]
    start, guide, out, more = shape(built.manifest.nav)
    assert (start, guide) == (("Start", ""), ("Manual", "guide/", children))
    assert (out, more) == (("Out", None), ("More", None, [("Lost", "lost/")]))
    assert built.faults == ()
    assert "SUMMARY" not in built.text("llms.txt")


def test_macros_are_expanded_in_code_and_titles(mkdocs: Project) -> None:
    page = "---\nunit: metres\n---\n# Depth in {{ unit }}\n\n```python\ndepth = '{{ unit }}'\n```\n"
    built = mkdocs({"index.md": page}, plugins=["macros", "roaming"])
    text = built.text("index.md")
    assert "# Depth in metres" in text
    assert "```python\ndepth = 'metres'\n```" in text
    assert built.manifest.pages[0].title == "Depth in metres"


def test_blog_publishes_whole_posts_and_lists_with_links(mkdocs: Project) -> None:
    head = "---\ndate: 2024-0{at}-01\ncategories: [News]\n---\n# {title} & co\n\nThe opening of {title} & co.\n\n"
    head += "```python\nsee = '{title}'\n```\n\n[The guide](../../guide/use.md)\n\n"
    rest = "<!-- more -->\n\n## Further\n\nThe rest, see [the guide](../../guide/use.md).\n"
    posts = {
        f"blog/posts/{title}.md": head.format(at=at, title=title) + rest for at, title in ((1, "Ebb"), (2, "Flow"))
    }
    built = mkdocs(
        {**SOURCES, **posts, "blog/index.md": "# Blog\n"},
        nav=["index.md", {"News": ["blog/index.md"]}, "guide/index.md", "guide/install.md", "guide/use.md"],
        theme={"name": "material", "font": False},
        plugins=[{"blog": {"pagination_per_page": 1}}, "roaming"],
    )
    again = mkdocs.build("again")
    assert f"{len(again.paths())} pages reused" in again.messages()[-1]
    ebb, flow = "blog/2024/01/01/ebb--co/", "blog/2024/02/01/flow--co/"
    lists = ("blog/", "blog/archive/2024/", "blog/category/news/")
    assert set(built.paths()) - {"", "guide/", "guide/install/", "guide/use/", "lost/"} == {
        *(ebb, flow, *lists, *(f"{path}page/2/" for path in lists))
    }
    assert [path for path in built.paths() if "/01/" in path] == [flow, ebb]  # the newest first
    text = built.text(f"{ebb}index.md")
    assert "# Ebb & co\n\nThe opening of Ebb & co." in text
    assert "The rest, see [the guide](https://docs.example/sub/guide/use/index.md)." in text
    for page in lists:
        first, second = built.text(f"{page}index.md"), built.text(f"{page}page/2/index.md")
        assert first == again.text(f"{page}index.md")
        assert first.endswith(
            f"- [Flow & co](https://docs.example/sub/{flow}index.md): The opening of Flow & co. (February 1, 2024)\n"
        )
        assert second.endswith(
            f"- [Ebb & co](https://docs.example/sub/{ebb}index.md): The opening of Ebb & co. (January 1, 2024)\n"
        )
        assert "Further" not in first
        assert "Ebb" not in first
    assert built.faults == ()
    titles = [entry.title for entry in iter_nav(built.manifest.nav)]
    assert [title for title in titles if title.startswith("Blog")] == ["Blog", "Blog (2)"]
    assert re.findall(r"^- \[(Blog.*?)\]", built.text("llms.txt"), re.MULTILINE) == ["Blog"]


def test_links_to_redirects_lead_to_markdown_of_target(mkdocs: Project) -> None:
    built = mkdocs(
        {"index.md": "# Home\n\nSee [the old guide](/sub/old/).\n", "guide.md": "# Guide\n\n## Start\n"},
        nav=[{"Home": "index.md"}, {"Guide": "guide.md"}],
        plugins=[{"redirects": {"redirect_maps": {"old.md": "guide.md#start"}}}, "roaming"],
    )
    assert "[the old guide](https://docs.example/sub/guide/index.md#start)" in built.text("index.md")
    assert built.faults == ()


def build_with_template(mkdocs: Project, template: str, sources: dict[str, str]) -> Built:
    """Build a site in Material with the template `own.html`."""
    (mkdocs.folder / "overrides").mkdir()
    (mkdocs.folder / "overrides/own.html").write_text("{% extends 'main.html' %}" + template)
    theme = {"name": "material", "font": False, "custom_dir": str(mkdocs.folder / "overrides")}
    return mkdocs(sources, theme=theme)


GAUGES = (
    "<p>Since every harbour has a gauge, and no gauge has a harbour master who reads it at four in the morning.</p>"
)


def test_home_page_template_without_article_publishes_visible_text_only(mkdocs: Project) -> None:
    template = (
        "{% block tabs %}{{ super() }}<section><h1>Harbours, read by night</h1>"
        f"{GAUGES}<a href=\"{{{{ 'guide/' | url }}}}\">Get started</a></section>{{% endblock %}}{{% block content %}}{{% endblock %}}"
    )
    sources = {
        "index.md": "---\ntemplate: own.html\n---\nWelcome to plugh.\n",
        "guide.md": "# Guide\n\n[Why](index.md)\n",
    }
    built = build_with_template(mkdocs, template, sources)
    text = built.text("index.md")
    assert "# Harbours, read by night\n\nSince every harbour has a gauge" in text
    assert text.endswith("\n\n[Get started](https://docs.example/sub/guide/index.md)\n")
    assert built.files_with("plugh") == []
    assert "[Why](https://docs.example/sub/index.md)" in built.text("guide/index.md")
    assert built.faults == ()


def test_template_with_password_form_is_not_published(mkdocs: Project) -> None:
    template = "{% block content %}<h1>Locked</h1><form>Password?</form>{% endblock %}"
    sources = {"index.md": "# Home\n", "vault.md": "---\ntemplate: own.html\n---\n# Vault\n\nThe word is plugh.\n"}
    built = build_with_template(mkdocs, template, sources)
    assert built.paths() == [""]
    assert built.files_with("plugh") == []
    message = "vault.md: not published, because the built page does not show the words"
    assert any(message in line for line in built.messages())
