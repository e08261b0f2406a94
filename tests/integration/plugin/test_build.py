"""The plugin in builds of small projects."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.library.texts import SectionTexts
from mkdocs_roaming.manifest.lookup import SectionRef

if TYPE_CHECKING:
    from .conftest import Built, Project

URL = "https://docs.example/sub/"

HOME = "# Welcome\n\nSee [quiet mode](guide/install.md#quiet-mode).\n"
INSTALL = "# Install\n\nRun it.\n\n## Quiet mode\n\nUse `--hush`.\n"
PAGES: dict[str, str] = {"index.md": HOME, "guide/install.md": INSTALL}


def test_build_publishes_valid_site_and_links_pages_to_it(mkdocs: Project) -> None:
    built = mkdocs(PAGES, plugins=["search", {"roaming": {}}])
    assert built.paths() == ["", "guide/install/"]
    assert built.faults == ()
    assert f"[quiet mode]({URL}guide/install/index.md#quiet-mode)" in built.text("index.md")
    assert built.messages()[-1].startswith("roaming: 2 pages, 3 sections, ~")
    html = built.text("guide/install/index.html")
    assert '<link rel="alternate" type="text/markdown" href="index.md" data-roaming>' in html
    assert 'href="../../llms.txt"' in html
    assert "For agents and language models" in html
    assert "language models" not in built.text("search/search_index.json")


def test_manifest_has_nav_with_groups_links_and_orphans(mkdocs: Project) -> None:
    links = [{"Forum": "https://forum.example/"}, {"Plan": "plan.txt"}]
    nav = [{"Guide": [{"Set up": "guide/install.md"}, *links]}, {"Welcome": "index.md"}]
    sources = {"index.md": HOME, "guide/install.md": INSTALL, "lost.md": "# Lost\n", "plan.txt": "Oak"}
    built = mkdocs(sources, nav=nav)
    assert built.paths() == ["guide/install/", "", "lost/"]
    guide, home, more = built.manifest.nav
    assert [(child.title, child.page, child.url) for child in guide.children] == [
        ("Set up", "guide/install/", None),
        ("Forum", None, "https://forum.example/"),
        ("Plan", None, f"{URL}plan.txt"),
    ]
    assert (home.page, more.title, more.children[0].page) == ("", "More", "lost/")


def test_front_matter_excludes_page_and_sets_description_and_tags(mkdocs: Project) -> None:
    built = mkdocs(
        {
            "index.md": "---\ndescription: How it\n  begins.\ntags: [a, b]\n---\n# Home\n\n[secret](secret.md)\n",
            "secret.md": "---\nllms: false\n---\n# Secret\n\nxyzzy\n",
        }
    )
    (page,) = built.manifest.pages
    assert (page.description, page.tags) == ("How it begins.", ("a", "b"))
    assert f"[secret]({URL}secret/)" in built.text("index.md")
    assert "xyzzy" not in built.text("llms-full.txt")
    assert "data-roaming" not in built.text("secret/index.html")
    assert "- [Home](https://docs.example/sub/index.md): How it begins." in built.text("llms.txt")


def test_include_and_exclude_match_source_paths(mkdocs: Project) -> None:
    built = mkdocs({**PAGES, "guide/old.md": "# Old\n"}, plugin={"include": ["guide/*"], "exclude": ["*/old.md"]})
    assert built.paths() == ["guide/install/"]


def test_disabled_plugin_changes_nothing(mkdocs: Project) -> None:
    built = mkdocs({"index.md": HOME}, plugin={"enabled": False})
    assert not (built.folder / "llms.txt").exists()
    assert "data-roaming" not in built.text("index.html")


def test_options_omit_llms_full_and_section_files(mkdocs: Project) -> None:
    options = {"llms_full": False, "section_files": False, "outline_tokens": 200, "description": "In one line."}
    built = mkdocs(PAGES, plugin=options)
    assert not (built.folder / "llms-full.txt").exists()
    assert not (built.folder / "roaming/sections").exists()
    assert "> In one line." in built.text("llms.txt")
    assert built.manifest.pages[0].full is None


def test_site_without_site_url_has_relative_links_and_one_warning(mkdocs: Project) -> None:
    text = f"{INSTALL}\n[Home](../index.md), ![pump](../pump.png)\n"
    sources = {"index.md": HOME, "guide/install.md": text, "pump.png": "-"}
    nav = ["index.md", {"Guide": ["guide/install.md"]}, {"Shop": "https://shop.example/"}]
    built = mkdocs(sources, site_url="", nav=nav, plugin={"widget": True, "page_menu": True})
    (warning,) = built.messages(logging.WARNING)
    assert warning.startswith("roaming: site_url is not set: links are relative")
    assert warning.endswith("add `site_url: https://…/` to mkdocs.yml")
    assert built.faults == ()
    assert built.manifest.site.url == ""
    home, install = built.manifest.pages
    assert home.sections[0].links == (install.sections[1].id,)
    assert "[quiet mode](guide/install/index.md#quiet-mode)" in built.text("index.md")
    assert "listed in [llms.txt](../../llms.txt)" in built.text("guide/install/index.md")
    assert "[Home](../../index.md), ![pump](../../pump.png)" in built.text("guide/install/index.md")
    assert "- [Install](guide/install/index.md): Run it.\n" in built.text("llms.txt")
    left_out = ("llms-full.txt", "guide/install.md", "roaming/sections", "roaming/skill")
    assert not any((built.folder / path).exists() for path in left_out)
    assert "claude.ai" not in built.text("index.html")
    library = open_library(built.folder)
    assert [hit.url for hit in library.search("hush")] == ["guide/install/#quiet-mode"]
    texts = SectionTexts(library)
    texts.link_ids = True
    assert f"[quiet mode]({install.sections[1].id})" in texts.read(SectionRef(home, 0))


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        ({"outline_tokens": 10}, "option 'outline_tokens': expected a number of 200 or more, got 10"),
        ({"section_files": "some"}, "option 'section_files': expected auto or true or false, got 'some'"),
        ({"exlude": ["drafts/*"]}, "option 'exlude': unknown option; did you mean `exclude`?"),
    ],
)
def test_invalid_option_is_an_error_of_the_configuration(
    mkdocs: Project, plugin: dict[str, object], message: str
) -> None:
    with pytest.raises(AssertionError) as error:
        mkdocs({"index.md": HOME}, plugin=plugin)
    assert f"('plugins', ValidationError(\"Plugin 'roaming' {message}" in str(error.value)


def test_later_builds_reuse_pages_and_equal_clean_ones(mkdocs: Project) -> None:
    first, second = mkdocs(PAGES, site="a"), mkdocs(PAGES, site="b")
    assert "2 pages reused" in second.messages()[-1]
    assert_same_files(first, second)
    edited = {**PAGES, "guide/install.md": INSTALL.replace("--hush", "--silent")}
    after, clean = mkdocs(edited, site="a"), mkdocs(edited, plugin={"cache": False}, site="b")
    assert "1 page reused" in after.messages()[-1]
    assert_same_files(after, clean)


def assert_same_files(built: Built, other: Built) -> None:
    for file in built.folder.rglob("*"):
        if file.suffix in (".md", ".txt", ".json"):
            assert file.read_bytes() == (other.folder / file.relative_to(built.folder)).read_bytes()


def test_previous_keeps_old_id_of_renamed_heading(mkdocs: Project) -> None:
    old = mkdocs(PAGES, site="a").manifest.pages[1].sections[1].id
    renamed = {**PAGES, "guide/install.md": INSTALL.replace("Quiet mode", "Silence")}
    built = mkdocs(renamed, plugin={"previous": "a"}, site="b")
    assert "## Silence" in built.text(f"roaming/sections/{old}.md")


def test_front_matter_that_mkdocs_cannot_parse_is_a_warning_and_no_opening(mkdocs: Project) -> None:
    text = "---\ntitle: Gate: north\nauthors: @tide\n---\n\n# Gate\n\nA gate of oak.\n"
    built = mkdocs({"index.md": HOME, "gate.md": text})
    assert built.messages(logging.WARNING) == [
        "roaming: gate.md: its front matter is not valid YAML, so it is published as text"
    ]
    gate = next(page for page in built.manifest.pages if page.path == "gate/")
    assert "title:" not in gate.description + gate.sections[0].opening


HOOK = """
def on_post_page(output, page, config):
    if page.meta.get("part"):
        return output.replace("The word is plugh.", "")
    return output.replace(page.content, "<form>Password?</form>") if page.meta.get("lock") else output
