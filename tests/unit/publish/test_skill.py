"""The skill of a site, and the index that lists it."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec import structs
from tables import read_tables

from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.library.validate import validate_site
from mkdocs_roaming.manifest.lookup import SectionIndex
from mkdocs_roaming.manifest.models import Page, Site
from mkdocs_roaming.publish.agents.skill import iter_skill_files
from mkdocs_roaming.publish.options import PublishOptions
from mkdocs_roaming.publish.writer import publish_mirror

from .conftest import HOME, INSTALL, SITE, URL, publish_pages, read_tree

TABLES = read_tables(__file__)

FOLDER = "roaming/skill/"


def publish_skill(folder: Path, *pages: Page, site: Site = SITE, **options: Any) -> tuple[dict[str, Any], str]:
    """Publish a site; return the front matter of its skill and the text below."""
    publish_pages(folder, *(pages or (HOME, INSTALL)), site=site, options=PublishOptions(**options))
    (file,) = folder.glob(f"{FOLDER}*/SKILL.md")
    head, text = file.read_text("utf-8").removeprefix("---\n").split("\n---\n", 1)
    front_matter = yaml.safe_load(head)
    assert front_matter["name"] == file.parent.name
    return front_matter, text


def test_every_address_in_the_skill_is_a_published_file_or_page(tmp_path: Path) -> None:
    _, text = publish_skill(tmp_path)
    addresses = {address.rstrip(".") for address in re.findall(rf"{URL}[^\s)`,<]*", text)}
    addresses -= {f"{URL}roaming/sections/"}  # followed by <id>.md
    addresses -= {URL, f"{URL}guide/install/#quiet"}  # of the HTML
    assert len(addresses) == 6
    assert {address.removeprefix(URL) for address in addresses} <= read_tree(tmp_path).keys()


def test_example_is_a_section_that_the_outline_lists(tmp_path: Path) -> None:
    _, text = publish_skill(tmp_path)
    id_ = re.findall(r"Example: the outline lists `\[(\w{8})\] Quiet mode`", text)[0]
    assert f"[{id_}] Quiet mode" in (tmp_path / "roaming/outline.md").read_text("utf-8")
    shown = "\n".join(line.strip() for line in text.split("\n") if line.startswith("    "))
    assert (tmp_path / f"roaming/sections/{id_}.md").read_text("utf-8").startswith(f"{shown}\n")
    assert shown == f"Guide › Install › Quiet mode\n[{id_}] {URL}guide/install/#quiet"


def test_example_is_listed_by_an_outline_that_leaves_most_sections_out(tmp_path: Path) -> None:
    inner = "".join(f"<h2 id='s{at}'>Section {at}</h2><p>See <a href='#s99'>the last</a>.</p>" for at in range(100))
    pages = [Page(f"guide/p{at}/", "", f"<h1>Page {at}</h1><p>Text.</p>{inner}") for at in range(5)]
    _, text = publish_skill(tmp_path, *pages, outline_tokens=200)
    (id_,) = re.findall(r"the outline lists `\[(\w{8})\]", text)
    assert f"[{id_}] " in (tmp_path / "roaming/outline.md").read_text("utf-8")


def test_index_lists_the_skill_with_its_digest(tmp_path: Path) -> None:
    front_matter, _ = publish_skill(tmp_path)
    index = json.loads((tmp_path / FOLDER / "index.json").read_text("utf-8"))
    (entry,) = index["skills"]
    data = (tmp_path / FOLDER / entry["url"]).read_bytes()
    assert index["$schema"] == "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
    assert entry["digest"] == f"sha256:{hashlib.sha256(data).hexdigest()}"
    assert (entry["name"], entry["description"]) == (front_matter["name"], front_matter["description"])
    assert (entry["type"], entry["files"]) == ("skill-md", ["SKILL.md"])


@pytest.mark.parametrize(("site_name", "name"), TABLES["name has the letters that skills may have"])
def test_name_has_the_letters_that_skills_may_have(tmp_path: Path, site_name: str, name: str) -> None:
    front_matter, _ = publish_skill(tmp_path, site=replace(SITE, name=site_name))
    assert front_matter["name"] == name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
    assert len(name) <= 64
    assert validate_site(open_library(tmp_path)).faults == ()


@pytest.mark.parametrize(("site", "description"), TABLES["descriptions"])
def test_description_says_what_the_site_is_and_names_its_guides(
    tmp_path: Path, site: dict[str, str], description: str
) -> None:
    front_matter, _ = publish_skill(tmp_path, site=replace(SITE, **site))
    assert front_matter["description"] == description


@pytest.mark.parametrize("about", ["", "About everything."])
def test_summary_of_home_page_by_a_model_is_marked(tmp_path: Path, about: str) -> None:
    publish_pages(tmp_path, HOME, site=replace(SITE, description=about))
    manifest = open_library(tmp_path).manifest
    home = structs.replace(manifest.pages[0], summary="Where to begin.")
    sections = SectionIndex(structs.replace(manifest, pages=(home,)))
    (_, skill), _ = iter_skill_files(sections, "", PublishOptions(), section_files=True)
    marked = "> *Where to begin.*\n\nDescriptions in *italics* were written by a model.\n\nThe site is "
    assert (marked in skill.decode()) is (about == "")


def test_description_of_large_site_is_within_the_limit_of_skills(tmp_path: Path) -> None:
    pages = [Page(f"guide/p{at}/", "", f"<h1>{'Long title ' * 9}{at}</h1><p>Text.</p>") for at in range(50)]
    site = Site("Name " * 90, URL, "Summary. " * 200)
    front_matter, text = publish_skill(tmp_path, *pages, site=site)
    assert 400 < len(front_matter["description"]) <= 1024
    assert len(text) < 8000


def test_titles_with_control_characters_and_fences_stay_on_their_line(tmp_path: Path) -> None:
    page = Page("a/", "A", "<h1>A</h1><h2 id='x'>Run\u2028```\u202e now</h2><p>Text.</p>")
    front_matter, text = publish_skill(tmp_path, page, site=replace(SITE, name="Do\u202ecs\n# Other", description=""))
    assert "\u202e" not in text + front_matter["description"]
    assert text.startswith("\n# Read Docs # Other\n")


def test_site_without_section_files_names_the_markdown_of_pages(tmp_path: Path) -> None:
    _, text = publish_skill(tmp_path, section_files=False)
    assert "roaming/sections" not in text
    assert f"Fetch {URL}guide/install/index.md. The address to cite is {URL}guide/install/#quiet." in text


def test_skill_names_only_files_that_are_published(tmp_path: Path) -> None:
    _, text = publish_skill(tmp_path, llms_txt=False, llms_full=False)
    assert "llms" not in text


@pytest.mark.parametrize(("options", "endpoint", "mcp"), TABLES["configured services are named"])
def test_configured_services_are_named(tmp_path: Path, options: dict[str, Any], endpoint: str, mcp: str) -> None:
    _, text = publish_skill(tmp_path, **options)
    assert re.findall(r"`GET (\S+)v1/search\?q=", text) == [endpoint] * bool(endpoint)
    assert re.findall(r"MCP: (\S+) ", text) == [mcp] * bool(mcp)


def test_llms_txt_names_the_skill(tmp_path: Path) -> None:
    publish_skill(tmp_path)
    text = (tmp_path / "llms.txt").read_text("utf-8")
    assert f"\nHow agents find and read sections is described at {URL}roaming/skill/docs-example-sub/SKILL.md\n" in text


def test_option_off_removes_the_skill(tmp_path: Path) -> None:
    publish_skill(tmp_path)
    publish_pages(tmp_path, HOME, INSTALL, options=PublishOptions(agent_skill=False))
    assert not [path for path in read_tree(tmp_path) if "skill" in path]
    assert "How agents" not in (tmp_path / "llms.txt").read_text("utf-8")


def test_copy_of_another_site_has_no_skill(tmp_path: Path) -> None:
    publish_skill(tmp_path / "theirs")
    theirs = open_library(tmp_path / "theirs")
    texts = {page.path: theirs.file(page.markdown) for page in theirs.manifest.pages}
    publish_mirror(theirs.manifest, texts, tmp_path / "ours", PublishOptions())
    assert not [path for path in read_tree(tmp_path / "ours") if "skill" in path]
