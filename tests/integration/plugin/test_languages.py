"""mkdocs-static-i18n: each language is a site, and the sites link to each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .conftest import Project

pytestmark = pytest.mark.slow

URL = "https://docs.example/sub/"
HOME = "# Welcome\n\nSee [setup](setup.md#keys).\n"
ACCUEIL = "# Bienvenue\n\nVoir [installation](setup.md#cles).\n"
SETUP = "# Setup\n\n## Keys\n\nTurn the key.\n"
INSTALLATION = "# Installation\n\n## Clés\n\nTournez la clé.\n"
LEGAL = "# Legal\n\nEnglish alone.\n"
SUFFIX = {
    "index.md": HOME,
    "index.fr.md": ACCUEIL,
    "setup.md": SETUP,
    "setup.fr.md": INSTALLATION,
    "legal.md": LEGAL,
}
FOLDERS = {
    "en/index.md": HOME,
    "fr/index.md": ACCUEIL,
    "en/setup.md": SETUP,
    "fr/setup.md": INSTALLATION,
    "en/legal.md": LEGAL,
}
STRUCTURES = pytest.mark.parametrize(("structure", "sources"), [("suffix", SUFFIX), ("folder", FOLDERS)])


def plugins(structure: str, *, first: bool = False, **more: Any) -> dict[str, Any]:
    """Return the settings of both plugins; `first` puts this one before the other."""
    languages = [
        {"locale": "en", "default": True, "name": "English"},
        {"locale": "fr", "name": "Français", "site_name": "La doc", "nav_translations": {"Start": "Début"}},
        {"locale": "pt_BR", "name": "Português", "build": False},
    ]
    i18n = {"i18n": {"docs_structure": structure, "languages": languages, **more}}
    return {"plugins": ["search", "roaming", i18n] if first else ["search", i18n, "roaming"]}


@STRUCTURES
@pytest.mark.parametrize(
    ("first", "directories"), [(True, True), (False, False)], ids=["ours first", "ours last, flat"]
)
def test_each_language_is_a_site_in_its_folder(
    mkdocs: Project, structure: str, sources: dict[str, str], first: bool, directories: bool
) -> None:
    built = mkdocs(sources, use_directory_urls=directories, **plugins(structure, first=first))
    french = built.below("fr")
    assert built.faults == french.faults == ()
    paths = [f"{name}{'/' if directories else '.html'}" for name in ("legal", "setup")]
    assert sorted(built.paths()) == sorted(french.paths()) == ["", *paths]
    assert (built.manifest.site.url, built.manifest.site.language, built.manifest.site.name) == (URL, "en", "Docs")
    site = french.manifest.site
    assert (site.url, site.language, site.name) == (URL + "fr/", "fr", "La doc")
    titles = {page.path: page.title for page in french.manifest.pages}
    assert titles == dict(zip(["", *paths], ("Bienvenue", "Legal", "Installation"), strict=True))
    assert "Bienvenue" not in built.text("llms-full.txt")
    assert "Welcome" not in french.text("llms-full.txt")
    assert not (built.folder / "en/roaming").exists()
    assert not (built.folder / "pt_BR").exists()

    setup = "setup/index" if directories else "setup"
    assert f"[installation]({URL}fr/{setup}.md#cles)" in french.text("index.md")
    assert f"[setup]({URL}{setup}.md#keys)" in built.text("index.md")
    assert f"listed in [llms.txt]({URL}fr/llms.txt)" in french.text("index.md")
    assert f'href="{"../" if directories else ""}llms.txt" data-roaming' in french.text(f"{setup}.html")

    for own, other, language in ((built, "fr/", "fr"), (french, "", "en")):
        (alternate,) = own.manifest.site.alternates
        assert (alternate.manifest, alternate.language) == (f"{URL}{other}roaming/manifest.json", language)
        assert (built.folder / other / "roaming/manifest.json").exists()
        line = f"The site in other languages: [{language}]({URL}{other}llms.txt).\n"
        assert line in own.text("llms.txt")


def test_untranslated_page_is_published_in_both_languages_with_fallback(mkdocs: Project) -> None:
    sources = {**SUFFIX, "index.fr.md": ACCUEIL + "\n[Mentions légales](legal.md)\n"}
    built = mkdocs(sources, nav=[{"Start": ["index.md", "setup.md"]}], **plugins("suffix"))
    french = built.below("fr")
    (legal,) = (page for page in french.manifest.pages if page.path == "legal/")
    assert legal.source == "legal.md"
    assert f"[Mentions légales]({URL}fr/legal/index.md)" in french.text("index.md")
    assert "English alone." in french.text("legal/index.md")
    assert [entry.title for entry in built.manifest.nav] == ["Start", "More"]
    assert french.manifest.nav[0].title == "Début"
    french = mkdocs(SUFFIX, **plugins("suffix", fallback_to_default=False)).below("fr")
    assert sorted(french.paths()) == ["", "setup/"]
    assert french.faults == ()


def test_build_only_locale_publishes_single_site(mkdocs: Project) -> None:
    built = mkdocs(SUFFIX, **plugins("suffix", build_only_locale="fr"))
    site = built.manifest.site
    assert (site.url, site.language, site.alternates) == (URL, "fr", ())
    assert built.manifest.pages[0].title == "Bienvenue"
    assert not (built.folder / "fr").exists()


def test_language_with_own_site_url_keeps_it(mkdocs: Project) -> None:
    settings = plugins("suffix")
    settings["plugins"][1]["i18n"]["languages"][1]["site_url"] = "https://docs.example.fr/"
    built = mkdocs(SUFFIX, **settings)
    assert built.below("fr").manifest.site.url == "https://docs.example.fr/fr/"
    assert built.manifest.site.alternates[0].manifest == "https://docs.example.fr/fr/roaming/manifest.json"
    assert built.below("fr").manifest.site.alternates[0].manifest == f"{URL}roaming/manifest.json"


def test_languages_have_separate_caches(mkdocs: Project, tmp_path: Path) -> None:
    first = mkdocs(SUFFIX, site="a", **plugins("suffix"))
    second = mkdocs(SUFFIX, site="b", **plugins("suffix"))
    assert [line.count("3 pages reused") for line in second.messages()] == [1, 1]
    for file in first.folder.rglob("*.md"):
        assert file.read_bytes() == (second.folder / file.relative_to(first.folder)).read_bytes()
    assert (tmp_path / ".cache/roaming/fr").is_dir()


@pytest.mark.parametrize("previous", ["a", "a/roaming/manifest.json"])
def test_previous_finds_manifests_of_all_languages(mkdocs: Project, previous: str) -> None:
    old = mkdocs(SUFFIX, site="a", **plugins("suffix")).below("fr")
    (key,) = (section.id for section in old.manifest.sections() if section.title == "Clés")
    settings = plugins("suffix")
    settings["plugins"][2] = {"roaming": {"previous": previous}}
    sources = {**SUFFIX, "setup.fr.md": INSTALLATION.replace("## Clés", "## Serrures")}
    built = mkdocs(sources, site="b", **settings)
    assert "## Serrures" in built.text(f"fr/roaming/sections/{key}.md")


def test_language_without_pages_is_a_warning(mkdocs: Project) -> None:
    hidden = {name: f"---\nllms: false\n---\n{text}" if ".fr." in name else text for name, text in SUFFIX.items()}
    built = mkdocs(hidden, **plugins("suffix", fallback_to_default=False))
    assert any("roaming: fr: no page to publish" in line for line in built.messages())
    assert built.faults == ()
    assert not (built.folder / "fr/llms.txt").exists()