"""


def test_page_or_part_hidden_by_later_hook_is_neither_published_nor_cached(mkdocs: Project, tmp_path: Path) -> None:
    """Neither after the first build nor after the second."""
    (tmp_path / "lock.py").write_text(HOOK)
    text = "---\nlock: true\n---\n# Vault\n\nThe word is plugh.\n\n" + "All may read this sentence of the page. " * 20
    sources = {
        "index.md": "# Home\n\n[vault](vault.md)\n",
        "vault.md": "---\nlock: true\n---\n# Vault\n\nThe combination of the vault is plugh twelve.\n",
        "part.md": text.replace("lock", "part"),
    }
    mkdocs.write(sources, hooks=[str(tmp_path / "lock.py")])
    for _ in range(2):
        built = mkdocs.build()
        assert built.paths() == ["", "part/"]
        assert built.messages(logging.WARNING)[0].startswith(
            "roaming: vault.md: not published, because the built page does not show the words"
        )
        assert built.files_with("plugh") == []
        assert f"[vault]({URL}vault/)" in built.text("index.md")
        cached = list((tmp_path / ".cache/roaming").iterdir())
        assert cached
        assert not [file for file in cached if b"plugh" in file.read_bytes()]
    assert "2 pages reused" in built.messages()[-1]


def test_page_with_empty_output_is_not_published(mkdocs: Project, tmp_path: Path) -> None:
    """A hook suppresses the page, so there is no warning."""
    (tmp_path / "skip.py").write_text(
        "def on_post_page(output, page, config):\n    return '' if page.meta else output\n"
    )
    sources = {"index.md": "# Home\n\n[x](draft.md)\n", "draft.md": "---\nstate: draft\n---\n# Draft\n"}
    built = mkdocs(sources, hooks=[str(tmp_path / "skip.py")])
    assert not (built.folder / "draft/index.html").exists()
    assert built.paths() == [""]
    assert built.messages(logging.WARNING) == []


def test_unusual_pages_are_published(mkdocs: Project) -> None:
    """Pages that show a redirect as code, with unclosed tags, without text and without a title."""
    sources = {
        "index.md": '# Home\n\n`<meta http-equiv="refresh">` and `<meta name="robots" content="noindex">`\n',
        "open.md": "# Open\n\n<div><p>open <b>bold\n\n## After\n\ntext\n",
        "empty.md": "",
        "other.md": "Text alone.\n",
    }
    built = mkdocs(sources)
    assert [page.title for page in built.manifest.pages] == ["Home", "Empty", "Open", "Other"]
    assert [section.title for section in built.manifest.sections()] == ["Home", "Empty", "Open", "Other"]
    assert built.faults == ()


def test_dirty_build_publishes_nothing(mkdocs: Project, tmp_path: Path) -> None:
    built = mkdocs(PAGES)
    before = built.text("roaming/manifest.json")
    (tmp_path / "docs/guide/install.md").write_text(INSTALL.replace("hush", "silent"))
    mkdocs.build(dirty=True)
    assert built.text("roaming/manifest.json") == before
    assert "silent" in built.text("guide/install/index.html")


@pytest.mark.parametrize("command", ["mkdocs", pytest.param("properdocs", marks=pytest.mark.slow)])
def test_build_imports_no_http_client_second_parser_or_reading_side(
    mkdocs: Project, tmp_path: Path, command: str
) -> None:
    mkdocs(PAGES)
    code = (
        f"import sys; from {command}.__main__ import cli\n"
        "try: cli(['build', '-q', '-d', 'other'])\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "heavy = [name for name in sys.modules if name in ('httpx2', 'bs4', 'anyio', 'anthropic', 'jsonschema')\n"
        "         or name.startswith(('mkdocs_roaming.library', 'mkdocs_roaming.answer', 'mkdocs_roaming.serve'))]\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "other/roaming/manifest.json").read_bytes() == (
        tmp_path / "site/roaming/manifest.json"
    ).read_bytes()
